/** Below the path of a public URL: all that a response leads to is below it, and is there. */

import { assert, assertEquals, assertMatch, assertStringIncludes } from "../../assert.ts";
import { startGateway, statusOf, type TestGateway } from "../../fake/gateway.ts";
import { tempDir } from "../../fake/temp.ts";
import { completion, fakeUpstream } from "../../fake/upstream.ts";
import { NEW_KEY, PlainBrowser } from "../../fake/visitor.ts";
import { ConfigError, loadConfig } from "../../../src/settings/config/mod.ts";
import { fakeStripe } from "../../money/payments/fake_stripe.ts";
import { sized } from "../../tier.ts";
import { kindOf } from "./walk_links.ts";
import { fillWalk, type Place, walkersOf, walkSettings } from "./walk_places.ts";

const PREFIX = "/gateway/eu";
const PUBLIC = `https://llm.example.com${PREFIX}`;
const OWNER = "owner@localhost";
/** Pages of one kind that are opened. */
const MAX_OF_KIND = sized(1, 2);
/** These see every page that others see. */
const WALKERS = sized(["nobody", "lead", "owner"], undefined);
/** Names of parts and files, not places. */
const NO_LINKS = ["data-part", "title"];

/** Somebody who comes through a proxy, and keeps what every response leads to that is not below the prefix. */
class Visitor extends PlainBrowser {
  readonly astray: string[] = [];

  /** @param base Where the gateway is asked: with the prefix, as by a proxy that passes it on, or without. */
  constructor(base: string) {
    super(base);
  }

  override async get(path: string, headers: Record<string, string> = {}): Promise<Response> {
    const forwarded = { "x-forwarded-proto": "https", "x-forwarded-prefix": "/elsewhere" };
    return this.#look(await super.get(path, { ...forwarded, ...headers }), path);
  }

  /** Signs in by a link. */
  async signIn({ gateway }: TestGateway, email: string): Promise<this> {
    const link = await gateway.sessions.makeLink(await gateway.accounts.get(email));
    assertEquals(await statusOf(this.get(`/console/link/${link}`)), 303);
    return this;
  }

  #look(reply: Response, path: string): Response {
    const { headers } = reply;
    const location = headers.get("location");
    if (location !== null && !location.startsWith(`${PREFIX}/`)) {
      this.astray.push(`${path}: location ${location}`);
    }
    for (const cookie of headers.getSetCookie()) {
      const isOwn = cookie.startsWith("__Secure-sluice+gateway+eu=") &&
        /; Secure;/.test(cookie) && cookie.endsWith(`; Path=${PREFIX}/`);
      if (!isOwn) this.astray.push(`${path}: ${cookie}`);
    }
    return reply;
  }
}

/** All attributes of a page whose value is an absolute path. */
function pathsOf(html: string): { name: string; path: string; tag: string }[] {
  return [...html.matchAll(/<[a-z][^<>]*>/g)].flatMap(([tag]) =>
    [...tag.matchAll(/ ([a-z-]+)="(\/[^"]*)"/g)]
      .map(([, name, path]) => ({ name: name!, path: path!.replaceAll("&amp;", "&"), tag }))
  ).filter(({ name }) => !NO_LINKS.includes(name));
}

