import { calcPrice, findProvider } from "@pydantic/genai-prices";
import fc from "fast-check";
import {
  Catalog,
  chargeOf,
  pricedByOwnKey,
  type ReplyUse,
  routeAt,
} from "../../../src/settings/catalog/mod.ts";
import { settings as schema } from "../../../src/settings/config/mod.ts";
import { findKnownPrices } from "../../../src/settings/known_prices/mod.ts";
import { UNITS } from "../../../src/settings/known_prices/units.ts";
import { findKnownProvider } from "../../../src/settings/known_providers/mod.ts";
import type { JsonObject } from "../../../src/wire/dialects/mod.ts";
import { applyExtras } from "../../../src/wire/extras/mod.ts";
import { assert, assertEquals, assertMatch, assertThrows } from "../../assert.ts";
import { sized } from "../../tier.ts";

/** Ten providers: ID in the settings, ID in `@pydantic/genai-prices`, and the models that people know best. */
const PROVIDERS: readonly (readonly [string, string, readonly string[]])[] = [
  ["openai", "openai", ["gpt-5.6-sol", "gpt-5.2", "gpt-5-mini", "gpt-audio", "gpt-image-1", "o3"]],
  ["anthropic", "anthropic", ["claude-opus-4-6", "claude-sonnet-4-5", "claude-haiku-4-5"]],
  ["google", "google", ["gemini-3-pro-preview", "gemini-2.5-flash", "gemini-2.5-flash-image"]],
  ["deepseek", "deepseek", ["deepseek-v4-pro", "deepseek-chat"]],
  ["mistral", "mistral", ["mistral-medium-latest", "codestral-latest"]],
  ["xai", "x-ai", ["grok-4", "grok-3-mini"]],
  ["moonshot", "moonshotai", ["kimi-k2-0905-preview"]],
  ["groq", "groq", ["openai/gpt-oss-120b", "llama-3.3-70b-versatile"]],
  ["togetherai", "together", ["meta-llama/Llama-3.3-70B-Instruct-Turbo"]],
  ["perplexity", "perplexity", ["sonar", "sonar-pro"]],
];

/** A credit is a millionth of a dollar: every published price is whole. */
const PER_USD = 1_000_000;

const settings = schema.parse({
  credits: { perUsd: PER_USD },
  upstreams: Object.fromEntries(
    PROVIDERS.map(([provider]) => [provider, { url: findKnownProvider(provider)!.url }]),
  ),
  routes: Object.fromEntries(
    PROVIDERS.flatMap(([upstream, , models]) =>
      models.map((model) => [`${upstream}/${model}`, {
        targets: [{ upstream, model }],
        minimum: 0,
        allow: { resources: ["vs_1"] },
      }])
    ),
  ),
});
const catalog = new Catalog(settings);
const MODELS = PROVIDERS.flatMap(([upstream, id, models]) =>
  models.map((model) => ({ route: `${upstream}/${model}`, id, model }))
);

const tokens = (max: number) => fc.oneof(fc.constant(0), fc.integer({ min: 0, max }));
/** Tokens of all kinds, whose parts never exceed their wholes. */
const use = fc.record({
  text: tokens(400_000),
  read: tokens(300_000),
  audio: tokens(20_000),
  audioRead: tokens(20_000),
  image: tokens(20_000),
  imageRead: tokens(20_000),
  written: tokens(100_000),
  hour: tokens(100_000),
  output: tokens(60_000),
  reasoning: tokens(60_000),
  audioOut: tokens(20_000),
  imageOut: tokens(20_000),
  searches: tokens(9),
  fileSearches: tokens(9),
});

