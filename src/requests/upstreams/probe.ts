import { jsonIn } from "../../ground/platform/mod.ts";
import type { ListedModel } from "../../settings/catalog/mod.ts";
import type { UpstreamSettings } from "../../settings/config/mod.ts";
import {
  type Back,
  BACKS,
  errorIn,
  exactStatus,
  isObject,
  items,
  type JsonObject,
  type JsonValue,
  readUpstreamError,
  text,
} from "../../wire/dialects/mod.ts";
import { jsonExcess } from "../../wire/json/mod.ts";
import { CredentialsFault } from "./credentials/credentials.ts";
import { readText } from "./failure.ts";
import { faultWords, TransportFault } from "./transport.ts";
import { type Upstream, upstreamAlone, withForeignKey } from "./upstream.ts";

/** What asking an upstream for its models showed. */
export interface Probe {
  /** Until the reply's head, connection included; undefined when nothing answered. */
  readonly latencyMs: number | undefined;
  readonly status: number | undefined;
  /** Whether it says that the key is wrong: some do so with 400 (Gemini, xAI). */
  readonly rejectsKey: boolean;
  /** Models that it lists; empty when it does not say. */
  readonly models: readonly ListedModel[];
  /** Whether it answered with a list of models, even an empty one. */
  readonly lists: boolean;
  /** Whether it answered with a page, as the address of a website does. */
  readonly isPage: boolean;
  /** The upstream's clock, to the second, by its `Date` header. */
  readonly clockMs: number | undefined;
  /** Why nothing answered; without secrets. */
  readonly fault: {
    readonly kind: TransportFault["kind"];
    /** Whether credentials could not be got, so that nothing was sent. */
    readonly isOfCredentials: boolean;
    /** With the platform's code, by which `sluice doctor` advises. */
    readonly message: string;
    /** The same in plain words. */
    readonly words: string;
  } | undefined;
}

/**
 * Asks an upstream for its models (`GET /models`): costs nothing, and shows address, TLS and key. Where there are several
 * keys, the first that is not rejected counts.
 */
export async function probeUpstream(
  name: string,
  settings: UpstreamSettings,
  { now, patienceMs, closing }: {
    readonly now: () => number;
    readonly patienceMs: number;
    /** Ends the wait for an answer. */
    readonly closing?: AbortSignal;
  },
): Promise<Probe> {
  const { timeouts } = settings;
  await using upstream = await upstreamAlone(name, {
    ...settings,
    timeouts: { ...timeouts, connectMs: Math.min(timeouts.connectMs, CONNECT_SHARE * patienceMs) },
  }, now);
  const startedTick = performance.now();
  const patience = new AbortController();
  const end = () => patience.abort();
  const timer = setTimeout(end, patienceMs);
  closing?.addEventListener("abort", end);
  if (closing?.aborted) end();
  try {
    const back: Back = BACKS[settings.dialect];
    const send = (headers: Upstream["headers"]) =>
      upstream.send({
        path: back.modelsPath ?? "/models",
        headers: { ...headers, ...back.versionHeaders(() => null) },
        body: undefined,
        signal: patience.signal,
      });
    const [first, ...others] = upstream.keys?.all ?? [upstream];
    let reply = await send(first!.headers);
    for (const { headers } of others) {
      if (reply.status !== 401 && reply.status !== 403) break;
      reply.discard();
      reply = await send(headers);
    }
    const latencyMs = Math.round(performance.now() - startedTick);
    const clockMs = Date.parse(String(reply.headers.date));
    const body = await readText(reply, patienceMs, MAX_LIST_CHARS);
    const models = reply.status === 200 ? modelsIn(body) : undefined;
    return {
      latencyMs,
      status: reply.status,
      rejectsKey: rejectsKey(reply.status, body),
      models: models ?? [],
      lists: models !== undefined,
      isPage: body.trimStart().startsWith("<"),
      clockMs: Number.isNaN(clockMs) ? undefined : clockMs,
      fault: undefined,
    };
  } catch (error) {
    if (!(error instanceof TransportFault)) throw error;
    const late = error.kind === "left" ? `no response within ${patienceMs / 1_000} s` : undefined;
    return {
      latencyMs: undefined,
      status: undefined,
      rejectsKey: false,
      models: [],
      lists: false,
      isPage: false,
      clockMs: undefined,
      fault: {
        kind: error.kind,
        isOfCredentials: error instanceof CredentialsFault,
        message: late ?? upstream.redact(error.message),
        words: late ?? upstream.redact(faultWords(error)),
      },
    };
  } finally {
    clearTimeout(timer);
    closing?.removeEventListener("abort", end);
  }
}

