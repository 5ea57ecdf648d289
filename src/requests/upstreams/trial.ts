import { jsonIn, randomText } from "../../ground/platform/mod.ts";
import type { UpstreamSettings } from "../../settings/config/mod.ts";
import {
  type Back,
  BACKS,
  chatDepartures,
  DIALECTS,
  EMPTY_CONVERSATION,
  isObject,
  type JsonObject,
  readUpstreamError,
  type ReplyEvent,
  SseDecoder,
  type Usage,
} from "../../wire/dialects/mod.ts";
import { Refusal } from "../../ground/refusal.ts";
import { readText } from "./failure.ts";
import { faultWords, TransportFault } from "./transport.ts";
import { type Upstream, upstreamAlone, withForeignKey } from "./upstream.ts";

/** What one request of a trial showed. */
export interface TrialResult {
  /** `text`, `text, streamed`, `tools`, `tools, streamed` or `errors`. */
  readonly check: string;
  /** Why it does not work; undefined if it does. */
  readonly fault: string | undefined;
  /** What there is to say of it. */
  readonly detail: string;
  /** What departs from the dialect's documentation, as docs/departures.md names it, and what else is unusual. */
  readonly departures: readonly string[];
}

/** A model name that does not exist. */
const NO_MODEL = "sluice-no-such-model";
/** A report of zero is believed. */
const NO_OUTPUT = "usage with 0 tokens of output: its replies cost nothing";
/** Enough for models that reason before they reply. */
const MAX_OUTPUT = 1_024;
const MAX_REPLY_CHARS = 4_000_000;

const WEATHER = {
  name: "get_weather",
  description: "The weather in a city.",
  schema: {
    type: "object",
    properties: { city: { type: "string" } },
    required: ["city"],
    additionalProperties: false,
  },
  strict: undefined,
};

const CHECKS = [
  { check: "text", stream: false, tools: false },
  { check: "text, streamed", stream: true, tools: false },
  { check: "tools", stream: false, tools: true },
  { check: "tools, streamed", stream: true, tools: true },
] as const;

/**
 * Tries a model of an upstream: text and tools, whole and streamed, usage, and what it says of a model that it does not have. Five small
 * requests, which cost what the provider takes for them.
 *
 * @param options.patienceMs Maximum time for each of them.
 */
export async function tryUpstream(
  name: string,
  settings: UpstreamSettings,
  { model, now, patienceMs, tell = () => {} }: {
    readonly model: string;
    readonly now: () => number;
    readonly patienceMs: number;
    /** Called with what is tried now. */
    readonly tell?: (what: string) => void;
  },
): Promise<TrialResult[]> {
  await using upstream = await upstreamAlone(name, settings, now);
  const trial = new Trial(upstream, patienceMs);
  const results: TrialResult[] = [];
  for (const one of CHECKS) {
    tell(one.check);
    results.push(await trial.ask(model, one));
  }
  tell("errors");
  results.push(await trial.askForNoModel());
  return results;
}

/** Statuses by which providers reject a key for their list of models: Google answers 400. */
export const KEY_REJECTED: readonly number[] = [400, 401, 403];

/**
 * Sends an upstream a small request with a key that nobody has given out.
 *
 * @returns Whether it rejects it, so that keys say who pays for a reply. False as well if that cannot be told.
 */
export async function checksKeys(
  name: string,
  settings: UpstreamSettings,
  { model, now, patienceMs }: {
    readonly model: string;
    readonly now: () => number;
    readonly patienceMs: number;
  },
): Promise<boolean> {
  const foreign = withForeignKey(settings, `sk-${randomText(40)}`);
  await using upstream = await upstreamAlone(name, foreign, now);
  const got = await new Trial(upstream, patienceMs).replyOf(model);
  if (got === undefined) return false;
  // a request may be rejected for other reasons as well: what says so must be about the key
  return got.status === 401 || got.status === 403 ||
    got.status === 400 && /api[ _-]?key/i.test(got.body);
}

/** A reply as received. */
interface Got {
  readonly status: number;
  readonly type: string;
  readonly body: string;
}

/** A reply as it was read. */
interface Heard {
  readonly raw: readonly JsonObject[];
  readonly events: readonly ReplyEvent[];
  readonly usage: Usage | undefined;
  /** Whether the usage came after the end mark. */
  readonly isLate?: boolean;
}

class Trial {
  readonly #upstream: Upstream;
  readonly #patienceMs: number;

  constructor(upstream: Upstream, patienceMs: number) {
    this.#upstream = upstream;
    this.#patienceMs = patienceMs;
  }

  async ask(
    model: string,
    { check, stream, tools }: typeof CHECKS[number],
  ): Promise<TrialResult> {
    try {
      const got = await this.#send(model, { stream, tools });
      if (got.status !== 200) return this.#failed(check, this.#errorIn(got));
      const isStream = !got.type.includes("json");
      const heard = isStream ? this.#heardStream(got.body) : this.#heardWhole(got.body);
      const departures = this.#upstream.dialect === "chat" ? chatDepartures(heard.raw) : [];
      if (heard.isLate) departures.push("usage after the end mark");
      if (heard.usage?.outputTokens === 0) departures.push(NO_OUTPUT);
      if (stream && !isStream) departures.push("a whole reply to a request for a stream");
      return { ...judged(heard, { check, tools }), departures };
    } catch (error) {
      return this.#failed(check, this.#wordsOf(error));
    }
  }

