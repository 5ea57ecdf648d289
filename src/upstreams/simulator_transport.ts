import { simulate } from "./simulator/mod.ts";
import { type Transport, TransportFault } from "./transport.ts";

/** The built-in upstream, without a socket in between. */
export const simulatorTransport: Transport = async ({ path, body, signal }) => {
  let response: Response;
  try {
    response = await simulate({ path, body, signal });
  } catch (error) {
    throw new TransportFault(signal.aborted ? "left" : "broken", String(error), { cause: error });
  }
  const stream = response.body;
  return {
    status: response.status,
    headers: Object.fromEntries(response.headers),
    body: stream === null ? none() : chunks(stream),
    discard() {
      if (stream !== null && !stream.locked) stream.cancel().catch(() => {});
    },
  };
};

async function* none(): AsyncGenerator<Uint8Array> {}

async function* chunks(stream: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array> {
  try {
    yield* stream;
  } catch (error) {
    throw new TransportFault("broken", String(error), { cause: error });
  }
}
