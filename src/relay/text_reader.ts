import type { AnswerState } from "../dialects/mod.ts";

/** The caller's text, read on demand. */
export interface TextReader {
  /** What is known of the answer so far. */
  readonly answer: AnswerState;
  /**
   * Output tokens after which reading stops until the limit is raised. What has arrived beyond it is
   * kept.
   */
  outputLimit: number;
  /** Whether the limit is reached: there is nothing to read before it is raised. */
  readonly atLimit: boolean;
  /** Whether the answer is complete and all of its text has been given out. */
  readonly finished: boolean;
  /** The next text: empty when there is none yet. Throws when the answer failed. */
  next(): Promise<string>;
  /** Lets go of the source; nothing is read any more. */
  close(): void;
}