Deno.test("a reply costs what genai-prices computes, to the credit", () => {
  const days = fc.integer({ min: Date.UTC(2026, 0, 1), max: Date.UTC(2027, 0, 1) });
  const units = new Set<string>();
  for (const { route: name, id, model } of MODELS) {
    const provider = findProvider({ providerId: id })!;
    const known = catalog.find(name)!;
    assert(known.rows !== undefined, `${name}: no prices`);
    fc.assert(
      fc.property(use, days, (of, atMs) => {
        const route = routeAt(known, atMs);
        const has = (unit: string) => route.units?.[unit as "input"] !== undefined;
        Object.keys(route.units ?? {}).forEach((unit) => units.add(unit));
        const written = has("written") ? of.written : 0;
        const hour = has("writtenHour") ? of.hour : 0;
        const audio = has("audioInput") ? of.audio : 0;
        const audioRead = has("audioCached") ? of.audioRead : 0;
        const image = has("imageInput") ? of.image : 0;
        const imageRead = has("imageCached") ? of.imageRead : 0;
        const audioOut = has("audioOutput") ? of.audioOut : 0;
        const imageOut = has("imageOutput") ? of.imageOut : 0;
        const searches = has("webSearches") ? of.searches : 0;
        const fileSearches = has("fileSearches") ? of.fileSearches : 0;
        const cachedTokens = of.read + audioRead + imageRead;
        const inputTokens = of.text + cachedTokens + written + hour + audio + image;
        const outputTokens = of.output + of.reasoning + audioOut + imageOut;
        const reply: ReplyUse = {
          inputTokens,
          cachedTokens,
          cacheWrittenTokens: written + hour,
          outputTokens,
          reasoningTokens: of.reasoning,
          kinds: {
            writtenHour: hour,
            audioInput: audio + audioRead,
            audioCached: audioRead,
            imageInput: image + imageRead,
            imageCached: imageRead,
            audioOutput: audioOut,
            imageOutput: imageOut,
          },
          hostedCalls: new Map([["web_search", searches], ["file_search", fileSearches]]),
        };
        const own = { type: "function", name: "f" };
        const { used } = id === "anthropic"
          ? applyExtras("messages", {
            body: {
              model: "m",
              ...(hour > 0 && { cache_control: { type: "ephemeral", ttl: "1h" } }),
              tools: searches > 0 ? [{ type: "web_search_20250305", name: "web_search" }] : [],
            },
          }, route)
          : applyExtras("responses", {
            body: {
              model: "m",
              tools: [
                own,
                ...searches > 0 ? [{ type: "web_search" }] : [],
                ...fileSearches > 0 ? [{ type: "file_search", vector_store_ids: ["vs_1"] }] : [],
              ],
            },
          }, route);
        const { total_price: usd } = calcPrice(
          {
            input_tokens: inputTokens,
            cache_read_tokens: cachedTokens,
            cache_write_tokens: written + hour,
            cache_write_1h_tokens: hour,
            input_audio_tokens: audio + audioRead,
            cache_audio_read_tokens: audioRead,
            input_image_tokens: image + imageRead,
            cache_image_read_tokens: imageRead,
            output_tokens: outputTokens,
            output_audio_tokens: audioOut,
            output_image_tokens: imageOut,
            web_searches: searches,
            storage_searches: fileSearches,
            requests: 1,
          },
          model,
          { provider, timestamp: new Date(atMs) },
        )!;
        const { priceCredits } = chargeOf({ route, used }, reply);
        assertEquals(
          priceCredits,
          Math.ceil(usd * PER_USD - 5e-7), // its floats err by less; fractions of a credit may be a millionth
          `${name} ${JSON.stringify(of)}`,
        );
      }),
      { numRuns: sized(30, 2_000) },
    );
  }
  // reasoning of its own price is cheaper than output wherever there is one: docs/credits.md
  assertEquals(UNITS.filter((unit) => !units.has(unit)), ["reasoning"]);
});

/** Prices of what replies in the three dialects do not tell, or what is not served: docs/credits.md names them. */
const NOT_CHARGED_BY = /_hours$|_kpages$|_video_|_citation_|_messages_/;

Deno.test("no price of the source is missing in the table, for any model of the ten providers", () => {
  let compared = 0;
  for (const [, id] of PROVIDERS) {
    for (const { id: model, prices } of findProvider({ providerId: id })!.models) {
      const found = findKnownPrices(model, { url: "", maker: id });
      if (found?.provider !== id || found.id !== model) continue;
      const theirs = (Array.isArray(prices) ? prices.map((one) => one.prices) : [prices])
        .filter(({ input_mtok: input }) => input !== undefined && input !== 0)
        .map((one) => Object.keys(one).filter((unit) => !NOT_CHARGED_BY.test(unit)).length);
      const ours = found.rows.map(({ usd }) => Object.keys(usd).length);
      assertEquals(ours, theirs, `${id} ${model}`);
      compared++;
    }
  }
  assert(compared > 300, `${compared} models`);
});

