/**
 * The closed list of reasons for which a request can be rejected.
 *
 * Errors that the caller should see are thrown as a {@linkcode Refusal}. Everything else is a bug: it is logged with its
 * stack and becomes a 500 without details. Each dialect maps every reason to its own error codes, so that a new reason
 * does not compile until every dialect supports it.
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
  /** A bug in the gateway. */
  internal: { status: STATUS_CODE.InternalServerError, retryable: true },
} as const satisfies Record<string, { status: number; retryable: boolean }>;

/** Reason of a refusal. */
export type Reason = keyof typeof REASONS;

/** Details of a refusal besides its message. */
export interface RefusalOptions extends ErrorOptions {
  /** Path of the invalid request field: `messages[0].content`. */
  param?: string | undefined;
  /** Machine-readable details, sent as `error.details` in the messages dialect only. */
  details?: Readonly<Record<string, string | string[]>> | undefined;
  /** Time after which a retry can succeed, in milliseconds. */
  retryAfterMs?: number | undefined;
}

/**
 * Thrown to reject a request. The message is sent to the caller: it says what is wrong, with the value and the limit, and
 * what to do. It never contains a secret.
 */
export class Refusal extends Error {
  override readonly name = "Refusal";
  readonly reason: Reason;
  readonly param: string | undefined;
  readonly retryAfterMs: number | undefined;
  readonly details: RefusalOptions["details"];
  /** Whether it concerns only this request, and says nothing about the upstream's health. */
  ofThisRequest = false;
  /** Whether the body is larger than it may be. */
  isTooLarge = false;
  /** Whether the simulator produced it. */
  simulated = false;

  constructor(reason: Reason, message: string, options: RefusalOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.reason = reason;
    this.param = options.param;
    this.retryAfterMs = options.retryAfterMs;
    this.details = options.details;
  }

  /** HTTP status of the response, if it has not begun. */
  get status(): number {
    return REASONS[this.reason].status;
  }

  /** Whether the same request can succeed later. */
  get retryable(): boolean {
    return REASONS[this.reason].retryable;
  }
}

/**
 * Makes a 400 for an invalid request.
 *
 * @param param Path of the invalid field, or `undefined` if the whole body is invalid.
 * @param message What is wrong with the value, and what is valid.
 */
export function invalid(param: string | undefined, message: string): Refusal {
  return new Refusal("request_invalid", message, { param });
}

/**
 * Converts any thrown value to a refusal.
 *
 * @returns The refusal itself, or a 500 without details for anything else.
 */
export function asRefusal(error: unknown): Refusal {
  if (error instanceof Refusal) return error;
  return new Refusal("internal", "Internal error. Please try again.", {
    cause: error,
  });
}
