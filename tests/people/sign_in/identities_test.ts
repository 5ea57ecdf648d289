import { type Account, Accounts, Passwords, Sessions } from "../../../src/people/accounts/mod.ts";
import { challengeOf } from "../../../src/people/sign_in/challenge.ts";
import {
  Identities,
  type Identity,
  type OidcProvider,
  SignInError,
  SingleUses,
  Vouchers,
} from "../../../src/people/sign_in/mod.ts";
import { type OidcSettings, signInSettings } from "../../../src/settings/config/mod.ts";
import { assert, assertEquals, assertRejects } from "../../assert.ts";
import { ledgerBench } from "../../fake/ledger.ts";

const SETTINGS = signInSettings.parse({
  oidc: [{
    name: "company",
    issuer: "https://login.example.com",
    client: "sluice",
    domains: ["example.com"],
    groups: { eng: { teams: {} } },
  }],
}).oidc[0]!;

const ADA: Identity = {
  issuer: SETTINGS.issuer,
  subject: "s-1",
  email: "ada@example.com",
  isVerified: true,
  name: "Ada",
  groups: [],
  session: undefined,
};

/** The session of somebody who has just signed in. */
const as = (account: Account) => ({ account, isRecent: true });

async function bench() {
  const ledger = await ledgerBench("file");
  const clock = { nowMs: Date.UTC(2030, 0, 1) };
  const now = () => clock.nowMs;
  const { database } = ledger;
  const accounts = new Accounts(database, now);
  return {
    clock,
    database,
    accounts,
    visits: new SingleUses({ database, kind: "visit", now }),
    passwords: new Passwords(database, now, { N: 2, r: 1, p: 1 }),
    identities: new Identities({ database, accounts, now }),
    [Symbol.asyncDispose]: () => ledger[Symbol.asyncDispose](),
  };
}

/** By what somebody comes in to an account whose address nobody has verified. */
type Way = "by password" | "by passkey" | "by hand";

/** Somebody who comes, what is there already, and what becomes of it. */
interface Case {
  readonly name: string;
  readonly who?: Partial<Identity>;
  readonly settings?: Partial<OidcSettings>;
  /** An account of the address. */
  readonly there?: "person" | "owner" | "service" | "disabled" | "made by group" | Way;
  readonly becomes: "linked" | "created" | RegExp;
}

const CASES: readonly Case[] = [
  { name: "a verified address of a claimed domain", becomes: "created" },
  {
    name: "an address that is not verified",
    who: { isVerified: false },
    becomes: /has not verified the address ada@example.com/,
  },
  {
    name: "another domain",
    who: { email: "ada@example.org" },
    becomes: /ada@example.org may not sign in with company/,
  },
  {
    name: "a domain that ends like the claimed one",
    who: { email: "ada@evil-example.com" },
    becomes: /may not sign in/,
  },
  {
    name: "a domain below the claimed one",
    who: { email: "ada@a.example.com" },
    becomes: /may not sign in/,
  },
  {
    name: "the claimed domain before another at",
    who: { email: "ada@example.com@evil.example" },
    becomes: /may not sign in/,
  },
  {
    name: "a member of a listed group, of any domain",
    who: { email: "ada@example.org", isVerified: false, groups: ["eng"] },
    becomes: "created",
  },
  {
    name: "groups that are not listed",
    who: { isVerified: false, groups: ["sales"] },
    becomes: /not verified/,
  },
  {
    name: "groups that were left out",
    who: { groups: "too many" },
    becomes: /left out your groups, as they are too many/,
  },
  {
    name: "groups that were left out, where none is listed",
    who: { groups: "too many" },
    settings: { groups: {} },
    becomes: "created",
  },
  {
    name: "nobody's address",
    who: { email: undefined, groups: ["eng"] },
    becomes: /sent no email address/,
  },
  { name: "an account of the address", there: "person", becomes: "linked" },
  {
    name: "an account of the address, which only a group vouches for",
    there: "person",
    who: { isVerified: false, groups: ["eng"] },
    becomes: /has an account here already/,
  },
  ...(["by password", "by passkey", "by hand"] as const).map((there) => ({
    name: `an account of the address that somebody comes in to ${there}`,
    there,
    becomes: /has an account here already.+if it is not yours, tell an operator/,
  })),
  { name: "an owner's address", there: "owner", becomes: /has an account here already/ },
  { name: "a service's address", there: "service", becomes: /has an account here already/ },
  { name: "a disabled account's address", there: "disabled", becomes: /is disabled/ },
  {
    name: "an account that somebody got with an address that was not verified",
    there: "made by group",
    becomes: /has an account here already/,
  },
];

