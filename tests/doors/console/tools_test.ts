/** Tools in the console: listed by device, signed out one by one or all, ended when a provider refuses the person who approved them. */

import { expiringKeys, ToolGrants, type ToolTokens } from "../../../src/people/accounts/mod.ts";
import { Vouchers } from "../../../src/people/sign_in/mod.ts";
import { assert, assertEquals, assertStringIncludes } from "../../assert.ts";
import { startGateway, type TestGateway } from "../../fake/gateway.ts";
import { startProvider } from "../../fake/oidc_provider.ts";
import { until } from "../../fake/temp.ts";
import { PlainBrowser, signedIn } from "../../fake/visitor.ts";
import { ask, decide, redeem } from "../oauth/tool_browser.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** What a request with a token is answered with. */
async function used(gateway: TestGateway, token: string): Promise<number> {
  const reply = await gateway.chat("Hi", { max_tokens: 5 }, { key: token });
  await reply.body?.cancel();
  return reply.status;
}

async function hasEnded(gateway: TestGateway, token: string): Promise<void> {
  await until(async () => await used(gateway, token) === 401, { what: "the end of the tool" });
}

Deno.test("tools are listed by device, and signed out by their account alone, one or all", async () => {
  await using gateway = await startGateway({ settings: { signIn: {} } });
  const { accounts, database, keys } = gateway.gateway;
  const owner = (await accounts.owner())!;
  const other = await accounts.create({ email: "eve@example.com" });
  const grants = new ToolGrants({
    database,
    now: Date.now,
    key: () => Promise.resolve(new Uint8Array(32)),
  });
  const tool = (client: string, address: string) => grants.issue(owner, client, { address });
  const [code, cli, third] = await Promise.all([
    tool("Claude Code", "192.0.2.1"),
    tool("sluice auth", "198.51.100.2"),
    tool("<b>evil</b>", "203.0.113.3"),
  ]);
  const browser = await signedIn(gateway, owner.email);
  const page = async () => await (await browser.get("/console/keys")).text();
  const before = await page();
  for (
    const shown of ["Claude Code", "192.0.2.1", "198.51.100.2", "&lt;b&gt;evil", "Sign out all"]
  ) {
    assertStringIncludes(before, shown);
  }
  const list = (await keys.list(owner)).map(({ id }) => id);
  assert(list.includes(code.keyId));
  assert(!before.includes(`id="${code.keyId}"`), "its key is not among those of people");

  const home = await (await browser.get("/console/")).text();
  assert(!home.includes("Expires soon"), "tools refresh their keys themselves");

  // another account's form ends nothing
  const stranger = await signedIn(gateway, other.email);
  await stranger.post(`/console/tools/${code.keyId}/end`, {}, { from: "/console/account" });
  await stranger.post("/console/tools/end", {}, { from: "/console/account" });
  const forged = await browser.post(`/console/tools/${code.keyId}/end`, {});
  assertEquals(forged.status, 403);
  await forged.body?.cancel();
  assertEquals(await used(gateway, code.accessToken), 200);

  const ended = await browser.post(`/console/tools/${code.keyId}/end`, {}, {
    from: "/console/keys",
  });
  assertEquals(ended.headers.get("location"), "/console/keys?done=tool-ended");
  await hasEnded(gateway, code.accessToken);
  assertEquals(await grants.refresh(code.refreshToken), "unknown");
  assertEquals(await used(gateway, cli.accessToken), 200);
  const own = (await keys.issue(owner, { name: "of a person" })).secret;
  await browser.post("/console/tools/end", {}, { from: "/console/keys" });
  for (const { accessToken } of [cli, third]) await hasEnded(gateway, accessToken);
  assertEquals(await used(gateway, own), 200);
  assert(!(await page()).includes("Sign out all"));
  const rows = await database.all("select operation from operation_log where door = 'console'");
  assertEquals(
    rows.filter(({ operation }) => operation === "tool.sign_out").length,
    2,
    "none for nothing",
  );
});

Deno.test("a tool that is in use raises no alert of expiry, however long; its key does not expire by itself", async () => {
  await using gateway = await startGateway({ settings: { signIn: {} } });
  const { accounts, database, keys } = gateway.gateway;
  const owner = (await accounts.owner())!;
  const clock = { nowMs: Date.now() };
  const grants = new ToolGrants({
    database,
    now: () => clock.nowMs,
    key: () => Promise.resolve(new Uint8Array(32)),
  });
  let tokens = await grants.issue(owner, "tool");
  clock.nowMs += 20 * DAY_MS;
  tokens = await grants.refresh(tokens.refreshToken) as ToolTokens;
  await keys.issue(owner, { name: "of a person", expiresAtMs: clock.nowMs + HOUR_MS });
  const found = await expiringKeys(database, {
    after: { expiresAtMs: 0, id: "" },
    toMs: clock.nowMs + 7 * DAY_MS,
    limit: 100,
  });
  assertEquals(found.map(({ name }) => name), ["of a person"]);
});

