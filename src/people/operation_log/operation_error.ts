import { AccountError, type AccountFault } from "../accounts/mod.ts";

/** Every error of an operation, with its HTTP status and the type of the chat shape. */
export const OPERATION_ERRORS = {
  invalid_request: { status: 400, type: "invalid_request_error" },
  permission_denied: { status: 403, type: "invalid_request_error" },
  not_found: { status: 404, type: "invalid_request_error" },
  /** The state of what it is about forbids it: a name that is in use, a revoked key. */
  conflict: { status: 409, type: "invalid_request_error" },
  /** The first request with the same Idempotency-Key has not ended. */
  in_progress: { status: 409, type: "invalid_request_error" },
  idempotency_key_reused: { status: 409, type: "invalid_request_error" },
} as const;

/** Code of an error of an operation. */
export type OperationErrorCode = keyof typeof OPERATION_ERRORS;

/** Thrown if an operation cannot be carried out. The message is for the client and has no secret. */
export class OperationError extends Error {
  override readonly name = "OperationError";
  readonly code: OperationErrorCode;
  /** Path of the invalid value. */
  readonly param: string | null;
  /** Time after which a retry can succeed, in milliseconds. */
  readonly retryAfterMs: number | undefined;

  constructor(
    code: OperationErrorCode,
    message: string,
    { param = null, retryAfterMs, ...options }: ErrorOptions & {
      readonly param?: string | null;
      readonly retryAfterMs?: number;
    } = {},
  ) {
    super(message, options);
    this.code = code;
    this.param = param;
    this.retryAfterMs = retryAfterMs;
  }

  /** HTTP status of the response. */
  get status(): number {
    return OPERATION_ERRORS[this.code].status;
  }
}

const CODE_OF_FAULT: Readonly<Record<AccountFault, OperationErrorCode>> = {
  invalid: "invalid_request",
  missing: "not_found",
  conflict: "conflict",
};

/**
 * Converts what the domain throws for a mistake of the client.
 *
 * @returns The error; `undefined` for anything else, such as a fault of the database.
 */
export function asOperationError(error: unknown): OperationError | undefined {
  if (error instanceof OperationError) return error;
  if (error instanceof AccountError) {
    return new OperationError(CODE_OF_FAULT[error.fault], `${error.message}.`, { cause: error });
  }
  return undefined;
}

/** Says that a value of the input is invalid. @param param Its path. */
export function invalid(param: string | null, message: string): OperationError {
  return new OperationError("invalid_request", message, { param });
}

/** Says that the state of what an operation is about forbids it. */
export function conflict(message: string): OperationError {
  return new OperationError("conflict", message);
}

/** Says that something does not exist, or may not be seen. */
export function missing(what: string, id: string): OperationError {
  return new OperationError("not_found", `${what} ${JSON.stringify(id.slice(0, 200))} not found.`);
}
