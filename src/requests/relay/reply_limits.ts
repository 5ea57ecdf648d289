import { setImmediate } from "node:timers";
import { type JsonBounds, jsonExcess } from "../../wire/json/mod.ts";
import { Refusal } from "../../ground/refusal.ts";

/** Bounds of an upstream's reply. */
export interface ReplyLimits {
  /** Bytes of a reply that is not streamed. */
  readonly bytes: number;
  /** JSON values in it. */
  readonly values: number;
  /** Decoded bytes of a stream. */
  readonly streamBytes: number;
  /** Events of a stream. */
  readonly events: number;
  /** JSON values in one event. */
  readonly eventValues: number;
  /** Bytes without an event in them, as comments are. */
  readonly silentBytes: number;
}

/** JSON values that log probabilities of one token have, with those of its alternatives: each at most that many. */
const VALUES_PER_LOGPROB = 12;
/** JSON values that any request may ask for: these are parsed in a quarter of a second, and take 250 MB at most. */
const MAX_ASKED_VALUES = 2_000_000;

/**
 * Limits for a reply to a request that asks for log probabilities: they have more values than all the rest, and asking for them must
 * not make a reply too large.
 *
 * @param logprobs Log probabilities of each output token; 0 if none were asked for.
 * @param outputTokens Max output tokens, over all choices.
 */
export function limitsFor(
  limits: ReplyLimits,
  { logprobs, outputTokens }: { readonly logprobs: number; readonly outputTokens: number },
): ReplyLimits {
  if (logprobs === 0) return limits;
  const asked = Math.min(MAX_ASKED_VALUES, logprobs * VALUES_PER_LOGPROB * outputTokens);
  return {
    ...limits,
    values: limits.values + asked,
    eventValues: limits.eventValues + asked, // the last event of a response repeats all of them
  };
}

/** Max output tokens of a reply so that its log probabilities can be passed on; `Infinity` without any. */
export function outputWith(logprobs: number): number {
  return logprobs === 0 ? Infinity : Math.floor(MAX_ASKED_VALUES / (logprobs * VALUES_PER_LOGPROB));
}

/** Deeper values cannot be walked or written without overflowing the stack. */
const MAX_DEPTH = 200;
/** A text so short exceeds no bound that matters. */
const SHORT_CHARS = 400;

/** @throws {Refusal} `upstream_unavailable` when a text of an upstream has more values than may be parsed. */
export function checkReplyJson(text: string, values: number): void {
  if (text.length < SHORT_CHARS) return;
  const bounds: JsonBounds = { depth: MAX_DEPTH, values, members: values };
  const excess = jsonExcess(text, bounds);
  if (excess === undefined) return;
  throw excessive(excess === "depth" ? "it is nested too deeply" : "it has too many JSON values");
}

/** Error for a reply that exceeds its limits. */
export function excessive(why: string): Refusal {
  // a caller may have asked for that much
  return Object.assign(unusable(why), { ofThisRequest: true });
}

/** Error for a reply that isn't valid in its format. */
function unusable(why: string, cause?: unknown): Refusal {
  const message = `The upstream's response cannot be used: ${why}.`;
  return new Refusal("upstream_unavailable", message, { cause });
}

/** @throws {Refusal} `upstream_unavailable` where `read` throws: it says why a reply isn't valid. */
export function usable<Read>(why: string, read: () => Read): Read {
  try {
    return read();
  } catch (cause) {
    throw unusable(why, cause);
  }
}

/** Bytes after which others have a turn, however fast more of them come. */
const TURN_BYTES = 65_536;
/** Bytes that take as long as handling one event. */
const EVENT_BYTES = 256;

/** Lets other work run now and then while bytes are read that are here already. */
export class Yielder {
  #bytes = 0;

  /** Whether others are to have a turn now. */
  get isDue(): boolean {
    return this.#bytes >= TURN_BYTES;
  }

  /** Call after each piece. */
  took(bytes: number, events = 0): void {
    this.#bytes += bytes + EVENT_BYTES * events;
  }

  /** Calls back after a turn of the event loop. */
  afterTurn(act: () => void): void {
    setImmediate(() => {
      this.#bytes = 0;
      act();
    });
  }

  /** Call after each piece; waits for a turn of the event loop when it was long enough. */
  taken(bytes: number): Promise<void> | void {
    this.took(bytes);
    if (this.isDue) return new Promise((resolve) => this.afterTurn(resolve));
  }
}
