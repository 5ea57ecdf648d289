/** Who signs in without a provider, where the company has one: owners, and those for whom an operator makes a link. */

import { notices } from "../../../src/operating/alerts/mod.ts";
import { logEntries } from "../../../src/people/operation_log/mod.ts";
import type { SettingsInput } from "../../../src/settings/config/mod.ts";
import { assert, assertEquals, assertStringIncludes } from "../../assert.ts";
import { NO_PASSES, startGateway, statusOf, type TestGateway } from "../../fake/gateway.ts";
import { PlainBrowser, signedIn } from "../../fake/visitor.ts";

const PASSWORD = "a long enough password";
const OWNER = "owner@localhost";
const OIDC = [{ name: "company", issuer: "https://login.invalid", client: "sluice" }];

function start(signIn: SettingsInput["signIn"], now?: () => number): Promise<TestGateway> {
  return startGateway({
    settings: {
      registration: "open",
      alerts: { dailyAudit: false },
      ...(signIn && { signIn }),
    } as SettingsInput,
    alertTimes: NO_PASSES,
    ...(now && { now }),
  });
}

/** Signs in, and returns where it leads or the page that says no. */
async function tried({ url }: TestGateway, email: string, password = PASSWORD) {
  const reply = await new PlainBrowser(url).post("/console/sign-in", { email, password });
  return { status: reply.status, text: reply.status === 303 ? "" : await reply.text() };
}

Deno.test("without passwords only owners sign in with one, and nobody else has or gets one", async () => {
  await using gateway = await start({ password: false, oidc: OIDC });
  const { accounts, passwords, database } = gateway.gateway;
  const hashes = async () => (await database.all("select account_id from passwords")).length;
  const [lead, operator, finance, second] = [
    await accounts.create({ email: "none@example.com" }),
    await accounts.create({ email: "operator@example.com", role: "operator" }),
    await accounts.create({ email: "finance@example.com", role: "finance" }),
    await accounts.create({ email: "second@example.com", role: "owner" }),
  ];
  for (const one of [lead, operator, finance, second]) await passwords.set(one, PASSWORD);
  const wrong = await tried(gateway, OWNER, "a wrong password");
  for (const { email } of [lead, operator, finance]) {
    const right = await tried(gateway, email);
    // as if the password were wrong: who is an owner is nobody's business
    assertEquals([right.status, right.text], [
      401,
      wrong.text.replaceAll(OWNER, email),
    ], email);
  }
  assertEquals((await tried(gateway, second.email)).status, 303);
  await accounts.setRole(second.email, "operator");
  assertEquals((await tried(gateway, second.email)).status, 401, "an owner no more");

  const page = await (await new PlainBrowser(gateway.url).get("/console/sign-in")).text();
  assertStringIncludes(page, "Only owners sign in with a password here.");
  assertStringIncludes(page, "Sign in with company");
  assert(!page.includes("/console/register"), "who registers has a password and nothing else");
  const stranger = new PlainBrowser(gateway.url);
  assertEquals(await statusOf(stranger.get("/console/register")), 404);
  const fields = { email: "new@example.com", password: PASSWORD };
  assertEquals(await statusOf(stranger.post("/console/register", fields)), 404);
  assertEquals(await accounts.find("new@example.com"), undefined);

  // a link signs anybody in, as an operator made it, and sets only an owner's password
  const before = await hashes();
  for (const { email } of [operator, await accounts.create({ email: "new@example.com" })]) {
    const browser = await signedIn(gateway, email);
    const text = await (await browser.get("/console/account")).text();
    assertStringIncludes(text, "Only owners sign in with a password here.");
    assert(!text.includes('action="/console/account/password"'));
    const set = await browser.post("/console/account/password", {
      current: PASSWORD,
      password: "another long password",
    }, { from: "/console/account" });
    assertEquals(set.status, 400);
    assertStringIncludes(await set.text(), "Only owners sign in with a password here.");
  }
  assertEquals(await hashes(), before);
  const owner = await signedIn(gateway, OWNER);
  const set = await owner.post("/console/account/password", { password: PASSWORD }, {
    from: "/console/account",
  });
  assertEquals(set.headers.get("location"), "/console/account?done=password");
  assertEquals((await tried(gateway, OWNER)).status, 303);
});

Deno.test("each time that an owner signs in past the providers is a row of the log and an alert, once", async () => {
  let nowMs = Date.now();
  for (
    const [signIn, isTold] of [
      [{ password: false, oidc: OIDC }, true],
      [{ oidc: OIDC }, true],
      [{ oidc: [] }, false],
      [undefined, false],
    ] as const
  ) {
    await using gateway = await start(signIn as SettingsInput["signIn"], () => nowMs);
    const { accounts, passwords, database, alerts } = gateway.gateway;
    const owner = (await accounts.owner())!;
    await passwords.set(owner, PASSWORD);
    await accounts.create({ email: "ada@example.com", role: "operator" });
    const raised = async () => {
      assert(await alerts.watch.pass());
      const all = await notices(database, { limit: 100 });
      return all.filter(({ kind }) => kind === "owner_signed_in").map(({ data }) => data.by);
    };
    assertEquals(await raised(), []);
    assertEquals((await tried(gateway, OWNER)).status, 303);
    await tried(gateway, OWNER, "a wrong password");
    await signedIn(gateway, "ada@example.com");
    assertEquals(await raised(), isTold ? ["a password"] : []);
    assertEquals(await raised(), isTold ? ["a password"] : []);
    nowMs += 3_600_000;
    await signedIn(gateway, OWNER);
    assertEquals(await raised(), isTold ? ["a one-time link", "a password"] : []);
    const rows = await logEntries(database, { operation: "account.owner_sign_in", limit: 10 });
    assertEquals(
      rows.map(({ actor, after, address }) => [actor, after, address]),
      isTold
        ? [[OWNER, { by: "link" }, "127.0.0.1"], [OWNER, { by: "password" }, "127.0.0.1"]]
        : [],
    );
    // a gateway that was away for longer than the lease does not tell again, nor does one that lost its memory
    nowMs += 10 * 86_400_000;
    assertEquals((await raised()).length, isTold ? 2 : 0);
  }
});

Deno.test("sessionHours bounds sessions that are there, and does not prolong them", async () => {
  let nowMs = Date.now();
  const HOUR = 3_600_000;
  await using gateway = await start(undefined, () => nowMs);
  const { accounts, sessions } = gateway.gateway;
  const ada = await accounts.create({ email: "ada@example.com" });
  const old = await signedIn(gateway, ada.email);
  const goesOn = async (browser: PlainBrowser) =>
    await statusOf(browser.get("/console/account")) === 200;
  nowMs += 2 * HOUR;
  assertEquals(await goesOn(old), true);
  const settings = { registration: "open", alerts: { dailyAudit: false } } as const;
  await gateway.reload({ ...settings, signIn: { sessionHours: 3 } } as SettingsInput);
  assertEquals(await goesOn(old), true);
  const text = await (await old.get("/console/account")).text();
  assertStringIncludes(text, "in 1 hour");
  nowMs += HOUR - 1;
  assertEquals(await goesOn(old), true);
  nowMs += 1;
  assertEquals(await goesOn(old), false, "three hours after it began");
  const young = await signedIn(gateway, ada.email);
  assertEquals((await sessions.lasting(3 * HOUR).list(ada)).length, 1);
  await gateway.reload(settings);
  nowMs += 3 * HOUR - 1;
  assertEquals(await goesOn(young), true);
  nowMs += 1;
  assertEquals(await goesOn(young), false, "it began when three hours were the rule");
});
