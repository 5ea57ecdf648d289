import { assert, assertEquals, assertStringIncludes } from "../assert.ts";
import { TEST_CA, TEST_CERTIFICATE } from "../fake/certificate.ts";
import { startGateway, statusOf, type TestGateway } from "../fake/gateway.ts";
import { type ProxyBehaviour, type TestProxy, testProxy } from "../fake/proxy.ts";
import { DEADLINE_MS, until } from "../fake/temp.ts";
import {
  chunk,
  completion,
  eventStream,
  type FakeUpstream,
  fakeUpstream,
  sse,
} from "../fake/upstream.ts";

const PASSWORD = "p@ss/word-of-the-proxy";
const USER = `corp:${encodeURIComponent(PASSWORD)}@`;
const BASIC = `Basic ${btoa(`corp:${PASSWORD}`)}`;
/** What must be nowhere. */
const SECRETS = [PASSWORD, encodeURIComponent(PASSWORD), BASIC.slice("Basic ".length)];

const hostOf = ({ url }: FakeUpstream) => new URL(url).host;

/** Settings whose route asks `api.example.com`, which only the proxy reaches, and then maybe another upstream. */
function through(proxy: TestProxy, { more = {}, next, scheme = "https" }: {
  readonly more?: Record<string, unknown>;
  readonly next?: FakeUpstream;
  readonly scheme?: "http" | "https";
} = {}) {
  return {
    upstreams: {
      far: {
        url: `${scheme}://api.example.com/v1`,
        key: "key-of-the-upstream",
        caCert: TEST_CA,
        proxy: `http://${USER}${proxy.host}`,
        ...more,
      },
      ...(next === undefined ? {} : { next: { url: next.url } }),
    },
    routes: {
      m: {
        targets: [
          { upstream: "far", model: "far-model" },
          ...(next === undefined ? [] : [{ upstream: "next", model: "next-model" }]),
        ],
        prices: { input: 1, cached: 1, output: 1 },
      },
    },
  };
}

const ask = (gateway: TestGateway, more: Record<string, unknown> = {}, signal?: AbortSignal) =>
  gateway.chat("Hi", { model: "m", ...more }, signal === undefined ? {} : { signal });

function assertNoSecrets(text: string, where: string): void {
  for (const secret of SECRETS) assert(!text.includes(secret), `${where} has ${secret}`);
}

Deno.test("replies come through a proxy, whole and streamed, by TLS and without", async () => {
  for (const scheme of ["https", "http"] as const) {
    await using upstream = fakeUpstream(
      ({ body }) =>
        body.stream === true
          ? eventStream(sse(chunk({ content: "Well" })), sse(chunk({}, "stop"), "[DONE]"))
          : completion("Well"),
      scheme === "https" ? TEST_CERTIFICATE : undefined,
    );
    await using proxy = testProxy({ target: hostOf(upstream), authorization: BASIC });
    await using gateway = await startGateway({ settings: through(proxy, { scheme }) });
    for (let round = 0; round < 3; round++) {
      const whole = await (await ask(gateway)).json();
      assertEquals(whole.choices?.[0].message.content, "Well", JSON.stringify(whole));
      assertStringIncludes(await (await ask(gateway, { stream: true })).text(), "Well");
    }
    // one connection serves them all in turn, as without a proxy
    assertEquals(
      new Set(proxy.received.map(({ line }) => line)),
      new Set([
        scheme === "https"
          ? "CONNECT api.example.com:443"
          : "POST http://api.example.com/v1/chat/completions",
      ]),
    );
    if (scheme === "https") assertEquals(proxy.received.length, 1);
    for (const { headers, raw } of upstream.received) {
      assertEquals(headers.get("host"), "api.example.com");
      assertEquals(headers.get("proxy-authorization"), null);
      assertStringIncludes(raw, "far-model");
    }
    // settings that are read again lead through another proxy
    await using other = testProxy({ target: hostOf(upstream) });
    await gateway.reload(through(other, { scheme }));
    assertEquals(await statusOf(ask(gateway)), 200);
    assertEquals(other.received.length, 1);
    assertNoSecrets(gateway.log(), "the log");
  }
});

