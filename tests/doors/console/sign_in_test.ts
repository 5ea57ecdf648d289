/** Signing in with a company's provider, as a browser does it. */

import { Buffer } from "node:buffer";
import { generateKeyPairSync, sign } from "node:crypto";
import { OAuth2Server } from "oauth2-mock-server";
import { backUp } from "../../../src/ground/database/mod.ts";
import { assert, assertEquals, assertStringIncludes } from "../../assert.ts";
import { challengeOf } from "../../../src/people/sign_in/challenge.ts";
import { startGateway, type TestGateway } from "../../fake/gateway.ts";
import { startProvider } from "../../fake/oidc_provider.ts";
import { shared } from "../../fake/shared_gateway.ts";
import { tablesOf } from "../../fake/tables.ts";
import { JarBrowser } from "../../fake/sign_in.ts";

/** All that the database has. */
async function everyRow({ gateway: { database } }: TestGateway): Promise<unknown[]> {
  const tables = await tablesOf(database);
  return await Promise.all(tables.map((name) => database.all(`select * from "${name}"`)));
}

const GROUPS = {
  eng: { role: "operator", teams: { Platform: "lead" }, budget: { credits: 500 } },
} as const;

async function bench({ domains = ["example.com"] }: { readonly domains?: string[] } = {}) {
  const stack = new AsyncDisposableStack();
  // deno-lint-ignore prefer-const -- the provider is started before it, and asks for its address later
  let gateway: TestGateway | undefined;
  const provider = stack.use(
    await startProvider({
      redirectUris: () => [`${gateway!.url}/console/sign-in/oidc/company/callback`],
      logoutUri: () => `${gateway!.url}/console/sign-in/oidc/company/logout`,
    }),
  );
  gateway = stack.use(
    await startGateway({
      settings: {
        signIn: {
          oidc: [{
            name: "company",
            issuer: provider.issuer,
            client: provider.client.id,
            secret: provider.client.secret,
            domains,
            groups: GROUPS,
          }],
        },
      },
    }),
  );
  return {
    provider,
    gateway,
    browser: () => new JarBrowser(gateway!.url),
    [Symbol.asyncDispose]: () => stack[Symbol.asyncDispose](),
  };
}

const test = shared(bench);

test(
  "somebody signs in with the company's provider, is in its teams, and is out of them with the group",
  async (one) => {
    const { gateway, provider } = one;
    const { accounts, members, teams } = gateway.gateway;
    const platform = await teams.create({ name: "Platform", pool: false });
    provider.people.set("s-1", {
      email: "ada@example.com",
      email_verified: true,
      name: "Ada",
      groups: ["eng"],
    });
    const browser = one.browser();
    assertStringIncludes((await browser.open("/console/sign-in")).text, "Sign in with company");
    const wanted = await browser.open("/console/usage");
    assertEquals(wanted.location, "/console/sign-in");
    const back = await browser.signIn(provider, "s-1");
    assertEquals([back.status, back.location], [303, "/console/usage"], back.text);
    assertEquals([...browser.cookies.keys()], ["sluice"]);
    const ada = await accounts.get("ada@example.com");
    assertEquals([ada.name, ada.role], ["Ada", "operator"]);
    assertEquals((await members.list(platform)).map(({ email, role }) => [email, role]), [
      ["ada@example.com", "lead"],
    ]);
    assertStringIncludes((await browser.open("/console/operator/")).text, "Overview");
    provider.people.set("s-1", { email: "ada@example.com", email_verified: true });
    const later = one.browser();
    assertEquals((await later.signIn(provider, "s-1")).status, 303);
    assertEquals((await accounts.get("ada@example.com")).role, "none");
    assertEquals(await members.list(platform), []);
    assertEquals(
      (await browser.open("/console/operator/")).status,
      404,
      "the earlier session as well",
    );
  },
);

