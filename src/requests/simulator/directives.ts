/**
 * What the user's own text in the last user message (`own_text.ts`) can make the simulated upstream do. `[[then]]` separates the steps of a tool loop:
 * the first step is the first answer, each later one the answer after another round of tool calls.
 *
 * | directive | effect |
 * |---|---|
 * | `[[status 503]]` | answers with that HTTP status and an error body |
 * | `[[retry-after 3]]` | adds the header, in seconds, to an error status |
 * | `[[stall 5s]]` | waits before the first byte; `ms` and `s` |
 * | `[[stall 5s after 3]]` | waits after three events |
 * | `[[pace 20ms]]` | waits between events (default 5ms) |
 * | `[[tokens 500]]` | answers that many tokens, if `max_tokens` allows |
 * | `[[say TEXT]]` | answers that text |
 * | `[[call NAME {…}]]` | calls that tool with those arguments; may be repeated |
 * | `[[reason]]` | reasons even if not asked to |
 * | `[[error after 3]]` | reports an error after three events |
 * | `[[cut after 3]]` | breaks the connection off after three events |
 * | `[[end after 3]]` | ends the stream cleanly after three events, without a finish |
 * | `[[usage none]]`, `[[usage zero]]` | reports no usage, or zeros |
 */
export interface Directives {
  readonly status?: number;
  readonly retryAfterSeconds?: number;
  readonly stall?: { readonly ms: number; readonly afterEvents: number };
  readonly paceMs: number;
  readonly tokens?: number;
  readonly say?: string;
  readonly calls: readonly { readonly name: string; readonly args: string }[];
  readonly reason: boolean;
  readonly errorAfter?: number;
  readonly cutAfter?: number;
  readonly endAfter?: number;
  readonly usage: "full" | "none" | "zero";
}

const DIRECTIVE = /\[\[([a-z-]+)\s*([\s\S]*?)\]\](?!\])/g;
const DEFAULT_PACE_MS = 5;
const MAX_WAIT_MS = 3_600_000;

/**
 * Reads the directives of one step of a prompt. The last step serves all later rounds, but its calls are made once: a
 * program that goes on as long as tools are called would never end.
 */
export function readDirectives(prompt: string, step: number): Directives {
  const steps = prompt.split("[[then]]");
  const own = steps[Math.min(step, steps.length - 1)]!;
  const found: { -readonly [K in keyof Directives]: Directives[K] } = {
    paceMs: DEFAULT_PACE_MS,
    reason: false,
    usage: "full",
    calls: [],
  };
  const calls: { name: string; args: string }[] = [];
  for (const [, name, rest = ""] of closed(own).matchAll(DIRECTIVE)) {
    const text = rest.trim();
    switch (name) {
      case "status": {
        const status = whole(text);
        if (status !== undefined && status >= 200 && status <= 599) found.status = status;
        break;
      }
      case "retry-after":
        found.retryAfterSeconds = whole(text) ?? 1;
        break;
      case "stall":
        found.stall = { ms: duration(text), afterEvents: after(text) ?? 0 };
        break;
      case "pace":
        found.paceMs = duration(text);
        break;
      case "tokens":
        found.tokens = whole(text) ?? 0;
        break;
      case "say":
        found.say = text;
        break;
      case "call": {
        const [, tool, args = ""] = /^(\S+)\s*([\s\S]*)$/.exec(text) ?? [];
        if (tool !== undefined) calls.push({ name: tool, args: args || "{}" });
        break;
      }
      case "reason":
        found.reason = true;
        break;
      case "error":
        found.errorAfter = after(text) ?? 0;
        break;
      case "cut":
        found.cutAfter = after(text) ?? 0;
        break;
      case "end":
        found.endAfter = after(text) ?? 0;
        break;
      case "usage":
        if (text === "none" || text === "zero") found.usage = text;
        break;
    }
  }
  return { ...found, calls: step < steps.length ? calls : [] };
}

/** Finds the first directive of a text at or after `from`. */
export function nextDirective(
  text: string,
  from: number,
): { readonly start: number; readonly end: number } | undefined {
  DIRECTIVE.lastIndex = from;
  const found = DIRECTIVE.exec(closed(text));
  DIRECTIVE.lastIndex = 0; // matchAll would begin there
  return found === null ? undefined : { start: found.index, end: found.index + found[0].length };
}

/** The text up to its last `]]`: behind it, every `[[` would be searched to the end in vain. */
function closed(text: string): string {
  return text.slice(0, text.lastIndexOf("]]") + 2);
}

/** A prompt without its directives. */
export function withoutDirectives(prompt: string): string {
  const end = closed(prompt).length;
  return (prompt.slice(0, end).replaceAll(DIRECTIVE, "") + prompt.slice(end)).trim();
}

function whole(text: string): number | undefined {
  return /^\d{1,9}$/.test(text) ? Number(text) : undefined;
}

function duration(text: string): number {
  const [, amount, unit] = /^(\d{1,9}(?:\.\d+)?)\s*(ms|s)?\b/.exec(text) ?? [];
  if (amount === undefined) return 0;
  return Math.min(MAX_WAIT_MS, Number(amount) * (unit === "s" ? 1_000 : 1));
}

function after(text: string): number | undefined {
  return whole(/\bafter\s+(\d+)/.exec(text)?.[1] ?? "");
}
