import { codexHeaders } from "../../../src/doors/http/codex.ts";
import { setBudget } from "../../../src/money/ledger/mod.ts";
import { ToolGrants } from "../../../src/people/accounts/mod.ts";
import { assert, assertEquals, assertStringIncludes } from "../../assert.ts";
import { startGateway, type TestGateway, usageRecords } from "../../fake/gateway.ts";

const CODEX = { originator: "codex_exec", accept: "text/event-stream" };
const NOW = Date.UTC(2030, 0, 1, 10, 30);

const ask = (
  gateway: TestGateway,
  options: { key?: string; headers?: Record<string, string> } = {},
) => gateway.post("/v1/responses", { model: "svc-k2", input: "Hi", stream: true }, options);

Deno.test("Codex is told the balance, and the two nearest windows of different lengths", () => {
  const windows = [
    { of: "key", span: "minute", limit: 20, used: 5 },
    { of: "account", span: "minute", limit: 20, used: 6 },
    { of: "key", span: "hour", limit: 3, used: 2 },
    { of: "key", span: "day", limit: 1_000, used: 2 },
  ] as const;
  assertEquals(codexHeaders({ balance: 7, windows }, NOW), {
    "x-codex-credits-has-credits": "true",
    "x-codex-credits-unlimited": "false",
    "x-codex-credits-balance": "7",
    "x-codex-primary-used-percent": "66.7",
    "x-codex-primary-window-minutes": "60",
    "x-codex-primary-reset-at": String(Date.UTC(2030, 0, 1, 11) / 1_000),
    "x-codex-secondary-used-percent": "30",
    "x-codex-secondary-window-minutes": "1",
    "x-codex-secondary-reset-at": String(Date.UTC(2030, 0, 1, 10, 31) / 1_000),
  });
  assertEquals(codexHeaders({ balance: 0, windows: [] }, NOW), {
    "x-codex-credits-has-credits": "false",
    "x-codex-credits-unlimited": "false",
    "x-codex-credits-balance": "0",
  });
});

Deno.test("a Codex that is signed in is told the budget with the least left, and the nearest window", async () => {
  const windows = [{ of: "key", span: "hour", limit: 4, used: 1 }] as const;
  const budget = {
    id: "key:k:week",
    owner: "key",
    ownerId: "k",
    period: "week",
    zone: "UTC",
    credits: 200,
    raise: { credits: 100, untilMs: NOW + 1 },
    marks: [],
    startsAtMs: 0,
    renewsAtMs: NOW + 5_000,
    spent: 100,
    held: 50,
    left: 150,
  } as const;
  const told = (of: Parameters<typeof codexHeaders>[0], showsBudget: boolean) =>
    Object.fromEntries(
      Object.entries(codexHeaders(of, NOW, { showsBudget }))
        .filter(([name]) => !name.startsWith("x-codex-credits-"))
        .map(([name, value]) => [name.slice(8), value]),
    );
  const window = (name: string) => ({
    [`${name}-used-percent`]: "25",
    [`${name}-window-minutes`]: "60",
    [`${name}-reset-at`]: String(Date.UTC(2030, 0, 1, 11) / 1_000),
  });
  assertEquals(told({ balance: 7, windows, budget }, true), {
    "primary-used-percent": "33.3",
    "primary-window-minutes": "10080",
    "primary-reset-at": String(NOW / 1_000 + 5),
    ...window("secondary"),
  });
  assertEquals(told({ balance: 7, windows, budget }, false), window("primary"));
  assertEquals(told({ balance: 7, windows }, true), window("primary"), "there is none");
  const life = { ...budget, period: "life", renewsAtMs: null, spent: 1_000 } as const;
  assertEquals(told({ balance: 7, windows: [], budget: life }, true), {
    "primary-used-percent": "100",
  });

  await using gateway = await startGateway({ settings: { signIn: {} } });
  const { accounts, database, clock } = gateway.gateway;
  const owner = (await accounts.owner())!;
  const { accessToken: key, keyId } = await new ToolGrants({
    database,
    now: clock.now,
    key: () => Promise.resolve(new Uint8Array(32)),
  }).issue(owner, "A tool");
  const { renewsAtMs } = await setBudget(database, {
    owner: "key",
    ownerId: keyId,
    period: "month",
    credits: 1_000,
  }, { nowMs: clock.now() });
  const { headers, body } = await ask(gateway, { key, headers: CODEX });
  await body?.cancel();
  assertEquals(headers.get("x-codex-primary-window-minutes"), "43200");
  assertEquals(headers.get("x-codex-primary-reset-at"), String(renewsAtMs! / 1_000));
});

