import { TransportFault, type UpstreamReply, type UpstreamRequest } from "../transport.ts";

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
   * Notes that the upstream has refused a request with these headers.
   *
   * @returns Whether others are worth a try: what was used has been replaced or will be got again.
   */
  refused(headers: Readonly<Record<string, string>>): boolean;
  /** Whether a reply says so in another way than by the status 401. */
  isRefusal?(reply: Pick<UpstreamReply, "status" | "headers">): boolean;
  /** Takes what was got out of a text. */
  redact(text: string): string;
}

/** Thrown when credentials cannot be got. Its message says in words which step failed, without secrets. */
export class CredentialsFault extends TransportFault {
  constructor(message: string) {
    super("not_sent", message);
  }
}

/** Takes secrets out of a text, but those that are so short that they stand in other words, too. */
export function withoutSecrets(text: string, secrets: readonly (string | undefined)[]): string {
  return secrets.filter((one) => one !== undefined && one.length >= 6)
    .reduce<string>((kept, one) => kept.replaceAll(one!, "[secret]"), text);
}

/**
 * Reads a file of the usual chain.
 *
 * @param what What it is, for the message: `the key file`.
 * @throws {CredentialsFault} If it cannot be read.
 */
export async function readNamed(what: string, path: string): Promise<string> {
  return await Deno.readTextFile(path).catch(() => {
    throw new CredentialsFault(`${what} ${path} cannot be read`);
  });
}
