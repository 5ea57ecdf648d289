/** A hold covers whatever its request may be charged, as far as the upstream keeps within the tokens that it is for. */

import fc from "fast-check";
import {
  BUILTIN_ROUTES,
  chargeOf,
  heldRoute,
  pricedByOwnKey,
  priceOf,
  reservedFor,
  type Route,
} from "../../../src/settings/catalog/mod.ts";
import { applyExtras } from "../../../src/wire/extras/mod.ts";
import { assert } from "../../assert.ts";
import { sized } from "../../tier.ts";

const price = fc.integer({ min: 0, max: 50_000 });
const tokens = fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 200_000 }));
const factor = fc.integer({ min: 1, max: 40 }).map((one) => one / 10);
const share = fc.integer({ min: 0, max: 100 }).map((one) => one / 100);

/** Routes with prices of any kinds, in any order. */
const route = fc.record({
  minimum: fc.integer({ min: 0, max: 5 }),
  prices: fc.record({ input: price, cached: price, output: price }),
  units: fc.record({
    audioInput: price,
    audioCached: price,
    audioOutput: price,
    imageInput: price,
    imageCached: price,
    imageOutput: price,
    reasoning: price,
    requests: price,
  }, { requiredKeys: [] }),
  ownKeyShare: share,
  allow: fc.record({
    tiers: fc.record({ flex: factor, priority: factor }, { requiredKeys: [] }),
    cache: fc.record({ "5m": factor, "1h": factor }, { requiredKeys: [] }),
    cacheWrites: factor,
    tools: fc.record({ web_search: share, code_interpreter: factor }, { requiredKeys: [] }),
  }),
}).map((one): Route => ({
  ...BUILTIN_ROUTES["svc-k3"]!,
  id: "house",
  origin: "settings",
  targets: [],
  ...one,
  allow: { regions: {}, resources: [], fields: [], ...one.allow } as NonNullable<Route["allow"]>,
}));

const asked = fc.record({
  tier: fc.constantFrom(undefined, "flex", "priority"),
  ttl: fc.constantFrom(undefined, "5m", "1h"),
  searches: fc.constantFrom(undefined, 1, 3),
  maxCalls: fc.constantFrom(undefined, 1),
  isText: fc.boolean(),
  isOwn: fc.boolean(),
  choices: fc.integer({ min: 1, max: 3 }),
});

/** Tokens of a reply, and which parts of them are of which kinds. */
const reply = fc.record({
  counted: tokens,
  open: tokens,
  output: tokens,
  cached: share,
  written: share,
  hour: share,
  sound: share,
  soundRead: share,
  pictures: share,
  picturesRead: share,
  soundOut: share,
  picturesOut: share,
  reasoning: share,
  tellsCalls: fc.boolean(),
  told: fc.constantFrom(undefined, "default", "flex", "priority"),
});

Deno.test("no reply within its limits is charged more than its hold has: any prices, kinds, tiers, tools (random)", () => {
  fc.assert(
    fc.property(route, asked, reply, (house, of, said) => {
      const { choices } = of;
      const { used: all } = applyExtras("chat", {
        body: {
          model: "house",
          ...(of.tier && { service_tier: of.tier }),
          ...(of.ttl && { messages: [{ cache_control: { type: "ephemeral", ttl: of.ttl } }] }),
          ...(of.maxCalls && { max_tool_calls: of.maxCalls }),
          ...(of.searches && {
            tools: [
              { type: "function", function: { name: "own" } },
              { type: "web_search", max_uses: of.searches },
              { type: "code_interpreter" },
            ],
          }),
        },
      }, house);
      const used = { ...all, isText: of.isText };
      const { route: priced, used: asks } = of.isOwn
        ? pricedByOwnKey({ route: house, used }, said.counted)
        : { route: house, used };
      const inputTokens = choices * (said.counted + said.open);
      const cachedTokens = Math.floor(inputTokens * said.cached);
      const cacheWrittenTokens = Math.floor((inputTokens - cachedTokens) * said.written);
      const part = (share: number, of: number) => Math.floor(share * of);
      const audioCached = part(said.soundRead, cachedTokens);
      const imageCached = part(said.picturesRead, cachedTokens - audioCached);
      const fresh = inputTokens - cachedTokens;
      const sound = part(said.sound, fresh);
      const charge = chargeOf({ route: priced, used: asks }, {
        inputTokens,
        cachedTokens,
        cacheWrittenTokens,
        outputTokens: said.output,
        reasoningTokens: part(said.reasoning, said.output),
        requests: choices,
        kinds: {
          writtenHour: part(said.hour, cacheWrittenTokens),
          audioInput: sound + audioCached,
          audioCached,
          imageInput: part(said.pictures, fresh - sound) + imageCached,
          imageCached,
          audioOutput: part(said.soundOut, said.output),
          imageOutput: part(said.picturesOut, said.output),
        },
        told: said.told === undefined ? undefined : { tier: said.told },
        hostedCalls: said.tellsCalls
          ? new Map([["web_search", asks.maxCalls * choices]])
          : undefined,
      });
      const held = priceOf(heldRoute(priced, asks), {
        inputTokens: choices * said.counted,
        cachedTokens: 0,
        outputTokens: said.output,
      }) + reservedFor(priced, asks, { inputTokens: said.open, choices });
      assert(
        charge.priceCredits <= held,
        `${charge.priceCredits} of ${held}: ${JSON.stringify(charge.extras)}`,
      );
    }),
    { numRuns: sized(2_000, 100_000) },
  );
});
