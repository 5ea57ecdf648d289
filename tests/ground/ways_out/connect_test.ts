import * as fc from "fast-check";
import {
  exchange,
  type ExchangeReply,
  type OutgoingProxy,
  ProxyFault,
  readProxy,
} from "../../../src/ground/ways_out/mod.ts";
import { networkErrorWords } from "../../../src/ground/platform/mod.ts";
import { assert, assertEquals, assertRejects } from "../../assert.ts";
import { TEST_CA, TEST_CERTIFICATE } from "../../fake/certificate.ts";
import { type ProxyBehaviour, testProxy } from "../../fake/proxy.ts";
import { DEADLINE_MS, until } from "../../fake/temp.ts";
import { sized } from "../../tier.ts";

/**
 * Connections are given up in the middle here: the HTTP client's clock and pauses of the test's servers tick on for a moment, which
 * Deno takes for leaks of the test.
 */
function proxyTest(name: string, run: () => Promise<void>): void {
  Deno.test(name, { sanitizeOps: false, sanitizeResources: false }, run);
}

/** A server that says what it was asked, by TLS or without. */
function echo(tls?: typeof TEST_CERTIFICATE) {
  const server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {}, ...tls },
    async (request) =>
      Response.json({
        path: request.url.replace(/^https?:\/\/[^/]+/, ""),
        host: request.headers.get("host"),
        authorization: request.headers.get("proxy-authorization"),
        body: await request.text(),
      }),
  );
  return { host: `127.0.0.1:${server.addr.port}`, [Symbol.asyncDispose]: () => server.shutdown() };
}

function way(address: string): OutgoingProxy {
  const proxy = readProxy(address);
  assert(!("fault" in proxy), address);
  return proxy;
}

function post(url: string, proxy: OutgoingProxy, timeoutMs = DEADLINE_MS): Promise<ExchangeReply> {
  const { signal } = new AbortController();
  const rest = { headers: {}, body: "sent", maxBytes: 10_000, signal, ca: TEST_CA };
  return exchange({ url: new URL(url), method: "POST", proxy, timeoutMs, ...rest });
}

proxyTest(
  "https goes through a tunnel by the target's name, http in absolute form, both with credentials",
  async () => {
    await using secure = echo(TEST_CERTIFICATE);
    await using plain = echo();
    for (const credentials of [undefined, "ada:p@ss/w:ö"]) {
      const sent = credentials === undefined ? "" : "ada:p%40ss%2Fw%3A%C3%B6@";
      const expected = credentials &&
        `Basic ${btoa(String.fromCharCode(...new TextEncoder().encode(credentials)))}`;
      for (const target of [secure, plain]) {
        await using proxy = testProxy({
          target: target.host,
          ...(expected === undefined ? {} : { authorization: expected }),
        });
        const through = way(`${sent}${proxy.host}`);
        const scheme = target === secure ? "https" : "http";
        const reply = await post(`${scheme}://api.example.com/a?b=c`, through);
        assertEquals(reply.status, 200);
        assertEquals(JSON.parse(reply.text), {
          path: "/a?b=c",
          host: "api.example.com",
          authorization: null,
          body: "sent",
        });
        assertEquals(
          proxy.received.map(({ line }) => line),
          scheme === "https"
            ? ["CONNECT api.example.com:443"]
            : ["POST http://api.example.com/a?b=c"],
        );
        assertEquals(proxy.received[0]!.headers.get("proxy-authorization"), expected ?? null);
      }
    }
  },
);

const FAULTS: readonly (readonly [ProxyBehaviour | "407", string, string])[] = [
  ["407", "ERR_PROXY_AUTHENTICATION", "the proxy asks for a user name and password (407)"],
  ["refuse", "ERR_PROXY_REFUSED", "the proxy refuses to connect to the target (403)"],
  ["unreachable", "ERR_PROXY_REFUSED", "the proxy could not connect to the target (502)"],
  ["stall", "ERR_PROXY_TIMEOUT", "the proxy did not connect to the target in time"],
  ["hang up", "ERR_PROXY_RESPONSE", "the proxy closed the connection"],
  [
    "cut tunnel",
    "ERR_PROXY_RESPONSE",
    "the proxy closed the connection before TLS was established",
  ],
  ["babble", "ERR_PROXY_RESPONSE", "the proxy's response is not valid HTTP"],
  ["endless head", "ERR_PROXY_RESPONSE", "the proxy's response is not valid HTTP"],
];