/** Asks an upstream for its models with a key that is not the gateway's, and with no secret of the gateway's. */
export async function probeOwnKey(
  name: string,
  settings: UpstreamSettings,
  key: string,
  options: Parameters<typeof probeUpstream>[2],
): Promise<Probe> {
  return await probeUpstream(name, withForeignKey(settings, key), options);
}

function rejectsKey(status: number, body: string): boolean {
  if (status !== 400) return status === 401 || status === 403;
  const said = readUpstreamError(errorIn(jsonIn(body.slice(0, MAX_ERROR_CHARS)) as JsonValue));
  return exactStatus(said, status) === 403;
}

/** Share of the patience that connecting may take: who does not connect in time, such as a proxy, is named. */
const CONNECT_SHARE = 0.9;
/** Max models that are read of a list. */
const MAX_MODELS = 2_000;
/** Max characters of a list: 400 models with their descriptions are 500,000. */
const MAX_LIST_CHARS = 2_000_000;
/** Max characters of an error that is looked into. */
const MAX_ERROR_CHARS = 64 * 1_024;
/** Bounds of a list, checked before it is parsed. */
const LIST_BOUNDS = { depth: 20, values: 200_000, members: 10_000 };

/** Names of a model's context window and output limit, in the lists of vLLM, OpenRouter, Groq and Mistral; the last are Anthropic's. */
const CONTEXT = [
  "max_model_len",
  "context_length",
  "context_window",
  "max_context_length",
  "max_input_tokens",
];
const MAX_OUTPUT = ["max_completion_tokens", "max_output_tokens"];

/** The models of a list, as every dialect writes it, or bare as Together does; `undefined` if it is not one. */
function modelsIn(body: string): ListedModel[] | undefined {
  if (jsonExcess(body, LIST_BOUNDS) !== undefined) return undefined;
  try {
    const read: JsonValue = JSON.parse(body);
    const isBare = Array.isArray(read) && read.length > 0 &&
      read.every((one) => isObject(one) && text(one.id));
    const parsed = isBare ? { data: read } : read;
    if (!isObject(parsed)) return undefined;
    if (items(parsed.models).some(isOfGoogle)) return generateModels(parsed);
    const isList = Array.isArray(parsed.data) || parsed.object === "list"; // Ollama's data may be null
    if (!isList) return undefined;
    return items(parsed.data).slice(0, MAX_MODELS).flatMap((one) => {
      if (!isObject(one)) return [];
      const id = text(one.id);
      if (id === undefined) return [];
      const inner = isObject(one.top_provider) ? one.top_provider : {};
      return [{
        id,
        context: tokens(one, CONTEXT),
        maxOutput: tokens({ ...inner, ...one }, [
          ...MAX_OUTPUT,
          // others may mean the context by it
          ...one.max_input_tokens === undefined ? [] : ["max_tokens"],
        ]),
      }];
    });
  } catch {
    return undefined;
  }
}

/** Whether it is an entry of a list as Google writes it. */
function isOfGoogle(one: JsonValue): boolean {
  return isObject(one) && /^models\//.test(text(one.name) ?? "");
}

/** The models of a list of Google's, as far as they generate contents. */
function generateModels({ models }: JsonObject): ListedModel[] {
  return items(models).slice(0, MAX_MODELS).flatMap((one) => {
    const name = isObject(one) ? text(one.name) : undefined;
    if (!isObject(one) || name === undefined) return [];
    const methods = one.supportedGenerationMethods;
    if (Array.isArray(methods) && !methods.includes("generateContent")) return [];
    return [{
      id: name.replace(/^models\//, ""),
      context: tokens(one, ["inputTokenLimit"]),
      maxOutput: tokens(one, ["outputTokenLimit"]),
    }];
  });
}

function tokens(model: JsonObject, names: readonly string[]): number | undefined {
  const found = names.map((name) => model[name]).find((one) => Number.isSafeInteger(one));
  return typeof found === "number" && found > 0 ? found : undefined;
}
