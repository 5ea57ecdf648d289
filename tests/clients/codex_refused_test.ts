import type { SettingsInput } from "../../src/settings/config/mod.ts";
import { assert, assertEquals, assertStringIncludes } from "../assert.ts";
import { checkResponsesStream } from "../wire/dialects/legal_responses.ts";
import { assertLedgerClean, customer } from "../fake/customer.ts";
import { usageRecords, WIDE_TIERS } from "../fake/gateway.ts";
import { simulateServer } from "../fake/simulate.ts";
import { CODEX, codexDesk } from "./codex.ts";

/** Requests that Codex makes of one whose stream fails: the first, and five more. */
const STREAM_REQUESTS = 6;
const CREDITS = 1_000;

/** Why Codex is refused, and what it must print. */
const REFUSED: readonly {
  readonly why: string;
  readonly prints: string;
  readonly settings?: SettingsInput;
  readonly credits?: number;
  readonly budget?: number;
  readonly model?: string;
  readonly key?: string;
  readonly prompt?: string;
  /** Requests that are complete before. */
  readonly before?: number;
}[] = [
  { why: "the credits are spent", credits: 1, prints: "which the balance of 1 credit does not" },
  { why: "the key's budget is spent", budget: 1, prints: "budget of this API key does not cover" },
  {
    why: "the window is full",
    settings: { tiers: [{ ...WIDE_TIERS[0]!, day: 1 }] },
    before: 1,
    prints: "Rate limit reached: 1 requests per day for this key. Please try again in",
  },
  { why: "the model is unknown", model: "no-such", prints: "Unknown model 'no-such'." },
  { why: "the key is unknown", key: "sk-0123456789abcdef0123", prints: "API key" },
  {
    why: "the upstream refuses the request",
    prompt: "[[status 400]]",
    prints: "Simulated refusal of the request",
  },
  {
    why: "the context is too small",
    settings: {
      routes: {
        small: {
          targets: [{ upstream: "default", model: "m" }],
          context: 2_000, // so small that no tokenizer makes it fit
          minimum: 1,
          prices: { input: 1, cached: 1, output: 1 },
        },
      },
    },
    model: "small",
    prints: "ran out of room in the model's context window",
  },
];

for (const { why, prints, settings, before = 0, ...one } of REFUSED) {
  Deno.test(`Codex makes one request and says why it ends: ${why}`, {
    ignore: CODEX === undefined,
  }, async () => {
    await using server = simulateServer();
    await using desk = await codexDesk({
      upstream: { url: server.url, dialect: "chat" },
      ...settings,
    });
    const { credits = CREDITS, budget, model = "svc-k3", prompt = "Hello" } = one;
    const payer = await customer(desk.gateway, credits, budget === undefined ? {} : { budget });
    const key = one.key ?? payer.keys[0]!;
    for (let at = 0; at < before; at++) {
      const { code, out, err } = await desk.exec(prompt, { model, key });
      assertEquals(code, 0, `${out}\n${err}`);
    }
    const paid = await payer.balance();
    const { code, err } = await desk.exec(prompt, { model, key });
    assertEquals(code, 1, err);
    assertStringIncludes(err, prints);
    const own = desk.exchanges.slice(before);
    assertEquals(own.length, 1, err);
    const { response } = checkResponsesStream(own[0]!.text());
    assertEquals([response.status, response.output], ["failed", []]);
    assertEquals(await payer.balance(), paid, "it costs nothing");
    await assertLedgerClean(desk.gateway);
  });
}

for (
  const [what, directive] of [
    ["before any text", "[[cut after 3]]"],
    ["in its text", "[[tokens 60]] [[cut after 40]]"],
    ["with an error", "[[tokens 60]] [[error after 40]]"],
    ["without an end", "[[tokens 60]] [[end after 40]]"],
  ]
) {
  Deno.test(`Codex retries a stream that breaks ${what} as often as any, and none is charged`, {
    ignore: CODEX === undefined,
  }, async () => {
    await using server = simulateServer();
    await using desk = await codexDesk({ upstream: { url: server.url, dialect: "chat" } });
    const payer = await customer(desk.gateway, CREDITS);
    const { code, err } = await desk.exec(directive!, { model: "svc-k3", key: payer.keys[0]! });
    assertEquals(code, 1);
    assertEquals(desk.exchanges.length, STREAM_REQUESTS, err);
    assertEquals(server.requests, STREAM_REQUESTS);
    for (const { text } of desk.exchanges) {
      assertEquals(checkResponsesStream(text()).response.status, "failed");
    }
    const records = await usageRecords(desk.gateway);
    assertEquals(
      records.map(({ ending, charged_credits: charged }) => [ending, charged]),
      Array(STREAM_REQUESTS).fill(["upstream_failed", 0]),
    );
    assertEquals(await payer.balance(), CREDITS);
    await assertLedgerClean(desk.gateway);
  });
}

Deno.test("credits that end in a stream end Codex's turn: no other request is made", {
  ignore: CODEX === undefined,
}, async () => {
  await using server = simulateServer();
  await using desk = await codexDesk({ upstream: { url: server.url, dialect: "chat" } });
  const payer = await customer(desk.gateway, 20);
  const prompt = "[[tokens 20000]] [[pace 0ms]]";
  const run = await desk.exec(prompt, { model: "svc-k3", key: payer.keys[0]! });
  assertEquals(run.code, 1);
  assertStringIncludes(run.err, "Incomplete response returned, reason: max_output_tokens");
  assertEquals(desk.exchanges.length, 1);
  assertEquals(await payer.balance(), 0);
});

Deno.test("Codex is told the balance and the window with each response", {
  ignore: CODEX === undefined,
}, async () => {
  await using server = simulateServer();
  await using desk = await codexDesk({
    upstream: { url: server.url, dialect: "chat" },
    tiers: [{ ...WIDE_TIERS[0]!, day: 4 }],
  });
  const payer = await customer(desk.gateway, CREDITS);
  await desk.exec("Hello", { model: "svc-k3", key: payer.keys[0]! });
  const { response } = desk.exchanges[0]!;
  assertEquals(response.get("x-codex-credits-has-credits"), "true");
  assertEquals(response.get("x-codex-primary-used-percent"), "25");
  assertEquals(response.get("x-codex-primary-window-minutes"), "1440");
  assert(Number(response.get("x-codex-credits-balance")) > 0);
});