  /** The reply to a small request; undefined without one. */
  async replyOf(model: string): Promise<Got | undefined> {
    try {
      return await this.#send(model, { stream: false, tools: false });
    } catch {
      return undefined;
    }
  }

  async askForNoModel(): Promise<TrialResult> {
    const check = "errors";
    try {
      const got = await this.#send(NO_MODEL, { stream: false, tools: false });
      if (got.status === 200) {
        return {
          check,
          fault: undefined,
          detail: "replies to any model name",
          departures: ["a reply by another model than the one that was asked for"],
        };
      }
      const isUsual = got.status === 404 || got.status === 400;
      return {
        check,
        fault: undefined,
        detail: this.#errorIn(got),
        departures: isUsual ? [] : [`status ${got.status} for a model that there is not`],
      };
    } catch (error) {
      return this.#failed(check, this.#wordsOf(error));
    }
  }

  async #send(
    model: string,
    { stream, tools }: { readonly stream: boolean; readonly tools: boolean },
  ): Promise<Got> {
    const upstream = this.#upstream;
    const back: Back = BACKS[upstream.dialect];
    const { body } = back.write({
      ...EMPTY_CONVERSATION,
      turns: [{ role: "user", parts: [{ type: "text", text: tools ? ASK_WEATHER : ASK_TEXT }] }],
      tools: tools ? [WEATHER] : [],
    }, {
      model,
      upstream: upstream.name,
      permittedOutput: MAX_OUTPUT,
      shaping: upstream.shaping,
      stream,
      fields: DIALECTS.chat.front.fields,
    });
    const patience = new AbortController();
    const timer = setTimeout(() => patience.abort(), this.#patienceMs);
    try {
      const reply = await upstream.send({
        path: upstream.pathFor({ model, stream }) ?? back.path,
        headers: {
          ...(upstream.keys?.all[0] ?? upstream).headers,
          accept: stream ? "text/event-stream" : "application/json",
          "content-type": "application/json",
          ...back.versionHeaders(() => null),
        },
        body: JSON.stringify(upstream.adjust(body, () => {})),
        signal: patience.signal,
      });
      const type = String(reply.headers["content-type"] ?? "").toLowerCase();
      const text = await readText(reply, this.#patienceMs, MAX_REPLY_CHARS);
      return { status: reply.status, type, body: text };
    } finally {
      clearTimeout(timer);
    }
  }

  #heardWhole(body: string): Heard {
    const parsed: unknown = JSON.parse(body);
    const { events, reports: { usage } } = this.#back.readReply(parsed, this.#upstream.shaping);
    return { raw: isObject(parsed) ? [parsed] : [], events, usage };
  }

  #heardStream(body: string): Heard {
    const reader = this.#back.reader(this.#upstream.shaping);
    const raw: JsonObject[] = [];
    const events: ReplyEvent[] = [];
    let isLate = false;
    for (const { data } of new SseDecoder().push(new TextEncoder().encode(`${body}\n\n`))) {
      if (reader.done && reader.lacksUsage !== true) break;
      isLate = reader.done;
      events.push(...reader.read(data));
      const parsed: unknown = data.startsWith("{") ? JSON.parse(data) : undefined;
      if (isObject(parsed)) raw.push(parsed);
    }
    const { usage } = reader.reports;
    return { raw, events, usage, isLate: isLate && usage !== undefined };
  }

  get #back() {
    return BACKS[this.#upstream.dialect];
  }

  #failed(check: string, fault: string): TrialResult {
    return { check, fault, detail: fault, departures: [] };
  }

  #errorIn({ status, body }: Got): string {
    const parsed = jsonIn(body);
    const { message } = readUpstreamError(isObject(parsed) ? parsed.error ?? parsed : undefined);
    const said = message === undefined ? "" : `: ${this.#upstream.redact(message).slice(0, 200)}`;
    return `status ${status}${said}`;
  }

  #wordsOf(error: unknown): string {
    if (error instanceof TransportFault) {
      return error.kind === "left"
        ? `no response within ${this.#patienceMs / 1_000} s`
        : this.#upstream.redact(faultWords(error));
    }
    if (error instanceof Refusal) return this.#upstream.redact(error.message);
    if (error instanceof SyntaxError) return "the response is not JSON";
    throw error;
  }
}

const ASK_TEXT = "Reply with the word sluice.";
const ASK_WEATHER = "What is the weather in Bonn? Call get_weather.";

/** Whether a reply has what was asked for. */
function judged(
  { events, usage }: Heard,
  { check, tools }: { readonly check: string; readonly tools: boolean },
): Omit<TrialResult, "departures"> {
  const textOf = (type: "text" | "reasoning") =>
    events.map((event) => event.type === type ? event.text : "").join("");
  const call = events.find((event) => event.type === "call");
  const finish = events.find((event) => event.type === "finish");
  const faults = [
    ...(tools && call === undefined ? ["the tool was not called"] : []),
    ...(!tools && textOf("text") === "" ? ["no text"] : []),
    ...(finish === undefined ? ["no reason for the end"] : []),
    ...(usage === undefined ? ["no usage: responses are charged by the gateway's count"] : []),
  ];
  const told = [
    ...(textOf("reasoning") === "" ? [] : ["with reasoning"]),
    ...(usage === undefined ? [] : [`${usage.inputTokens} tokens in, ${usage.outputTokens} out`]),
  ];
  return {
    check,
    fault: faults.length === 0 ? undefined : faults.join(", "),
    detail: [...faults, ...told].join(", "),
  };
}
