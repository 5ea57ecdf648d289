import jsonc, { type Node, type ParseError } from "jsonc-parser";
import { closestString } from "../../ground/std/mod.ts";
import { pathText } from "../../ground/issue_words.ts";

/** Place in a settings file, both counted from 1. */
export interface Position {
  readonly line: number;
  readonly column: number;
}

/** An error at a place of the file. */
export interface SyntaxFault {
  readonly position: Position;
  /** What is wrong, and what was expected. */
  readonly message: string;
}

/** A value of the file: where it is and how it is written there. */
export interface Written {
  readonly position: Position;
  /** Source text of a number, string, boolean or null; what an object or a list is called otherwise. */
  readonly text: string;
}

/** A settings file as it was read. */
export interface ParsedFile {
  readonly value: Record<string, unknown>;
  /** What is written where, by the path of the setting as `pathText` writes it. */
  readonly written: ReadonlyMap<string, Written>;
  readonly faults: readonly SyntaxFault[];
}

/** Lists of errors of a file that is not JSON at all help nobody. */
const MAX_FAULTS = 5;

/**
 * Parses a settings file: JSON with comments and trailing commas.
 *
 * @param source Text of the file.
 * @returns The value, with what is written where. With a syntax error, the value is empty.
 */
export function parseSettingsFile(source: string): ParsedFile {
  const text = source.replace(/^\uFEFF/, ""); // some editors write a byte order mark
  const positionAt = positions(text);
  const errors: ParseError[] = [];
  const root = parseTree(text, errors);
  if (root === "too deep") {
    const message = "syntax error: nested too deeply";
    return { value: {}, written: new Map(), faults: [{ position: positionAt(0), message }] };
  }
  if (errors.length > 0) {
    const placed = errors.map((error) => ({ error, position: positionAt(error.offset) }));
    const faults = oneEachLine(placed).slice(0, MAX_FAULTS).map(({ error, position }) => ({
      position,
      message: `syntax error: ${explain(error, text)}`,
    }));
    return { value: {}, written: new Map(), faults };
  }
  const written = new Map<string, Written>();
  const faults: SyntaxFault[] = [];
  const reader = { text, positionAt, written, faults };
  const value = root === undefined ? {} : read(root, [], reader);
  if (isRecord(value)) return { value, written, faults };
  const position = positionAt(root?.offset ?? 0);
  return { value: {}, written, faults: [{ position, message: "must be an object: { … }" }] };
}

/** The parser calls itself for each level. */
function parseTree(text: string, errors: ParseError[]): Node | undefined | "too deep" {
  try {
    return jsonc.parseTree(text, errors, { allowTrailingComma: true, allowEmptyContent: true });
  } catch (error) {
    if (error instanceof RangeError) return "too deep";
    throw error;
  }
}

interface Reader {
  readonly text: string;
  readonly positionAt: (offset: number) => Position;
  readonly written: Map<string, Written>;
  readonly faults: SyntaxFault[];
}

/** Makes the value of a node, and notes where it and all inside it are. */
function read(node: Node, path: readonly PropertyKey[], reader: Reader): unknown {
  const { children = [] } = node;
  if (node.type === "array") {
    return children.map((item, index) => {
      const inside = [...path, index];
      note(item, inside, item.offset, reader);
      return read(item, inside, reader);
    });
  }
  if (node.type !== "object") return node.value;
  const object: Record<string, unknown> = {};
  for (const { children: [key, value] = [] } of children) {
    if (key === undefined || value === undefined) continue;
    const name = String(key.value);
    const inside = [...path, name];
    const earlier = reader.written.get(pathText(inside));
    if (earlier !== undefined && Object.hasOwn(object, name)) {
      reader.faults.push({
        position: reader.positionAt(key.offset),
        message: `${pathText(inside)}: is set twice, first in line ${earlier.position.line}`,
      });
    }
    note(value, inside, key.offset, reader);
    define(object, name, read(value, inside, reader));
  }
  return object;
}

function note(node: Node, path: readonly PropertyKey[], offset: number, reader: Reader): void {
  const text = node.type === "object"
    ? "an object"
    : node.type === "array"
    ? "a list"
    : reader.text.slice(node.offset, node.offset + node.length);
  reader.written.set(pathText(path), { position: reader.positionAt(offset), text });
}

/** Sets an own property even if the key is `__proto__`, so that it is rejected like any unknown key. */
export function define(at: Record<string, unknown>, key: string, value: unknown): void {
  Object.defineProperty(at, key, { value, enumerable: true, writable: true, configurable: true });
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Finds lines by where they begin. */
function positions(text: string): (offset: number) => Position {
  const starts = [0];
  for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) starts.push(at + 1);
  return (offset) => {
    let [low, high] = [0, starts.length];
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (starts[middle]! <= offset) low = middle;
      else high = middle;
    }
    return { line: low + 1, column: offset - starts[low]! + 1 };
  };
}

/** A syntax error makes others behind it in the same line. */
function oneEachLine<Placed extends Pick<SyntaxFault, "position">>(
  faults: readonly Placed[],
): Placed[] {
  return faults.filter(({ position: { line } }, index) =>
    faults[index - 1]?.position.line !== line
  );
}

const EXPECTED: Readonly<Record<string, string>> = {
  InvalidNumberFormat: "expected a number",
  PropertyNameExpected: "expected the name of a setting, in double quotes",
  ValueExpected: "expected a value",
  ColonExpected: "expected a colon",
  CommaExpected: "expected a comma or a closing bracket",
  CloseBraceExpected: "expected a comma or }",
  CloseBracketExpected: "expected a comma or ]",
  EndOfFileExpected: "expected the end of the file",
  UnexpectedEndOfComment: "expected */ at the end of the comment",
  UnexpectedEndOfString: 'expected " at the end of the text',
  UnexpectedEndOfNumber: "expected a digit",
  InvalidUnicode: "expected four hexadecimal digits after \\u",
  InvalidEscapeCharacter: 'expected one of " \\ / b f n r t u after \\',
  InvalidCharacter: "control characters in text must be escaped",
};
const LITERALS = ["true", "false", "null"];

function explain({ error, offset, length }: ParseError, text: string): string {
  const end = offset + length;
  const found = text.slice(offset, end);
  const isName = isBeforeColon(text, end) && !/:\s*$/.test(text.slice(0, offset));
  const code = jsonc.printParseErrorCode(error);
  if (code === "InvalidSymbol") {
    const near = closestString(found, LITERALS);
    const isLiteral = near.toLowerCase() === found.toLowerCase();
    const unexpected = `unexpected ${JSON.stringify(found.slice(0, 40))}: `;
    return (isName || isLiteral ? unexpected : "") +
      (isLiteral ? `write ${near}` : "text must be in double quotes");
  }
  const isSaid = isName || !/["A-Za-z]/.test(found); // any other text may be a secret
  const got = found.trim() === ""
    ? (offset >= text.length ? "the end of the file" : "")
    : isSaid
    ? found
    : "";
  const expected = EXPECTED[code] ?? "expected a value";
  return got === "" || code.startsWith("Unexpected") || code.startsWith("Invalid")
    ? expected
    : `${expected} before ${got.length > 40 ? `${got.slice(0, 40)}…` : got}`;
}

/** Whether a colon follows at a place of a text, as it does after the name of a setting. */
function isBeforeColon(text: string, offset: number): boolean {
  const colon = /\s*:/y;
  colon.lastIndex = offset;
  return colon.test(text);
}
