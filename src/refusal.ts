/**
 * The closed list of reasons for which a caller may be refused.
 *
 * Anything a caller should be told is thrown as a {@linkcode Refusal}; everything else that is
 * thrown is a fault of ours, logged whole and answered 500 without detail. Each dialect maps the
 * whole table to its own words, so that a new row does not compile until both can say it.
 */

import { STATUS_CODE } from "./std/mod.ts";

/** Every reason, with its status and whether the same request can succeed later. */
export const REASONS = {
  /** Key missing, malformed, unknown, revoked or expired. */
  key_invalid: { status: STATUS_CODE.Unauthorized, retryable: false },
  /** The balance cannot pay for the request. */
  credits_short: { status: STATUS_CODE.Forbidden, retryable: false },
  /** The key's own budget is spent. */
  budget_spent: { status: STATUS_CODE.Forbidden, retryable: false },
  /** Account disabled, or a model that the key may not use. */
  permission_denied: { status: STATUS_CODE.Forbidden, retryable: false },
  /** A request window is exhausted, or every target answered 429. */
  rate_exceeded: { status: STATUS_CODE.TooManyRequests, retryable: true },
  /** Bad JSON, bad field, bad image, body too large. */
  request_invalid: { status: STATUS_CODE.BadRequest, retryable: false },
  /** Encoded images over the limit of a request. */
  image_too_large: { status: STATUS_CODE.BadRequest, retryable: false },
  /** Input that leaves no room in the context window. */
  context_exceeded: { status: STATUS_CODE.BadRequest, retryable: false },
  /** No route or alias of that name. */
  model_unknown: { status: STATUS_CODE.NotFound, retryable: false },
  /** No endpoint at that path and method. */
  path_unknown: { status: STATUS_CODE.NotFound, retryable: false },
  /** Every target refused, reset, timed out, answered 5xx or rejected our key. */
  upstream_unavailable: { status: STATUS_CODE.ServiceUnavailable, retryable: true },
  /** The gateway itself cannot take the request now: it is stopping, or its database is not writable. */
  gateway_unavailable: { status: STATUS_CODE.ServiceUnavailable, retryable: true },
  /** A fault of ours. */
  internal: { status: STATUS_CODE.InternalServerError, retryable: true },
} as const satisfies Record<string, { status: number; retryable: boolean }>;

/** Why a caller is refused. */
export type Reason = keyof typeof REASONS;

/** What a refusal may carry besides its message. */
export interface RefusalOptions extends ErrorOptions {
  /** The request field at fault, as a path: `messages[0].content`. */
  param?: string | undefined;
  /** What else a client's own code reads; in the messages dialect only, as `error.details`. */
  details?: Readonly<Record<string, string | string[]>> | undefined;
  /** After how long a repetition can succeed, in milliseconds. */
  retryAfterMs?: number | undefined;
}

/** Thrown for anything the caller should be told. The message is for the caller's eyes. */
export class Refusal extends Error {
  override readonly name = "Refusal";
  readonly reason: Reason;
  readonly param: string | undefined;
  readonly retryAfterMs: number | undefined;
  readonly details: RefusalOptions["details"];
  /** Whether it says nothing of other requests to the same upstream. */
  ofThisRequest = false;
  /** Whether the simulator gave it, in the place of an upstream. */
  simulated = false;

  constructor(reason: Reason, message: string, options: RefusalOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.reason = reason;
    this.param = options.param;
    this.retryAfterMs = options.retryAfterMs;
    this.details = options.details;
  }

  /** The HTTP status of the answer, while no byte of it has been sent. */
  get status(): number {
    return REASONS[this.reason].status;
  }

  /** Whether the same request can succeed later. */
  get retryable(): boolean {
    return REASONS[this.reason].retryable;
  }
}

/** A 400 that names the field at fault. */
export function invalid(param: string | undefined, message: string): Refusal {
  return new Refusal("request_invalid", message, { param });
}

/** Any thrown value as a refusal: ours as it is, anything else as a 500 without detail. */
export function asRefusal(error: unknown): Refusal {
  if (error instanceof Refusal) return error;
  return new Refusal("internal", "Internal error. Please try again.", {
    cause: error,
  });
}