Deno.test("a client that cancels has the connection through the proxy closed", async () => {
  const begun = Promise.withResolvers<void>();
  await using upstream = fakeUpstream((_request, signal) => {
    begun.resolve();
    return new Response(
      new ReadableStream({
        start(controller) {
          controller.enqueue(new TextEncoder().encode(sse(chunk({ content: "Well" }))));
          signal.addEventListener("abort", () => controller.close());
        },
      }),
      { headers: { "content-type": "text/event-stream" } },
    );
  }, TEST_CERTIFICATE);
  await using proxy = testProxy({ target: hostOf(upstream) });
  await using gateway = await startGateway({
    settings: { ...through(proxy), onClientDisconnect: "abort" },
  });
  const leaving = new AbortController();
  const reply = await ask(gateway, { stream: true }, leaving.signal);
  await begun.promise;
  leaving.abort();
  await reply.body?.cancel().catch(() => {});
  await until(() => proxy.open === 0, { what: "the end of the connection" });
});

Deno.test("a proxy that dies in the middle of a stream ends it as a broken upstream does, and is used again", async () => {
  await using upstream = fakeUpstream(
    ({ body }) =>
      body.messages[0].content === "Hi"
        ? new Response(
          new ReadableStream({
            start(controller) {
              controller.enqueue(new TextEncoder().encode(sse(chunk({ content: "Well" }))));
            },
          }),
          { headers: { "content-type": "text/event-stream" } },
        )
        : completion("Again"),
    TEST_CERTIFICATE,
  );
  await using proxy = testProxy({ target: hostOf(upstream) });
  await using gateway = await startGateway({ settings: through(proxy) });
  const reply = await ask(gateway, { stream: true });
  assertEquals(reply.status, 200);
  let text = "";
  for await (const piece of reply.body!.pipeThrough(new TextDecoderStream())) {
    text += piece;
    if (text.includes("Well") && proxy.open > 0) proxy.cut();
  }
  assertStringIncludes(text, "error");
  const next = await gateway.chat("Once more", { model: "m" });
  assertEquals((await next.json()).choices[0].message.content, "Again");
});

/** Ways in which a proxy fails, what the log says of each, and whether the target is reached by http. */
const FAILURES: readonly (readonly [ProxyBehaviour, string, ("http" | "https")?])[] = [
  ["stall", "ERR_PROXY_TIMEOUT the proxy did not connect to the target in time"],
  ["refuse", "ERR_PROXY_REFUSED the proxy refuses to connect to the target (403)"],
  ["unreachable", "ERR_PROXY_REFUSED the proxy could not connect to the target (502)"],
  ["hang up", "ERR_PROXY_RESPONSE the proxy closed the connection"],
  ["cut tunnel", "ERR_PROXY_RESPONSE the proxy closed the connection before TLS was established"],
  ["reject", "ERR_PROXY_AUTHENTICATION the proxy rejects the user name and password (407)"],
  ["reject", "ERR_PROXY_AUTHENTICATION the proxy rejects the user name and password (407)", "http"],
];

