import jsonc, { type Node } from "jsonc-parser";
import { isRecord } from "./settings_file.ts";

/** A value as a settings file has it: made of what JSON can say. */
export type Json = null | boolean | number | string | object;

/** Values that fit are written on one line. */
const LINE_CHARS = 100;

type Path = readonly (string | number)[];

/** What a value is replaced with. */
interface Replacement {
  readonly value: unknown;
  /** Parses the text as it is then. */
  readonly parse: (text: string) => Node;
}

/**
 * Replaces a value of a text. Objects and lists are changed where they differ, so that comments in them stay.
 *
 * @param path A place that is there.
 */
export function replaced(text: string, path: Path, { value, parse }: Replacement): string {
  const node = jsonc.findNodeAtLocation(parse(text), [...path])!;
  if (same(jsonc.getNodeValue(node), value)) return text;
  const source = sourceOf(text, node);
  const isPlain = !/[\r\n]/.test(source) && !hasComment(source);
  if (node.type === "object" && isRecord(value) && !isPlain) {
    return replacedObject(text, path, { value, parse });
  }
  if (node.type === "array" && Array.isArray(value) && value.length > 0 && !isPlain) {
    return replacedList(text, path, { value, parse });
  }
  const unit = unitOf(text);
  const laid = layOut(value, indentAt(text, node.offset), unit).replaceAll("\n", eolOf(text));
  return splice(text, node, laid);
}

function replacedObject(
  text: string,
  path: Path,
  { value, parse }: Replacement & { readonly value: Record<string, unknown> },
): string {
  const find = (inside: Path) => jsonc.findNodeAtLocation(parse(text), [...inside]);
  const names = (find(path)!.children ?? []).map(({ children }) => String(children?.[0]?.value));
  for (const name of names) {
    if (value[name] !== undefined) continue;
    text = without(text, find([...path, name])!.parent!);
  }
  for (const [name, inner] of entriesOf(value)) {
    text = names.includes(name)
      ? replaced(text, [...path, name], { value: inner, parse })
      : insert(text, find(path)!, [name, inner as Json]);
  }
  return text;
}

/** Items keep their text, and the comments in it, wherever they move to; comments between items stay where they are. */
function replacedList(
  text: string,
  path: Path,
  { value, parse }: Replacement & { readonly value: readonly unknown[] },
): string {
  const list = () => jsonc.findNodeAtLocation(parse(text), [...path])!;
  const before = (list().children ?? []).map((node) => ({
    value: jsonc.getNodeValue(node) as unknown,
    source: sourceOf(text, node),
  }));
  const free = new Set(before.keys());
  const moved = value.map((item) => {
    const at = before.findIndex((one, index) => free.has(index) && same(one.value, item));
    free.delete(at);
    return at;
  });
  const sources = moved.map((at, index) => {
    if (at >= 0) return before[at]!.source;
    return free.delete(index) ? before[index]!.source : undefined; // changed in its place
  });
  for (let at = before.length - 1; at >= 0; at--) {
    const node = list().children![at]!;
    if (at >= value.length) text = without(text, node);
    else text = splice(text, node, sources[at] ?? "null");
  }
  for (let at = before.length; at < value.length; at++) {
    const source = sources[at];
    text = insert(text, list(), [undefined, source === undefined ? value[at] as Json : null]);
    if (source !== undefined) text = splice(text, list().children![at]!, source);
  }
  for (const [at, item] of value.entries()) {
    text = replaced(text, [...path, at], { value: item, parse });
  }
  return text;
}

