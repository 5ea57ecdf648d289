import { joinBytes } from "../../ground/platform/mod.ts";
import { simulate } from "../simulator/mod.ts";
import { type Transport, TransportFault, type UpstreamRequest } from "./transport.ts";

/** The built-in upstream, without a socket in between. */
export const simulatorTransport: Transport = async ({ path, body, signal }) => {
  let response: Response;
  try {
    response = await simulate({ path, body: await textOf(body), signal });
  } catch (error) {
    throw faultOf(error, signal);
  }
  const reader = response.body?.getReader();
  const discard = () => void reader?.cancel().catch(() => {});
  return {
    status: response.status,
    headers: Object.fromEntries(response.headers),
    body: {
      async read() {
        try {
          return (await reader?.read())?.value;
        } catch (error) {
          throw faultOf(error, signal);
        }
      },
    },
    discard,
    drain: discard,
  };
};

function faultOf(error: unknown, signal: AbortSignal): TransportFault {
  return new TransportFault(signal.aborted ? "left" : "broken", String(error), { cause: error });
}

async function textOf(body: UpstreamRequest["body"]): Promise<string> {
  if (typeof body !== "object") return body ?? "";
  return new TextDecoder().decode(joinBytes(await Array.fromAsync(body)));
}
