import type { Pages } from "../doors/http/mod.ts";
import { type Methods, PortCalls } from "../ground/platform/mod.ts";
import { readStart } from "../ground/web/mod.ts";
import type { PageCall } from "./thread_protocol.ts";

/** Longer bodies are cut; the console refuses them long before. */
const MAX_BODY_BYTES = 1_048_576;
const BODY_MS = 10_000;

interface Head {
  readonly status: number;
  readonly headers: readonly [string, string][];
  readonly hasBody: boolean;
}

/** What the thread that answers can be called for. */
type ResponseMethods = {
  head: (nothing: null) => Promise<Head>;
  /** The next piece of the body; null at its end. */
  next: (nothing: null) => Promise<Uint8Array | null>;
  /** Ends the response. */
  cancel: (nothing: null) => void;
};

/**
 * The console as a serving thread sees it: the main thread answers, since what the console remembers (failed sign-ins, for
 * one) must be in one place.
 */
export class ForwardedPages implements Pages {
  readonly #send: (call: PageCall) => void;

  /** @param send Sends a request to the main thread, with its port. */
  constructor(send: (call: PageCall) => void) {
    this.#send = send;
  }

  async fetch(request: Request, peer: string): Promise<Response> {
    const { url, method } = request;
    const body = request.body === null
      ? undefined
      : await readStart(request, { maxBytes: MAX_BODY_BYTES, maxMs: BODY_MS });
    const { port1, port2 } = new MessageChannel();
    const calls = new PortCalls<ResponseMethods>(port1, {});
    this.#send({ url, method, headers: [...request.headers], body, peer, port: port2 });
    const end = () => {
      calls.tell("cancel", null);
      port1.close();
    };
    let head: Head;
    try {
      head = await calls.call("head", null);
    } catch (error) {
      end();
      throw error;
    }
    const { status, headers, hasBody } = head;
    const init = { status, headers: [...headers] };
    if (!hasBody) {
      end();
      return new Response(null, init);
    }
    const stream = new ReadableStream<Uint8Array>({
      async pull(controller) {
        const piece = await calls.call("next", null);
        if (piece !== null) return controller.enqueue(piece);
        end();
        controller.close();
      },
      cancel: end,
    }, { highWaterMark: 0 });
    return new Response(stream, init);
  }
}

/** Answers a request that another thread has forwarded. */
export function answerPage(
  pages: Pages,
  { port, peer, url, method, headers, body }: PageCall,
): void {
  const response = pages.fetch(
    new Request(url, {
      method,
      headers: [...headers],
      ...(body === undefined ? {} : { body: body.slice() }),
    }),
    peer,
  );
  response.catch(() => {}); // told by `head`
  let reader: ReadableStreamDefaultReader<Uint8Array> | undefined;
  let isOver = false;
  const methods: ResponseMethods = {
    async head() {
      const { status, headers, body } = await response;
      if (isOver) await body?.cancel();
      else reader = body?.getReader();
      return { status, headers: [...headers], hasBody: body !== null };
    },
    async next() {
      const read = await reader!.read();
      return read.done ? null : read.value;
    },
    cancel() {
      isOver = true;
      void reader?.cancel().catch(() => {}); // it may have failed
      port.close();
    },
  };
  new PortCalls<Methods>(port, methods);
}
