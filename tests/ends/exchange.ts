import type { Report } from "./script.ts";

/** A report, and how many words the upstream had sent before it. */
export interface SentReport {
  readonly report: Report;
  readonly atWords: number;
}

/** What an upstream generated and sent for one request. */
export interface Exchange {
  /** Words of its input: of a turn that continues others, theirs as well. */
  readonly promptWords: number;
  /** Size of the request, if it continues others; what they sealed counts by its size. */
  readonly continuedChars: number;
  /** Output limit of one choice, as the upstream was sent it. */
  readonly limit: number;
  /** Choices that it was asked for. */
  readonly asked: number;
  /** Choices that it gives. */
  readonly choices: number;
  /** Words of the whole reply that a caller can be shown. */
  readonly words: number;
  /** Output tokens that nothing shows. */
  readonly hidden: number;
  readonly streamed: boolean;
  wordsSent: number;
  readonly reports: SentReport[];
  isFinishSent: boolean;
  isEndSent: boolean;
  /** The longest time between two pieces of it, in milliseconds: a busy machine makes any upstream pause. */
  gapMs: number;
  /** `performance.now()` when it broke off; undefined if it did not. */
  brokeTick: number | undefined;
}
