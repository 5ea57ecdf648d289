import type { Caller } from "../accounts/mod.ts";
import { type Catalog, checkMedia, permittedOutput, type Route } from "../catalog/mod.ts";
import type { Database } from "../database/mod.ts";
import {
  type Answer,
  type Asked,
  type Bridge,
  chatCarry,
  chatOverMessages,
  type Dialect,
  messagesCarry,
  messagesOverChat,
} from "../dialects/mod.ts";
import { Refusal } from "../refusal.ts";
import type { Log } from "../telemetry/mod.ts";
import { type Called, CallFailed, SIMULATED_HEADER, type Upstreams } from "../upstreams/mod.ts";
import { AnswerReader } from "./answer_reader.ts";
import { EventSource } from "./event_source.ts";
import type { Running } from "./running.ts";
import { Settlement } from "./settlement.ts";
import { settledUsage, streamAnswer } from "./stream.ts";
import { readWhole } from "./whole.ts";

/** What a request passes through on its way. */
export interface RelayParts {
  readonly catalog: Catalog;
  readonly upstreams: Upstreams;
  readonly database: Database;
  readonly running: Running;
  readonly log: Log;
  readonly now: () => number;
  /** Silence of an upstream after which a stream's caller is sent a ping. */
  readonly pingAfterMs: number;
}

/**
 * Watches for the caller to go away before the answer has begun.
 *
 * @param left Called when the caller goes.
 * @returns Ends the watching.
 */
export type Leaving = (left: () => void) => () => void;

/** One request, its key known and its body parsed. */
export interface RelayRequest {
  readonly dialect: Dialect;
  readonly caller: Caller;
  readonly body: unknown;
  readonly requestId: string;
  /** `anthropic-version` and `anthropic-beta`, for upstreams of the messages dialect. */
  readonly versions: Readonly<Record<string, string>>;
  readonly leaving: Leaving;
  /** `performance.now()` at the request's arrival. */
  readonly startedTick: number;
}

/** A successful answer; a refusal is thrown. */
export interface RelayReply {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | ReadableStream<Uint8Array>;
}

/** One request, from a parsed body to a reply that settles itself. */
export async function relay(parts: RelayParts, request: RelayRequest): Promise<RelayReply> {
  const { dialect, caller } = request;
  const read = dialect.read(request.body, { beta: "anthropic-beta" in request.versions });
  const route = parts.catalog.resolve(read.model);
  allow(caller, route);
  checkMedia(route, read);
  const { asked, ignored } = dialect.reason(read, route.reasoning);
  const inputTokens = dialect.countInput(asked);
  const permitted = permittedOutput(route, { inputTokens, asked: asked.maxOutput });

  const work = new Work(parts, request, route, asked, inputTokens);
  try {
    const called = await work.call(permitted);
    const left = [...new Set([...ignored, ...work.ignored])];
    const headers = {
      "x-sluice-upstream": called.target.upstream,
      ...(called.reply.headers[SIMULATED_HEADER] === undefined
        ? {}
        : { [SIMULATED_HEADER]: "true" }),
      ...(left.length === 0 ? {} : { "x-sluice-ignored": left.join(", ") }),
    };
    return { headers, body: await work.finish(called) };
  } catch (error) {
    throw await work.fail(error);
  }
}

function allow(caller: Caller, route: Route): void {
  if (caller.models === null || caller.models.has(route.id)) return;
  throw new Refusal(
    "permission_denied",
    `This API key may not use the model '${route.id}'. It may use: ${
      [...caller.models].join(", ")
    }.`,
    { param: "model" },
  );
}

/** The caller's dialect, then the upstream's. */
const BRIDGES: Readonly<Record<Dialect["name"], Readonly<Record<Dialect["name"], Bridge>>>> = {
  chat: { chat: chatCarry, messages: chatOverMessages },
  messages: { chat: messagesOverChat, messages: messagesCarry },
};

/** The part of a request that other machines take part in. */
class Work {
  readonly #parts: RelayParts;
  readonly #request: RelayRequest;
  readonly #route: Route;
  readonly #asked: Asked;
  readonly #inputTokens: number;
  readonly #left = new AbortController();
  readonly #leave = () => this.#left.abort();
  readonly #unwatch: () => void;
  readonly #over: () => void;
  readonly #settlement: Settlement;
  #ignored: readonly string[] = [];

