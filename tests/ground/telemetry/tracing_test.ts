import { assert, assertEquals, assertMatch } from "../../assert.ts";
import { startCommand } from "../../fake/command.ts";
import { RawWebSocket } from "../../fake/raw_websocket.ts";
import { tempDir, until } from "../../fake/temp.ts";

const KEY = `sk-owner-${"k".repeat(32)}`;
const PROMPT = "a prompt that belongs to nobody else";

interface Attribute {
  readonly key: string;
  readonly value: Readonly<Record<string, unknown>>;
}

interface Span {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string;
  readonly name: string;
  readonly kind: number;
  readonly attributes: readonly Attribute[];
}

/** Receives OTLP over HTTP as JSON (https://opentelemetry.io/docs/specs/otlp/#otlphttp). */
function collector() {
  const spans: Span[] = [];
  const metrics = new Set<string>();
  let received = "";
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, async (request) => {
    const text = await request.text();
    received += text;
    const body = JSON.parse(text);
    for (const { scopeSpans } of body.resourceSpans ?? []) {
      for (const scope of scopeSpans) spans.push(...scope.spans);
    }
    for (const { scopeMetrics } of body.resourceMetrics ?? []) {
      for (const scope of scopeMetrics) for (const { name } of scope.metrics) metrics.add(name);
    }
    return Response.json({});
  });
  return {
    url: `http://127.0.0.1:${server.addr.port}`,
    spans,
    metrics,
    received: () => received,
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
}

/** Answers a chat completion and keeps the trace headers that it was sent. */
function upstream() {
  const traceparents: (string | null)[] = [];
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, async (request) => {
    if (request.method === "GET") return new Response(null, { status: 404 }); // it lists no models
    traceparents.push(request.headers.get("traceparent"));
    const { stream } = await request.json();
    const message = { role: "assistant", content: "Hello" };
    if (!stream) {
      return Response.json({
        id: "c1",
        object: "chat.completion",
        model: "m",
        choices: [{ index: 0, message, finish_reason: "stop" }],
        usage: { prompt_tokens: 3, completion_tokens: 1, total_tokens: 4 },
      });
    }
    const chunk = {
      id: "c1",
      object: "chat.completion.chunk",
      model: "m",
      choices: [{ index: 0, delta: message, finish_reason: "stop" }],
    };
    return new Response(`data: ${JSON.stringify(chunk)}\n\ndata: [DONE]\n\n`, {
      headers: { "content-type": "text/event-stream" },
    });
  });
  return {
    url: `http://127.0.0.1:${server.addr.port}/v1`,
    traceparents,
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
}

/** Is asked, and never answers, but for the list of models that it does not have. */
function unanswering() {
  const over = Promise.withResolvers<Response>();
  let asked = 0;
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, ({ method }) => {
    if (method === "GET") return new Response(null, { status: 404 });
    asked++;
    return over.promise;
  });
  return {
    url: `http://127.0.0.1:${server.addr.port}/v1`,
    asked: () => asked,
    async [Symbol.asyncDispose]() {
      over.resolve(new Response());
      await server.shutdown();
    },
  };
}

/** Who exports: the gateway, or the platform, which a compiled one does not have. */
const EXPORTERS: readonly {
  readonly by: string;
  readonly env: Readonly<Record<string, string>>;
}[] = [{ by: "the gateway", env: {} }, { by: "the platform", env: { OTEL_DENO: "true" } }];

