import parsePrometheus from "parse-prometheus-text-format";
import { Metrics } from "../../../src/ground/telemetry/mod.ts";
import { latestRecords } from "../../../src/money/usage/mod.ts";
import { assert, assertEquals } from "../../assert.ts";
import { type GatewayOptions, startGateway } from "../../fake/gateway.ts";

interface Family {
  readonly name: string;
  readonly help: string;
  readonly type: string;
  readonly metrics: readonly {
    readonly value?: string;
    readonly count?: string;
    readonly sum?: string;
    readonly labels?: Readonly<Record<string, string>>;
  }[];
}

async function scrape(url: string, headers: HeadersInit = {}): Promise<Family[]> {
  const reply = await fetch(`${url}/metrics`, { headers });
  assertEquals(reply.status, 200);
  assertEquals(reply.headers.get("content-type"), "text/plain; version=0.0.4; charset=utf-8");
  return parsePrometheus(await reply.text()) as Family[];
}

function series(families: readonly Family[], name: string) {
  const found = families.find((family) => family.name === name);
  assert(found !== undefined, `there is no ${name}`);
  return found.metrics;
}

const start = (options: GatewayOptions = {}) => startGateway(options);

Deno.test("metrics: requests, tokens, credits, latencies, commits, upstreams, as a parser reads them", async () => {
  await using gateway = await start();
  const plain = await gateway.chat("Hello");
  const { usage } = await plain.json();
  await (await gateway.chat("Hello", { stream: true })).text();
  await (await gateway.chat("Hello", { model: "no-such-model" })).text();
  await (await gateway.chat("[[status 500]]")).text();

  const families = await scrape(gateway.url);
  const text = await (await fetch(`${gateway.url}/metrics`)).text();
  for (const { name, help, type } of families) {
    assert(help.length > 10, `${name} has no help`);
    assert(["COUNTER", "GAUGE", "HISTOGRAM"].includes(type), `${name} is a ${type}`);
  }
  const requests = series(families, "sluice_requests_total");
  assertEquals(
    requests.map(({ labels, value }) => [labels!.ending, labels!.status, value]),
    [["complete", "200", "2"], ["upstream_failed", "503", "1"]],
  );
  assertEquals(
    series(families, "sluice_errors_total").map(({ labels, value }) => [labels!.reason, value]),
    [["model_unknown", "1"], ["upstream_unavailable", "1"]],
  );
  const tokens = series(families, "sluice_tokens_total");
  const input = tokens.find(({ labels }) => labels!.kind === "input")!;
  assertEquals(Number(input.value), 2 * usage.prompt_tokens);
  assertEquals(series(families, "sluice_credits_charged_total")[0]!.value, "2");
  assertEquals(series(families, "sluice_credits_uncollected_total")[0]!.value, "0");
  const counted = (name: string, labels: string) =>
    new RegExp(`^${name}_count\\{${labels}\\} (\\d+)$`, "m").exec(text)?.[1];
  const [duration, first] = ["request_duration", "time_to_first_token"].map(
    (name) => (streamed: boolean) =>
      counted(`sluice_${name}_seconds`, `route="svc-k2",streamed="${streamed}"`),
  );
  assertEquals([duration!(false), duration!(true)], ["2", "1"]);
  assertEquals([first!(false), first!(true)], ["1", "1"]);
  const attempts = series(families, "sluice_upstream_attempts_total");
  assertEquals(attempts.find(({ labels }) => labels!.outcome === "answered")!.value, "2");
  assertEquals(series(families, "sluice_requests_in_flight")[0]!.value, "0");
  assertEquals(series(families, "sluice_database_writes_waiting")[0]!.value, "0");
  assertEquals(series(families, "sluice_upstream_resting")[0]!.labels, { upstream: "simulator" });
  assert(Number(counted("sluice_database_commit_seconds", 'durable="true"')) >= 3);
});

