import fc from "fast-check";
import {
  BUILTIN_ROUTES,
  Catalog,
  permittedOutput,
  priceOf,
  type Route,
} from "../../../src/settings/catalog/mod.ts";
import { ConfigError, settings, type SettingsInput } from "../../../src/settings/config/mod.ts";
import { Refusal } from "../../../src/ground/refusal.ts";
import { assert, assertEquals, assertStringIncludes, assertThrows } from "../../assert.ts";

function catalog(input: SettingsInput = {}): Catalog {
  return new Catalog(settings.parse(input));
}

function route(id: string): Route {
  return { id, targets: [], origin: "built-in", ...BUILTIN_ROUTES[id]! };
}

/** The table of the documentation, line by line. */
const TABLE = [
  "svc-k2 128000 none none 1 100/25/400 8192",
  "svc-k2-0905 256000 none none 1 100/25/400 128000",
  "svc-k2.5 256000 inline thinking 2 100/25/500 128000",
  "svc-k2.6 256000 remote thinking 3 150/40/650 128000",
  "svc-k2.7-code 256000 remote always 3 150/40/650 128000",
  "svc-k3 1000000 remote effort 3 500/50/2500 128000",
];

Deno.test("Catalog holds the six routes of the service", () => {
  assertEquals(
    catalog().routes.map((one) =>
      [
        one.id,
        one.context,
        one.images,
        one.reasoning,
        one.minimum,
        Object.values(one.prices).join("/"),
        one.maxOutput,
      ].join(" ")
    ),
    TABLE,
  );
});

Deno.test("Catalog.resolve follows ids, aliases and the longest prefix", () => {
  const one = catalog({
    aliases: { "claude-*": "svc-k3", "claude-haiku-*": "svc-k2", small: "svc-k2.5" },
  });
  assertEquals(one.resolve("svc-k2.6").id, "svc-k2.6");
  assertEquals(one.resolve("small").id, "svc-k2.5");
  assertEquals(one.resolve("claude-svc-k2.6").id, "svc-k2.6");
  assertEquals(one.resolve("claude-haiku-5-5").id, "svc-k2");
  assertEquals(one.resolve("claude-opus").id, "svc-k3");
  const refusal = assertThrows(() => one.resolve("gpt-5"), Refusal);
  assertEquals([refusal.reason, refusal.param], ["model_unknown", "model"]);
  assertStringIncludes(assertThrows(() => one.resolve("svc-k3x"), Refusal).message, "'svc-k3'");
});

Deno.test("Catalog: a route without targets goes to the only upstream, or to nobody", () => {
  const targets = (input: SettingsInput) =>
    catalog(input).routes.map((one) => `${one.id}→${one.targets.map(({ upstream }) => upstream)}`);
  assertEquals(targets({})[0], "svc-k2→simulator");
  assertEquals(targets({ upstream: { url: "http://a" } })[5], "svc-k3→default");
  assertEquals(targets({ upstreams: { a: { url: "http://a" } } })[5], "svc-k3→a");
  assertEquals(targets({ upstreams: { a: { url: "http://a" }, b: { url: "http://b" } } }), []);
});

Deno.test("Catalog: a route that is switched off is served by no name, and is no fault", () => {
  const one = catalog({
    routes: { "svc-k2": { enabled: false }, gone: { enabled: false }, "svc-k3": { enabled: true } },
    aliases: { small: "svc-k2", "gpt-*": "svc-k2", big: "svc-k3" },
  });
  assertEquals(one.routes.map(({ id }) => id).includes("svc-k2"), false);
  assertEquals(one.off.map(({ id, targets }) => [id, targets[0]!.upstream]), [
    ["svc-k2", "simulator"],
    ["gone", "simulator"],
  ]);
  for (const name of ["svc-k2", "claude-svc-k2", "small", "gpt-5"]) {
    assertEquals(assertThrows(() => one.resolve(name), Refusal).reason, "model_unknown", name);
  }
  assertEquals([one.resolve("svc-k3").id, one.resolve("big").id], ["svc-k3", "svc-k3"]);
  assertEquals(one.warnings.length, 2, one.warnings.join());
  assertStringIncludes(one.warnings[0]!, "aliases.small: not served");
  // its name may be given to another
  const other = catalog({
    routes: { "svc-k2": { enabled: false } },
    aliases: { "svc-k2": "svc-k3" },
  });
  assertEquals(other.resolve("svc-k2").id, "svc-k3");
  const all = Object.fromEntries(catalog().routes.map(({ id }) => [id, { enabled: false }]));
  const none = catalog({ routes: all });
  assertEquals([none.routes.length, none.off.length], [0, 6]);
  assertStringIncludes(none.warnings.join(), "all routes are switched off");
  assertStringIncludes(
    assertThrows(() => none.resolve("x"), Refusal).message,
    "No models are available.",
  );
});

Deno.test("Catalog: a listed model that is switched off is not served, and its errors are still found", () => {
  const input = settings.parse({
    upstreams: { a: { url: "http://a", discover: true } },
    routes: { "gpt-5": { enabled: false } },
  });
  const listings = new Map([["a", [{ id: "gpt-5" }, { id: "gpt-6" }]]]);
  const one = new Catalog(input, listings as unknown as ConstructorParameters<typeof Catalog>[1]);
  assertEquals(one.routes.map(({ id }) => id), ["gpt-6"]);
  assertEquals(one.off.map(({ id }) => id), ["gpt-5"]);
  const wrong = { enabled: false, targets: [{ upstream: "b", model: "m" }] };
  assertThrows(() => catalog({ routes: { x: wrong } }), ConfigError);
});

