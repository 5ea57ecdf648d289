/** What a provider says beside an identity token, and whom a directory has sent: each case that decides, in memory or over loopback. */

import { Accounts } from "../../../src/people/accounts/mod.ts";
import { Identities, type Identity, SignInError } from "../../../src/people/sign_in/mod.ts";
import { OidcProvider } from "../../../src/people/sign_in/provider.ts";
import { signInSettings } from "../../../src/settings/config/mod.ts";
import { assert, assertEquals, assertRejects } from "../../assert.ts";
import { ledgerBench } from "../../fake/ledger.ts";
import { quickProvider } from "../../fake/sign_in.ts";

const REDIRECT = "http://127.0.0.1:8787/console/sign-in/oidc/company/callback";
const LOGOUT = "http://schemas.openid.net/event/backchannel-logout";

const settingsOf = (over: object) =>
  signInSettings.parse({
    oidc: [{ name: "company", issuer: "https://login.example.com", client: "sluice", ...over }],
  }).oidc[0]!;

Deno.test("a logout token says who or which session is over, is no identity token, and is of this event (table)", async () => {
  await using provider = await quickProvider();
  const { issuer, server } = provider;
  const company = new OidcProvider(settingsOf({ issuer }), { now: Date.now });
  const read = async (claims: Record<string, unknown>) => {
    const token = await server.issuer.buildToken({
      scopesOrTransform: (_header, payload) => {
        Object.assign(payload, { aud: "sluice", events: { [LOGOUT]: {} }, ...claims });
        for (const [name, value] of Object.entries(claims)) {
          if (value === undefined) delete payload[name];
        }
      },
    });
    return await company.readLogout(token);
  };
  const over: readonly (readonly [Record<string, unknown>, object])[] = [
    [{ sub: "s-1", sid: "9" }, { subject: "s-1", session: "9" }],
    [{ sub: "s-1" }, { subject: "s-1", session: undefined }],
    [{ sub: undefined, sid: "9" }, { subject: undefined, session: "9" }],
    [{ sub: "s-1", sid: 9 }, { subject: "s-1", session: undefined }],
    [
      { sub: "s-1", events: { [LOGOUT]: null, "other:event": {} } },
      { subject: "s-1", session: undefined },
    ],
  ];
  for (const [claims, expected] of over) {
    assertEquals(await read(claims), expected as never, JSON.stringify(claims));
  }
  const none: readonly Record<string, unknown>[] = [
    { sub: undefined },
    { sub: undefined, sid: 9 },
    { sub: "s-1", nonce: "n" },
    { sub: "s-1", nonce: "" },
    { sub: "s-1", events: undefined },
    { sub: "s-1", events: null },
    { sub: "s-1", events: LOGOUT },
    { sub: "s-1", events: {} },
    { sub: "s-1", events: { "other:event": {} } },
  ];
  for (const claims of none) {
    const error = await assertRejects(() => read(claims), SignInError);
    assert(error.message.includes("sent what is no logout token"), JSON.stringify(claims));
  }
  for (const claims of [{ aud: "another" }, { iss: "https://elsewhere.example" }, { iat: 1 }]) {
    const error = await assertRejects(() => read({ sub: "s-1", ...claims }), SignInError);
    assert(error.message.includes("a logout token that does not fit"), error.message);
  }
});