proxyTest(
  "each way in which a proxy fails has its own words and leaves no connection open",
  async () => {
    await using target = echo(TEST_CERTIFICATE);
    for (const [behaviour, code, words] of FAULTS) {
      await using proxy = testProxy({
        target: target.host,
        ...(behaviour === "407" ? { authorization: "Basic other" } : {}),
      });
      if (behaviour !== "407") proxy.behaviour = behaviour;
      const timeoutMs = behaviour === "stall" ? 50 : DEADLINE_MS;
      const fault = await assertRejects(
        () => post("https://api.example.com/", way(proxy.host), timeoutMs),
        ProxyFault,
      );
      assertEquals([fault.code, networkErrorWords(fault)], [code, words], behaviour);
      await until(() => proxy.open === 0, { what: `the end of all connections (${behaviour})` });
    }
  },
);

proxyTest(
  "a proxy that is not there, one that rejects its credentials, and a 407 to absolute form",
  async () => {
    const gone = testProxy();
    await gone[Symbol.asyncDispose]();
    const absent = await assertRejects(
      () => post("https://x.example/", way(gone.host)),
      ProxyFault,
    );
    assertEquals(absent.message, "the proxy cannot be reached: the connection was refused");

    await using proxy = testProxy({ authorization: "Basic other" });
    for (const scheme of ["http", "https"]) {
      const fault = await assertRejects(
        () => post(`${scheme}://x.example/`, way(`u:a-password@${proxy.host}`)),
        ProxyFault,
      );
      assertEquals(fault.message, "the proxy rejects the user name and password (407)");
      assert(!Deno.inspect(fault).includes("a-password"));
      assert(!Deno.inspect(fault).includes(btoa("u:a-password")));
    }
  },
);

proxyTest(
  "a tunnel opens by a reply that comes in pieces; a certificate's fault is the target's",
  async () => {
    await using target = echo(TEST_CERTIFICATE);
    await using proxy = testProxy({ target: target.host });
    proxy.behaviour = "in pieces";
    assertEquals((await post("https://api.example.com/", way(proxy.host))).status, 200);
    const fault = await assertRejects(() => post("https://other.invalid/", way(proxy.host)), Error);
    assert(!(fault instanceof ProxyFault), String(fault));
    assertEquals(networkErrorWords(fault), "the certificate is for another host name");
  },
);

proxyTest(
  "bytes are the same through a tunnel, however many there are and however they are cut",
  async () => {
    await using target = Deno.serve(
      { hostname: "127.0.0.1", port: 0, onListen() {}, ...TEST_CERTIFICATE },
      async (request) => {
        const bytes = new Uint8Array(await request.arrayBuffer());
        const cut = Number(new URL(request.url).searchParams.get("cut"));
        let at = 0;
        return new Response(
          new ReadableStream({
            pull(controller) {
              if (at >= bytes.length) return controller.close();
              controller.enqueue(bytes.subarray(at, at += cut));
            },
          }),
        );
      },
    );
    await using proxy = testProxy({ target: `127.0.0.1:${target.addr.port}` });
    const { signal } = new AbortController();
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 0, max: 400_000 }),
        fc.integer({ min: 200, max: 200_000 }),
        fc.integer({ min: 1, max: 500_000 }),
        fc.integer({ min: 33, max: 126 }),
        async (size, cut, maxBytes, first) => {
          const body = String.fromCharCode(
            ...Array.from({ length: 94 }, (_, at) => 33 + (first + at) % 94),
          ).repeat(Math.ceil(size / 94)).slice(0, size);
          const { status, text } = await exchange({
            url: new URL(`https://api.example.com/?cut=${cut}`),
            method: "POST",
            headers: {},
            body,
            proxy: way(proxy.host),
            timeoutMs: DEADLINE_MS,
            maxBytes,
            signal,
            ca: TEST_CA,
          });
          assertEquals(status, 200);
          assert(text === body.slice(0, maxBytes), `${text.length} of ${size} bytes`);
        },
      ),
      { numRuns: sized(15, 300) },
    );
    await until(() => proxy.open === 0, { what: "the end of all connections" });
  },
);