/** Removes a property or an item with its comma, and its line if nothing else is on it. Comments stay. */
function without(text: string, { offset, length }: Node): string {
  const rest = text.slice(offset + length);
  const comma = /^(?:\s|\/\/[^\r\n]*|\/\*(?:[^*]|\*(?!\/))*\*\/)*,/.exec(rest);
  const between = comma === null ? "" : comma[0].slice(0, -1);
  const kept = `${between.trim() === "" ? "" : between}${rest.slice(comma?.[0].length ?? 0)}`;
  const start = Math.max(text.lastIndexOf("\n", offset - 1), text.lastIndexOf("\r", offset - 1)) +
    1;
  const isAlone = text.slice(start, offset).trim() === "" && /^[ \t]*(?:\r?\n|\r)/.test(kept);
  if (isAlone) return text.slice(0, start) + kept.replace(/^[ \t]*(?:\r?\n|\r)/, "");
  return text.slice(0, offset) +
    (/[ \t{[]$/.test(text.slice(0, offset)) ? kept.replace(/^[ \t]+/, "") : kept);
}

function splice(text: string, { offset, length }: Node, source: string): string {
  return text.slice(0, offset) + source + text.slice(offset + length);
}

function sourceOf(text: string, { offset, length }: Node): string {
  return text.slice(offset, offset + length);
}

function hasComment(source: string): boolean {
  const scanner = jsonc.createScanner(source, false);
  for (let token = scanner.scan(); token !== Token.end; token = scanner.scan()) {
    if (token === Token.lineComment || token === Token.blockComment) return true;
  }
  return false;
}

/** Whether two values are the same JSON, in whatever order the properties are. */
function same(one: unknown, other: unknown): boolean {
  if (Array.isArray(one) && Array.isArray(other)) {
    return one.length === other.length && one.every((item, at) => same(item, other[at]));
  }
  if (!isRecord(one) || !isRecord(other)) return one === other;
  const [names, others] = [entriesOf(one), entriesOf(other)];
  return names.length === others.length &&
    names.every(([name, value]) => Object.hasOwn(other, name) && same(value, other[name]));
}

function eolOf(text: string): string {
  return text.includes("\r\n") ? "\r\n" : "\n";
}

function unitOf(text: string): string {
  return /\n([ \t]+)\S/.exec(text)?.[1] ?? "  ";
}

/** Adds a property to an object of the text, or an item, which has no key, to a list. */
export function insert(
  text: string,
  object: Node,
  [key, value]: readonly [string | undefined, Json],
): string {
  const [eol, unit] = [eolOf(text), unitOf(text)];
  const outer = indentAt(text, object.offset);
  const last = object.children?.at(-1);
  const ownLine = last !== undefined && /[\r\n][ \t]*$/.test(text.slice(0, last.offset));
  const indent = ownLine ? indentAt(text, last.offset) : outer + unit;
  const name = key === undefined ? "" : `${JSON.stringify(key)}: `;
  const body = `${indent}${name}${layOut(value, indent, unit)}`
    .replaceAll("\n", eol);
  const close = object.offset + object.length - 1;
  const { at, comma } = last === undefined
    ? { at: endOfContent(text, object.offset + 1, close), comma: undefined }
    : endOfProperty(text, last.offset + last.length, close);
  const needsComma = last !== undefined && comma === undefined;
  const before = needsComma ? withComma(text, last, at) : text.slice(0, at);
  const isLastLine = !/[\r\n]/.test(text.slice(at, close));
  const after = isLastLine ? `${eol}${outer}${text.slice(close)}` : text.slice(at);
  return `${before}${eol}${body}${comma === undefined ? "" : ","}${after}`;
}

function withComma(text: string, last: Node, at: number): string {
  const end = last.offset + last.length;
  return `${text.slice(0, end)},${text.slice(end, at)}`;
}

function indentAt(text: string, offset: number): string {
  const start = Math.max(text.lastIndexOf("\n", offset - 1), text.lastIndexOf("\r", offset - 1));
  return /^[ \t]*/.exec(text.slice(start + 1))![0];
}

/** Where an object without properties ends, its comments included. */
function endOfContent(text: string, from: number, close: number): number {
  return from + text.slice(from, close).trimEnd().length;
}

/** Where the last property ends, with its comma and the comment behind it on the same line. */
function endOfProperty(text: string, from: number, close: number) {
  const scanner = jsonc.createScanner(text, false);
  scanner.setPosition(from);
  let [at, comma] = [from, undefined as number | undefined];
  for (;;) {
    const token = scanner.scan();
    const end = scanner.getTokenOffset() + scanner.getTokenLength();
    if (token === Token.comma) at = comma = end;
    else if (token === Token.lineComment || token === Token.blockComment) {
      if (/[\r\n]/.test(text.slice(at, scanner.getTokenOffset()))) break;
      at = end;
    } else if (token === Token.lineBreak && hasNoCommaAhead(text, end, comma)) break;
    else if (token !== Token.trivia && token !== Token.lineBreak) break;
    if (end >= close) break;
  }
  return { at, comma };
}

/** A comma may stand on a line of its own. */
function hasNoCommaAhead(text: string, from: number, comma: number | undefined): boolean {
  return comma !== undefined ||
    !/^(?:\s|\/\/[^\r\n]*|\/\*(?:[^*]|\*(?!\/))*\*\/)*,/.test(text.slice(from));
}

/** Kinds of tokens, as jsonc-parser numbers them. */
const Token = {
  comma: 5,
  lineComment: 12,
  blockComment: 13,
  lineBreak: 14,
  trivia: 15,
  end: 17,
} as const;

/** Writes a value over as few lines as fit. */
function layOut(value: unknown, indent: string, unit: string): string {
  const line = inline(value);
  if (indent.length + line.length <= LINE_CHARS || !isNested(value)) return line;
  const inner = indent + unit;
  if (Array.isArray(value)) {
    return `[\n${
      value.map((one) => `${inner}${layOut(one, inner, unit)}`).join(",\n")
    }\n${indent}]`;
  }
  const lines = entriesOf(value).map(([key, one]) =>
    `${inner}${JSON.stringify(key)}: ${layOut(one, inner, unit)}`
  );
  return `{\n${lines.join(",\n")}\n${indent}}`;
}

function inline(value: unknown): string {
  if (!isNested(value)) return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(inline).join(", ")}]`;
  const inner = entriesOf(value).map(([key, one]) => `${JSON.stringify(key)}: ${inline(one)}`);
  return inner.length === 0 ? "{}" : `{ ${inner.join(", ")} }`;
}

function entriesOf(value: object): [string, unknown][] {
  return Object.entries(value).filter(([, one]) => one !== undefined);
}

function isNested(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}