Deno.test("whom a provider signs in, by what it says and what is there", async (t) => {
  for (const { name, who, settings, there, becomes } of CASES) {
    await t.step(name, async () => {
      await using one = await bench();
      const { accounts, identities } = one;
      const identity: Identity = { ...ADA, ...who };
      const by = { ...SETTINGS, ...settings };
      if (there === "made by group") {
        const other = { ...identity, subject: "s-2", isVerified: false, groups: ["eng"] };
        await identities.signIn(other, by);
      } else if (there !== undefined) {
        await accounts.create({ email: "first@b.example", role: "owner" });
        const made = await accounts.create({
          email: identity.email!,
          kind: there === "service" ? "service" : "person",
          role: there === "owner" ? "owner" : "none",
        });
        if (there === "disabled") await accounts.disable(made.email);
        if (there === "by password") await one.passwords.set(made, "known to somebody");
        if (there === "by hand") {
          await identities.link(as(made), { ...identity, subject: "s-9" }, by);
        }
        if (there === "by passkey") {
          await one.database.batch([{
            sql: `insert into passkeys
                (id, account_id, name, algorithm, public_key, counter, created_at_ms)
              values ('x', ?, 'x', -7, 'x', 0, 0)`,
            args: [made.id],
          }]);
        }
      }
      if (becomes instanceof RegExp) {
        const error = await assertRejects(() => identities.signIn(identity, by), SignInError);
        assertEquals(becomes.test(error.message), true, error.message);
        return;
      }
      const { account, news } = await identities.signIn(identity, by);
      assertEquals([news, account.email], [becomes, identity.email]);
      assertEquals((await identities.signIn(identity, by)).news, "known");
      // the address is a label: another one is the same person, another person with it is not
      const renamed = { ...identity, email: `new.${identity.email}` };
      if (identity.groups === "too many" || identity.groups.length > 0 || identity.isVerified) {
        assertEquals((await identities.signIn(renamed, by)).account.id, account.id);
      }
    });
  }
});

Deno.test("an identity in two windows at once makes one account", async () => {
  await using one = await bench();
  const both = await Promise.all([1, 2, 3].map(() => one.identities.signIn(ADA, SETTINGS)));
  assertEquals(new Set(both.map(({ account }) => account.id)).size, 1);
  assertEquals((await one.accounts.list()).length, 1);
});

Deno.test("what was linked by hand needs no group; what came by one is refused without; no identity signs in two", async () => {
  await using one = await bench();
  const { accounts, identities } = one;
  const [first, second] = [
    await accounts.create({ email: "first@b.example", role: "owner" }),
    await accounts.create({ email: "second@b.example" }),
  ];
  const outside = { ...ADA, email: "x@elsewhere.example" };
  await identities.link(as(first), outside, SETTINGS);
  assertEquals((await identities.signIn(outside, SETTINGS)).account.id, first.id);
  await assertRejects(
    () => identities.link(as(second), outside, SETTINGS),
    SignInError,
    "signs in another account",
  );
  const member = { ...outside, subject: "s-2", groups: ["eng"] };
  const { account } = await identities.signIn(member, SETTINGS);
  await assertRejects(
    () => identities.signIn({ ...member, groups: [] }, SETTINGS),
    SignInError,
    "may not sign in",
  );
  await identities.link(as(account), member, SETTINGS);
  assertEquals(
    (await identities.signIn({ ...member, groups: [] }, SETTINGS)).account.id,
    account.id,
  );
  await identities.unlink(account, member);
  await assertRejects(() => identities.signIn({ ...member, groups: [] }, SETTINGS), SignInError);
});

Deno.test("a provider that the settings name otherwise is the same: it vouches for its people, and they are out with the identity", async () => {
  await using one = await bench();
  const { database, identities, clock } = one;
  const now = () => clock.nowMs;
  const sessions = new Sessions(database, now);
  const vouchers = new Vouchers({
    database,
    now,
    sealKey: () => Promise.resolve(new Uint8Array(32)),
    providerOf: (name) => name === "corp" ? {} as OidcProvider : undefined, // without refresh tokens none is asked
  });
  const { account } = await identities.signIn(ADA, SETTINGS);
  const corp = { ...SETTINGS, name: "corp" };
  assertEquals((await identities.signIn(ADA, corp)).account.id, account.id);
  assertEquals((await identities.list(account)).map(({ provider }) => provider), ["corp"]);
  assert(await vouchers.vouches(account.id, "corp"));
  const refused = await sessions.begin(account, { provider: "corp" });
  await assertRejects(() => identities.signIn(ADA, { ...corp, domains: [] }), SignInError);
  assertEquals(await sessions.find(refused), undefined);
  await identities.link(as(account), ADA, SETTINGS);
  const unlinked = await sessions.begin(account, { provider: "company" });
  await identities.unlink(account, ADA);
  assertEquals(await sessions.find(unlinked), undefined);
});

Deno.test("a visit ends once, for its provider, within ten minutes; how many are kept is bounded", async () => {
  await using one = await bench();
  const { visits, clock, database } = one;
  const challenge = challengeOf();
  const { secret } = challenge;
  assertEquals(new Set(Object.values(challenge)).size, 4, "each part is for one purpose");
  await visits.begin(secret, "company");
  assertEquals(await visits.end(secret, "other"), undefined);
  assertEquals(await visits.end(challengeOf().secret, "company"), undefined);
  const ended = await Promise.all([1, 2].map(() => visits.end(secret, "company")));
  assertEquals(ended.filter((visit) => visit !== undefined), [{ accountId: undefined }]);
  await visits.begin(secret, "company");
  const rows = JSON.stringify(await database.all("select * from provider_visits"));
  for (const text of Object.values(challenge)) assert(!rows.includes(text), "a backup has it");
  clock.nowMs += 600_000;
  assertEquals(await visits.end(secret, "company"), undefined);
  for (let at = 0; at < 3; at++) await visits.begin(challengeOf().secret, "company");
  assertEquals(await database.all("select count(*) as n from provider_visits"), [{ n: 3 }]);
});
