import { TransportFault, type UpstreamRequest } from "../transport.ts";

/** A request that is about to be sent. */
export interface UnsignedRequest extends Pick<UpstreamRequest, "headers" | "body"> {
  readonly method: "GET" | "POST";
  readonly url: string;
}

/** How requests to an upstream prove who sends them. */
export interface Credentials {
  /**
   * Makes the headers that prove it for one request.
   *
   * @throws {CredentialsFault} If there are none now: nothing was sent.
   */
  headersFor(request: UnsignedRequest): Promise<Readonly<Record<string, string>>>;
  /**
   * Notes that the upstream has refused a request with these headers (401).
   *
   * @returns Whether others are worth a try: what was used has been replaced or will be got again.
   */
  refused(headers: Readonly<Record<string, string>>): boolean;
  /** Takes what was got out of a text. */
  redact(text: string): string;
}

/** Thrown when credentials cannot be got. Its message says in words which step failed, without secrets. */
export class CredentialsFault extends TransportFault {
  constructor(message: string) {
    super("not_sent", message);
  }
}
