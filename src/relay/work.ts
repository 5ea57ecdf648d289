import type { Admitted } from "../admission/mod.ts";
import type { Route, Target } from "../catalog/mod.ts";
import {
  type AnswerNames,
  type Asked,
  type Bridge,
  chatCarry,
  chatOverMessages,
  type Dialect,
  isObject,
  messagesCarry,
  messagesOverChat,
  upstreamFault,
  type Usage,
} from "../dialects/mod.ts";
import { Refusal } from "../refusal.ts";
import { during } from "../telemetry/mod.ts";
import { type Called, CallFailed, type Upstream, type UpstreamReply } from "../upstreams/mod.ts";
import { AnswerReader } from "./answer_reader.ts";
import { EventSource } from "./event_source.ts";
import { type Opened, openedJoined, openedOne } from "./opened.ts";
import type { RelayParts, RelayReply, RelayRequest } from "./request.ts";
import type { ReplyLimits } from "./reply_limits.ts";
import { Settlement } from "./settlement.ts";
import { plainNames } from "./plain_names.ts";
import { settledUsage, streamAnswer } from "./stream.ts";
import { readWhole } from "./whole.ts";

/** The caller's dialect, then the upstream's. */
const BRIDGES: Readonly<Record<Dialect["name"], Readonly<Record<Dialect["name"], Bridge>>>> = {
  chat: { chat: chatCarry, messages: chatOverMessages },
  messages: { chat: messagesOverChat, messages: messagesCarry },
};

/** A request that may run. */
export interface Allowed {
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
export class Work {
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
      cutOff: parts.running.cutOff,
    });
    this.#unwatch = request.leaving(this.#leave);
    this.#end = end;
  }

  #over(): void {
    this.#unwatch();
    const { behind } = this.#settlement;
    if (behind === undefined) this.#end();
    else void behind.then(this.#end); // whoever stops the gateway waits for that too
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
    if (first.opened.kind === "whole") {
      first.upstream.health.singleChoiceModels.add(first.target.model);
    }
    const rest = Array.from(
      { length: missing },
      (_, at) => this.#ask(first.opened.choices + at),
    );
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
    const wayTo = ({ dialect, shaping, health }: Upstream, { model }: Target) => {
      const bridge = BRIDGES[this.#request.dialect.name][dialect];
      const oneByOne = this.#asked.choices > 1 &&
        (choice > 0 || bridge.singleAnswer || shaping.singleAnswer === true ||
          health.singleChoiceModels.has(model));
      return oneByOne
        ? { bridge, asked: single, names: { ...this.#names(), choice } }
        : { bridge, asked: this.#asked, names: this.#names() };
    };
    return this.#parts.upstreams.call<Opened>({
      route: this.#route,
      signal: this.#left.signal,
      requestId: this.#request.requestId,
      trace: this.#request.trace,
      unstreamedTokens: this.#asked.stream ? 0 : permittedOutput,
      prepare: (target, upstream) => {
        const { bridge, asked } = wayTo(upstream, target);
        const { shaping } = upstream;
        const { model } = target;
        const sent = bridge.request(asked, { model, permittedOutput, shaping });
        this.#settlement.ignored = plainNames([...this.#unsaid, ...sent.ignored]);
        return {
          path: bridge.path,
          headers: {
            accept: asked.stream ? "text/event-stream" : "application/json",
            ...(upstream.dialect === "messages" ? this.#request.versions : {}),
          },
          body: this.#request.body.blobs.inPlace(JSON.stringify(upstream.adjust(sent.body))),
        };
      },
      open: async (reply, target, upstream, { canFailOver }) => {
        const { bridge, asked, names } = wayTo(upstream, target);
        const limits = this.#parts.replyLimits;
        if (!asked.stream) {
          const answer = bridge.answer(await readWhole(reply, limits), asked, names);
          return openedOne({ answer }, asked.choices, reply);
        }
        if (!isOf("text/event-stream", reply)) throw await notAStream(reply, limits);
        const answer = bridge.stream(asked, names);
        const source = new EventSource(reply, this.#parts.timers, limits);
        const reader = new AnswerReader(source, answer, this.#parts.pingAfterMs);
        reader.outputLimit = Math.floor(hold.outputTokens * asked.choices / this.#asked.choices);
        return openedOne({ reader: await reader.begin(canFailOver) }, asked.choices, reply);
      },
    });
  }

  /** The answer's body: settled, or a stream that settles itself. */
  async finish(
    { opened, target, upstream }: Called<Opened>,
  ): Promise<Pick<RelayReply, "body" | "settled">> {
    const inputTokens = this.#inputTokens * opened.requests;
    const reported = (usage: Usage) =>
      this.#parts.estimates.learn(this.#route.id, target.upstream, {
        countedTokens: inputTokens,
        reportedTokens: usage.inputTokens,
      });
    // counted by other tokenizers, and with room for what an upstream adds of its own
    const mostTokens = 2 * this.#route.context * Math.max(opened.requests, this.#asked.choices);
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
        mostTokens,
        reported,
        leave: this.#leave,
        cutOff: this.#parts.running.cutOff,
        left: this.#left.signal,
        over: () => {
          const { finished, endedChoices } = opened.reader.answer;
          if (finished && endedChoices < opened.choices) {
            upstream.health.singleChoiceModels.add(target.model);
          }
          answering.end();
          this.#over();
        },
      });
      return { body, settled: undefined };
    }
    const { answer } = opened;
    this.#settlement.outputBegan();
    const { usage, source } = settledUsage(
      answer.usage,
      () => answer.countOutput(),
      { inputTokens, mostTokens, reported },
    );
    const settled = await this.#settlement.settle({
      ending: "complete",
      status: 200,
      usage,
      usageSource: source,
    });
    this.#over();
    const body = source === "counted" ? answer.withUsage(usage) : answer.body;
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
    await this.#settlement.settle({ ending, status }).catch(() => {}); // which has said so in the log
    this.#over();
    if (!left || known instanceof Refusal) return known;
    const message = "The client disconnected before the response.";
    return new Refusal("gateway_unavailable", message);
  }
}

function isOf(type: string, { headers }: UpstreamReply): boolean {
  return String(headers["content-type"]).toLowerCase().startsWith(type);
}

/** Some upstreams report an error as JSON with status 200, whatever was asked for. */
async function notAStream(reply: UpstreamReply, limits: ReplyLimits): Promise<Refusal> {
  const said = isOf("application/json", reply) ? await readWhole(reply, limits) : undefined;
  if (isObject(said) && (said.error ?? undefined) !== undefined) return upstreamFault(said.error);
  return new Refusal("upstream_unavailable", "The upstream's response is not an event stream.");
}