const FIRST = { input: 1, cached: 1, output: 2 };
const LATER = [
  { from: "2027-03-01T12:00:00+02:00", input: 5, output: 6 },
  { from: "2027-01-01", input: 3, output: 4 },
];
for (
  const [form, prices] of [
    ["with changes", { ...FIRST, ownKey: 0.5, changes: LATER }],
    ["as a list", [...LATER, { ...FIRST, ownKey: 0.5 }]],
    ["as a list of dates", [...LATER, { from: "2026-01-01", ...FIRST, ownKey: 0.5 }]],
  ] as const
) {
  Deno.test(`prices of the settings change at their times, in whatever order they are written: ${form}`, () => {
    const own = new Catalog(schema.parse({
      routes: { house: { targets: [{ upstream: "simulator", model: "m" }], prices } },
    })).find("house")!;
    const at = (time: string) => {
      const { prices: { input, cached, output }, row } = routeAt(own, Date.parse(time));
      return [input, cached, output, row?.name];
    };
    assertEquals(at("2020-01-01T00:00:00Z"), [1, 1, 2, "routes.house"]);
    assertEquals(at("2026-12-31T23:59:59.999Z"), [1, 1, 2, "routes.house"]);
    assertEquals(at("2027-01-01T00:00:00Z"), [3, 3, 4, "routes.house 2027-01-01"]);
    assertEquals(at("2027-03-01T09:59:59Z")[0], 3);
    assertEquals(
      at("2027-03-01T10:00:00Z"),
      [5, 5, 6, "routes.house 2027-03-01T12:00:00+02:00"],
    );
    assertEquals(own.ownKeyShare, 0.5);
  });
}

Deno.test("a list of prices without times, or without a price of output, is an error", () => {
  const ofPrices = (prices: unknown) => ({
    routes: { house: { targets: [{ upstream: "simulator", model: "m" }], prices } },
  });
  const twice = schema.safeParse(ofPrices([FIRST, { ...FIRST, input: 2 }]));
  assertEquals(twice.success, false);
  assertMatch(twice.error!.message, /no more than one without `from`/);
  for (const from of ["tomorrow", 5]) {
    assertEquals(schema.safeParse(ofPrices([FIRST, { ...FIRST, from }])).success, false);
  }
  const later = { from: "2027-01-01", input: 3 };
  for (const prices of [[FIRST, later], { ...FIRST, changes: [later] }]) {
    assertThrows(
      () => new Catalog(schema.parse(ofPrices(prices))),
      Error,
      "routes.house.prices.output: is missing from 2027-01-01 on",
    );
  }
});

Deno.test("the minimum is charged as the examples in docs/credits.md say", async () => {
  const page = await Deno.readTextFile(new URL("../../../docs/credits.md", import.meta.url));
  const [, table = ""] = /\n\| minimum \|.*\n\| -.*\n((?:\|.*\n)+)/.exec(page) ?? [];
  const rows = table.trim().split("\n").map((row) => row.split("|").slice(1, -1).map(Number));
  assert(rows.length > 8, table);
  for (const [minimum, tokens, calls, tier, ownKey, charge] of rows as [number, ...number[]][]) {
    const route = new Catalog(schema.parse({
      routes: {
        house: {
          targets: [{ upstream: "simulator", model: "m" }],
          minimum,
          prices: { input: 100_000, cached: 0, output: 0, ownKey },
          allow: { tools: { web_search: 1 }, tiers: { priority: tier } },
        },
      },
    })).find("house")!;
    const { used } = applyExtras("chat", {
      body: {
        model: "house",
        service_tier: "priority",
        tools: [
          { type: "function", function: { name: "f" } },
          { type: "web_search" },
        ],
      },
    }, route);
    const use: ReplyUse = {
      inputTokens: tokens! * 10,
      cachedTokens: 0,
      cacheWrittenTokens: 0,
      outputTokens: 0,
      reasoningTokens: 0,
      told: { tier: "priority" },
      hostedCalls: new Map([["web_search", calls!]]),
    };
    const by = pricedByOwnKey({ route, used }, use.inputTokens);
    assertEquals(
      chargeOf(by, use).priceCredits,
      charge,
      `${minimum} ${tokens} ${calls} ${tier} ${ownKey}`,
    );
  }
});