Deno.test("a proxy that fails is an upstream that was sent nothing: the next target replies", async () => {
  await using far = fakeUpstream(() => completion("far"), TEST_CERTIFICATE);
  await using next = fakeUpstream(() => completion("next"));
  await using proxies = new AsyncDisposableStack();
  const settings = FAILURES.map(([behaviour, _reason, scheme = "https"], at) => {
    const proxy = proxies.use(testProxy({ target: hostOf(far) }));
    proxy.behaviour = behaviour;
    const more = { timeouts: { connectMs: behaviour === "stall" ? 100 : DEADLINE_MS } };
    const { upstreams, routes } = through(proxy, { next, scheme, more });
    const [first, ...rest] = routes.m.targets;
    return {
      upstreams: { ...upstreams, [`far-${at}`]: upstreams.far },
      routes: {
        [`m-${at}`]: { ...routes.m, targets: [{ ...first!, upstream: `far-${at}` }, ...rest] },
      },
    };
  });
  await using gateway = await startGateway({
    settings: {
      upstreams: Object.assign({}, ...settings.map(({ upstreams }) => upstreams)),
      routes: Object.assign({}, ...settings.map(({ routes }) => routes)),
    },
  });
  for (const [at, [behaviour, reason]] of FAILURES.entries()) {
    const reply = await (await ask(gateway, { model: `m-${at}` })).json();
    assertEquals(reply.choices?.[0].message.content, "next", behaviour);
    const attempts = gateway.log().split("\n").filter((line) => line.includes(`"far-${at}"`));
    assertStringIncludes(attempts.at(-1)!, `not_sent: ${reason}`, behaviour);
  }
  assertEquals(far.received.length, 0);
  assertNoSecrets(gateway.log(), "the log");
});

Deno.test("what a proxy of http replies itself reaches callers without its name and secrets", async () => {
  await using upstream = fakeUpstream(() =>
    new Response(`squid at 127.0.0.1 says ${SECRETS.join(" ")}`, { status: 400 })
  );
  await using proxy = testProxy({ target: hostOf(upstream) });
  await using gateway = await startGateway({ settings: through(proxy, { scheme: "http" }) });
  const text = await (await ask(gateway)).text();
  assertNoSecrets(text, "the reply");
  assert(!text.includes("127.0.0.1"), text);
  assertNoSecrets(gateway.log(), "the log");
});

Deno.test("the environment's proxies are used, but for what NO_PROXY names and for this machine", async () => {
  await using upstream = fakeUpstream(({ path }) => completion(path), TEST_CERTIFICATE);
  await using plain = fakeUpstream(() => completion("plain"));
  await using https = testProxy({ target: hostOf(upstream) });
  await using http = testProxy({ target: hostOf(plain) });
  const upstreams = {
    secure: { url: "https://api.example.com/v1", caCert: TEST_CA },
    plain: { url: "http://plain.example.com/v1" },
    own: { url: "http://proxied.example.com/v1", proxy: `http://${https.host}` },
    excepted: { url: "http://plain.inside.example/v1", timeouts: { connectMs: 100 } },
    direct: { url: "http://direct.example.com/v1", proxy: "none", timeouts: { connectMs: 100 } },
    local: { url: plain.url },
    localSecure: { url: upstream.url, caCert: TEST_CA },
    localByName: { url: upstream.url.replace("127.0.0.1", "localhost"), caCert: TEST_CA },
    untrusted: { url: upstream.url },
  };
  const settings = {
    upstreams,
    routes: Object.fromEntries(
      Object.keys(upstreams).map((name) => [name, {
        targets: [{ upstream: name, model: "m" }],
        prices: { input: 1, cached: 1, output: 1 },
      }]),
    ),
  };
  await using gateway = await startGateway({
    settings,
    env: {
      https_proxy: https.host,
      HTTPS_PROXY: "http://127.0.0.1:1",
      HTTP_PROXY: `http://${http.host}`,
      NO_PROXY: ".inside.example, 10.0.0.0/8",
    },
  });
  const status = (model: string) => statusOf(ask(gateway, { model }));
  assertEquals(await status("secure"), 200);
  assertEquals(await status("plain"), 200);
  assertEquals([https.received.length, http.received.length], [1, 1]);
  assertEquals(await status("local"), 200);
  const asked = upstream.received.length;
  for (const model of ["localSecure", "localSecure", "localByName"]) {
    assertEquals(await status(model), 200, model);
  }
  assertEquals(await status("untrusted"), 503);
  assertEquals(upstream.received.length, asked + 3);
  assertEquals(await status("excepted"), 503);
  assertEquals(await status("direct"), 503);
  assertEquals([https.received.length, http.received.length], [1, 1]);
  await status("own"); // its proxy has no http target
  assertEquals([https.received.length, http.received.length], [2, 1]);
});
