/** What else goes through a proxy: alerts, payments, tokens, images; and what commands say of it. */

import { sendAlerts } from "../../src/operating/alerts/mod.ts";
import { ImageFault, ImageFetcher, type Resolve } from "../../src/requests/images/mod.ts";
import { loadConfig, Secret } from "../../src/settings/config/mod.ts";
import { StripeClient, StripeError } from "../../src/money/payments/stripe_client.ts";
import { assert, assertEquals, assertRejects, assertStringIncludes } from "../assert.ts";
import { ownersClient } from "../fake/admin_client.ts";
import { alertReceiver } from "../fake/alert_receiver.ts";
import { sluice as process } from "../fake/command.ts";
import { startGateway, statusOf } from "../fake/gateway.ts";
import { testProxy } from "../fake/proxy.ts";
import { sluice } from "../fake/shell.ts";
import { signedIn } from "../fake/visitor.ts";
import { DEADLINE_MS, tempDir } from "../fake/temp.ts";
import { completion, fakeUpstream } from "../fake/upstream.ts";
import { fakeStripe, TEST_KEY } from "../money/payments/fake_stripe.ts";

const PASSWORD = "password-of-the-proxy";
const BASIC = btoa(`corp:${PASSWORD}`);

/** Settings as the environment and a file give them. */
async function settingsOf(env: Record<string, string>, file: unknown = {}) {
  await using dir = await tempDir();
  await Deno.writeTextFile(`${dir.path}/sluice.jsonc`, JSON.stringify(file));
  return (await loadConfig({ env, directory: dir.path })).settings;
}

/** A test whose connections are given up in the middle: the HTTP client's clock ticks on for a moment. */
function proxyTest(name: string, run: () => Promise<void>): void {
  Deno.test(name, { sanitizeOps: false, sanitizeResources: false }, run);
}

proxyTest(
  "alerts go through the environment's proxy, and only to names that are public as far as they resolve here",
  async () => {
    await using receiver = alertReceiver();
    await using proxy = testProxy({ target: receiver.host });
    const { proxies } = await settingsOf({ HTTP_PROXY: `http://${proxy.host}` });
    const deliver = async (url: string, resolve: Resolve) =>
      (await sendAlerts({ url, kind: "slack", secret: undefined, alerts: [] }, [], {
        allowPrivateHosts: [],
        proxies,
        timeoutMs: DEADLINE_MS,
        resolve,
        nowMs: 0,
        deliveryId: "d",
        signal: new AbortController().signal,
      })).error;
    const resolving = (...addresses: string[]): Resolve => () => Promise.resolve(addresses);
    const failing: Resolve = () => Promise.reject(new Error("no DNS here"));
    const url = "http://hooks.example.com/x";
    for (const resolve of [resolving("93.184.215.14"), resolving(), failing]) {
      assertEquals(await deliver(url, resolve), null);
    }
    assertEquals(
      proxy.received.map(({ line }) => line),
      Array(3).fill("POST http://hooks.example.com/x"),
    );
    const refused: readonly (readonly [string, Resolve])[] = [
      [url, resolving("10.0.0.5")],
      [url, resolving("93.184.215.14", "::1")],
      ["http://10.0.0.5/", resolving()],
      ["http://169.254.169.254/", resolving()],
      ["http://[::1]/", resolving()],
      ["http://intranet/", resolving()],
      ["http://db.corp.internal/", resolving()],
    ];
    for (const [address, resolve] of refused) {
      assert(await deliver(address, resolve) !== null, address);
    }
    assertEquals(proxy.received.length, 3);
    proxy.behaviour = "reject";
    assertEquals(
      await deliver(url, resolving()),
      "the proxy asks for a user name and password (407)",
    );
  },
);