for (const { by, env } of EXPORTERS) {
  Deno.test(`OpenTelemetry by ${by}: one trace per request, its stages as spans, followed to the upstream`, async () => {
    await using dir = await tempDir();
    await using otlp = collector();
    await using behind = upstream();
    await using gateway = startCommand(["--port", "0"], {
      directory: dir.path,
      env: {
        SLUICE_OWNER_KEY: KEY,
        SLUICE_UPSTREAM_URL: behind.url,
        ...env,
        OTEL_EXPORTER_OTLP_PROTOCOL: "http/json",
        OTEL_EXPORTER_OTLP_ENDPOINT: otlp.url,
        OTEL_BSP_SCHEDULE_DELAY: "100",
        OTEL_METRIC_EXPORT_INTERVAL: "200",
      },
    });
    const [, url] = await gateway.waitFor(/listening on (\S+)/);
    const messages = [{ role: "user", content: PROMPT }];
    const asked = [
      ["/v1/chat/completions", { messages }],
      ["/v1/chat/completions", { messages, stream: true }],
      ["/v1/messages", { messages, max_tokens: 9 }],
      ["/v1/responses", { input: PROMPT }],
      ["/v1/responses", { input: PROMPT, stream: true }],
      ["/v1/responses/compact", { input: PROMPT }],
    ] as const;
    const idOf = (index: number) => `${index}af7651916cd43dd8448eb211c80319c`;
    for (const [index, [path, body]] of asked.entries()) {
      const reply = await fetch(`${url}${path}`, {
        method: "POST",
        headers: {
          authorization: `Bearer ${KEY}`,
          traceparent: `00-${idOf(index)}-b7ad6b7169203331-01`,
        },
        body: JSON.stringify({ model: "svc-k2", ...body }),
      });
      assertEquals(reply.status, 200, path);
      await reply.text();
    }
    const stages = ["read", "admission", "upstream", "settlement"];
    for (const [index, [path, body]] of asked.entries()) {
      const traceId = idOf(index);
      const wanted = "stream" in body ? [...stages, "answer"] : stages;
      const ours = () => otlp.spans.filter((span) => span.traceId === traceId);
      const names = () => ours().map(({ name }) => name);
      await until(
        () => [...wanted, `POST ${path}`].every((name) => names().includes(name)),
        { what: `the spans of ${wanted.join(", ")} of ${path}` },
      );
      assertEquals(names().length, new Set(names()).size, "a stage came twice");
      const request = ours().find(({ name }) => name === `POST ${path}`)!;
      assertEquals(request.parentSpanId, "b7ad6b7169203331");
      const byName = new Map(ours().map((span) => [span.name, span]));
      for (const name of wanted) assertEquals(byName.get(name)!.parentSpanId, request.spanId, name);
      const sent = byName.get("upstream")!;
      assertEquals(sent.kind, 3); // client
      assertEquals(behind.traceparents[index], `00-${traceId}-${sent.spanId}-01`);
      const attributes = Object.fromEntries(
        request.attributes.map(({ key, value }) => [key, value]),
      );
      assertMatch(String(attributes["sluice.request_id"]!.stringValue), /^req_/);
      assertEquals(Object.values(attributes["http.response.status_code"]!).map(String), ["200"]);
      assertEquals(attributes["sluice.route"]!.stringValue, "svc-k2");
    }
    {
      await using socket = await RawWebSocket.connect(`${url}/v1/responses`, {
        authorization: `Bearer ${KEY}`,
        traceparent: `00-${idOf(9)}-b7ad6b7169203331-01`,
      });
      for (let turn = 0; turn < 2; turn++) {
        await socket.send({ type: "response.create", model: "svc-k2", input: PROMPT });
        while ((await socket.next())!.type !== "response.completed");
      }
      await socket.send({ type: "response.create", model: "unknown", input: PROMPT });
      assertEquals((await socket.next())!.type, "error");
    }
    const ofSocket = () => otlp.spans.filter(({ traceId }) => traceId === idOf(9));
    const turns = () => ofSocket().filter(({ name }) => name === "turn /v1/responses");
    const spansOfSocket = 1 + 2 * (1 + stages.length + 1) + 2;
    await until(() => ofSocket().length >= spansOfSocket, { what: "the spans of the socket" });
    assertEquals(ofSocket().length, spansOfSocket, ofSocket().map(({ name }) => name).join(", "));
    const handshake = ofSocket().find(({ name }) => name === "GET /v1/responses")!;
    for (const [at, turn] of turns().entries()) {
      assertEquals(turn.parentSpanId, handshake.spanId);
      const below = ofSocket().filter(({ parentSpanId }) => parentSpanId === turn.spanId)
        .map(({ name }) => name);
      assertEquals(new Set(below), new Set(at === 2 ? ["read"] : [...stages, "answer"]));
    }
    await until(() => otlp.metrics.has("sluice_requests_total"), { what: "the metrics" });
    assert(!otlp.received().includes(PROMPT) && !otlp.received().includes(KEY));
  });
}

for (const { by, env } of EXPORTERS) {
  Deno.test({
    name:
      `OpenTelemetry by ${by}: a collector that never answers delays the end of the process, and does not prevent it`,
    // there the platform hears no signal while its collector is silent
    ignore: env.OTEL_DENO !== undefined && Deno.version.deno.startsWith("2.4."),
    fn: async () => {
      await using dir = await tempDir();
      await using hung = unanswering();
      await using upstream = unanswering();
      const start = () =>
        startCommand(["--port", "0"], {
          directory: dir.path,
          env: {
            SLUICE_OWNER_KEY: KEY,
            SLUICE_UPSTREAM_URL: upstream.url,
            ...env,
            OTEL_EXPORTER_OTLP_PROTOCOL: "http/json",
            OTEL_EXPORTER_OTLP_ENDPOINT: hung.url,
            OTEL_BSP_SCHEDULE_DELAY: "100",
            OTEL_METRIC_EXPORT_INTERVAL: "200",
          },
        });
      {
        await using gateway = start();
        const [, url] = await gateway.waitFor(/listening on (\S+)/);
        const refused = await fetch(`${url}/v1/chat/completions`, { method: "POST", body: "{}" });
        assertEquals(refused.status, 401, await refused.text());
        await until(() => hung.asked() > 0, { what: "an export" });
        gateway.signal("SIGTERM");
        assertEquals((await gateway.status).code, 0);
      }
      await using gateway = start();
      const [, url] = await gateway.waitFor(/listening on (\S+)/);
      const reply = fetch(`${url}/v1/chat/completions`, {
        method: "POST",
        headers: { authorization: `Bearer ${KEY}` },
        body: JSON.stringify({ model: "svc-k2", messages: [{ role: "user", content: PROMPT }] }),
      }).catch(() => undefined);
      await until(() => upstream.asked() > 0, { what: "a request" });
      gateway.signal("SIGTERM");
      await until(() => `${gateway.out()}${gateway.err()}`.includes("shutting down"), {
        what: "the first signal",
      });
      gateway.signal("SIGTERM");
      assertEquals((await gateway.status).code, 130);
      assertEquals(await reply, undefined);
    },
  });
}