test("a callback counts once, for the browser that was sent away", async (one) => {
  const { provider } = one;
  provider.people.set("s-1", { email: "ada@example.com", email_verified: true });
  const [browser, thief] = [one.browser(), one.browser()];
  const away = await browser.open("/console/sign-in/oidc/company");
  const back = await provider.signIn(new URL(away.location!), "s-1");
  const path = `${back.pathname}${back.search}`;
  const refused = async (by: JarBrowser, at: string, says = "was not begun by this browser") => {
    const page = await by.open(at);
    assertEquals(page.status, 403);
    assertStringIncludes(page.text, says);
    assert(!by.cookies.has("sluice"));
  };
  await refused(thief, path);
  await thief.open("/console/sign-in/oidc/company");
  await refused(thief, path);
  await refused(one.browser(), "/console/sign-in/oidc/company/callback?code=x&state=y");
  await refused(one.browser(), "/console/sign-in/oidc/company/callback");
  assertEquals((await browser.open(path)).status, 303);
  browser.cookies.delete("sluice");
  await refused(browser, path);
  assertEquals((await browser.open("/console/sign-in/oidc/unknown")).status, 404);
});

test("who may not sign in is told why, and nothing is made", async (one) => {
  const { gateway, provider } = one;
  const accounts = async () => (await gateway.gateway.accounts.list()).length;
  const before = await accounts();
  provider.people.set("s-3", { email: "eve@elsewhere.example", email_verified: true });
  provider.people.set("s-4", { email: "eve@example.com", email_verified: false });
  for (
    const [subject, says] of [["s-3", "may not sign in with company"], [
      "s-4",
      "has not verified",
    ]] as const
  ) {
    const page = await one.browser().signIn(provider, subject);
    assertEquals(page.status, 403);
    assertStringIncludes(page.text, says);
  }
  assertEquals(await accounts(), before);
});

Deno.test("an owner links an identity by hand, and signs in with it; a link that somebody else began links nothing", async () => {
  await using one = await bench({ domains: [] });
  const { gateway, provider } = one;
  provider.people.set("s-1", { email: "x@elsewhere.example" });
  const { accounts, sessions } = gateway.gateway;
  const owner = (await accounts.owner())!;
  const browser = one.browser();
  await browser.open(`/console/link/${await sessions.makeLink(owner)}`);
  const csrf = /name="csrf" value="([0-9a-f]{64})"/.exec(
    (await browser.open("/console/account")).text,
  )![1]!;
  const link = async () => {
    const page = await browser.open("/console/account/link/company", {
      method: "POST",
      body: new URLSearchParams({ csrf }),
    });
    const href = /href="(http:[^"]+\/auth\?[^"]+)"/.exec(page.text)![1]!.replaceAll("&amp;", "&");
    const back = await provider.signIn(new URL(href), "s-1");
    return `${back.pathname}${back.search}`;
  };
  const other = await accounts.create({ email: "other@example.com" });
  const path = await link();
  const session = browser.cookies.get("sluice")!;
  browser.cookies.set("sluice", await sessions.begin(other));
  assertStringIncludes((await browser.open(path)).text, "Sign in to the account");
  browser.cookies.set("sluice", session);
  assertEquals((await browser.open(await link())).location, "/console/account?done=linked");
  const later = one.browser();
  assertEquals((await later.signIn(provider, "s-1")).status, 303);
  assertStringIncludes((await later.open("/console/account")).text, owner.email);
});