/** A gateway, and a provider that has signed Ada in there, by whom a tool was approved. */
async function company(refreshes: boolean) {
  const stack = new AsyncDisposableStack();
  let redirect = "";
  const clock = { laterMs: 0 };
  const provider = stack.use(await startProvider({ redirectUris: () => [redirect], refreshes }));
  const settings = {
    signIn: {
      oidc: [{
        name: "company",
        issuer: provider.issuer,
        client: provider.client.id,
        secret: provider.client.secret,
        groups: { eng: {} },
      }],
    },
  };
  const gateway = stack.use(
    await startGateway({ settings, now: () => Date.now() + clock.laterMs }),
  );
  redirect = `${gateway.url}/console/sign-in/oidc/company/callback`;
  provider.people.set("ada", { email: "ada@example.com", groups: ["eng"] });
  const signIn = async () => {
    const browser = new PlainBrowser(gateway.url);
    const sent = await browser.get("/console/sign-in/oidc/company");
    const back = await provider.signIn(new URL(sent.headers.get("location")!), "ada");
    const reply = await fetch(back, { headers: { cookie: browser.cookie }, redirect: "manual" });
    await reply.body?.cancel();
    const [session] = reply.headers.getSetCookie();
    browser.cookie = session?.split(";")[0] ?? "";
    return { browser, status: reply.status };
  };
  const { browser } = await signIn();
  const approve = async () => {
    const code = (await decide(browser, "approve")).searchParams.get("code")!;
    return (await redeem(gateway, code)).body;
  };
  const refresh = (body: Readonly<Record<string, unknown>>) =>
    ask(gateway, "/oauth/token", {
      grant_type: "refresh_token",
      refresh_token: String(body.refresh_token),
    });
  return {
    provider,
    gateway,
    settings,
    clock,
    signIn,
    approve,
    refresh,
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

Deno.test("without refresh tokens of the provider, its sign-in counts for a week; who is refused there loses the tools", async () => {
  await using one = await company(false);
  const { gateway, clock, approve, refresh } = one;
  const tool = await approve();
  clock.laterMs = 6.9 * DAY_MS;
  const second = await refresh(tool);
  assertEquals(second.status, 200);
  const { database, accounts } = gateway.gateway;
  const vouchers = new Vouchers({
    database,
    now: () => Date.now() + clock.laterMs,
    sealKey: () => Promise.resolve(new Uint8Array(32)),
    providerOf: () => undefined,
  });
  await vouchers.note({ issuer: one.provider.issuer, subject: "ada" }); // as at a sign-in
  const third = await refresh(second.body);
  assertEquals(third.status, 200);
  clock.laterMs = 14 * DAY_MS;
  const late = await refresh(third.body);
  assertEquals([late.status, late.body.error], [401, "invalid_grant"]);
  await hasEnded(gateway, String(third.body.access_token));
  assertStringIncludes(gateway.log(), "the provider no longer vouches");

  clock.laterMs = 0;
  assertEquals((await one.signIn()).status, 303);
  const byProvider = await approve();
  // a tool that somebody approved without the provider has nothing to do with it
  const own = await signedIn(gateway, "ada@example.com");
  const code = (await decide(own, "approve")).searchParams.get("code")!;
  const free = (await redeem(gateway, code)).body;
  one.provider.people.set("ada", { email: "ada@example.com", groups: [] });
  assertEquals((await one.signIn()).status, 403);
  assertEquals((await refresh(free)).status, 200);
  assertEquals((await refresh(byProvider)).status, 401, "refused at the provider's sign-in");
  assert((await accounts.find("ada@example.com"))!.disabledAtMs === null);
});

Deno.test("with its refresh tokens, the provider is asked once an hour, and whom it has removed loses the tools", async () => {
  await using one = await company(true);
  const { gateway, approve, refresh, provider } = one;
  const { database } = gateway.gateway;
  // the provider has the machine's clock: what it said becomes older
  const later = (ms: number) =>
    database.batch([{
      sql: "update identities set asked_at_ms = asked_at_ms - ?, vouched_at_ms = vouched_at_ms - ?",
      args: [ms, ms],
    }]);
  let [first, second] = [await approve(), await approve()];
  for (let round = 0; round < 4; round++) {
    await later(6 * DAY_MS);
    // both at once: the provider's token counts once
    const replies = await Promise.all([refresh(first), refresh(second)]);
    assertEquals(replies.map(({ status }) => status), [200, 200], `round ${round}`);
    [first, second] = [replies[0]!.body, replies[1]!.body];
  }
  const [row] = await database.all("select * from identities");
  assert(Number(row!.vouched_at_ms) > Date.now() - HOUR_MS, "it counts anew");
  assert(/^[A-Za-z0-9+/]{90,}=*$/.test(String(row!.refresh_sealed)), "sealed");
  provider.removed.add("ada");
  const last = await refresh(first);
  assertEquals(last.status, 200, "asked within the hour");
  await later(HOUR_MS);
  const refused = await refresh(last.body);
  assertEquals([refused.status, refused.body.error], [401, "invalid_grant"]);
  assertEquals((await refresh(second)).status, 401);
  await hasEnded(gateway, String(last.body.access_token));

  provider.removed.delete("ada");
  assertEquals((await one.signIn()).status, 303);
  const third = await approve();
  const [oidc] = one.settings.signIn.oidc;
  const wrong = { signIn: { oidc: [{ ...oidc!, secret: "not-the-secret-of-the-client" }] } };
  assertEquals((await gateway.reload(wrong)).fault, null);
  await later(HOUR_MS);
  const fourth = await refresh(third);
  assertEquals(fourth.status, 200, "it refuses this gateway, which says nothing of the person");
  assertEquals((await gateway.reload(one.settings)).fault, null);
  await provider[Symbol.asyncDispose]();
  await later(HOUR_MS);
  assertEquals((await refresh(fourth.body)).status, 200, "a provider that is away refuses nobody");
});
