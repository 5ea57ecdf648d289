import { Catalog } from "../../../src/settings/catalog/mod.ts";
import { settings } from "../../../src/settings/config/mod.ts";
import {
  disputedPrices,
  findKnownModel,
  knownModels,
} from "../../../src/settings/known_models/mod.ts";
import { assert, assertEquals } from "../../assert.ts";

const LOCAL = "http://127.0.0.1:11434/v1";

Deno.test("each known model is whole, and found by its own name at its own host", () => {
  const models = knownModels();
  assert(models.length > 250, `${models.length} models`);
  for (const one of models) {
    const { id, context, maxOutput, prices, embeds } = one;
    assert(context >= 500 && maxOutput >= (embeds ? 0 : 1) && maxOutput <= context, id);
    if (prices !== undefined) {
      assert(prices.input >= 0 && prices.cached >= 0 && prices.output >= 0, id);
    }
    assert(findKnownModel(id, LOCAL) !== undefined, id);
  }
});

Deno.test("names of other hosts, of sizes and of dates find the model; another size does not", () => {
  const found = (name: string, url = LOCAL) => {
    const known = findKnownModel(name, url);
    return known && `${known.provider}:${known.id}`;
  };
  assertEquals(found("gpt-5", "https://api.openai.com/v1"), "openai:gpt-5");
  assertEquals(found("gpt-5-2025-08-07"), "openai:gpt-5");
  assertEquals(found("openai/gpt-5"), "openai:gpt-5");
  assertEquals(found("gpt-oss:20b", "https://api.groq.com/openai/v1"), "groq:openai/gpt-oss-20b");
  assertEquals(found("qwen3:32b"), "alibaba:qwen3-32b");
  assertEquals(found("kimi-k2.6:latest"), "moonshotai:kimi-k2.6");
  assertEquals(
    found("moonshotai/Kimi-K2.6", "https://api.together.xyz/v1"),
    "togetherai:moonshotai/Kimi-K2.6",
  );
  // as clouds and relays write them
  const bedrock = "https://bedrock-runtime.eu-central-1.amazonaws.com";
  for (
    const [name, id] of [
      ["anthropic.claude-sonnet-4-5-20250929-v1:0", "anthropic:claude-sonnet-4-5-20250929"],
      ["eu.anthropic.claude-sonnet-4-5-20250929-v1:0", "anthropic:claude-sonnet-4-5-20250929"],
      ["us-gov.anthropic.claude-sonnet-4-5-20990101-v1:0", "anthropic:claude-sonnet-4-5"],
      ["global.anthropic.claude-opus-4-6-v1", "anthropic:claude-opus-4-6"],
      ["anthropic.claude-haiku-4-5", "anthropic:claude-haiku-4-5"],
      [
        "arn:aws:bedrock:eu-central-1:1:inference-profile/eu.anthropic.claude-opus-4-6-v1:0",
        "anthropic:claude-opus-4-6",
      ],
      ["openai.gpt-oss-120b-1:0", "cerebras:gpt-oss-120b"],
      ["claude-sonnet-4-5@20250929", "anthropic:claude-sonnet-4-5-20250929"],
      ["claude-opus-4-6@default", "anthropic:claude-opus-4-6"],
      ["anthropic/claude-sonnet-4.5", "anthropic:claude-sonnet-4-5"],
    ] as const
  ) {
    assertEquals(found(name, bedrock), id, name);
  }
  const others = ["acme.claude-opus-4-6", "anthropic.", "qwen.qwen3-1b-v1:0", "@20250929"];
  for (const name of ["qwen3:1b", "llama", "", "/", ":", "gpt-5x", ...others]) {
    assertEquals(found(name), undefined, name);
  }
});

Deno.test("a listed model has the prices of its maker in credits, rounded up", () => {
  const at = (perUsd: number) =>
    new Catalog(
      settings.parse({
        upstreams: { maker: { url: "https://api.openai.com/v1", discover: true } },
        credits: { perUsd },
      }),
      new Map([["maker", [{ id: "gpt-5" }]]]),
    ).find("gpt-5");
  assertEquals(at(1_000)?.prices, { input: 1_250, cached: 125, output: 10_000 });
  assertEquals(at(1)?.prices, { input: 2, cached: 1, output: 10 });
  const route = at(1_000)!;
  assertEquals([route.context, route.maxOutput, route.images], [400_000, 128_000, "remote"]);
});

Deno.test("a route to a cloud's model promises what the model can do", () => {
  const route = new Catalog(settings.parse({
    upstreams: {
      aws: { url: "https://bedrock-runtime.eu-central-1.amazonaws.com", dialect: "messages" },
    },
    routes: {
      claude: {
        targets: [{ upstream: "aws", model: "eu.anthropic.claude-sonnet-4-5-20250929-v1:0" }],
      },
    },
  })).find("claude")!;
  const { context, maxOutput, images, reasoning, prices } = route;
  assertEquals([context, maxOutput, images, reasoning], [200_000, 64_000, "remote", "thinking"]);
  assertEquals(prices, { input: 3_300, cached: 330, output: 16_500 }); // of the region
});

Deno.test("prices on which the sources differ by more than 2 % are named, those of another host are not", () => {
  const all = knownModels().flatMap(({ id, provider }) => {
    const url =
      { openai: "https://api.openai.com/v1", anthropic: "https://api.anthropic.com/v1" }[provider];
    return url === undefined ? [] : disputedPrices(id, url).map((one) => ({ id, ...one }));
  });
  for (const { id, what, charged, other } of all) {
    assert(Math.abs(charged - other) > 0.02 * Math.max(charged, other), `${id} ${what}`);
  }
  assertEquals(disputedPrices("claude-opus-4-6", "https://api.anthropic.com/v1"), []);
  assertEquals(disputedPrices("claude-opus-4-6", "https://openrouter.ai/api/v1"), []);
});
