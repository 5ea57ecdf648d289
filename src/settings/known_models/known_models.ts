import { findKnownPrices, type KnownPrices, priceIdOf, staticPrices } from "../known_prices/mod.ts";
import { TABLE } from "./table.ts";

/** A model as its maker, or a host, publishes it. */
export interface KnownModel {
  /** Who publishes it: `openai`, `groq`. */
  readonly provider: string;
  readonly id: string;
  /** Context window: max input and output tokens together. */
  readonly context: number;
  /** Max output tokens; 0 if it makes embeddings. */
  readonly maxOutput: number;
  /** Whether it makes embeddings and nothing else. */
  readonly embeds: boolean;
  /** Length of its embeddings; `undefined` if it makes none, or if that is not published. */
  readonly dimensions: number | undefined;
  /** US dollars per million tokens; `undefined` if they are not published. */
  readonly prices:
    | {
      readonly input: number;
      readonly cached: number;
      readonly output: number;
      /** The factor of the input price for what is written to a prompt cache; `undefined` if it costs no more. */
      readonly cacheWrites: number | undefined;
    }
    | undefined;
  /** What it costs where it was looked for, with all that has a price of its own; `undefined` if only `prices` are known. */
  readonly priceRows?: KnownPrices | undefined;
  readonly images: boolean;
  readonly reasoning: boolean;
  readonly tools: boolean;
  /** Levels of `reasoning_effort` that it takes; empty if it takes none, or if they are not published. */
  readonly efforts: readonly string[];
}

/** Hosts of other makers' models: their prices count only for themselves, unless the maker publishes none. */
const HOSTS = ["cerebras", "fireworks-ai", "groq", "togetherai"];

/** Providers by the end of their host names. */
const PROVIDER_BY_HOST: Readonly<Record<string, string>> = {
  "aliyuncs.com": "alibaba",
  "anthropic.com": "anthropic",
  "cerebras.ai": "cerebras",
  "cohere.com": "cohere",
  "cohere.ai": "cohere",
  "deepseek.com": "deepseek",
  "fireworks.ai": "fireworks-ai",
  "googleapis.com": "google",
  "groq.com": "groq",
  "mistral.ai": "mistral",
  "moonshot.ai": "moonshotai",
  "moonshot.cn": "moonshotai",
  "openai.com": "openai",
  "together.xyz": "togetherai",
  "x.ai": "xai",
  "z.ai": "zai",
};

let all: readonly KnownModel[] | undefined;
let byName: ReadonlyMap<string, readonly KnownModel[]> | undefined;

/** Lists all known models. */
export function knownModels(): readonly KnownModel[] {
  return all ??= TABLE.trim().split("\n").map(modelOf);
}

/**
 * Finds what is known about a model.
 *
 * Names differ between hosts: `openai/gpt-oss-120b`, `gpt-oss:120b` and `gpt-oss-120b` are the same model, and
 * `gpt-5-2025-08-07` is a version of `gpt-5`. A model of the upstream's own provider is preferred, then its maker's.
 *
 * @param name Name of the model at an upstream.
 * @param url Base URL of the upstream.
 *
 * @example
 * ```ts
 * import { assertEquals } from "@std/assert";
 * import { findKnownModel } from "./mod.ts";
 *
 * assertEquals(findKnownModel("gpt-oss:120b", "http://127.0.0.1:11434/v1")?.context, 131_072);
 * ```
 */
export function findKnownModel(name: string, url: string): KnownModel | undefined {
  const found = findListed(name, url);
  return found && withPrices(found, findKnownPrices(name, { url, maker: found.provider }));
}

/** A price that the two sources do not agree on, in US dollars per million tokens. */
export interface DisputedPrice {
  readonly what: "input" | "cached" | "output";
  /** Of `@pydantic/genai-prices`, which is charged by. */
  readonly charged: number;
  /** Of models.dev. */
  readonly other: number;
}

/** Part of a price by which sources may differ: they round. */
const TOLERANCE = 0.02;

/**
 * Finds prices of a model that the sources do not agree on: a person has to decide.
 *
 * @param name Name of the model at an upstream.
 * @param url Base URL of the upstream.
 * @returns Those that differ by more than 2 %.
 */
export function disputedPrices(name: string, url: string): DisputedPrice[] {
  const listed = findListed(name, url);
  const known = listed && findKnownPrices(name, { url, maker: listed.provider });
  if (listed?.prices === undefined || known === undefined) return [];
  if (known.provider !== priceIdOf(listed.provider)) return []; // another host's
  const { input = 0, cached = input, output = 0 } = firstPrices(known);
  const charged = { input, cached, output };
  return (["input", "cached", "output"] as const).flatMap((what) => {
    const other = listed.prices![what];
    const differs = Math.abs(other - charged[what]) > TOLERANCE * Math.max(other, charged[what]);
    return differs ? [{ what, charged: charged[what], other }] : [];
  });
}

