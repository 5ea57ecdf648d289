import {
  AmountError,
  decimalIn,
  durationIn,
  wholeIn,
  type WholeRule,
} from "../../ground/amounts/mod.ts";
import { moneyIn } from "../../settings/config/mod.ts";
import { displayed } from "../../ground/platform/mod.ts";
import { UsageError } from "./context.ts";

/** Rows as aligned columns under their names, for people. */
export function table(rows: readonly Readonly<Record<string, unknown>>[]): string {
  if (rows.length === 0) return "(none)\n";
  const names = Object.keys(rows[0]!);
  const cells = [names, ...rows.map((row) => names.map((name) => cell(row[name])))];
  const widths = names.map((_, at) => Math.max(...cells.map((line) => line[at]!.length)));
  const numeric = names.map((name) => rows.every((row) => typeof row[name] === "number"));
  return cells.map((line) =>
    line.map((text, at) => numeric[at] ? text.padStart(widths[at]!) : text.padEnd(widths[at]!))
      .join("  ").trimEnd()
  ).join("\n") + "\n";
}

function cell(value: unknown): string {
  if (value === null || value === undefined) return "-";
  if (typeof value === "number") return value.toLocaleString("en-US");
  return displayed(Array.isArray(value) ? value.join(", ") || "none" : String(value));
}

/** A point in time, for people: `2026-11-20 14:05 UTC`. */
export function time(ms: number | null): string | null {
  return ms === null ? null : `${new Date(ms).toISOString().slice(0, 16).replace("T", " ")} UTC`;
}

/** A number of bytes, for people: `1.5 MB`. */
export function size(bytes: number): string {
  if (bytes < 1_000) return `${bytes} B`;
  const [unit, scale] = bytes < 1e6 ? ["KB", 1e3] as const : bytes < 1e9 ? ["MB", 1e6] as const : [
    "GB",
    1e9,
  ] as const;
  return `${(bytes / scale).toFixed(1)} ${unit}`;
}

/** How many of something failed, for people: `2 checks failed`. */
export function failedText(count: number, one: string, several = `${one}s`): string {
  return `${count} ${count === 1 ? one : several} failed`;
}

/** Reads a duration of an option, in milliseconds. @throws {UsageError} If it is none, or longer than `maxDays`. */
export function parseDuration(name: string, text: string, maxDays?: number): number {
  return parsed(name, () => durationIn(text, maxDays));
}

/** Reads a whole number of an option. @throws {UsageError} If it is none, or out of range. */
export function parseCount(name: string, text: string, rule: WholeRule): number {
  return parsed(name, () => wholeIn(text, rule));
}

/** Reads money of an option, in minor units. @throws {UsageError} If it is no such amount. */
export function parseMoney(name: string, text: string, currency: string, min = 0): number {
  return parsed(name, () => moneyIn(text, currency, min));
}

/** Reads percent of an option, with up to 3 decimals. @throws {UsageError} If it is no such number. */
export function parsePercent(name: string, text: string): number {
  const words = "a number of percent from 0 to 1000, such as 2.5";
  const rule = { words, decimals: 3, of: "it", min: 0, max: 1_000_000 };
  return parsed(name, () => decimalIn(text, rule)) / 1_000;
}

function parsed(name: string, read: () => number): number {
  try {
    return read();
  } catch (error) {
    if (error instanceof RangeError) throw new UsageError(error.message);
    throw error instanceof AmountError ? new UsageError(`${name} ${error.message}`) : error;
  }
}

/** A comma-separated list. @param name The option that has it. */
export function parseList(name: string, text: string): string[] {
  const words = text.split(",").map((word) => word.trim()).filter((word) => word !== "");
  if (words.length === 0) {
    throw new UsageError(`${name} is an empty list: use comma-separated names`);
  }
  return words;
}

/**
 * Quotes a text as one word of a POSIX shell, whatever is in it.
 *
 * @example
 * ```ts
 * import { assertEquals } from "@std/assert";
 * import { shellWord } from "./format.ts";
 *
 * assertEquals(shellWord("it's"), `'it'\\''s'`);
 * ```
 */
export function shellWord(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

/** What a printed command is made of, besides its words. */
interface CommandParts {
  /** Options by name, without dashes. */
  readonly options?: Readonly<Record<string, string>>;
  readonly args?: readonly string[];
}

/**
 * Writes a command that a person may paste into a shell, whatever the names in it are.
 *
 * @param words Such as `sluice team add`.
 *
 * @example
 * ```ts
 * import { assertEquals } from "@std/assert";
 * import { commandText } from "./format.ts";
 *
 * assertEquals(commandText("sluice key list", { options: { team: "-x" } }), "sluice key list --team='-x'");
 * assertEquals(commandText("sluice team show", { args: ["-x"] }), "sluice team show -- '-x'");
 * ```
 */
export function commandText(words: string, { options = {}, args = [] }: CommandParts): string {
  const word = (text: string) => /^[a-z0-9][\w@.+-]*$/i.test(text) ? text : shellWord(text);
  const isOption = (text: string) => text.startsWith("-");
  return [
    words,
    ...Object.entries(options).map(([name, value]) =>
      `--${name}${isOption(value) ? "=" : " "}${word(value)}`
    ),
    ...(args.some(isOption) ? ["--"] : []),
    ...args.map(word),
  ].join(" ");
}
