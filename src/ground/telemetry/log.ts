import { colors } from "../std/mod.ts";

/** Log levels. Each includes the levels after it. */
export type LogLevel = "debug" | "info" | "warn" | "error";

/** Fields of a log line. Never log a key, a prompt or a URL with a query (P11). */
export type LogFields = Readonly<Record<string, string | number | boolean | undefined>>;

/** What is logged, and how; may change while the log is in use. */
export interface LogSettings {
  readonly format: "pretty" | "json";
  readonly level: LogLevel;
}

/**
 * What is logged and how, by the settings `log` and `logLevel`.
 *
 * @returns Without a format in the settings: `pretty` on a terminal, else `json`.
 */
export function logSettings(
  { log, logLevel }: {
    readonly log?: LogSettings["format"] | undefined;
    readonly logLevel: LogLevel;
  },
): LogSettings {
  return { format: log ?? (Deno.stderr.isTerminal() ? "pretty" : "json"), level: logLevel };
}

/** A log. Each call writes one line. */
export interface Log {
  debug(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  error(message: string, fields?: LogFields): void;
}

/** A log whose settings can be changed. */
export interface ConfigurableLog extends Log {
  configure(settings: LogSettings): void;
}

/** Format, level and destination of a log. */
export interface LogOptions extends LogSettings {
  readonly now: () => number;
  /** Receives complete lines, including the line break. */
  readonly write: (text: string) => void;
}

const ORDER: readonly LogLevel[] = ["debug", "info", "warn", "error"];
const PAINT = {
  debug: colors.dim,
  info: colors.cyan,
  warn: colors.yellow,
  error: colors.red,
} as const;

/** Max characters per field, so that a hostile value cannot fill the disk. */
const MAX_FIELD = 2_000;

/**
 * Creates a log. Control characters are escaped, so that a value cannot forge a second line.
 *
 * @param options Format, minimum level, clock and destination.
 */
export function createLog({ now, write, ...settings }: LogOptions): ConfigurableLog {
  let from = 0;
  let line = jsonLine;
  const configure = ({ format, level }: LogSettings) => {
    from = ORDER.indexOf(level);
    line = format === "json" ? jsonLine : prettyLine;
  };
  configure(settings);
  const at = (own: LogLevel) => (message: string, fields: LogFields = {}) => {
    if (ORDER.indexOf(own) >= from) write(line(now(), own, message, fields));
  };
  return { debug: at("debug"), info: at("info"), warn: at("warn"), error: at("error"), configure };
}

/** A log that writes nothing. */
export const SILENT: Log = { debug() {}, info() {}, warn() {}, error() {} };

function jsonLine(nowMs: number, level: LogLevel, message: string, fields: LogFields): string {
  const time = new Date(nowMs).toISOString();
  const json = JSON.stringify({ time, level, message, ...shortened(fields) });
  return `${json.replaceAll("\u2028", "\\u2028").replaceAll("\u2029", "\\u2029")}\n`;
}

function prettyLine(nowMs: number, level: LogLevel, message: string, fields: LogFields): string {
  const time = new Date(nowMs).toISOString().slice(11, 23);
  const kept = shortened(fields);
  let rest = "";
  for (const key in kept) {
    const value = kept[key];
    if (value !== undefined) rest += ` ${colors.dim(`${key}=`)}${printable(value)}`;
  }
  return `${colors.dim(time)} ${PAINT[level](level.padEnd(5))} ${printable(message)}${rest}\n`;
}

/** Fields with long values cut; nearly always the same object. */
function shortened(fields: LogFields): LogFields {
  let kept = fields;
  for (const key in fields) {
    const value = fields[key];
    if (typeof value !== "string" || value.length <= MAX_FIELD) continue;
    kept = { ...kept, [key]: `${value.slice(0, MAX_FIELD)}…` };
  }
  return kept;
}

/** Nearly every value is in these characters, which is quickly seen. */
const PLAIN = /^[ -~]*$/;

function printable(value: LogFields[string]): string {
  const text = String(value);
  if (PLAIN.test(text)) return text;
  return text.replace(
    /[\p{Cc}\u2028\u2029]/gu,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

/**
 * Buffers lines, and writes those of one turn of the event loop together.
 *
 * @param target A file, such as `Deno.stderr`. Errors while writing are ignored.
 * @param options `maxBytes`: what is written at once is whole lines of up to this, or one longer line. Several threads that
 *   write to one pipe do not tear each other's lines with {@linkcode PIPE_BYTES}.
 * @returns A function that buffers text; `flush()` writes it immediately.
 */
export function bufferedWriter(
  target: { writeSync(bytes: Uint8Array): number },
  { maxBytes = Infinity }: { readonly maxBytes?: number } = {},
): ((text: string) => void) & { flush(): void } {
  const encoder = new TextEncoder();
  let waiting = "";
  const flush = () => {
    if (waiting === "") return;
    const bytes = encoder.encode(waiting);
    waiting = "";
    try {
      for (let at = 0; at < bytes.length;) {
        at += target.writeSync(bytes.subarray(at, endOfLines(bytes, at, maxBytes)));
      }
    } catch {
      // the reader of the log is gone; keep serving
    }
  };
  const write = (text: string) => {
    if (waiting === "") setTimeout(flush, 0);
    waiting += text;
  };
  return Object.assign(write, { flush });
}

/** What a pipe takes as one piece (pipe(7), PIPE_BUF). */
export const PIPE_BYTES = 4_096;

const LINE_FEED = 0x0a;

/** The end of the whole lines from `from` on that fit into `maxBytes`; at least one. */
function endOfLines(bytes: Uint8Array, from: number, maxBytes: number): number {
  if (bytes.length - from <= maxBytes) return bytes.length;
  const last = bytes.lastIndexOf(LINE_FEED, from + maxBytes - 1);
  const end = last >= from ? last : bytes.indexOf(LINE_FEED, from);
  return end < 0 ? bytes.length : end + 1;
}
