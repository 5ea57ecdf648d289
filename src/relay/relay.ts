import type { Caller } from "../accounts/mod.ts";
import type { JsonBody } from "../blobs/mod.ts";
import type { Admission, Admitted } from "../admission/mod.ts";
import { type Catalog, checkMedia, permittedOutput, type Route } from "../catalog/mod.ts";
import type { CoarseTimers } from "../coarse_timers.ts";
import type { Database } from "../database/mod.ts";
import {
  type AnswerNames,
  type Asked,
  type Bridge,
  chatCarry,
  chatOverMessages,
  type Dialect,
  messagesCarry,
  messagesOverChat,
  readAside,
} from "../dialects/mod.ts";
import type { Settled, Standing } from "../ledger/mod.ts";
import type { Images } from "../images/mod.ts";
import { Refusal } from "../refusal.ts";
import { during, type Log, type Metrics, type Trace } from "../telemetry/mod.ts";
import {
  type Called,
  CallFailed,
  SIMULATED_HEADER,
  type Upstream,
  type Upstreams,
} from "../upstreams/mod.ts";
import { AnswerReader } from "./answer_reader.ts";
import { EventSource } from "./event_source.ts";
import { type Opened, openedJoined, openedOne } from "./opened.ts";
import type { Running } from "./running.ts";
import { Settlement } from "./settlement.ts";
import { settledUsage, streamAnswer } from "./stream.ts";
import { readWhole } from "./whole.ts";

/** What a request passes through on its way. */
export interface RelayParts {
  readonly catalog: Catalog;
  readonly upstreams: Upstreams;
  readonly admission: Admission;
  readonly images: Images;
  readonly database: Database;
  readonly running: Running;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly now: () => number;
  readonly timers: CoarseTimers;
  /** Silence of an upstream after which a stream's caller is sent a ping. */
  readonly pingAfterMs: number;
  /** What becomes of an answer whose caller leaves in the middle of it. */
  readonly onClientDisconnect: "abort" | "drain";
  /** How long such an answer is followed for its usage. */
  readonly followMs: number;
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
  /** Let go of as soon as a target has answered. */
  readonly body: JsonBody;
  readonly requestId: string;
  /** What the caller calls the request, for the log. */
  readonly clientRequestId: string | undefined;
  readonly trace: Trace;
  /** `anthropic-version` and `anthropic-beta`, for upstreams of the messages dialect. */
  readonly versions: Readonly<Record<string, string>>;
  readonly leaving: Leaving;
  /** `performance.now()` at the request's arrival. */
  readonly startedTick: number;
  /** Called when it is known where the caller stands, whether the request is admitted or not. */
  readonly stands: (standing: Standing) => void;
}

/** A successful answer; a refusal is thrown. */
export interface RelayReply {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | ReadableStream<Uint8Array>;
  /** What was taken; undefined for a stream, which is settled when it ends. */
  readonly settled: Settled | undefined;
}

