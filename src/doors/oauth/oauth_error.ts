import type { ContentfulStatusCode } from "@hono/hono/utils/http-status";
import { STATUS_CODE } from "../../ground/std/mod.ts";

/** Errors of RFC 6749, section 5.2, and RFC 8628, section 3.5. */
type Fault =
  | "invalid_request"
  | "invalid_grant"
  | "unsupported_grant_type"
  | "authorization_pending"
  | "slow_down"
  | "access_denied"
  | "expired_token"
  | "temporarily_unavailable"
  | "server_error";

/** A reply that says why a tool gets no tokens. */
export class OAuthError extends Error {
  readonly fault: Fault;
  readonly status: ContentfulStatusCode;

  constructor(
    fault: Fault,
    message: string,
    status: ContentfulStatusCode = STATUS_CODE.BadRequest,
  ) {
    super(message);
    this.fault = fault;
    this.status = status;
  }
}