function findListed(name: string, url: string): KnownModel | undefined {
  byName ??= Map.groupBy(knownModels(), ({ id }) => plainName(id));
  const provider = providerOf(url);
  for (const candidate of namesOf(name)) {
    const models = byName.get(candidate);
    if (models === undefined) continue;
    return models.find((one) => one.provider === provider) ??
      models.find((one) => !HOSTS.includes(one.provider)) ?? models[0];
  }
  return undefined;
}

/** The prices of a source that is kept well replace those of models.dev. */
function withPrices(model: KnownModel, priceRows: KnownPrices | undefined): KnownModel {
  if (priceRows === undefined) return model;
  const { input = 0, cached = input, output = 0, written } = firstPrices(priceRows);
  const cacheWrites = written === undefined || written <= input ? undefined : written / input;
  return { ...model, priceRows, prices: { input, cached, output, cacheWrites } };
}

/** Prices of small inputs. */
function firstPrices({ rows }: KnownPrices) {
  const { usd } = staticPrices(rows);
  const first = Object.entries(usd).map(([unit, price]) => [unit, [price].flat()[0]!]);
  return Object.fromEntries(first) as Partial<Record<keyof typeof usd, number>>;
}

/** A name without the names of hosts and makers before it. */
function plainName(name: string): string {
  return name.slice(name.lastIndexOf("/") + 1).toLowerCase();
}

/** What a model may be known as, most precise first. */
function* namesOf(name: string): Iterable<string> {
  const plain = plainName(name);
  yield plain;
  const [family = "", tag] = plain.split(":", 2);
  if (tag !== undefined) {
    yield `${family}-${tag}`; // qwen3:32b
    if (!/^\d+(\.\d+)?b\b/.test(tag)) yield family; // kimi-k3:latest, but not another size
  }
  const undated = undatedName(family);
  if (undated !== family) yield undated;
  const ofMaker = makersName(plain);
  if (ofMaker === plain) return;
  yield ofMaker;
  yield undatedName(ofMaker);
}

function undatedName(name: string): string {
  return name.replace(/-(\d{8}|\d{4}-\d{2}-\d{2})$/, "");
}

/** Region and maker, which Bedrock has before the name of a model: `eu.anthropic.claude-sonnet-4-5-20250929-v1:0`. */
const BEDROCK_NAME =
  /^(?:[a-z]{2,6}(?:-gov)?\.)?(?:anthropic|openai|amazon|cohere|deepseek|google|meta|minimax|mistral|moonshot|moonshotai|nvidia|qwen|zai)\.(.+)$/;

/** A maker's name for a model that a cloud or a relay has under its own: Vertex AI writes `claude-sonnet-4-5@20250929`. */
function makersName(plain: string): string {
  const [, ofBedrock] = BEDROCK_NAME.exec(plain) ?? [];
  const name = ofBedrock?.replace(/(?:-v?\d+)?:\d+\w*(?::\w+)?$|-v\d+$/, "") ??
    plain.replace(/@(\d{8})$/, "-$1").replace(/@\w+$/, "");
  return /^claude-/.test(name) ? name.replace(/(\d)\.(\d)/, "$1-$2") : name; // OpenRouter: claude-sonnet-4.5
}

function providerOf(url: string): string | undefined {
  const { hostname } = new URL(url);
  const found = Object.entries(PROVIDER_BY_HOST).find(([host]) =>
    hostname === host || hostname.endsWith(`.${host}`)
  );
  return found?.[1];
}

function modelOf(line: string): KnownModel {
  const [
    provider = "",
    id = "",
    context,
    maxOutput,
    input = "",
    cached,
    output,
    capabilities = "",
    efforts = "",
    written = "",
  ] = line.split("|");
  const embeds = capabilities.includes("e");
  const length = Number(maxOutput);
  return {
    provider,
    id,
    context: Number(context),
    maxOutput: embeds ? 0 : Math.min(length, Number(context)),
    embeds,
    dimensions: embeds && length > 0 ? length : undefined,
    prices: input === "" ? undefined : {
      input: Number(input),
      cached: Number(cached),
      output: Number(output),
      cacheWrites: written === "" ? undefined : Number(written) / Number(input),
    },
    images: capabilities.includes("i"),
    reasoning: capabilities.includes("r"),
    tools: capabilities.includes("t"),
    efforts: efforts === "" ? [] : efforts.split(","),
  };
}