test(
  "an account lists its sessions and identities, ends the ones, and unlinks the others",
  async (one) => {
    const { gateway, provider } = one;
    provider.people.set("s-5", { email: "cleo@example.com", email_verified: true });
    const [first, second] = [one.browser(), one.browser()];
    await first.signIn(provider, "s-5");
    await second.signIn(provider, "s-5");
    const { text } = await first.open("/console/account");
    const csrf = /name="csrf" value="([0-9a-f]{64})"/.exec(text)![1]!;
    const ids = [...text.matchAll(/\/console\/account\/sessions\/(\w+)\/end/g)].map(([, id]) => id);
    assertEquals(ids.length, 2);
    assertStringIncludes(text, "(this one)");
    assertStringIncludes(text, "Unlink s-5 at company");
    const cleo = await gateway.gateway.accounts.get("cleo@example.com");
    const listed = await gateway.gateway.sessions.list(cleo, { own: first.cookies.get("sluice") });
    for (const { createdAtMs, expiresAtMs } of listed) {
      assertEquals(expiresAtMs - createdAtMs, 12 * 3_600_000, "the setting sessionHours");
    }
    const other = listed.find(({ isOwn }) => !isOwn)!;
    const send = (path: string, fields = {}) =>
      first.open(path, { method: "POST", body: new URLSearchParams({ csrf, ...fields }) });
    // somebody else's session is not ended by its ID
    const owner = (await gateway.gateway.accounts.owner())!;
    const owners = one.browser();
    await owners.open(`/console/link/${await gateway.gateway.sessions.makeLink(owner)}`);
    const [ownersSession] = await gateway.gateway.sessions.list(owner);
    await send(`/console/account/sessions/${ownersSession!.id}/end`);
    assertEquals((await owners.open("/console/account")).status, 200);
    await send(`/console/account/sessions/${other.id}/end`);
    assertEquals((await second.open("/console/account")).location, "/console/sign-in");
    assertEquals((await first.open("/console/account")).status, 200);
    await send("/console/account/unlink", { issuer: provider.issuer, subject: "s-5" });
    assertStringIncludes((await first.open("/console/account")).text, "No identity is linked");
  },
);

test(
  "nothing of a sign-in is in the log, in a backup, in a page, or in what a browser tells the next page",
  async (one) => {
    const { gateway, provider } = one;
    provider.people.set("s-1", { email: "ada@example.com", email_verified: true });
    const browser = one.browser();
    const away = new URL((await browser.open("/console/sign-in/oidc/company")).location!);
    const [secret] = [...browser.cookies.values()];
    const back = await provider.signIn(away, "s-1");
    const waiting = await one.browser().open("/console/sign-in/oidc/company");
    const copy = `${gateway.directory}/copy.db`;
    await backUp(gateway.gateway.database, copy);
    const path = `${back.pathname}${back.search}`;
    const refused = await one.browser().open(path);
    assertEquals(refused.headers.get("referrer-policy"), "no-referrer");
    const done = await browser.open(path);
    assertEquals([done.status, done.headers.get("referrer-policy")], [303, "no-referrer"]);
    const { text } = await browser.open("/console/account");
    const issued = provider.issued.at(-1);
    const secrets = {
      "the browser's secret": secret,
      "the state": away.searchParams.get("state"),
      "the nonce": away.searchParams.get("nonce"),
      "the verifier": challengeOf(secret).verifier,
      "the code": back.searchParams.get("code"),
      "the access token": issued!.access_token,
      "the identity token": issued!.id_token,
      "the client's secret": provider.client.secret,
      "the session": browser.cookies.get("sluice"),
      "the state of who is away": new URL(waiting.location!).searchParams.get("state"),
    };
    const places = {
      "the log": gateway.log(),
      "the copy": new TextDecoder("latin1").decode(await Deno.readFile(copy)),
      "the database": JSON.stringify(await everyRow(gateway)),
      "a page": text,
      "a refusal": refused.text,
    };
    const found = Object.entries(secrets).flatMap(([what, value]) => {
      assert(typeof value === "string" && value.length > 20, what);
      return Object.entries(places).flatMap(([place, content]) =>
        content.includes(value) ? [`${what} in ${place}`] : []
      );
    });
    assertEquals(found, []);
  },
);

test("signing out here says where to sign out there", async (one) => {
  const { provider } = one;
  provider.people.set("s-1", { email: "ada@example.com", email_verified: true });
  const browser = one.browser();
  await browser.signIn(provider, "s-1");
  const { text } = await browser.open("/console/account");
  const csrf = /name="csrf" value="([0-9a-f]{64})"/.exec(text)![1]!;
  const out = await browser.open("/console/sign-out", {
    method: "POST",
    body: new URLSearchParams({ csrf }),
  });
  assertStringIncludes(out.text, `href="${provider.issuer}/session/end?client_id=`);
  assertEquals((await browser.open("/console/account")).location, "/console/sign-in");
});

