import { colors } from "../std/mod.ts";

/** How much is logged; each level includes those after it. */
export type LogLevel = "debug" | "info" | "warn" | "error";

/** What a line may carry besides its message. Never a key, a prompt or an address with a query. */
export type LogFields = Readonly<Record<string, string | number | boolean | undefined>>;

/** One line per call. */
export interface Log {
  debug(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  error(message: string, fields?: LogFields): void;
}

/** How lines are written. */
export interface LogOptions {
  readonly format: "pretty" | "json";
  readonly level: LogLevel;
  readonly now: () => number;
  /** Receives whole lines with their line ends. */
  readonly write: (text: string) => void;
}

const ORDER: readonly LogLevel[] = ["debug", "info", "warn", "error"];
const PAINT = {
  debug: colors.dim,
  info: colors.cyan,
  warn: colors.yellow,
  error: colors.red,
} as const;

/** Characters of one field at the most: a hostile value cannot fill the disk. */
const MAX_FIELD = 2_000;

/** Makes a log. Control characters cannot forge a second line in either format. */
export function createLog({ format, level, now, write }: LogOptions): Log {
  const from = ORDER.indexOf(level);
  const line = format === "json" ? jsonLine : prettyLine;
  const at = (own: LogLevel) =>
    ORDER.indexOf(own) < from
      ? () => {}
      : (message: string, fields: LogFields = {}) => write(line(now(), own, message, fields));
  return { debug: at("debug"), info: at("info"), warn: at("warn"), error: at("error") };
}

/** A log that says nothing. */
export const SILENT: Log = { debug() {}, info() {}, warn() {}, error() {} };

function jsonLine(nowMs: number, level: LogLevel, message: string, fields: LogFields): string {
  const cut = Object.entries(fields).map(([key, value]) => [key, shorten(value)]);
  const time = new Date(nowMs).toISOString();
  const json = JSON.stringify({ time, level, message, ...Object.fromEntries(cut) });
  return `${json.replaceAll("\u2028", "\\u2028").replaceAll("\u2029", "\\u2029")}\n`;
}

function prettyLine(nowMs: number, level: LogLevel, message: string, fields: LogFields): string {
  const time = new Date(nowMs).toISOString().slice(11, 23);
  const rest = Object.entries(fields).filter(([, value]) => value !== undefined)
    .map(([key, value]) => ` ${colors.dim(`${key}=`)}${printable(shorten(value))}`).join("");
  return `${colors.dim(time)} ${PAINT[level](level.padEnd(5))} ${printable(message)}${rest}\n`;
}

function shorten(value: LogFields[string]): LogFields[string] {
  return typeof value === "string" && value.length > MAX_FIELD
    ? `${value.slice(0, MAX_FIELD)}…`
    : value;
}

function printable(value: LogFields[string]): string {
  return String(value).replace(
    /[\p{Cc}\u2028\u2029]/gu,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

/** Gathers the lines of one turn of the event loop and writes them to a file descriptor together. */
export function bufferedWriter(
  target: { writeSync(bytes: Uint8Array): number },
): ((text: string) => void) & { flush(): void } {
  const encoder = new TextEncoder();
  let waiting = "";
  const flush = () => {
    if (waiting === "") return;
    let bytes = encoder.encode(waiting);
    waiting = "";
    try {
      while (bytes.length > 0) bytes = bytes.subarray(target.writeSync(bytes));
    } catch {
      // whoever read the log has gone; serving goes on
    }
  };
  const write = (text: string) => {
    if (waiting === "") setTimeout(flush, 0);
    waiting += text;
  };
  return Object.assign(write, { flush });
}
