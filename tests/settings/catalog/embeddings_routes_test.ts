import {
  BUILTIN_ROUTES,
  Catalog,
  compareWithKnown,
  type Listings,
} from "../../../src/settings/catalog/mod.ts";
import { ConfigError, settings, type SettingsInput } from "../../../src/settings/config/mod.ts";
import { Refusal } from "../../../src/ground/refusal.ts";
import { assert, assertEquals, assertStringIncludes, assertThrows } from "../../assert.ts";

const LOCAL = "http://127.0.0.1:11434/v1";
const OPENAI = "https://api.openai.com/v1";

const catalogOf = (input: SettingsInput, listings?: Listings) =>
  new Catalog(settings.parse(input), listings);

const faultsOf = (input: SettingsInput) =>
  assertThrows(() => catalogOf(input), ConfigError).faults.join("\n");

Deno.test("a route of kind embeddings: its own limits and prices, and no output", () => {
  const route = catalogOf({
    routes: {
      mine: {
        kind: "embeddings",
        targets: [{ upstream: "simulator", model: "m" }],
        context: 512,
        dimensions: 768,
        minimum: 2,
        prices: { input: 20 },
      },
    },
  }).resolve("mine", "embeddings");
  assertEquals([route.context, route.maxInput, route.maxOutput], [512, 512, 0]);
  assertEquals([route.dimensions, route.checksDimensions, route.minimum], [768, true, 2]);
  assertEquals(route.prices, { input: 20, cached: 20, output: 0 });
});

Deno.test("a route of kind embeddings that says no more: served by the simulator, with defaults", () => {
  const { routes } = catalogOf({ routes: { e: { kind: "embeddings" } } });
  assertEquals(routes.map(({ id }) => id), [...Object.keys(BUILTIN_ROUTES), "e"]);
  const route = routes.at(-1)!;
  assertEquals([route.targets[0]?.upstream, route.context, route.minimum], ["simulator", 8_192, 1]);
  assertEquals(route.prices, { input: 100, cached: 100, output: 0 });
});

Deno.test("prices of an embeddings route charge nothing for output and cached input", () => {
  const route = catalogOf({
    routes: { e: { kind: "embeddings", prices: { input: 20, cached: 1, output: 900 } } },
  }).resolve("e");
  assertEquals(route.prices, { input: 20, cached: 20, output: 0 });
});

Deno.test("listed embeddings models: known ones by the catalogue, others by name, cautiously", () => {
  const catalog = catalogOf(
    { upstreams: { up: { url: OPENAI, discover: true } } },
    new Map([["up", [
      { id: "text-embedding-3-large" },
      { id: "nomic-embed-text:latest" },
      { id: "mxbai-embed-large", context: 512 },
      { id: "BAAI/bge-m3" },
      { id: "gpt-4o-mini" },
      { id: "bge-reranker-v2-m3" },
    ]]]),
  );
  const of = (id: string) => {
    const { kind, context, origin, prices: { input }, dimensions } = catalog.resolve(id);
    return [kind, context, origin, input, dimensions];
  };
  assertEquals(of("text-embedding-3-large"), ["embeddings", 8_191, "known", 130, 3_072]);
  assertEquals(of("nomic-embed-text:latest"), ["embeddings", 2_048, "guess", 100, undefined]);
  assertEquals(of("mxbai-embed-large"), ["embeddings", 512, "guess", 100, undefined]);
  assertEquals(of("BAAI/bge-m3")[0], "embeddings");
  assertEquals(of("gpt-4o-mini")[0], "generation");
  assertEquals(catalog.find("bge-reranker-v2-m3"), undefined);
  assertEquals(catalog.resolve("text-embedding-3-large").checksDimensions, false);
  assertEquals(catalog.routes[0]?.id, "gpt-4o-mini"); // those for replies come first
});

Deno.test("an upstream of the messages dialect serves no embeddings, listed or configured", () => {
  const claude = { url: LOCAL, dialect: "messages" as const };
  const listed = catalogOf(
    { upstreams: { claude: { ...claude, discover: true } } },
    new Map([["claude", [{ id: "text-embedding-3-small" }, { id: "claude-x" }]]]),
  );
  assertEquals(listed.routes.map(({ id }) => id), ["claude-x"]);
  const target = { upstream: "claude", model: "m" };
  const route = { kind: "embeddings" as const, targets: [target] };
  assertStringIncludes(
    faultsOf({ upstreams: { claude }, routes: { e: route } }),
    "routes.e.targets[0].upstream: 'claude' speaks the messages dialect, which has no embeddings",
  );
  assertStringIncludes(
    faultsOf({
      upstream: { url: LOCAL, dialect: "messages" },
      routes: { e: { kind: "embeddings" } },
    }),
    "'default' speaks the messages dialect",
  );
  const mixed = catalogOf({
    upstreams: { claude, local: { url: LOCAL } },
    routes: { e: { ...route, targets: [target, { upstream: "local", model: "m" }] } },
  });
  assertStringIncludes(mixed.warnings.join("\n"), "routes.e.targets[0].upstream: 'claude'");
});