/** One request, from a parsed body to a reply that settles itself. */
export async function relay(parts: RelayParts, request: RelayRequest): Promise<RelayReply> {
  const { dialect, caller, trace } = request;
  const beta = "anthropic-beta" in request.versions;
  const read = readAside(request.body, (json) => dialect.read(json, { beta }));
  const route = parts.catalog.resolve(read.model);
  allow(caller, route);
  checkMedia(route, read);
  const { asked, ignored } = dialect.reason(read, route.reasoning);
  const inputTokens = dialect.countInput(asked);
  const permitted = permittedOutput(route, { inputTokens, asked: asked.maxOutput });

  trace.set({ "sluice.route": route.id, "sluice.streamed": asked.stream });

  const left = new AbortController();
  const end = parts.running.begin({
    requestId: request.requestId,
    accountId: caller.accountId,
    email: caller.email,
    route: route.id,
    dialect: dialect.name,
    streamed: asked.stream,
    startedAtMs: parts.now(),
  }, () => left.abort()); // whoever stops the gateway waits from here on
  const admission = trace.begin("admission");
  const admitted = await parts.admission.admit({
    requestId: request.requestId,
    caller,
    route,
    stream: asked.stream,
    inputTokens,
    permittedOutput: permitted,
    choices: asked.choices,
  }, request.stands).catch((error) => {
    admission.end({}, error);
    end();
    throw error;
  });
  admission.end();
  const work = new Work(parts, request, {
    route,
    asked,
    ignored,
    inputTokens,
    admitted,
    left,
    end,
  });
  try {
    await work.takeImages();
    const called = await work.call();
    request.body.blobs.release();
    const headers = {
      "x-sluice-upstream": called.target.upstream,
      ...(called.reply.headers[SIMULATED_HEADER] === undefined
        ? {}
        : { [SIMULATED_HEADER]: "true" }),
      ...(work.ignored.length === 0 ? {} : { "x-sluice-ignored": work.ignored.join(", ") }),
    };
    const { body, settled } = await work.finish(called);
    return { headers, body, settled };
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

/** A request that may run. */
interface Allowed {
  readonly route: Route;
  readonly asked: Asked;
  /** Names of fields that the route has no use for. */
  readonly ignored: readonly string[];
  /** Input as counted here. */
  readonly inputTokens: number;
  readonly admitted: Admitted;
  /** Aborted when nobody waits for the answer any more. */
  readonly left: AbortController;
  /** Called once, when it runs no more. */
  readonly end: () => void;
}

/** The part of a request that other machines take part in. */
class Work {
  readonly #parts: RelayParts;
  readonly #request: RelayRequest;
  readonly #route: Route;
  #asked: Asked;
  readonly #unsaid: readonly string[];
  #inputTokens: number;
  readonly #admitted: Admitted;
  readonly #left: AbortController;
  readonly #leave = () => this.#left.abort();
  readonly #unwatch: () => void;
  readonly #end: () => void;
  readonly #settlement: Settlement;

  constructor(
    parts: RelayParts,
    request: RelayRequest,
    { route, asked, ignored, inputTokens, admitted, left, end }: Allowed,
  ) {
    this.#parts = parts;
    this.#request = request;
    this.#route = route;
    this.#asked = asked;
    this.#unsaid = ignored;
    this.#inputTokens = inputTokens;
    this.#admitted = admitted;
    this.#left = left;
    this.#settlement = new Settlement({
      database: parts.database,
      log: parts.log,
      metrics: parts.metrics,
      trace: request.trace,
      now: parts.now,
      requestId: request.requestId,
      clientRequestId: request.clientRequestId,
      caller: request.caller,
      dialect: request.dialect.name,
      route,
      streamed: asked.stream,
      hold: admitted.hold,
      startedAtMs: parts.now(),
      startedTick: request.startedTick,
    });
    this.#unwatch = request.leaving(this.#leave);
    this.#end = end;
  }

  #over(): void {
    this.#unwatch();
    this.#end();
  }

  /** Names of the caller's fields that could not be carried to the target that answered. */
  get ignored(): readonly string[] {
    return this.#settlement.ignored;
  }

  /** Checks the images, fetches those that are elsewhere, and counts them by their real sizes. */
  async takeImages(): Promise<void> {
    if (this.#asked.images.length === 0) return;
    const { dialect, requestId, trace, body: { blobs } } = this.#request;
    const signal = this.#left.signal;
    this.#asked = await during(
      trace.begin("images", { "sluice.images": this.#asked.images.length }),
      () => this.#parts.images.inline(this.#asked, dialect, { requestId, signal, blobs }),
    );
    this.#inputTokens = dialect.countInput(this.#asked);
  }

  /** Finds a target that answers, once for each of the caller's answers where it gives only one. */
  async call(): Promise<Called<Opened>> {
    const { choices } = this.#asked;
    const first = await this.#ask(0);
    const missing = choices - first.opened.choices;
    if (missing <= 0) return this.#found(first);
    const rest = Array.from({ length: missing }, (_, at) => this.#ask(at + 1));
    const ended = await Promise.allSettled(rest);
    const more = ended.flatMap((one) => one.status === "fulfilled" ? [one.value] : []);
    const failed = ended.find((one) => one.status === "rejected");
    if (failed !== undefined) {
      for (const { opened } of [first, ...more]) opened.discard();
      throw failed.reason;
    }
    const all = [first, ...more];
    return this.#found({
      ...first,
      opened: openedJoined(all.map(({ opened }) => opened), this.#asked, this.#names()),
      attempts: all.reduce((sum, { attempts }) => sum + attempts, 0),
    });
  }

  #found(called: Called<Opened>): Called<Opened> {
    this.#settlement.asked = called;
    return called;
  }

  #names(): AnswerNames {
    return {
      id: this.#request.dialect.answerId(this.#request.requestId),
      model: this.#asked.model,
      inputTokens: this.#inputTokens,
    };
  }

  /**
   * Puts the request to the route's targets.
   *
   * @param choice Which of the caller's answers this is for, where a target gives one at a time.
   */
  #ask(choice: number): Promise<Called<Opened>> {
    const { permittedOutput, hold } = this.#admitted;
    const single = { ...this.#asked, choices: 1, body: { ...this.#asked.body, n: 1 } };
    const wayTo = ({ dialect, shaping }: Upstream) => {
      const bridge = BRIDGES[this.#request.dialect.name][dialect];
      const oneByOne = this.#asked.choices > 1 &&
        (choice > 0 || bridge.singleAnswer || shaping.singleAnswer === true);
      return oneByOne
        ? { bridge, asked: single, names: { ...this.#names(), choice } }
        : { bridge, asked: this.#asked, names: this.#names() };
    };
    return this.#parts.upstreams.call<Opened>({
      route: this.#route,
      signal: this.#left.signal,
      requestId: this.#request.requestId,
      trace: this.#request.trace,
      prepare: ({ model }, upstream) => {
        const { bridge, asked } = wayTo(upstream);
        const { shaping } = upstream;
        const sent = bridge.request(asked, { model, permittedOutput, shaping });
        this.#settlement.ignored = [...new Set([...this.#unsaid, ...sent.ignored])];
        return {
          path: bridge.path,
          headers: {
            accept: asked.stream ? "text/event-stream" : "application/json",
            ...(upstream.dialect === "messages" ? this.#request.versions : {}),
          },
          body: this.#request.body.blobs.inPlace(JSON.stringify(upstream.adjust(sent.body))),
        };
      },
      open: async (reply, _target, upstream) => {
        const { bridge, asked, names } = wayTo(upstream);
        if (!asked.stream) {
          const answer = bridge.answer(await readWhole(reply), asked, names);
          return openedOne({ answer }, asked.choices, reply);
        }
        if (!/^text\/event-stream\b/i.test(String(reply.headers["content-type"]))) {
          throw new Refusal(
            "upstream_unavailable",
            "The upstream's answer is not an event stream.",
          );
        }
        const answer = bridge.stream(asked, names);
        const source = new EventSource(reply, this.#parts.timers);
        const reader = new AnswerReader(source, answer, this.#parts.pingAfterMs);
        reader.outputLimit = Math.floor(hold.outputTokens * asked.choices / this.#asked.choices);
        return openedOne({ reader: await reader.begin() }, asked.choices, reply);
      },
    });
  }

  /** The answer's body: settled, or a stream that settles itself. */
  async finish({ opened }: Called<Opened>): Promise<Pick<RelayReply, "body" | "settled">> {
    const inputTokens = this.#inputTokens * opened.requests;
    if (opened.kind === "stream") {
      const answering = this.#request.trace.begin("answer");
      this.#unwatch(); // from here on leaving shows as cancelling the stream
      const body = streamAnswer({
        opened,
        hold: this.#admitted.hold,
        onClientDisconnect: this.#parts.onClientDisconnect,
        followMs: this.#parts.followMs,
        dialect: this.#request.dialect,
        requestId: this.#request.requestId,
        settlement: this.#settlement,
        log: this.#parts.log,
        inputTokens,
        leave: this.#leave,
        cutOff: this.#parts.running.cutOff,
        over: () => {
          answering.end();
          this.#over();
        },
      });
      return { body, settled: undefined };
    }
    const { answer } = opened;
    this.#settlement.outputBegan();
    const { usage, source } = settledUsage(
      { usage: answer.usage, countedOutput: answer.usage === undefined ? answer.countOutput() : 0 },
      inputTokens,
    );
    const settled = await this.#settlement.settle({
      ending: "complete",
      status: 200,
      usage,
      usageSource: source,
    });
    this.#over();
    const body = answer.usage === undefined ? answer.withUsage(usage) : answer.body;
    return { body: JSON.stringify(body), settled };
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