Deno.test("metrics, log lines and records name the dialect of a request", async () => {
  await using gateway = await start();
  const messages = [{ role: "user", content: "Hi" }];
  const asked: readonly (readonly [dialect: string, path: string, body: object])[] = [
    ["chat", "/v1/chat/completions", { messages }],
    ["messages", "/v1/messages", { messages, max_tokens: 9 }],
    ["responses", "/v1/responses", { input: "Hi", stream: true }],
    ["responses", "/v1/responses/compact", { input: "Hi" }],
  ];
  for (const [, path, body] of asked) {
    await (await gateway.post(path, { model: "svc-k2", ...body })).text();
  }
  const requests = series(await scrape(gateway.url), "sluice_requests_total");
  assertEquals(requests.map(({ labels, value }) => [labels!.dialect, value]), [
    ["chat", "1"],
    ["messages", "1"],
    ["responses", "2"],
  ]);
  const names = asked.map(([dialect]) => dialect);
  const lines = gateway.log().split("\n").filter((line) => line.includes('"message":"request"'));
  assertEquals(lines.map((line) => JSON.parse(line).dialect), names);
  const records = await latestRecords(gateway.gateway.database, { failed: false, limit: 9 });
  assertEquals(records.map(({ dialect }) => dialect).toReversed(), names);
});

Deno.test("metrics: callers cannot make series", async () => {
  await using gateway = await start();
  await (await gateway.chat("Hi")).text();
  const count = async () =>
    (await scrape(gateway.url)).reduce((sum, { metrics }) => sum + metrics.length, 0);
  await (await gateway.chat("Hi", { model: "unknown" })).text();
  const before = await count();
  for (let index = 0; index < 20; index++) {
    await (await gateway.chat("Hi", { model: `unknown-${index}` })).text();
    await (await gateway.post(`/v1/nothing/${index}`, {}, { key: `sk-${index}` })).text();
  }
  // one more: paths that are not there
  assertEquals(await count(), before + 1);
});

Deno.test("metrics: a token is asked for when one is set", async () => {
  await using gateway = await start({ settings: { metricsToken: "prometheus-token" } });
  for (const authorization of [undefined, "Bearer other", `Bearer ${gateway.key}`]) {
    const reply = await fetch(`${gateway.url}/metrics`, {
      headers: authorization === undefined ? {} : { authorization },
    });
    assertEquals([reply.status, (await reply.json()).error.code], [401, "invalid_api_key"]);
  }
  await scrape(gateway.url, { authorization: "Bearer prometheus-token" });
});

Deno.test("metrics: upstreams and keys that a reload has removed do not stay as resting", async () => {
  const key = (position: number) => ({ position, resting: true });
  let upstreams = [
    { name: "gone", resting: true, keys: [] },
    { name: "pool", resting: false, keys: [key(1), key(2)] },
  ];
  const metrics = new Metrics(() => ({
    requestsInFlight: 0,
    writesWaiting: 0,
    databaseBytes: undefined,
    upstreams,
  }));
  const resting = async () => (await metrics.text()).match(/^sluice_upstream_\w*resting\{.*$/gm);
  assertEquals((await resting())?.length, 4);
  upstreams = [{ name: "pool", resting: false, keys: [key(1)] }];
  assertEquals(await resting(), [
    'sluice_upstream_resting{upstream="pool"} 0',
    'sluice_upstream_key_resting{upstream="pool",key="1"} 1',
  ]);
});

Deno.test("a sane request id of the caller is kept in the answer and the log; ours stays beside it", async () => {
  await using gateway = await start();
  const given = "client-7f3a:1";
  const reply = await gateway.chat("Hi", {}, { headers: { "x-request-id": given } });
  await reply.text();
  assertEquals(reply.headers.get("x-request-id"), given);
  const own = reply.headers.get("request-id")!;
  assert(own !== given);
  const line = gateway.log().split("\n").find((one) => one.includes('"message":"request"'))!;
  assertEquals([JSON.parse(line).id, JSON.parse(line).client_id], [own, given]);
  for (const bad of ["x".repeat(129), "two words", '"quoted"', "<script>"]) {
    const refused = await gateway.chat("Hi", {}, { headers: { "x-request-id": bad } });
    await refused.text();
    assertEquals(refused.headers.get("x-request-id"), refused.headers.get("request-id"));
  }
});