  constructor(
    parts: RelayParts,
    request: RelayRequest,
    route: Route,
    asked: Asked,
    inputTokens: number,
  ) {
    this.#parts = parts;
    this.#request = request;
    this.#route = route;
    this.#asked = asked;
    this.#inputTokens = inputTokens;
    this.#settlement = new Settlement({
      database: parts.database,
      log: parts.log,
      requestId: request.requestId,
      caller: request.caller,
      dialect: request.dialect.name,
      route,
      streamed: asked.stream,
      startedAtMs: parts.now(),
      startedTick: request.startedTick,
    });
    const end = parts.running.begin();
    this.#unwatch = request.leaving(this.#leave);
    parts.running.cutOff.addEventListener("abort", this.#leave);
    this.#over = () => {
      this.#unwatch();
      parts.running.cutOff.removeEventListener("abort", this.#leave);
      end();
    };
  }

  /** Names of the caller's fields that could not be carried to the target that answered. */
  get ignored(): readonly string[] {
    return this.#ignored;
  }

  /** Finds a target that answers. */
  async call(permitted: number): Promise<Called<Answer | AnswerReader>> {
    const { requestId } = this.#request;
    const asked = this.#asked;
    const names = {
      id: this.#request.dialect.answerId(requestId),
      model: asked.model,
      inputTokens: this.#inputTokens,
    };
    const bridges = BRIDGES[this.#request.dialect.name];
    const called = await this.#parts.upstreams.call<Answer | AnswerReader>({
      route: this.#route,
      signal: this.#left.signal,
      requestId,
      prepare: ({ model }, { shaping, dialect }) => {
        const bridge = bridges[dialect];
        const sent = bridge.request(asked, { model, permittedOutput: permitted, shaping });
        this.#ignored = sent.ignored;
        return {
          path: bridge.path,
          headers: {
            accept: asked.stream ? "text/event-stream" : "application/json",
            ...(dialect === "messages" ? this.#request.versions : {}),
          },
          body: JSON.stringify(sent.body),
        };
      },
      open: async (reply, _target, { dialect }) => {
        const bridge = bridges[dialect];
        if (!asked.stream) return bridge.answer(await readWhole(reply), asked, names);
        if (!/^text\/event-stream\b/i.test(String(reply.headers["content-type"]))) {
          throw new Refusal(
            "upstream_unavailable",
            "The upstream's answer is not an event stream.",
          );
        }
        const answer = bridge.stream(asked, names);
        return await new AnswerReader(new EventSource(reply), answer, this.#parts.pingAfterMs)
          .begin();
      },
    });
    this.#settlement.asked = called;
    return called;
  }

  /** The answer's body: settled, or a stream that settles itself. */
  async finish({ opened, reply }: Called<Answer | AnswerReader>): Promise<RelayReply["body"]> {
    if (opened instanceof AnswerReader) {
      this.#unwatch(); // from here on leaving shows as cancelling the stream
      return streamAnswer({
        reader: opened,
        reply,
        dialect: this.#request.dialect,
        requestId: this.#request.requestId,
        settlement: this.#settlement,
        log: this.#parts.log,
        inputTokens: this.#inputTokens,
        leave: this.#leave,
        cutOff: this.#parts.running.cutOff,
        over: this.#over,
      });
    }
    this.#settlement.outputBegan();
    const { usage, source } = settledUsage(
      { usage: opened.usage, countedOutput: opened.usage === undefined ? opened.countOutput() : 0 },
      this.#inputTokens,
    );
    await this.#settlement.settle({ ending: "complete", status: 200, usage, usageSource: source });
    this.#over();
    return JSON.stringify(opened.usage === undefined ? opened.withUsage(usage) : opened.body);
  }

  /** Records a failure; answers what to throw for it. */
  async fail(error: unknown): Promise<unknown> {
    if (error instanceof CallFailed) {
      this.#settlement.asked = { target: error.last, attempts: error.attempts };
    }
    const known = error instanceof CallFailed ? error.refusal : error;
    const left = this.#left.signal.aborted;
    const status = known instanceof Refusal ? known.status : 500;
    const ending = left
      ? "client_left"
      : status < 500 && status !== 429
      ? "refused"
      : "upstream_failed";
    try {
      await this.#settlement.settle({ ending, status });
    } catch (cause) {
      this.#parts.log.error("a failed request was not recorded", {
        id: this.#request.requestId,
        error: String(cause),
      });
    } finally {
      this.#over();
    }
    return known;
  }
}