proxyTest("images go through images.proxy alone, to the address that was checked", async () => {
  const png = await Deno.readFile(new URL("../requests/images/files/rgb.png", import.meta.url));
  await using server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {} },
    () => new Response(png, { headers: { "content-type": "image/png" } }),
  );
  await using proxy = testProxy({ target: `127.0.0.1:${server.addr.port}` });
  const address = `http://${proxy.host}`;
  const url = "http://pictures.example.com/a.png";
  const fetcher = async (env: Record<string, string>, own: string | undefined, at: string[]) => {
    const { images } = await settingsOf(env, { images: { connectMs: 100, proxy: own } });
    const resolve = () => Promise.resolve(at);
    return new ImageFetcher({ ...images, resolve }).fetch(url, new AbortController().signal);
  };
  assertEquals((await fetcher({}, address, ["93.184.215.14"])).bytes, png);
  assertEquals(proxy.received.map(({ line }) => line), ["CONNECT 93.184.215.14:80"]);
  for (const at of [["10.0.0.1"], ["93.184.215.14", "127.0.0.1"], []]) {
    await assertRejects(() => fetcher({}, address, at), ImageFault);
  }
  const all = { ALL_PROXY: address, HTTP_PROXY: address };
  await assertRejects(() => fetcher(all, undefined, ["192.0.2.1"]), ImageFault); // nothing is there
  assertEquals(proxy.received.length, 1);
});

proxyTest(
  "the payment service is reached through a proxy, whose failures are told without secrets",
  async () => {
    await using stripe = fakeStripe();
    await using proxy = testProxy({
      target: new URL(stripe.url).host,
      authorization: `Basic ${BASIC}`,
    });
    const client = async (user: string) => {
      const env = { HTTP_PROXY: `http://${user}@${proxy.host}` };
      const { proxies } = await settingsOf(env);
      const secretKey = new Secret(TEST_KEY);
      return new StripeClient({ apiBase: "http://api.example.com", secretKey, proxies });
    };
    await (await client(`corp:${PASSWORD}`)).events(0);
    assertStringIncludes(proxy.received[0]!.line, "GET http://api.example.com/v1/events?");
    const fault = await assertRejects(
      async () => await (await client("corp:another-password")).events(0),
      StripeError,
      "the proxy rejects the user name and password (407)",
    );
    assert(!Deno.inspect(fault).includes("another-password"));
    assert(fault.isPassing);
  },
);

proxyTest(
  "tokens of an upstream's credentials come through its proxy, or the environment's",
  async () => {
    await using tokens = Deno.serve(
      { hostname: "127.0.0.1", port: 0, onListen() {} },
      () => Response.json({ access_token: "t", expires_in: 600 }),
    );
    await using upstream = fakeUpstream(() => completion("Hi."));
    const target = `127.0.0.1:${tokens.addr.port}`;
    await using own = testProxy({ target });
    await using all = testProxy({ target });
    const credentials = {
      kind: "azure" as const,
      tenant: "t",
      client: "c",
      secret: "s-e-c-r-e-t",
      tokenUrl: "http://login.example.com/token",
    };
    const route = (name: string) => ({
      targets: [{ upstream: name, model: "m" }],
      prices: { input: 1, cached: 1, output: 1 },
    });
    await using gateway = await startGateway({
      env: { HTTP_PROXY: all.host },
      settings: {
        upstreams: {
          plain: { url: upstream.url, credentials },
          named: { url: "http://model.example.com", credentials, proxy: own.host },
        },
        routes: { plain: route("plain"), named: route("named") },
      },
    });
    assertEquals(await statusOf(gateway.chat("Hi", { model: "plain" })), 200);
    await statusOf(gateway.chat("Hi", { model: "named" }));
    assertEquals(all.received.map(({ line }) => line), ["POST http://login.example.com/token"]);
    assertEquals(own.received.map(({ line }) => line).slice(0, 2), [
      "POST http://login.example.com/token",
      "POST http://model.example.com/chat/completions",
    ]);
  },
);