Deno.test("a provider is asked for what its token leaves out and is needed: the address, or groups that the settings list (table)", async () => {
  await using provider = await quickProvider();
  const { issuer, server, people } = provider;
  let hasPage = true;
  let asked = 0;
  server.service.on("beforeWellKnownOpenIdConfiguration", ({ body }) => {
    if (!hasPage) delete (body as Record<string, unknown>).userinfo_endpoint;
  });
  server.service.on("beforeUserinfo", (response) => {
    asked++;
    response.body = {
      sub: "s-1",
      email: "asked@example.com",
      email_verified: true,
      groups: ["asked"],
    };
  });
  const own = { email: "own@example.com", email_verified: true };
  const cases = [
    { claims: own, lists: false, is: ["own@example.com", []], asks: 0 },
    {
      claims: { ...own, groups: ["own"] },
      lists: false,
      is: ["own@example.com", ["own"]],
      asks: 0,
    },
    { claims: { ...own, groups: ["own"] }, lists: true, is: ["own@example.com", ["own"]], asks: 0 },
    { claims: own, lists: true, is: ["own@example.com", ["asked"]], asks: 1 },
    { claims: {}, lists: false, is: ["asked@example.com", ["asked"]], asks: 1 },
    { claims: { groups: ["own"] }, lists: true, is: ["asked@example.com", ["own"]], asks: 1 },
    { claims: own, lists: true, without: true, is: ["own@example.com", []], asks: 0 },
    { claims: {}, lists: true, without: true, is: [undefined, []], asks: 0 },
  ];
  for (const { claims, lists, without = false, is, asks } of cases) {
    hasPage = !without;
    asked = 0;
    people.set("s-1", claims);
    const groups = lists ? { own: { role: "operator" } } : {};
    const company = new OidcProvider(settingsOf({ issuer, secret: "s".repeat(32), groups }), {
      now: Date.now,
    });
    const { url, challenge } = await company.begin(REDIRECT);
    // the browser's number goes through a provider that keeps none
    people.set("s-1", { ...claims, nonce: url.searchParams.get("nonce") });
    const back = await provider.signIn(url, "s-1");
    const identity = await company.finish(back.searchParams, challenge, REDIRECT);
    const name = JSON.stringify({ claims, lists, without });
    assertEquals([identity.email, identity.groups], is, name);
    assertEquals(identity.isVerified, identity.email !== undefined, name);
    assertEquals(asked, asks, name);
  }
});

/** Nobody whom the settings would let in by themselves. */
const SENT: Identity = {
  issuer: "https://login.example.com",
  subject: "ext-1",
  email: "ada@elsewhere.example",
  isVerified: false,
  name: "Ada",
  groups: [],
  session: undefined,
};

Deno.test("whom the directory has sent signs in by the only provider, until the directory takes it back (table)", async () => {
  const company = settingsOf({ domains: ["example.com"], groups: { eng: { teams: {} } } });
  const cases: readonly {
    readonly name: string;
    readonly providers?: number;
    readonly role?: "owner";
    readonly externalId?: string;
    readonly isDeleted?: boolean;
    readonly isDisabled?: boolean;
    readonly refused?: RegExp;
  }[] = [
    { name: "a user" },
    { name: "a user whom nobody knows", externalId: "ext-2", refused: /may not sign in/ },
    { name: "a user that was deleted", isDeleted: true, refused: /may not sign in/ },
    { name: "a user of one of two providers", providers: 2, refused: /may not sign in/ },
    { name: "no provider at all", providers: 0, refused: /may not sign in/ },
    { name: "an owner", role: "owner", refused: /may not sign in/ },
    { name: "a disabled account", isDisabled: true, refused: /disabled/ },
  ];
  for (const { name, providers = 1, role, externalId = "ext-1", refused, ...is } of cases) {
    await using ledger = await ledgerBench("file");
    const { database } = ledger;
    const now = () => 1;
    const accounts = new Accounts(database, now);
    await accounts.create({ email: "first@b.example", role: "owner" });
    const made = await accounts.create({ email: "made@b.example", role: role ?? "none" });
    await database.batch([{
      sql: `insert into scim_users
          (id, account_id, user_name, external_id, attributes, version, created_at_ms, changed_at_ms, deleted_at_ms)
        values ('scim_1', ?, 'ada', ?, '{}', 1, 1, 1, ?)`,
      args: [made.id, externalId, is.isDeleted ? 1 : null],
    }]);
    if (is.isDisabled) await accounts.disable(made.email);
    const identities = new Identities({
      database,
      accounts,
      providers: Array(providers).fill(company),
      now,
    });
    const signIn = () => identities.signIn(SENT, company);
    if (refused !== undefined) {
      const error = await assertRejects(signIn, SignInError);
      assert(refused.test(error.message), `${name}: ${error.message}`);
      continue;
    }
    const windows = await Promise.all([signIn(), signIn(), signIn()]);
    assertEquals(new Set(windows.map(({ account }) => account.id)), new Set([made.id]), name);
    assertEquals((await signIn()).news, "known");
    assertEquals((await identities.list(made)).map(({ linkedBy }) => linkedBy), ["scim"]);
    await database.batch([{ sql: "update scim_users set deleted_at_ms = 2" }]);
    const error = await assertRejects(signIn, SignInError);
    assert(/may not sign in/.test(error.message), error.message);
  }
});
