import type { Caller } from "../accounts/mod.ts";
import type { Admission } from "../admission/mod.ts";
import type { JsonBody } from "../blobs/mod.ts";
import type { Catalog } from "../catalog/mod.ts";
import type { CoarseTimers } from "../coarse_timers.ts";
import type { Database } from "../database/mod.ts";
import type { Dialect } from "../dialects/mod.ts";
import type { Images } from "../images/mod.ts";
import type { Settled, Standing } from "../ledger/mod.ts";
import type { Log, Metrics, Trace } from "../telemetry/mod.ts";
import type { Upstreams } from "../upstreams/mod.ts";
import type { InputEstimates } from "./input_estimates.ts";
import type { ReplyLimits } from "./reply_limits.ts";
import type { Running } from "./running.ts";

/** What a request passes through on its way. */
export interface RelayParts {
  readonly catalog: Catalog;
  readonly upstreams: Upstreams;
  readonly admission: Admission;
  readonly images: Images;
  readonly database: Database;
  readonly running: Running;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly now: () => number;
  readonly timers: CoarseTimers;
  readonly estimates: InputEstimates;
  readonly replyLimits: ReplyLimits;
  /** Time without anything for a stream's caller after which it is sent a ping. */
  readonly pingAfterMs: number;
  /** What becomes of an answer whose caller leaves in the middle of it. */
  readonly onClientDisconnect: "abort" | "drain";
  /** How long such an answer is followed for its usage. */
  readonly followMs: number;
}

/**
 * Watches for the caller to go away before the answer has begun.
 *
 * @param left Called when the caller goes.
 * @returns Ends the watching.
 */
export type Leaving = (left: () => void) => () => void;

/** One request, its key known and its body parsed. */
export interface RelayRequest {
  readonly dialect: Dialect;
  readonly caller: Caller;
  /** Let go of as soon as a target has answered. */
  readonly body: JsonBody;
  readonly requestId: string;
  /** What the caller calls the request, for the log. */
  readonly clientRequestId: string | undefined;
  readonly trace: Trace;
  /** `anthropic-version` and `anthropic-beta`, for upstreams of the messages dialect. */
  readonly versions: Readonly<Record<string, string>>;
  readonly leaving: Leaving;
  /** `performance.now()` at the request's arrival. */
  readonly startedTick: number;
  /** Called when it is known where the caller stands, whether the request is admitted or not. */
  readonly stands: (standing: Standing) => void;
  /** Called when a request that was not refused is over, its settlement included. */
  readonly over: () => void;
}

/** A successful answer; a refusal is thrown. */
export interface RelayReply {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | ReadableStream<Uint8Array>;
  /** What was taken; undefined for a stream, which is settled when it ends. */
  readonly settled: Settled | undefined;
}