proxyTest(
  "doctor names the proxy of each upstream and what fails; no command, page or log has its password",
  async () => {
    await using upstream = fakeUpstream(() =>
      Response.json({ object: "list", data: [{ id: "m" }] })
    );
    await using works = testProxy({
      target: new URL(upstream.url).host,
      authorization: `Basic ${BASIC}`,
    });
    await using rejects = testProxy({ authorization: "Basic other" });
    await using refuses = testProxy();
    refuses.behaviour = "refuse";
    const user = `corp:${PASSWORD}@`;
    const url = "http://models.example.com/v1";
    const env = { http_proxy: `http://${user}${works.host}`, PROXY_PASSWORD: PASSWORD };
    const settings = {
      upstreams: {
        works: { url },
        local: { url: upstream.url },
        rejects: { url, proxy: `http://corp:\${PROXY_PASSWORD}@${rejects.host}` },
        refuses: { url: "https://models.example.com/v1", proxy: `http://${user}${refuses.host}` },
        absent: { url, proxy: `http://${user}127.0.0.1:1` },
      },
      routes: { house: { targets: [{ upstream: "works", model: "m" }] } },
    };
    await using dir = await tempDir();
    await Deno.writeTextFile(`${dir.path}/sluice.jsonc`, JSON.stringify(settings));
    const run = async (...args: string[]) => {
      const { out, err } = await sluice(args, { directory: dir.path, env });
      for (const secret of [PASSWORD, BASIC]) assert(!`${out}${err}`.includes(secret), out);
      return out;
    };
    const { findings } = JSON.parse(await run("doctor", "--json")) as {
      findings: { check: string; state: string; detail: string; advice?: string }[];
    };
    const of = (name: string) => {
      const { state, detail, advice } = findings.find(({ check }) => check === `upstream ${name}`)!;
      return [state, detail.replace(/\d+ ms/, "N ms"), advice];
    };
    const way = (proxy: string) => `models.example.com (through the proxy http://${proxy})`;
    assertEquals(of("works").slice(0, 2), ["ok", `${way(works.host)} responded in N ms, 1 models`]);
    assertEquals(of("local").slice(0, 2), [
      "ok",
      `${new URL(upstream.url).host} responded in N ms, 1 models`,
    ]);
    const failures: readonly (readonly [string, string, string, string])[] = [
      [
        "rejects",
        rejects.host,
        "the proxy rejects the user name and password (407)",
        "USER:PASSWORD",
      ],
      [
        "refuses",
        refuses.host,
        "the proxy refuses to connect to the target (403)",
        "allow this host",
      ],
      [
        "absent",
        "127.0.0.1:1",
        "the proxy cannot be reached: the connection was refused",
        "check the proxy",
      ],
    ];
    for (const [name, host, why, advice] of failures) {
      const [state, detail, told] = of(name);
      assertEquals([state, detail], ["failed", `${way(host)} not reached: ${why}`]);
      assertStringIncludes(told!, advice);
    }
    const shown = await run("config", "show");
    assertStringIncludes(shown, `http://[secret]@${works.host}`);
    assertStringIncludes(shown, "environment http_proxy");
    for (const args of [["config", "check"], ["models"], ["upstream", "test", "rejects"]]) {
      await run(...args);
    }

    await using gateway = await startGateway({ env, settings });
    const browser = await signedIn(gateway, "owner@localhost");
    for (
      const path of ["/console/operator/settings", "/console/operator/upstreams", "/openapi.json"]
    ) {
      const text = await (await browser.get(path)).text();
      for (const secret of [PASSWORD, BASIC]) assert(!text.includes(secret), path);
    }
    const { text } = await (await ownersClient(gateway))("GET", "/settings");
    assertStringIncludes(text, `[secret]@${works.host}`);
    await statusOf(gateway.chat("Hi", { model: "house" }));
    for (const where of [text, gateway.log()]) {
      for (const secret of [PASSWORD, BASIC]) assert(!where.includes(secret));
    }
  },
);

proxyTest(
  "commands and what they run reach the gateway of this machine whatever proxy the environment has",
  async () => {
    await using proxy = testProxy();
    const address = `http://${proxy.host}`;
    const env = {
      HTTP_PROXY: address,
      http_proxy: address,
      ALL_PROXY: address,
      no_proxy: "x.example",
    };
    await using gateway = await startGateway({ env });
    const options = { directory: gateway.directory, env };
    const { out } = await process(["doctor", "--running"], options);
    assertStringIncludes(out, "running at");
    const call = "curl -sf $OPENAI_BASE_URL/models && echo except $NO_PROXY";
    const ran = await process(["run", "--", "sh", "-c", call], options);
    assertStringIncludes(ran.out, "svc-k2", ran.err);
    assertStringIncludes(ran.out, "except x.example,localhost,127.0.0.1");
    // the platform itself may look for a newer version of it
    const { host } = new URL(gateway.url);
    assertEquals(proxy.received.filter(({ line }) => line.includes(host)), []);
  },
);