Deno.test("a provider's word that somebody signed out there ends what that somebody has here, and nobody else's", async () => {
  const keys = generateKeyPairSync("rsa", { modulusLength: 2_048 });
  const others = generateKeyPairSync("rsa", { modulusLength: 2_048 });
  const server = new OAuth2Server();
  await server.start(0, "127.0.0.1");
  await using _ = { [Symbol.asyncDispose]: () => server.stop() };
  const issuer = `http://127.0.0.1:${server.address().port}`;
  server.issuer.url = issuer;
  await server.issuer.keys.add({
    ...keys.privateKey.export({ format: "jwk" }),
    kid: "k",
    alg: "RS256",
  });
  await using gateway = await startGateway({
    settings: { signIn: { oidc: [{ name: "company", issuer, client: "sluice" }] } },
  } as never);
  const { accounts, sessions, database } = gateway.gateway;
  const [ada, bob] = [
    await accounts.create({ email: "ada@example.com" }),
    await accounts.create({ email: "bob@example.com" }),
  ];
  await database.batch([[ada, "s-1"], [bob, "s-2"]].map(([account, subject]) => ({
    sql: `insert into identities (issuer, subject, account_id, provider, linked_by, linked_at_ms)
      values (?, ?, ?, 'company', 'domain', 0)`,
    args: [issuer, subject as string, (account as typeof ada).id],
  })));
  const begin = async () => ({
    "ada by sid 1": await sessions.begin(ada, { provider: "company", providerSession: "sid-1" }),
    "ada by sid 2": await sessions.begin(ada, { provider: "company", providerSession: "sid-2" }),
    "ada by password": await sessions.begin(ada),
    "bob": await sessions.begin(bob, { provider: "company", providerSession: "sid-3" }),
  });
  const EVENT = { "http://schemas.openid.net/event/backchannel-logout": {} };
  const say = async (claims: object, { header = {}, by = keys.privateKey } = {}) => {
    const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString("base64url");
    const nowS = Math.floor(Date.now() / 1_000);
    const text = [
      part({ alg: "RS256", kid: "k", ...header }),
      part({ iss: issuer, aud: "sluice", iat: nowS, exp: nowS + 60, jti: "j", ...claims }),
    ].join(".");
    const token = `${text}.${sign("sha256", Buffer.from(text), by).toString("base64url")}`;
    const reply = await fetch(`${gateway.url}/console/sign-in/oidc/company/logout`, {
      method: "POST",
      body: new URLSearchParams({ logout_token: token }),
    });
    await reply.body?.cancel();
    return reply.status;
  };
  const rows: readonly (readonly [string, number, readonly string[], object, object?])[] = [
    ["one session", 200, ["ada by sid 1"], { sid: "sid-1", events: EVENT }],
    ["all of somebody", 200, ["ada by sid 1", "ada by sid 2"], { sub: "s-1", events: EVENT }],
    ["somebody's one", 200, ["ada by sid 2"], { sub: "s-1", sid: "sid-2", events: EVENT }],
    ["another's session", 200, [], { sub: "s-1", sid: "sid-3", events: EVENT }],
    ["a stranger", 200, [], { sub: "s-9", events: EVENT }],
    ["nobody", 400, [], { events: EVENT }],
    ["no event", 400, [], { sub: "s-1" }],
    ["an identity token", 400, [], { sub: "s-1", nonce: "n", events: EVENT }],
    ["another client's", 400, [], { sub: "s-1", aud: "another", events: EVENT }],
    ["another issuer's", 400, [], { sub: "s-1", iss: "https://elsewhere.example", events: EVENT }],
    ["an old one", 400, [], { sub: "s-1", iat: 1_000_000, exp: 4e9, events: EVENT }],
    ["a stranger's key", 400, [], { sub: "s-1", events: EVENT }, { by: others.privateKey }],
    ["no signature", 400, [], { sub: "s-1", events: EVENT }, { header: { alg: "none" } }],
  ];
  for (const [name, status, ended, claims, how] of rows) {
    const begun = await begin();
    assertEquals(await say(claims, how), status, name);
    const found = await sessions.findAll(Object.values(begun));
    const gone = Object.entries(begun).filter(([, token]) => !found.has(token)).map(([whose]) =>
      whose
    );
    assertEquals(gone, ended, name);
  }
});
