/** What a thief keeps, or gets, who had a moment in somebody's account, or was there before the company came. */

import type * as z from "zod";
import { Sessions, ToolGrants } from "../../../src/people/accounts/mod.ts";
import type { signInSettings } from "../../../src/settings/config/mod.ts";
import { assert, assertEquals, assertStringIncludes } from "../../assert.ts";
import { until } from "../../fake/temp.ts";
import { routesOf } from "../../fake/console_routes.ts";
import { startGateway, type TestGateway } from "../../fake/gateway.ts";
import { startProvider } from "../../fake/oidc_provider.ts";
import { JarBrowser } from "../../fake/sign_in.ts";
import { ask, question, redeem } from "../oauth/tool_browser.ts";

const MINUTE_MS = 60_000;
const PASSWORD = "a long enough password";
const ADA = "ada@example.com";

type OidcInput = NonNullable<z.input<typeof signInSettings>["oidc"]>[number];

/** A gateway whose clock a test sets forward, and a real provider, which the settings name once they are told to. */
async function bench(groups: OidcInput["groups"] = {}) {
  const stack = new AsyncDisposableStack();
  const clock = { laterMs: 0 };
  let redirect = "";
  const provider = stack.use(await startProvider({ redirectUris: () => [redirect] }));
  const signIn = {
    oidc: [{
      name: "company",
      issuer: provider.issuer,
      client: provider.client.id,
      secret: provider.client.secret,
      domains: ["example.com"],
      groups,
    }],
  };
  const now = () => Date.now() + clock.laterMs;
  const gateway = stack.use(
    await startGateway({ settings: { registration: "open", signIn: {} }, now } as never),
  );
  redirect = `${gateway.url}/console/sign-in/oidc/company/callback`;
  return {
    clock,
    provider,
    gateway,
    sessions: new Sessions(gateway.gateway.database, now),
    grants: new ToolGrants({
      database: gateway.gateway.database,
      key: () => Promise.resolve(new Uint8Array(32)),
      now,
    }),
    /** The company's provider is set up. */
    async come(more: Record<string, unknown> = {}) {
      const oidc = signIn.oidc.map((one) => ({ ...one, ...more }));
      assertEquals((await gateway.reload({ registration: "open", signIn: { oidc } })).fault, null);
    },
    browser: () => new JarBrowser(gateway.url),
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

async function comesByLink({ gateway: { accounts, sessions } }: TestGateway, browser: JarBrowser) {
  const account = await accounts.find(ADA) ?? await accounts.create({ email: ADA });
  await browser.open(`/console/link/${await sessions.makeLink(account)}`);
  return account;
}

/** Links an identity on the page Account: begins, and goes through the provider's pages. @returns Where that sends the browser. */
async function beginLinking(
  browser: JarBrowser,
  one: Awaited<ReturnType<typeof bench>>,
  subject: string,
) {
  const page = await browser.send("/console/account", "/console/account/link/company");
  const href = /href="(http:[^"]+\/auth\?[^"]+)"/.exec(page.text)?.[1]?.replaceAll("&amp;", "&");
  if (href === undefined) return { page, back: undefined };
  const back = await one.provider.signIn(new URL(href), subject);
  return { page, back: `${back.pathname}${back.search}` };
}

Deno.test("who registered somebody's address before the company came gets nothing of that person; the holder links by hand", async () => {
  await using one = await bench({ eng: { role: "operator" } });
  const { gateway, provider } = one;
  const thief = one.browser();
  const fields = { email: ADA, name: "", code: "", password: PASSWORD };
  const post = (browser: JarBrowser, path: string, body: Record<string, string>) =>
    browser.open(path, { method: "POST", body: new URLSearchParams(body) });
  assertEquals((await post(thief, "/console/register", fields)).status, 303);
  await one.come();
  provider.people.set("s-1", { email: ADA, email_verified: true, groups: ["eng"] });
  const ada = one.browser();
  const refused = await ada.signIn(provider, "s-1");
  assertEquals(refused.status, 403);
  assertStringIncludes(refused.text, "sign in to it as before, and link company");
  assert(!ada.cookies.has("sluice"));
  const { accounts, database } = gateway.gateway;
  assertEquals((await accounts.get(ADA)).role, "none");
  assertEquals(await database.all("select * from identities"), []);
  // the holder of the password, if that is Ada, says so
  assertEquals((await post(ada, "/console/sign-in", fields)).status, 303);
  const { back } = await beginLinking(ada, one, "s-1");
  assertEquals((await ada.open(back!)).location, "/console/account?done=linked");
  const later = one.browser();
  assertEquals((await later.signIn(provider, "s-1")).status, 303);
  assertEquals((await accounts.get(ADA)).role, "operator");
});

/** Forms that add a way to sign in, and what they are sent; `undefined` for those that do not. */
const ADDING: Readonly<Record<string, Record<string, string> | undefined>> = {
  "/console/account/password": { password: PASSWORD },
  "/console/account/passkeys/options": {},
  "/console/account/passkeys": { name: "x", result: "{}" },
  "/console/account/link/:provider": {},
  "/console/account/passkeys/rename": undefined,
  "/console/account/passkeys/remove": undefined,
  "/console/account/unlink": undefined,
  "/console/account/sign-in-again": undefined,
};

Deno.test("each form that adds a way to sign in takes a sign-in of the last ten minutes, and so does what it began", async () => {
  await using one = await bench();
  await one.come();
  const { gateway, provider, clock } = one;
  const account = await gateway.gateway.accounts.create({ email: ADA });
  provider.people.set("s-1", { email: "x@elsewhere.example" });
  const forms = (await routesOf(gateway)).map(({ path }) => path).filter((path) =>
    /^\/console\/account\/.*(password|passkey|link|sign-in)/.test(path)
  );
  assertEquals(
    new Set(forms),
    new Set(Object.keys(ADDING)),
    "each is known to add a way or not to",
  );
  const browser = one.browser();
  const before = new Sessions(
    gateway.gateway.database,
    () => Date.now() - 9.5 * MINUTE_MS,
    43_200_000,
  );
  browser.cookies.set("sluice", await before.begin(account));
  const { back } = await beginLinking(browser, one, "s-1");
  clock.laterMs = MINUTE_MS;
  const late = await browser.open(back!);
  assertEquals(late.status, 403);
  assertStringIncludes(late.text, "Sign in again to link an identity");
  for (const [path, fields] of Object.entries(ADDING)) {
    if (fields === undefined) continue;
    const { status, text } = await browser.send(
      "/console/account",
      path.replace(":provider", "company"),
      fields,
    );
    assert(status >= 400, path);
    assertStringIncludes(text, "Sign in again to ", path);
  }
  const ways = await gateway.gateway.database.all(
    `select account_id from passwords where account_id = ? union all
      select account_id from passkeys union all select account_id from identities`,
    [account.id],
  );
  assertEquals(ways, []);
  const { text } = await browser.open("/console/account");
  for (const what of ["Adding a passkey", "Linking an identity", "Setting a first password"]) {
    assertStringIncludes(text, `${what} takes a sign-in within the last ten minutes`);
  }
  assert(!/data-passkey="create"|account\/link\/|account\/password/.test(text), "no such form");
  // by a link, an hour
  await comesByLink(gateway, browser);
  clock.laterMs += 59 * MINUTE_MS;
  assertEquals((await beginLinking(browser, one, "s-1")).page.status, 200);
  const form = ADDING["/console/account/password"]!;
  const set = await browser.send("/console/account", "/console/account/password", form);
  assertEquals(set.location, "/console/account?done=password");
});

Deno.test("a thief who linked an own identity is out with it: its sessions, tools, and what was approved for later", async () => {
  await using one = await bench();
  await one.come();
  const { gateway, provider } = one;
  provider.people.set("thief", { email: "thief@elsewhere.example" });
  const ada = one.browser();
  const account = await comesByLink(gateway, ada);
  const { back } = await beginLinking(ada, one, "thief");
  await ada.open(back!);
  const thief = one.browser();
  assertEquals((await thief.signIn(provider, "thief")).status, 303);
  const held = await approved(thief);
  const tool = await redeem(gateway, await approved(thief));
  const own = await redeem(gateway, await approved(ada));
  assertEquals([tool.status, own.status], [200, 200]);
  // somebody else's is not unlinked by its name
  const eve = one.browser();
  eve.cookies.set(
    "sluice",
    await one.sessions.begin(
      await gateway.gateway.accounts.create({ email: "eve@elsewhere.example" }),
    ),
  );
  const which = { issuer: provider.issuer, subject: "thief" };
  await eve.send("/console/account", "/console/account/unlink", which);
  assertEquals((await thief.open("/console/account")).status, 200);
  await ada.send("/console/account", "/console/account/unlink", which);
  assertEquals((await thief.open("/console/account")).location, "/console/sign-in");
  assertEquals((await ada.open("/console/account")).status, 200);
  assertEquals((await redeem(gateway, held)).status, 400, "held back");
  const left = (await one.grants.list(account)).map(({ keyId }) => keyId);
  assertEquals(left.length, 1, "that of Ada's own session");
});

/** A code by which a tool may be signed in that somebody has approved. */
async function approved(browser: JarBrowser): Promise<string> {
  const fields = question();
  const page = `/console/authorize?${new URLSearchParams(fields)}`;
  const reply = await browser.send(page, "/console/authorize", { ...fields, decision: "approve" });
  return new URL(reply.headers.get("refresh")!.replace("0; url=", "")).searchParams.get("code")!;
}

Deno.test("what was approved and no tool has fetched ends with all tools, all sessions, and the password of before", async () => {
  await using one = await bench();
  const { gateway } = one;
  const { database } = gateway.gateway;
  const device = "urn:ietf:params:oauth:grant-type:device_code";
  const outs: Record<string, Record<string, string>> = {
    "/console/tools/end": {},
    "/console/account/password": { password: PASSWORD },
    "/console/account/sign-out-everywhere": {},
  };
  for (const [path, fields] of Object.entries(outs)) {
    const browser = one.browser();
    await comesByLink(gateway, browser);
    const used = await approved(browser);
    assertEquals((await redeem(gateway, used)).status, 200);
    const code = await approved(browser);
    const begun = await ask(gateway, "/oauth/device_authorization", { client_id: "tool" });
    const deviceCode = { grant_type: device, device_code: String(begun.body.device_code) };
    const other = await ask(gateway, "/oauth/device_authorization", { client_id: "tool" });
    await browser.send("/console/device", "/console/device", {
      code: String(begun.body.user_code),
      decision: "approve",
    });
    await browser.send("/console/keys", path, fields);
    assertEquals((await redeem(gateway, code)).body.error, "invalid_grant", path);
    assertEquals(
      (await ask(gateway, "/oauth/token", deviceCode)).body.error,
      "expired_token",
      path,
    );
    // a tool that waits for another account's yes waits on, and a code that was used is known as such
    const waits = { grant_type: device, device_code: String(other.body.device_code) };
    assertEquals((await ask(gateway, "/oauth/token", waits)).body.error, "slow_down", path);
    const rows = await database.all("select key_id from tool_codes");
    assert(rows.length > 0 && rows.every(({ key_id: id }) => id !== null), path);
  }
});

Deno.test("whom the company lets in no more is out at the next try: sessions, tools and what groups gave", async () => {
  await using one = await bench({
    eng: { role: "operator", teams: { Platform: "lead" }, budget: { credits: 500 } },
  });
  await one.come({ domains: [] });
  const { gateway, provider } = one;
  const { accounts, teams, members, database } = gateway.gateway;
  const platform = await teams.create({ name: "Platform", pool: false });
  const person = { email: ADA, email_verified: true };
  provider.people.set("s-1", { ...person, groups: ["eng"] });
  const inside = one.browser();
  assertEquals((await inside.signIn(provider, "s-1")).status, 303);
  const byLink = one.browser();
  await comesByLink(gateway, byLink);
  const tool = await redeem(gateway, await approved(inside));
  const key = String(tool.body.access_token);
  const statusOfKey = async () => {
    const reply = await gateway.chat("Hi", { max_tokens: 5 }, { key });
    await reply.body?.cancel();
    return reply.status;
  };
  assertEquals(await statusOfKey(), 403, "no credits");
  assertEquals((await accounts.get(ADA)).role, "operator");
  provider.people.set("s-1", person);
  const refused = await one.browser().signIn(provider, "s-1");
  assertEquals(refused.status, 403);
  assertStringIncludes(refused.text, "neither its domain nor a group of it is listed");
  assertEquals((await accounts.get(ADA)).role, "none");
  assertEquals(await members.list(platform), []);
  for (const table of ["budgets", "group_grants"]) {
    assertEquals(await database.all(`select * from ${table}`), [], table);
  }
  assertEquals((await inside.open("/console/")).location, "/console/sign-in");
  assertEquals(
    (await byLink.open("/console/account")).status,
    200,
    "what the provider did not give",
  );
  await until(async () => await statusOfKey() === 401);
  // and is in again with the group
  provider.people.set("s-1", { ...person, groups: ["eng"] });
  assertEquals((await one.browser().signIn(provider, "s-1")).status, 303);
  assertEquals((await accounts.get(ADA)).role, "operator");
});

Deno.test("one address begins three hundred visits to a provider in ten minutes, and crowds out nobody", async () => {
  await using one = await bench();
  await one.come();
  const { clock, gateway: { gateway: { database } } } = one;
  const thief = one.browser();
  const begin = () => thief.open("/console/sign-in/oidc/company", { redirect: "manual" });
  for (let at = 0; at < 300; at++) assertEquals((await begin()).status, 303, `${at}`);
  const over = await begin();
  assertEquals([over.status, over.headers.has("retry-after")], [429, true]);
  const count = async () => (await database.one("select count(*) as n from provider_visits"))!.n;
  assertEquals(await count(), 300);
  clock.laterMs = 10 * MINUTE_MS;
  assertEquals((await begin()).status, 303);
});

Deno.test("guesses at the current password count while they are checked: of many at once, five are", async () => {
  await using one = await bench();
  const { accounts, passwords, database } = one.gateway.gateway;
  const account = await accounts.create({ email: ADA });
  await passwords.set(account, PASSWORD);
  const before = await database.all("select hash from passwords");
  const browser = one.browser();
  browser.cookies.set("sluice", await one.sessions.begin(account));
  const { text } = await browser.open("/console/account");
  const csrf = /name="csrf" value="([0-9a-f]{64})"/.exec(text)![1]!;
  const statuses = await Promise.all(Array.from({ length: 20 }, async (_, at) => {
    const body = new URLSearchParams({
      csrf,
      current: `wrong ${at}`,
      password: "another password",
    });
    return (await browser.open("/console/account/password", { method: "POST", body })).status;
  }));
  assertEquals(statuses.filter((status) => status === 400).length, 5);
  assertEquals(statuses.filter((status) => status === 429).length, 15);
  assertEquals(await database.all("select hash from passwords"), before);
});