/** What would be an absolute path for a browser, in a style or a script. The API's paths are appended to an address. */
function literalsOf(asset: string, type: string): string[] {
  const literal = type.startsWith("text/css") ? /url\(["']?(\/[^)]*)/g : /["'`](\/[a-z][^"'`]*)/g;
  return [...asset.matchAll(literal)].map(([, path]) => path!)
    .filter((path) => !path.startsWith("/v1/"));
}

/** Follows everything from somebody's pages on. */
async function crawl(
  gateway: TestGateway,
  base: string,
  { email, places }: { readonly email?: string; readonly places: readonly Place[] },
): Promise<Set<string>> {
  const visitor = new Visitor(base);
  const stranger = new PlainBrowser(base);
  if (email !== undefined) await visitor.signIn(gateway, email);
  const seen = new Map<string, number>();
  const open = places.map(({ path }) => new URL(path, "http://x/console/"))
    .map(({ pathname, search }) => ({ path: pathname + search, isPlace: true }));
  for (let one = open.pop(); one !== undefined; one = open.pop()) {
    const kind = kindOf(one.path);
    const count = seen.get(kind) ?? 0;
    if (!one.isPlace && count >= MAX_OF_KIND) continue;
    if (one.path.includes("/sign-in/oidc/")) continue; // leads to the company's provider
    seen.set(kind, count + 1);
    const { path } = one;
    const reply = await visitor.get(path);
    const type = reply.headers.get("content-type") ?? "";
    const text = reply.bodyUsed ? "" : await reply.text();
    // who is not signed in is led to where they sign in
    const isThere = reply.status === 200 || email === undefined && reply.status === 303;
    if (!one.isPlace && !isThere) visitor.astray.push(`${path}: ${reply.status}`);
    if (!type.startsWith("text/html")) continue;
    for (const { name, path: to, tag } of pathsOf(text)) {
      if (!to.startsWith(`${PREFIX}/`)) {
        visitor.astray.push(`${path}: ${name}="${to}"`);
        continue;
      }
      const inner = to.slice(PREFIX.length);
      if (tag.startsWith("<form") && tag.includes('method="post"')) {
        // who is not signed in is sent to sign in, unless there is no such form
        if (seen.has(`POST ${kindOf(inner)}`)) continue;
        seen.set(`POST ${kindOf(inner)}`, 1);
        const status = await statusOf(stranger.post(inner, {}));
        if (status === 404) visitor.astray.push(`${path}: no form at ${to}`);
      } else open.push({ path: inner, isPlace: false });
    }
  }
  assertEquals(visitor.astray, [], email);
  return new Set(seen.keys());
}

Deno.test("below a path, everything that a page leads to is there, for each who may see it", async (t) => {
  await using stripe = fakeStripe();
  await using upstream = fakeUpstream(({ path }) =>
    path.endsWith("/models") ? Response.json({}, { status: 404 }) : completion("well")
  );
  await using gateway = await startGateway({
    settings: {
      ...walkSettings(stripe, upstream),
      publicUrl: `${PUBLIC}/`,
      trustedProxies: ["127.0.0.1"],
    },
  });
  const whole = `${gateway.url}${PREFIX}`;
  const data = await fillWalk(gateway, stripe);
  const kinds = new Set<string>();
  for (const [name, walker] of Object.entries(walkersOf(data))) {
    // as proxies of both kinds ask
    if (WALKERS?.includes(name) === false) continue;
    for (const base of WALKERS === undefined ? [whole, gateway.url] : [whole]) {
      await t.step(`${name} at ${new URL(base).pathname}`, async () => {
        for (const kind of await crawl(gateway, base, walker)) kinds.add(kind);
      });
    }
  }
  assert(kinds.size > 90, `${kinds.size} kinds of pages and forms`);
  const folder = new URL("../../../src/doors/console/assets", import.meta.url);
  for await (const { name } of Deno.readDir(folder)) {
    await t.step(name, async () => {
      const reply = await new Visitor(whole).get(`/console/assets/${name}`);
      assertEquals(reply.status, 200);
      assertEquals(literalsOf(await reply.text(), reply.headers.get("content-type")!), [], name);
    });
  }

  await t.step("what was sent again for a part that changes", async () => {
    const visitor = await new Visitor(whole).signIn(gateway, OWNER);
    const page = await (await visitor.get("/console/operator")).text();
    const part = /data-part="([^"]*)"/.exec(page)![1]!;
    assertEquals(part, "/console/operator");
    const events = await visitor.get(`/console/events?part=${encodeURIComponent(part)}`);
    let text = "";
    for await (const piece of events.body!.pipeThrough(new TextDecoderStream())) {
      text += piece;
      if (text.includes("</a>")) break;
    }
    const paths = pathsOf(text).map(({ path }) => path);
    assert(paths.length > 0 && paths.every((path) => path.startsWith(`${PREFIX}/console/`)), text);
  });

  await t.step("forms arrive with their fields, and are read within bounds", async () => {
    for (const base of [whole, gateway.url]) {
      const visitor = await new Visitor(base).signIn(gateway, OWNER);
      const headers = { "x-forwarded-proto": "https" };
      const csrf = await visitor.token("/console/keys");
      const made = await visitor.post("/console/keys", { csrf, ...NEW_KEY, name: "laptop" }, {
        headers,
      });
      assertMatch(await made.text(), /sk-\w{43}/);
      const long = { csrf, name: "x".repeat(70_000) };
      assertEquals(await statusOf(visitor.post("/console/keys", long, { headers })), 403);
      assertEquals(await statusOf(visitor.get("/console/keys")), 200);
      const out = await visitor.post("/console/sign-out", { csrf }, { headers });
      assertEquals(out.headers.get("location"), `${PREFIX}/console/sign-in?done=signed-out`);
      assertStringIncludes(out.headers.get("set-cookie")!, `Path=${PREFIX}/`);
    }
  });

  await t.step("every endpoint is the same with the prefix, and without", async () => {
    const document = await (await fetch(`${whole}/openapi.json`)).json();
    assertEquals(document.servers, [{ url: PREFIX }]);
    const ask = async (base: string, method: string, path: string) => {
      const body = method === "get" || method === "delete" ? {} : { body: "{}" };
      const authorization = `Bearer ${gateway.key}`;
      const reply = await fetch(base + path, {
        method: method.toUpperCase(),
        headers: { authorization },
        ...body,
      });
      const type = reply.headers.get("content-type");
      return [
        reply.status,
        type,
        (await reply.text()).replaceAll(/\w+_[A-Za-z0-9]{10,}/g, "ID")
          .length > 0,
      ];
    };
    for (const [path, methods] of Object.entries(document.paths as Record<string, object>)) {
      if (["/metrics", "/readyz"].includes(path)) continue;
      for (const method of Object.keys(methods).filter((one) => one !== "parameters")) {
        const plain = path.replaceAll(/\{\w+\}/g, "none");
        assertEquals(
          await ask(whole, method, plain),
          await ask(gateway.url, method, plain),
          `${method} ${path}`,
        );
      }
    }
  });

  await t.step("what is for the machines inside is at its plain address only", async () => {
    for (const path of ["/metrics", "/readyz"]) {
      assertEquals(await statusOf(fetch(gateway.url + path)), 200, path);
      assertEquals(await statusOf(fetch(whole + path)), 404, path);
    }
    assertEquals(await statusOf(fetch(`${whole}/healthz`)), 200);
  });

  await t.step("links for people and advice for clients name the public address", async () => {
    const { accounts, keys } = gateway.gateway;
    const { secret } = await keys.issue(await accounts.get(OWNER), {
      scopes: ["admin", "inference"],
    });
    const headers = { authorization: `Bearer ${secret}`, "content-type": "application/json" };
    const made = await fetch(`${whole}/admin/v1/accounts/${OWNER}/sign-in-link`, {
      method: "POST",
      headers,
      body: "{}",
    });
    assertStringIncludes(await made.text(), `"${PUBLIC}/console/link/`);
    const wrong = await fetch(`${whole}/chat/completions`, { method: "POST", headers, body: "{}" });
    assertStringIncludes(await wrong.text(), `Set the base URL to ${PUBLIC}/v1.`);
    const visitor = await new Visitor(whole).signIn(gateway, OWNER);
    const page = await (await visitor.get("/console/credits")).text();
    const [, chosen] = /name="package" value="(\w+)"/.exec(page)!;
    const fields = {
      csrf: await visitor.token("/console/credits"),
      form: "once",
      package: chosen!,
    };
    const bought = await visitor.post("/console/checkout", fields, {
      headers: { "x-forwarded-proto": "https" },
    });
    assertMatch(bought.headers.get("location")!, /^\/gateway\/eu\/console\/orders\/\w+\/pay$/);
    const { success_url, cancel_url } = [...stripe.sessions.values()].at(-1)!;
    for (const to of [success_url, cancel_url]) {
      assertStringIncludes(String(to), `${PUBLIC}/console/orders/`);
    }
  });
});