Deno.test("Catalog: whatever name a listed model is served by, settings change it and an alias leads to it", () => {
  const names = ["@cf/meta/llama-3", "claude-sonnet-4@20250514", "a+b", "org/model:free"];
  const upstreams = { a: { url: "http://a", discover: true } };
  const listings = new Map([["a", names.map((id) => ({ id }))]]);
  const served = new Catalog(settings.parse({ upstreams }), listings);
  assertEquals(served.routes.map(({ id }) => id), names);
  for (const id of names) {
    const changed = settings.parse({
      upstreams,
      routes: { [id]: { minimum: 7 } },
      aliases: { small: id },
    });
    assertEquals(new Catalog(changed, listings).resolve("small").minimum, 7, id);
  }
});

Deno.test("Catalog: a setting overrides a field of a built-in route and keeps the others", () => {
  const one = catalog({ routes: { "svc-k2": { minimum: 5 } } }).resolve("svc-k2");
  assertEquals([one.minimum, one.maxOutput, one.context], [5, 8_192, 128_000]);
});

const OUTPUTS: readonly {
  id: string;
  input: number;
  asked: number;
  permitted: number;
  why: string;
}[] = [
  { id: "svc-k2", input: 10, asked: 1_024, permitted: 1_024, why: "what was asked" },
  { id: "svc-k2", input: 10, asked: 128_000, permitted: 8_192, why: "the route's maximum" },
  { id: "svc-k2", input: 127_999, asked: 10, permitted: 1, why: "the last token of the window" },
  {
    id: "svc-k2.5",
    input: 200_000,
    asked: 128_000,
    permitted: 56_000,
    why: "what the input leaves",
  },
  { id: "svc-k3", input: 1, asked: 128_000, permitted: 128_000, why: "the route's maximum" },
];

for (const { id, input, asked, permitted, why } of OUTPUTS) {
  Deno.test(`permittedOutput(${id}, ${input} in, ${asked} asked) is ${permitted}: ${why}`, () => {
    assertEquals(permittedOutput(route(id), { inputTokens: input, asked }), permitted);
  });
}

Deno.test("permittedOutput refuses an input that fills the window", () => {
  for (const input of [128_000, 128_001, 5_000_000]) {
    const refusal = assertThrows(
      () => permittedOutput(route("svc-k2"), { inputTokens: input, asked: 1 }),
      Refusal,
    );
    assertEquals(refusal.message, `prompt is too long: ${input} tokens > 127999 maximum`);
  }
});

Deno.test("priceOf rounds up, and never below the route's minimum", () => {
  const price = (inputTokens: number, cachedTokens: number, outputTokens: number) =>
    priceOf(route("svc-k3"), { inputTokens, cachedTokens, outputTokens });
  assertEquals(price(0, 0, 0), 3);
  assertEquals(price(6_000, 0, 0), 3);
  assertEquals(price(6_001, 0, 0), 4);
  assertEquals(price(1_000_000, 1_000_000, 0), 50);
  assertEquals(price(0, 0, 1_000_000), 2_500);
});

Deno.test("priceOf is the least number of credits that covers the tokens and the minimum (property)", () => {
  const unit = fc.oneof(fc.constantFrom(0, 1), fc.integer({ min: 0, max: 50_000 }));
  const nearWhole = fc.tuple(fc.nat(1_000), fc.integer({ min: -2, max: 2 }))
    .map(([credits, more]) => Math.max(0, credits * 1_000_000 + more));
  const tokens = fc.oneof(nearWhole, fc.integer({ min: 0, max: 2 ** 35 }));
  fc.assert(
    fc.property(
      fc.record({ input: unit, cached: unit, output: unit }),
      fc.nat(5),
      fc.tuple(tokens, tokens, tokens),
      (prices, minimum, [a, b, outputTokens]) => {
        const cachedTokens = Math.min(a, b);
        const own = { ...route("svc-k3"), prices, minimum };
        const price = priceOf(own, { inputTokens: a, cachedTokens, outputTokens });
        const millionths = BigInt(a - cachedTokens) * BigInt(prices.input) +
          BigInt(cachedTokens) * BigInt(prices.cached) +
          BigInt(outputTokens) * BigInt(prices.output);
        const isEnough = (credits: number) =>
          credits >= minimum && BigInt(credits) * 1_000_000n >= millionths;
        assert(Number.isSafeInteger(price) && isEnough(price));
        assert(price === 0 || !isEnough(price - 1), "it is more than that");
      },
    ),
    { examples: [[{ input: 1, cached: 0, output: 0 }, 0, [1_000_001, 0, 0]]] },
  );
});

Deno.test("priceOf is exact and never falls when tokens are added (property)", () => {
  const tokens = fc.integer({ min: 0, max: 2 ** 40 });
  fc.assert(
    fc.property(
      fc.constantFrom(...Object.keys(BUILTIN_ROUTES)),
      tokens,
      tokens,
      tokens,
      (id, a, b, c) => {
        const cachedTokens = Math.min(a, b);
        const own = route(id);
        const price = priceOf(own, { inputTokens: a, cachedTokens, outputTokens: c });
        assert(Number.isSafeInteger(price) && price >= own.minimum);
        assert(priceOf(own, { inputTokens: a + 1, cachedTokens, outputTokens: c }) >= price);
        assert(priceOf(own, { inputTokens: a, cachedTokens, outputTokens: c + 1 }) >= price);
      },
    ),
  );
});
