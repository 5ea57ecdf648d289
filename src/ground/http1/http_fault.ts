/** How a request failed; see {@linkcode HttpFault}. */
export type HttpFaultCode =
  /** Something of the request cannot be sent. */
  | "ERR_REQUEST_INVALID"
  /** No response came in time. */
  | "ERR_REPLY_HEAD_TIMEOUT"
  /** It began, and then nothing more of it came in time. */
  | "ERR_REPLY_BODY_TIMEOUT"
  /** It took longer than it may in all. */
  | "ERR_REPLY_TOTAL_TIMEOUT"
  /** The connection was closed before its end. */
  | "ERR_REPLY_CLOSED"
  /** It breaks the rules of HTTP/1.1. */
  | "ERR_REPLY_INVALID"
  /** Its head is too large. */
  | "ERR_REPLY_HEAD_SIZE"
  /** Nobody wanted it any more. */
  | "ERR_REPLY_DISCARDED";

/** Thrown when a request fails over a connection. The message repeats nothing that was sent or received, and may be shown to anyone. */
export class HttpFault extends Error {
  override readonly name = "HttpFault";
  readonly code: HttpFaultCode;

  constructor(code: HttpFaultCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

/** Makes the fault of a response that is not HTTP/1.1, or leaves in doubt where it ends. */
export function invalid(why: string): HttpFault {
  return new HttpFault("ERR_REPLY_INVALID", `the response is not valid HTTP: ${why}`);
}

/** Makes the fault of a connection that ended too early. */
export function closedEarly(cause?: unknown): HttpFault {
  return new HttpFault(
    "ERR_REPLY_CLOSED",
    "the connection was closed early",
    cause === undefined ? {} : { cause },
  );
}
