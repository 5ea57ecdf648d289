import type { ReplyState } from "../dialects/mod.ts";

/** A reply's text for the client, read on demand. */
export interface TextReader {
  /** What is known of the reply so far. */
  readonly reply: ReplyState;
  /** Upstream requests that it took; each of them read the whole input. */
  readonly requests: number;
  /**
   * Output tokens after which reading stops until the limit is raised. What has arrived beyond it is
   * kept.
   */
  outputLimit: number;
  /** Whether the limit is reached: there is nothing to read before it is raised. */
  readonly atLimit: boolean;
  /** Whether the reply is complete and all of its text has been read. */
  readonly finished: boolean;
  /** Reads the next text: empty when there is none yet. Throws when the reply failed. */
  next(): Promise<string>;
  /** Lets go of the source; nothing is read any more. */
  close(): void;
}