Deno.test("settings that a kind has no use for are errors", () => {
  const embeddings = { kind: "embeddings" as const };
  for (
    const [field, value] of Object.entries({
      maxOutput: 5,
      images: "inline",
      reasoning: "effort",
      efforts: ["low"],
    })
  ) {
    assertStringIncludes(
      faultsOf({ routes: { e: { ...embeddings, [field]: value } } }),
      `routes.e.${field}: does not apply to a route of kind "embeddings"`,
    );
  }
  assertStringIncludes(faultsOf({ routes: { "svc-k2": embeddings } }), "routes.svc-k2.kind:");
  assertStringIncludes(faultsOf({ routes: { g: { dimensions: 5 } } }), "routes.g.dimensions:");
  const half = faultsOf({ routes: { "svc-k2": { prices: { input: 5 } } } });
  assertStringIncludes(half, "routes.svc-k2.prices.cached: is missing");
  assertStringIncludes(half, "routes.svc-k2.prices.output: is missing");
});

Deno.test("a route's kind is that of its first target's model where the settings leave it open", () => {
  const kind = (model: string, more = {}) =>
    catalogOf({
      upstreams: { up: { url: LOCAL } },
      routes: { r: { targets: [{ upstream: "up", model }], ...more } },
    }).resolve("r").kind;
  assertEquals(kind("text-embedding-3-small"), "embeddings");
  assertEquals(kind("nomic-embed-text"), "embeddings");
  assertEquals(kind("llama3"), "generation");
  // settings that worked before kinds existed go on meaning replies
  assertEquals(kind("my-embedded-llm", { maxOutput: 100 }), "generation");
  assertEquals(kind("my-embedded-llm", { kind: "generation" }), "generation");
  assertEquals(kind("vectors", { kind: "embeddings" }), "embeddings");
});

Deno.test("a listed model's kind can be overridden both ways", () => {
  const kindAndLimits = (own: NonNullable<SettingsInput["routes"]>) => {
    const { kind, context, maxOutput } = catalogOf(
      { upstreams: { up: { url: LOCAL, discover: true } }, routes: own },
      new Map([["up", [{ id: "vectors" }, { id: "embedded-llm" }]]]),
    ).resolve(Object.keys(own)[0]!);
    return [kind, context, maxOutput];
  };
  assertEquals(kindAndLimits({ vectors: { kind: "embeddings" } }), ["embeddings", 2_048, 0]);
  assertEquals(kindAndLimits({ "embedded-llm": { kind: "generation" } }), [
    "generation",
    32_768,
    8_192,
  ]);
  assertEquals(kindAndLimits({ "embedded-llm": { prices: { input: 1 } } })[0], "embeddings");
});

Deno.test("each endpoint names the other one, and its own models, for a model of the other kind", () => {
  const catalog = catalogOf({ routes: { e: { kind: "embeddings" } }, aliases: { vec: "e" } });
  const messageOf = (model: string, kind: "generation" | "embeddings") => {
    const refusal = assertThrows(() => catalog.resolve(model, kind), Refusal);
    return [refusal.reason, refusal.param, refusal.message];
  };
  const [reason, param, message] = messageOf("vec", "generation");
  assertEquals([reason, param], ["request_invalid", "model"]);
  assertStringIncludes(message!, "'vec' only makes embeddings: send it to POST /v1/embeddings");
  assertStringIncludes(message!, "Available models: svc-k2,");
  const [, , other] = messageOf("svc-k2", "embeddings");
  assertStringIncludes(other!, "send it to POST /v1/chat/completions or POST /v1/messages");
  assertStringIncludes(other!, "Available models for embeddings: e (GET /v1/models)");
  const [unknown, , advice] = messageOf("svc-k", "embeddings");
  assertEquals(unknown, "model_unknown");
  assert(!advice!.includes("svc-k2"), advice);
  const none = assertThrows(() => catalogOf({}).resolve("svc-k2", "embeddings"), Refusal);
  assertStringIncludes(none.message, "No models for embeddings are configured: add a route");
});

Deno.test("models for embeddings have no name that coding tools look for, and are no example", () => {
  const catalog = catalogOf({
    upstreams: { up: { url: LOCAL, discover: true } },
  }, new Map([["up", [{ id: "nomic-embed-text" }]]]));
  assertEquals(catalog.find("claude-nomic-embed-text"), undefined);
  assertEquals(catalog.aliases, []);
  assertEquals(catalog.example("svc-k2"), undefined);
});

Deno.test("the check of routes names a target that is for something else", () => {
  const input = settings.parse({
    upstreams: { up: { url: OPENAI } },
    routes: {
      a: { kind: "generation", targets: [{ upstream: "up", model: "text-embedding-3-small" }] },
      b: { kind: "embeddings", targets: [{ upstream: "up", model: "gpt-4o-mini" }] },
      c: {
        targets: [{ upstream: "up", model: "text-embedding-3-large" }],
        prices: { input: 1 },
        context: 9_000,
      },
    },
  });
  const found = compareWithKnown(new Catalog(input), input, new Map()).join("\n");
  assertStringIncludes(found, "routes.a.kind: generation, but text-embedding-3-small (up) only");
  assertStringIncludes(found, "routes.b.kind: embeddings, but gpt-4o-mini (up) makes no");
  assertStringIncludes(found, "routes.c.context: 9000 is more than the 8191");
  assertStringIncludes(found, "routes.c.prices.input: 1 credits");
  assert(!/routes\.c\.(maxOutput|prices\.(cached|output))/.test(found), found);
});
