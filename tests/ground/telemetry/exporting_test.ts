import { createLog, exportVariables, startExporting } from "../../../src/ground/telemetry/mod.ts";
import { assert, assertEquals, assertMatch, assertRejects } from "../../assert.ts";
import { sluice, startCommand } from "../../fake/command.ts";
import { Random, testSeed } from "../../fake/random.ts";
import { tempDir, until } from "../../fake/temp.ts";
import { isProof } from "../../tier.ts";

const KEY = `sk-owner-${"k".repeat(32)}`;
const ENDPOINT = "OTEL_EXPORTER_OTLP_ENDPOINT";

/** Keeps what it is sent, as text of one character a byte, and answers with a status and what it was sent. */
function collector(status = 200) {
  const received: { path: string; type: string | null; text: string }[] = [];
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, async (request) => {
    const { pathname: path } = new URL(request.url);
    const text = new TextDecoder("latin1").decode(await request.arrayBuffer());
    received.push({ path, type: request.headers.get("content-type"), text });
    return new Response(status === 200 ? "" : [...request.headers].join(), { status });
  });
  return {
    url: `http://127.0.0.1:${server.addr.port}`,
    received,
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
}

/** Has the simulator reply, on a connection of its own. */
async function ask(url: string): Promise<void> {
  using client = Deno.createHttpClient({});
  const reply = await fetch(`${url}/v1/chat/completions`, {
    client,
    method: "POST",
    headers: { authorization: `Bearer ${KEY}` },
    body: JSON.stringify({ model: "svc-k2", messages: [{ role: "user", content: "Hello" }] }),
  });
  assertEquals(reply.status, 200, await reply.text());
}

Deno.test("an address of a collector turns the export on, the standard's switch off (table)", () => {
  const url = "http://collector.example:4318";
  const specific = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT";
  const cases: readonly [Record<string, string>, Record<string, string> | undefined][] = [
    [{}, undefined],
    [{ OTEL_SERVICE_NAME: "gateway" }, undefined],
    [{ [ENDPOINT]: "" }, undefined],
    [{ [ENDPOINT]: url, HOME: "/root" }, { [ENDPOINT]: url }],
    [{ [specific]: url, OTEL_TRACES_SAMPLER: "" }, { [specific]: url }],
    [{ OTEL_DENO: "true" }, { OTEL_DENO: "true" }],
    [{ OTEL_DENO: "0" }, undefined],
    [{ [ENDPOINT]: url, OTEL_SDK_DISABLED: "True" }, undefined],
  ];
  for (const [env, variables] of cases) {
    assertEquals(exportVariables(env), variables, JSON.stringify(env));
  }
});

Deno.test("a variable of OpenTelemetry with an unknown value keeps the gateway from starting, and says so (table)", async () => {
  await using dir = await tempDir();
  const cases = [
    ["OTEL_EXPORTER_OTLP_PROTOCOL", "grpc", /http\/protobuf.*http\/json/],
    [ENDPOINT, "collector:4318/v1", /URL/],
    ["OTEL_TRACES_SAMPLER", "sometimes", /always_on.*parentbased_traceidratio/],
    ["OTEL_TRACES_SAMPLER_ARG", "2", /<=1/],
    ["OTEL_METRIC_EXPORT_INTERVAL", "often", /number/],
  ] as const;
  const seed = testSeed();
  const drawn = new Random(seed).pick(cases);
  for (const one of cases) {
    const [name, value, says] = one;
    const env = { [ENDPOINT]: "http://127.0.0.1:1", [name]: value };
    const words = `${name}: .*${says.source}`;
    // that a fault of a start ends the program so, a process shows for one of them; all are found by what it asks
    if (!isProof && one !== drawn) {
      const log = createLog({ format: "json", level: "debug", now: Date.now, write: () => {} });
      const fault = await assertRejects(() => startExporting(exportVariables(env)!, log), Error);
      assertMatch(fault.message, new RegExp(`^${words}`));
      continue;
    }
    const { code, err } = await sluice(["--port", "0"], { directory: dir.path, env });
    assertEquals(code, 1, err);
    assertMatch(err, new RegExp(`^sluice: ${words}`), `SLUICE_TEST_SEED=${seed}`);
    assert(!/\n\s+at /.test(err), err);
  }
});

Deno.test("sluice run leaves variables of OpenTelemetry to the program", async () => {
  await using dir = await tempDir();
  const env = { [ENDPOINT]: "http://127.0.0.1:1", OTEL_EXPORTER_OTLP_PROTOCOL: "grpc" };
  const args = ["run", "--", "sh", "-c", "echo $OTEL_EXPORTER_OTLP_PROTOCOL"];
  const { code, out, err } = await sluice(args, { directory: dir.path, env });
  assertEquals([code, out], [0, "grpc\n"], err);
});

Deno.test("each thread exports by itself, in the standard's own format, what the variables leave", async () => {
  await using dir = await tempDir();
  await using otlp = collector();
  await using gateway = startCommand(["--port", "0"], {
    directory: dir.path,
    env: {
      SLUICE_OWNER_KEY: KEY,
      SLUICE_WORKERS: "2",
      [ENDPOINT]: otlp.url,
      OTEL_SERVICE_NAME: "gateway-of-tests",
      OTEL_TRACES_SAMPLER: "always_off",
      OTEL_BSP_SCHEDULE_DELAY: "10",
      OTEL_METRIC_EXPORT_INTERVAL: "100",
    },
  });
  const [, url = ""] = await gateway.waitFor(/listening on (\S+)/);
  const instances = () =>
    new Set(
      otlp.received.flatMap(({ text }) =>
        text.includes("sluice_requests_total")
          ? [/service\.instance\.id[^A-Za-z0-9]*([A-Za-z0-9]{20})/.exec(text)![1]]
          : []
      ),
    );
  for (let at = 0; at < 30; at++) await ask(url); // the system chooses a thread for each connection
  await until(() => instances().size === 2, { what: "what each of two threads has counted" });
  for (const { path, type, text } of otlp.received) {
    assertEquals([path, type], ["/v1/metrics", "application/x-protobuf"]);
    assert(text.includes("gateway-of-tests") && !text.includes(KEY), text);
  }
});

Deno.test("a collector that refuses is logged by what its status says, and nothing that it repeats", async () => {
  await using dir = await tempDir();
  await using otlp = collector(400);
  await using gateway = startCommand(["--port", "0"], {
    directory: dir.path,
    env: {
      SLUICE_OWNER_KEY: KEY,
      [ENDPOINT]: otlp.url,
      OTEL_EXPORTER_OTLP_HEADERS: "authorization=Basic collectors-secret",
      OTEL_BSP_SCHEDULE_DELAY: "50",
      OTEL_METRIC_EXPORT_INTERVAL: "50",
    },
  });
  const [, url = ""] = await gateway.waitFor(/listening on (\S+)/);
  await ask(url);
  const log = () => `${gateway.out()}${gateway.err()}`;
  await until(() => otlp.received.length >= 10, { what: "exports" });
  const faults = log().split("\n").filter((line) => line.includes("telemetry is not exported"));
  assert(faults.length > 0 && faults.length <= 4, `${faults.length} lines:\n${log()}`);
  assert(!log().includes("collectors-secret"), log());
});