/** A charge in credits, and what genai-prices computes in credits: of a model of OpenAI's or Perplexity's, for this reply. */
function both(
  model: string,
  { perUsd = PER_USD, settings: own = {}, body = {}, isText = false, use = {} }: {
    perUsd?: number;
    settings?: object;
    body?: JsonObject;
    isText?: boolean;
    use?: Partial<ReplyUse>;
  },
): [charged: number, theirs: number | undefined] {
  const provider = model.startsWith("sonar") ? "perplexity" : "openai";
  const { url } = findKnownProvider(provider)!;
  const targets = [{ upstream: provider, model }];
  const known = new Catalog(schema.parse({
    credits: { perUsd },
    upstreams: { [provider]: { url } },
    routes: { house: { targets, minimum: 0, ...own } },
  })).find("house")!;
  const atMs = Date.UTC(2026, 10, 26);
  const route = routeAt(known, atMs);
  const { used } = applyExtras("responses", { body: { model: "house", ...body } }, route);
  const reply = {
    inputTokens: 0,
    cachedTokens: 0,
    cacheWrittenTokens: 0,
    outputTokens: 0,
    reasoningTokens: 0,
    ...use,
  };
  const price = calcPrice(
    {
      input_tokens: reply.inputTokens,
      input_audio_tokens: reply.kinds?.audioInput ?? 0,
      output_tokens: reply.outputTokens,
      output_reasoning_tokens: reply.reasoningTokens,
    },
    model,
    { provider: findProvider({ providerId: provider })!, timestamp: new Date(atMs) },
  );
  const { priceCredits } = chargeOf({ route, used: { ...used, isText } }, reply);
  return [
    priceCredits,
    price === null ? undefined : Math.round(price.total_price * perUsd * 1e6) / 1e6,
  ];
}

const MILLION_IN = { inputTokens: 1_000_000 };
const PRIORITY = { service_tier: "priority" };
const TIERS = { allow: { tiers: { priority: 2 } } };

/** Where a charge differs from the source on purpose: the cases of docs/credits.md, each with a try of it or the test that has one. */
const DIFFERENCES: Readonly<
  Record<
    string,
    (() => [number, number | undefined, ours: number, theirs: number | undefined]) | string
  >
> = {
  "a price of less than a credit per million tokens, or a factor": () => [
    ...both("gpt-5-mini", { perUsd: 1, use: MILLION_IN }),
    1,
    0.25,
  ],
  "a request that costs less than `minimum`": () => [
    ...both("gpt-5-mini", { settings: { minimum: 5 }, use: { inputTokens: 4 } }),
    5,
    1,
  ],
  "tokens that cost less than input or output, as some reasoning": () => [
    ...both("sonar-deep-research", { use: { outputTokens: 1_000, reasoningTokens: 1_000 } }),
    8_000,
    3_000,
  ],
  "service tiers, speeds and regions": () => [
    ...both("gpt-5-mini", {
      settings: TIERS,
      body: PRIORITY,
      use: { ...MILLION_IN, told: { tier: "priority" } },
    }),
    500_000,
    250_000,
  ],
  "a dearer tier or a longer cache than was asked for": () => [
    ...both("gpt-5-mini", { settings: TIERS, use: { ...MILLION_IN, told: { tier: "priority" } } }),
    250_000,
    250_000,
  ],
  "tokens of sound or pictures where all input is text": () => [
    ...both("gpt-audio", {
      isText: true,
      use: { ...MILLION_IN, kinds: { audioInput: 1_000_000 } },
    }),
    2_500_000,
    32_000_000,
  ],
  "a report that cannot be true": "tests/flow/overlong_reply_test.ts",
  "calls that the upstream does not tell": () => [
    ...both("gpt-5-mini", {
      body: { tools: [{ type: "function", name: "f" }, { type: "web_search" }] },
    }),
    10_000,
    0,
  ],
  "a model of which no price is known": () => {
    const [charged, theirs] = both("a-model-of-tomorrow", { use: MILLION_IN });
    return [Math.sign(charged), theirs, 1, undefined];
  },
  "pages of documents, seconds of sound, citations": "tests/settings/catalog/charges_test.ts",
};

Deno.test("each difference from genai-prices is as the table of docs/credits.md says", async () => {
  const root = new URL("../../../", import.meta.url);
  const page = await Deno.readTextFile(new URL("docs/credits.md", root));
  const [, table = ""] = /\n\| case .*\n\| -.*\n((?:\|.*\n)+)/.exec(page) ?? [];
  const cases = table.trim().split("\n").map((row) => row.split("|")[1]!.trim());
  assertEquals(cases, Object.keys(DIFFERENCES));
  for (const [name, one] of Object.entries(DIFFERENCES)) {
    if (typeof one === "string") {
      assert((await Deno.stat(new URL(one, root))).isFile);
      continue;
    }
    const [charged, theirs, ...expected] = one();
    assertEquals([charged, theirs], expected, name);
  }
});
