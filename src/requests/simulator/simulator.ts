import { jsonIn } from "../../ground/platform/mod.ts";
import { delay } from "../../ground/std/mod.ts";
import { createHash } from "node:crypto";
import { DIALECTS, type Front, isObject, type JsonObject } from "../../wire/dialects/mod.ts";
import { UPSTREAM_EMBEDDINGS_PATH } from "../../wire/embeddings/mod.ts";
import { chatError, readChatAsk } from "./chat.ts";
import { type Directives, readDirectives } from "./directives.ts";
import { embeddingsReply, readEmbeddingsAsk } from "./embeddings.ts";
import { messagesError, readMessagesAsk } from "./messages.ts";
import { ownText } from "./own_text.ts";
import { plan, type SimulatedAsk } from "./plan.ts";
import { simulatedFrames, simulatedReply } from "./reply.ts";
import { readResponsesAsk, responsesError } from "./responses.ts";

/** What the simulated upstream is asked. */
export interface SimulatedRequest {
  /** Path below its base, such as `/chat/completions`. */
  readonly path: string;
  /** The request's body. */
  readonly body: string;
  /** Ends waits early. */
  readonly signal?: AbortSignal | undefined;
}

/** What differs between the dialects. */
interface SimulatedDialect {
  /** Writes the replies. */
  readonly front: Front;
  read(body: JsonObject): SimulatedAsk;
  error(status: number): JsonObject;
}

const DIALECTS_BY_PATH: Readonly<Record<string, SimulatedDialect>> = {
  "/chat/completions": { front: DIALECTS.chat.front, read: readChatAsk, error: chatError },
  "/messages": { front: DIALECTS.messages.front, read: readMessagesAsk, error: messagesError },
  "/responses": { front: DIALECTS.responses.front, read: readResponsesAsk, error: responsesError },
};

/** What marks every answer of the simulated upstream. */
export const SIMULATED_HEADER = "x-sluice-simulated";

/** Whether the simulator gave a reply, ours or one that runs as a server. */
export function isSimulated(
  { headers }: { readonly headers: Readonly<Record<string, unknown>> },
): boolean {
  return headers[SIMULATED_HEADER] !== undefined;
}

/**
 * Answers one request: deterministic, with failures on demand (see `directives.ts`).
 *
 * Rejects when the request's signal aborts.
 */
export async function simulate(request: SimulatedRequest): Promise<Response> {
  if (request.path === UPSTREAM_EMBEDDINGS_PATH) return await simulateEmbeddings(request);
  const dialect = DIALECTS_BY_PATH[request.path];
  if (dialect === undefined) return answer(404, chatError(404));
  const body = objectOf(request);
  if (body === undefined) return answer(400, dialect.error(400));
  const ask = dialect.read(body);
  const directives = readDirectives(ask.prompt, ask.step);
  const early = await beforeReply(directives, request, dialect);
  if (early !== undefined) return early;
  const seed = createHash("sha256").update(request.body).digest("hex").slice(0, 24);
  const { front } = dialect;
  const parts = { front, ask, plan: plan(ask, directives), directives, seed, body };
  if (!ask.stream) {
    if (directives.cutAfter !== undefined) return broken();
    if (directives.errorAfter !== undefined) return answer(500, dialect.error(500));
    return answer(200, simulatedReply(parts));
  }
  return new Response(paced(simulatedFrames(parts), directives, dialect), {
    headers: {
      "content-type": "text/event-stream; charset=utf-8",
      "cache-control": "no-cache",
      [SIMULATED_HEADER]: "true",
    },
  });
}

async function simulateEmbeddings(request: SimulatedRequest): Promise<Response> {
  const body = objectOf(request);
  const ask = body && readEmbeddingsAsk(body);
  if (ask === undefined) return answer(400, chatError(400));
  const directives = readDirectives(ownText(ask.inputs), 0);
  const early = await beforeReply(directives, request, { error: chatError });
  if (early !== undefined) return early;
  if (directives.cutAfter !== undefined) return broken();
  if (directives.errorAfter !== undefined) return answer(500, chatError(500));
  return answer(200, embeddingsReply(ask, directives));
}

function objectOf({ body }: SimulatedRequest): JsonObject | undefined {
  const parsed = jsonIn(body);
  return isObject(parsed) ? parsed : undefined;
}

/** Waits as the directives say; the error response that they ask for, if they do. */
async function beforeReply(
  { stall, status, retryAfterSeconds: seconds }: Directives,
  { signal }: SimulatedRequest,
  { error }: Pick<SimulatedDialect, "error">,
): Promise<Response | undefined> {
  if (stall?.afterEvents === 0) await delay(stall.ms, { signal });
  if (status === undefined || status < 300) return undefined;
  const headers: Record<string, string> = seconds === undefined
    ? {}
    : { "retry-after": `${seconds}` };
  return answer(status, error(status), headers);
}

/**
 * The simulated upstream as an HTTP handler, with or without `/v1` before its paths.
 *
 * @param models Names that it lists; it replies to any.
 */
export async function simulateHttp(
  request: Request,
  models: readonly string[] = [],
): Promise<Response> {
  const path = new URL(request.url).pathname.replace(/^\/v1(?=\/)/, "");
  if (request.method === "GET" && path === "/models") return answer(200, listOf(models));
  if (request.method !== "POST") return answer(404, chatError(404));
  const body = await request.text();
  try {
    return await simulate({ path, body, signal: request.signal });
  } catch {
    return new Response(null, { status: 499 }); // the caller has gone
  }
}

/** A list of models, with what all dialects have in one. */
function listOf(models: readonly string[]): JsonObject {
  const data = models.map((id) => ({
    id,
    object: "model",
    created: 0,
    owned_by: "simulator",
    type: "model",
    display_name: id,
    created_at: "1970-01-01T00:00:00Z",
  }));
  const [first_id, last_id] = [models[0] ?? null, models.at(-1) ?? null];
  return { object: "list", data, has_more: false, first_id, last_id };
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

/** Frames one by one, each when it is asked for and its pace has passed. */
function paced(
  frames: Generator<string>,
  directives: Directives,
  { error }: SimulatedDialect,
): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  const left = new AbortController();
  const { stall, paceMs, cutAfter, errorAfter, endAfter } = directives;
  let sent = 0;
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      const write = (frame: string) => controller.enqueue(encoder.encode(frame));
      try {
        if (stall !== undefined && stall.afterEvents > 0 && stall.afterEvents === sent) {
          await delay(stall.ms, { signal: left.signal });
        } else if (sent > 0 && paceMs > 0) {
          await delay(paceMs, { signal: left.signal });
        }
      } catch {
        return; // the reader has gone
      }
      if (cutAfter === sent) return controller.error(new Error("simulated break"));
      if (endAfter === sent) return controller.close();
      if (errorAfter === sent) {
        write(errorFrame(error(500)));
        return controller.close();
      }
      const next = frames.next();
      if (next.done) return controller.close();
      write(next.value);
      sent++;
    },
    cancel() {
      left.abort();
    },
  }, { highWaterMark: 0 });
}

/** An error as an event; its type has a line of its own, where the dialect has one. */
function errorFrame(error: JsonObject): string {
  const line = error.type === undefined ? "" : `event: ${error.type}\n`;
  return `${line}data: ${JSON.stringify(error)}\n\n`;
}
