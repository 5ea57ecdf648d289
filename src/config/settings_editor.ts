import jsonc, { type Node, type ParseError } from "jsonc-parser";
import { basename, dirname, joinPath } from "../std/mod.ts";

/** A value as a settings file has it: made of what JSON can say. */
export type Json = null | boolean | number | string | object;

/** Values that fit are written on one line. */
const LINE_CHARS = 100;

/**
 * Adds settings to a file as a person would: comments, order and layout of what is there stay, and nothing that is
 * there changes.
 */
export class SettingsEditor {
  /** Path of the file; behind a link, that of what it leads to. */
  readonly path: string;
  readonly #before: string | undefined;
  readonly #mode: number;
  #text: string;

  private constructor(path: string, before: string | undefined, mode: number) {
    this.path = path;
    this.#before = before;
    this.#mode = mode;
    this.#text = before === undefined || plain(before).trim() === "" ? "{\n}\n" : before;
  }

  /**
   * Reads a settings file.
   *
   * @param path The file. One that does not exist is created by {@linkcode write}, readable by its owner only.
   * @throws {Error} If it is not a JSONC object.
   */
  static async open(path: string): Promise<SettingsEditor> {
    const whole = await Deno.realPath(path).catch(() => path);
    const text = await Deno.readTextFile(whole).catch((error) => {
      if (error instanceof Deno.errors.NotFound) return undefined;
      throw error;
    });
    const mode = text === undefined ? undefined : (await Deno.stat(whole)).mode;
    const editor = new SettingsEditor(whole, text, (mode ?? 0o600) & 0o777);
    editor.#root(); // throws if the file is no object
    return editor;
  }

  /** Whether the file exists. */
  get exists(): boolean {
    return this.#before !== undefined;
  }

  /** Whether something was added. */
  get changed(): boolean {
    return this.#text !== this.#before && (this.exists || this.#text !== "{\n}\n");
  }

  /** The text as it would be written. */
  get text(): string {
    return this.#text;
  }

  /**
   * Reads a setting as it is written: `${NAME}` is not replaced.
   *
   * @param path Keys of objects.
   * @returns The value, or `undefined`.
   */
  get(...path: readonly string[]): unknown {
    const node = jsonc.findNodeAtLocation(this.#root(), [...path]);
    return node === undefined ? undefined : jsonc.getNodeValue(node);
  }

  /**
   * Lists the names in a section, such as the upstreams.
   *
   * @param path Keys of objects.
   */
  names(...path: readonly string[]): string[] {
    const node = jsonc.findNodeAtLocation(this.#root(), [...path]);
    return (node?.children ?? []).map((property) => String(property.children?.[0]?.value));
  }

  /**
   * Adds a setting behind the others of its section.
   *
   * @param path Keys of objects. Sections that are missing are added.
   * @param value The value; properties that are `undefined` are left out.
   * @throws {Error} If the setting is there already, or a section is not an object.
   */
  add(path: readonly string[], value: Json): void {
    const root = this.#root();
    let [at, depth] = [root, 0];
    for (; depth < path.length - 1; depth++) {
      const next = jsonc.findNodeAtLocation(at, [path[depth]!]);
      if (next === undefined) break;
      if (next.type !== "object") {
        throw new Error(`${path.slice(0, depth + 1).join(".")} in ${this.path} is not an object`);
      }
      at = next;
    }
    if (jsonc.findNodeAtLocation(at, [path[depth]!]) !== undefined) {
      throw new Error(`${path.join(".")} is in ${this.path} already`);
    }
    const inner = path.slice(depth + 1).reduceRight<Json>((all, key) => ({ [key]: all }), value);
    this.#text = insert(this.#text, at, [path[depth]!, inner]);
  }

  /**
   * Writes the file, whole or not at all.
   *
   * @param check Is given the path of the new text, beside the file, before it takes the file's place. If it throws,
   *   nothing changes.
   * @throws {Error} If the file has changed since it was read.
   */
  async write(check: (path: string) => Promise<void>): Promise<void> {
    const arriving = joinPath(dirname(this.path), `.${basename(this.path)}.${crypto.randomUUID()}`);
    if (!this.exists) await Deno.mkdir(dirname(this.path), { recursive: true, mode: 0o700 });
    try {
      await Deno.writeTextFile(arriving, this.#text, { mode: this.#mode, createNew: true });
      await check(arriving);
      const now = await Deno.readTextFile(this.path).catch(() => undefined);
      if (now !== this.#before) {
        throw new Error(`${this.path} has changed in the meantime: run the command again`);
      }
      await Deno.rename(arriving, this.path);
    } catch (error) {
      await Deno.remove(arriving).catch(() => {});
      throw error;
    }
  }

  #root(): Node {
    const errors: ParseError[] = [];
    const root = jsonc.parseTree(plain(this.#text), errors, {
      allowTrailingComma: true,
      allowEmptyContent: true,
    });
    if (root?.type === "object" && errors.length === 0) return root;
    throw new Error(
      `The settings file ${this.path} has errors; see sluice config check. Nothing was written`,
    );
  }
}

/** A byte order mark becomes a space, so that places in the text stay. */
function plain(text: string): string {
  return text.replace(/^\uFEFF/, " ");
}

/** Adds a property to an object of the text. */
function insert(text: string, object: Node, [key, value]: readonly [string, Json]): string {
  const eol = text.includes("\r\n") ? "\r\n" : "\n";
  const unit = /\n([ \t]+)\S/.exec(text)?.[1] ?? "  ";
  const outer = indentAt(text, object.offset);
  const last = object.children?.at(-1);
  const ownLine = last !== undefined && /[\r\n][ \t]*$/.test(text.slice(0, last.offset));
  const indent = ownLine ? indentAt(text, last.offset) : outer + unit;
  const body = `${indent}${JSON.stringify(key)}: ${layOut(value, indent, unit)}`
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
  return comma !== undefined || !/^(?:\s|\/\/[^\r\n]*|\/\*[^]*?\*\/)*,/.test(text.slice(from));
}

/** Kinds of tokens, as jsonc-parser numbers them. */
const Token = { comma: 5, lineComment: 12, blockComment: 13, lineBreak: 14, trivia: 15 } as const;

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
