import type { Transport } from "../transport.ts";
import type { Credentials } from "./credentials.ts";

/**
 * A transport whose requests prove who sends them. A request that is refused is sent once more with what was got since.
 *
 * @param send Sends a request.
 * @param urlOf The address that a path is sent to.
 */
export function withCredentials(
  send: Transport,
  credentials: Credentials,
  urlOf: (path: string) => string,
): Transport {
  return async (request) => {
    const { path, headers, body, signal } = request;
    const unsigned = {
      method: body === undefined ? "GET" as const : "POST" as const,
      url: urlOf(path),
      headers,
      body,
    };
    const own = await credentials.headersFor(unsigned);
    const reply = await send({ ...request, headers: { ...headers, ...own } });
    const isRefusal = reply.status === 401 || credentials.isRefusal?.(reply) === true;
    if (!isRefusal || signal.aborted || !credentials.refused(own)) return reply;
    reply.discard();
    return await send({
      ...request,
      headers: { ...headers, ...await credentials.headersFor(unsigned) },
    });
  };
}
