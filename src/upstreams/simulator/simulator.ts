import { createHash } from "node:crypto";
import { isObject, type JsonObject } from "../../dialects/mod.ts";
import { chatError, chatEvents, chatReply, readChatAsk } from "./chat.ts";
import { type Directives, readDirectives } from "./directives.ts";
import { plan } from "./plan.ts";

/** What the simulated upstream is asked. */
export interface SimulatedRequest {
  /** Path below its base, such as `/chat/completions`. */
  readonly path: string;
  /** The request's body. */
  readonly body: string;
  /** Ends waits early. */
  readonly signal?: AbortSignal | undefined;
}

/** What marks every answer of the simulated upstream. */
export const SIMULATED_HEADER = "x-sluice-simulated";

/**
 * Answers one request: deterministic, with failures on demand (see `directives.ts`).
 *
 * Rejects when the request's signal aborts.
 */
export async function simulate(request: SimulatedRequest): Promise<Response> {
  if (request.path !== "/chat/completions") return answer(404, chatError(404));
  let body: unknown;
  try {
    body = JSON.parse(request.body);
  } catch {
    return answer(400, chatError(400));
  }
  if (!isObject(body)) return answer(400, chatError(400));
  const ask = readChatAsk(body);
  const directives = readDirectives(ask.prompt, ask.step);
  const { stall, status } = directives;
  if (stall?.afterEvents === 0) await pause(stall.ms, request.signal);
  if (status !== undefined && status >= 300) {
    const seconds = directives.retryAfterSeconds;
    return answer(
      status,
      chatError(status),
      seconds === undefined ? {} : { "retry-after": `${seconds}` },
    );
  }
  const planned = plan(ask, directives);
  const seed = createHash("sha256").update(request.body).digest("hex").slice(0, 24);
  if (!ask.stream) {
    if (directives.cutAfter !== undefined) return broken();
    if (directives.errorAfter !== undefined) return answer(500, chatError(500));
    return answer(200, chatReply(ask, planned, directives, seed));
  }
  const options = isObject(body.stream_options) ? body.stream_options : {};
  const events = chatEvents(ask, planned, directives, {
    seed,
    wantsUsage: options.include_usage === true,
  });
  return new Response(paced(events, directives), {
    headers: {
      "content-type": "text/event-stream; charset=utf-8",
      "cache-control": "no-cache",
      [SIMULATED_HEADER]: "true",
    },
  });
}

/** The simulated upstream as an HTTP handler, with or without `/v1` before its paths. */
export async function simulateHttp(request: Request): Promise<Response> {
  if (request.method !== "POST") return Response.json({ status: "ok" });
  const path = new URL(request.url).pathname.replace(/^\/v1(?=\/)/, "");
  const body = await request.text();
  try {
    return await simulate({ path, body, signal: request.signal });
  } catch {
    return new Response(null, { status: 499 }); // the caller has gone
  }
}

function answer(status: number, body: JsonObject, headers: Record<string, string> = {}): Response {
  return Response.json(body, { status, headers: { ...headers, [SIMULATED_HEADER]: "true" } });
}

/** A reply whose body breaks off. */
function broken(): Response {
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      controller.enqueue(new TextEncoder().encode('{"id":"chatcmpl-'));
      controller.error(new Error("simulated break"));
    },
  }, { highWaterMark: 0 });
  return new Response(body, {
    headers: { "content-type": "application/json", [SIMULATED_HEADER]: "true" },
  });
}

/** Events one by one, each when it is asked for and its pace has passed. */
function paced(events: Generator<string>, directives: Directives): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  const left = new AbortController();
  const { stall, paceMs, cutAfter, errorAfter, endAfter } = directives;
  let sent = 0;
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      const write = (data: string) => controller.enqueue(encoder.encode(`data: ${data}\n\n`));
      try {
        if (stall !== undefined && stall.afterEvents > 0 && stall.afterEvents === sent) {
          await pause(stall.ms, left.signal);
        } else if (sent > 0 && paceMs > 0) {
          await pause(paceMs, left.signal);
        }
      } catch {
        return; // the reader has gone
      }
      if (cutAfter === sent) return controller.error(new Error("simulated break"));
      if (endAfter === sent) return controller.close();
      if (errorAfter === sent) {
        write(JSON.stringify(chatError(500)));
        return controller.close();
      }
      const next = events.next();
      if (next.done) return controller.close();
      write(next.value);
      sent++;
    },
    cancel() {
      left.abort();
    },
  }, { highWaterMark: 0 });
}

function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", stop);
      resolve();
    }, ms);
    if (signal?.aborted) stop();
    signal?.addEventListener("abort", stop, { once: true });
  });
}