Deno.test("only Codex gets its headers, and only from /v1/responses", async () => {
  await using gateway = await startGateway();
  const namesOf = async (reply: Promise<Response>) => {
    const { headers, body } = await reply;
    await body?.cancel();
    return [...headers.keys()].filter((name) => name.startsWith("x-codex-")).length;
  };
  assertEquals(await namesOf(ask(gateway, { headers: CODEX })), 9);
  assertEquals(await namesOf(ask(gateway)), 0);
  assertEquals(await namesOf(gateway.chat("Hi", {}, { headers: CODEX })), 0);
});

Deno.test("a refusal that Codex would repeat is a response that failed; others get the status, and all are counted", async () => {
  await using gateway = await startGateway({ settings: { credits: { signup: 0 } } });
  const { keys, registration } = gateway.gateway;
  const poor = await registration.register({ email: "poor@example.com" });
  const { secret: key } = await keys.issue(poor);
  const streamed = await ask(gateway, { key, headers: CODEX });
  const text = await streamed.text();
  assertEquals([streamed.status, streamed.headers.get("content-type")], [
    200,
    "text/event-stream; charset=utf-8",
  ]);
  const plain = await ask(gateway, { key });
  const { error } = await plain.json();
  assertEquals(plain.status, 403);
  assertStringIncludes(text, error.message);
  assertStringIncludes(text, "response.failed");
  assertStringIncludes(text, '"model":"svc-k2"');
  assert(text.trimEnd().endsWith("data: [DONE]"));
  assertEquals(streamed.headers.get("x-codex-credits-has-credits"), "false");
  const metrics = await (await fetch(`${gateway.url}/metrics`)).text();
  assertStringIncludes(metrics, 'reason="credits_short"} 2');
  const unknown = await ask(gateway, { key: "sk-unknown-unknown-unknown", headers: CODEX });
  assertEquals([unknown.status, (await unknown.text()).includes("response.failed")], [200, true]);
  assertEquals(await usageRecords(gateway), []);
});

Deno.test("models in Codex's shape are for those that send its version", async () => {
  const settings = { routes: { embedder: { kind: "embeddings" as const } } };
  await using gateway = await startGateway({ settings });
  const { models } = await (await fetch(`${gateway.url}/v1/models?client_version=0.169.0`)).json();
  const { data } = await (await fetch(`${gateway.url}/v1/models`)).json();
  // deno-lint-ignore no-explicit-any -- a list from the wire
  const forReplies = data.filter(({ kind }: any) => kind === "generation");
  // deno-lint-ignore no-explicit-any -- a list from the wire
  assertEquals(models.map(({ slug }: any) => slug), forReplies.map(({ id }: any) => id));
  assertEquals(data.length, forReplies.length + 1, "no embeddings");
  const [first] = models;
  assertEquals([first.slug, first.visibility, first.use_responses_lite], [
    data[0].id,
    "list",
    false,
  ]);
  assert(first.context_window > 0 && first.truncation_policy.limit > 0);
  for (const { default_reasoning_level: level, supported_reasoning_levels: levels } of models) {
    assert(level === null || levels.some(({ effort }: { effort: string }) => effort === level));
  }
});