Deno.test("a public URL is normalised, and refused where it could not be served", async () => {
  await using dir = await tempDir();
  const load = (publicUrl: string) =>
    loadConfig({ env: { SLUICE_PUBLIC_URL: publicUrl }, directory: dir.path })
      .then(({ settings }) => settings.publicUrl, (error: ConfigError) => error.message);
  for (
    const [given, used] of [
      ["https://llm.example.com", "https://llm.example.com"],
      ["https://LLM.example.com:443/", "https://llm.example.com"],
      ["https://llm.example.com//", "https://llm.example.com"],
      ["https://llm.example.com/gateway/", "https://llm.example.com/gateway"],
      ["http://127.0.0.1:8080/a/./b/../llm.v2", "http://127.0.0.1:8080/a/llm.v2"],
    ] as const
  ) assertEquals(await load(given), used);
  for (
    const [given, words] of [
      ["https://llm.example.com/gateway?x=1", "remove the query or fragment"],
      ["https://llm.example.com/gateway#", "remove the query or fragment"],
      ["https://ada:secret@llm.example.com/", "user name or password"],
      ["https://llm.example.com/a//b", "single slashes"],
      ["https://llm.example.com/a%2Fb", "single slashes"],
      ["https://llm.example.com/my gateway", "single slashes"],
      ["https://llm.example.com/v1", "begins with /v1, which is one of the gateway's own"],
      ["https://llm.example.com/console/", "begins with /console"],
      ["llm.example.com/gateway", "must be an http:// or https:// URL"],
    ] as const
  ) assertStringIncludes(`${await load(given)}`, words, given);
});

Deno.test("no path of the gateway's own can be a prefix", async () => {
  await using gateway = await startGateway();
  await using dir = await tempDir();
  const { paths } = await (await fetch(`${gateway.url}/openapi.json`)).json();
  const own = [...Object.keys(paths), "/console", "/docs", "/openapi.json"];
  for (const first of new Set(own.map((path) => path.split("/")[1]!))) {
    const publicUrl = `https://llm.example.com/${first}/x`;
    const error = await loadConfig({ env: { SLUICE_PUBLIC_URL: publicUrl }, directory: dir.path })
      .then(() => undefined, (error) => error);
    assert(error instanceof ConfigError, first);
  }
});
