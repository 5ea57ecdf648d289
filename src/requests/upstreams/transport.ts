import type { ChunkedBody } from "../../wire/large_bodies/mod.ts";
import { networkErrorWords } from "../../ground/platform/mod.ts";

/** One request to an upstream. */
export interface UpstreamRequest {
  /** Path below the upstream's base, such as `/chat/completions`. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Undefined for a GET, which the checks of `sluice doctor` send. */
  readonly body: string | ChunkedBody | undefined;
  /** The caller has left. */
  readonly signal: AbortSignal;
  /** ID of the account that the request is for, where there is one. */
  readonly account?: string | undefined;
}

/** What an upstream answers, before its body is read. */
export interface UpstreamReply {
  readonly status: number;
  /** Lower-case names; a list where a header came more than once. */
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** The body, decoded. */
  readonly body: ByteSource;
  /** Gives the reply up, and its connection with it. */
  discard(): void;
  /** Everything wanted has been read: lets the rest pass, so that the connection can be used again. */
  drain(): void;
  /** Tells the tokens that it used, input and output, where what is sent there is bounded. */
  readonly used?: (tokens: number) => void;
}

/** Bytes that are read on demand: what nobody asks for stays with its sender. */
export interface ByteSource {
  /** All bytes that have arrived, at least one; undefined at the end. One call at a time. */
  read(): Promise<Uint8Array | undefined>;
}

/** Woken when there is something to take. */
export interface Waiter {
  /** May come without a reason: then there is still nothing, and it waits again. */
  wake(): void;
}

/** Bytes that are had without a promise for each piece: a stream waits once for each of its events. */
export interface ReadyBytes extends ByteSource {
  /**
   * Takes all bytes that have arrived.
   *
   * @returns At least one byte; null when none has arrived yet, undefined at the end.
   * @throws What the reply failed with.
   */
  take(): Uint8Array | null | undefined;
  /** Has a waiter woken once there is something to take, maybe at once. One waits at a time. */
  whenReady(waiter: Waiter): void;
}

/** Sends one request exactly once. Rejects with a {@linkcode TransportFault}. */
export type Transport = (request: UpstreamRequest) => Promise<UpstreamReply>;

/** Why no answer came. */
export class TransportFault extends Error {
  override readonly name = "TransportFault";
  /**
   * `not_sent`: the upstream has certainly seen nothing (refused, no such host, no connection in
   * time, TLS failed). `no_reply`: nothing came in time. `broken`: it may have been worked on. `left`:
   * the caller went away.
   */
  readonly kind: "not_sent" | "no_reply" | "broken" | "left";
  /** Whether a timeout ended it. */
  readonly timedOut: boolean;
  /** Whether a limit of the gateway's on the whole reply ended it, which a client may have asked to reach. */
  readonly isLimit: boolean;

  constructor(
    kind: TransportFault["kind"],
    message: string,
    { timedOut = kind === "no_reply", isLimit = false, ...options }: ErrorOptions & {
      timedOut?: boolean;
      isLimit?: boolean;
    } = {},
  ) {
    super(message, options);
    this.kind = kind;
    this.timedOut = timedOut;
    this.isLimit = isLimit;
  }
}

const FAULT_WORDS: Readonly<Record<TransportFault["kind"], string>> = {
  not_sent: "no connection",
  no_reply: "no response in time",
  broken: "connection lost",
  left: "cancelled",
};

/** Says in plain words why no answer came: for alerts and pages, where the log has the platform's code. */
export function faultWords({ kind, message, cause }: TransportFault): string {
  // without a cause, the gateway itself ended it, and says why
  return cause === undefined ? message : networkErrorWords(cause) ?? FAULT_WORDS[kind];
}
