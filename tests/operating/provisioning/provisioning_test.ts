/** What a company's directory says becomes accounts and rights, whatever order it says it in. */

import fc from "fast-check";
import {
  type Account,
  Accounts,
  DeviceCodes,
  KeyRing,
  Keys,
  Members,
  Passwords,
  type Role,
  Sessions,
  TeamKeys,
  type TeamRole,
  Teams,
  ToolGrants,
} from "../../../src/people/accounts/mod.ts";
import { logEntries, sessionActor } from "../../../src/people/operation_log/mod.ts";
import { changeMembers, patched, ScimError } from "../../../src/people/scim/mod.ts";
import { Identities, type Identity, rightsOf } from "../../../src/people/sign_in/mod.ts";
import {
  applyGroups,
  DirectoryRights,
  GroupProvisioning,
  UserProvisioning,
} from "../../../src/operating/provisioning/mod.ts";
import { GroupGrants } from "../../../src/people/accounts/mod.ts";
import { budgetsOf, budgetsOfAccounts } from "../../../src/money/ledger/mod.ts";
import { type OidcSettings, signInSettings } from "../../../src/settings/config/mod.ts";
import { SILENT } from "../../../src/ground/telemetry/mod.ts";
import { assert, assertEquals, assertRejects } from "../../assert.ts";
import { guardedDatabase } from "../../fake/guarded_database.ts";
import { Had } from "../../fake/had.ts";
import { ledgerBench } from "../../fake/ledger.ts";
import { sized } from "../../tier.ts";

const PROVIDERS = signInSettings.parse({
  oidc: [{
    name: "company",
    issuer: "https://login.example.com",
    client: "sluice",
    domains: ["example.com"],
    groups: {
      ops: { role: "operator", teams: { A: "lead" }, budget: { credits: 300 } },
      eng: { teams: { A: "member", B: "member" }, budget: { credits: 100 } },
      money: { role: "finance" },
    },
  }],
}).oidc;

async function bench(providers: readonly OidcSettings[] = PROVIDERS) {
  const ledger = await ledgerBench("file");
  const { database } = ledger;
  const clock = { nowMs: Date.UTC(2030, 0, 1) };
  const now = () => clock.nowMs;
  const parts = {
    database,
    accounts: new Accounts(database, now),
    teams: new Teams(database, now),
    providers,
    now,
    log: SILENT,
  };
  const owner = await parts.accounts.create({ email: "owner@example.com", role: "owner" });
  const actor = sessionActor({ account: owner, teams: new Map() });
  const key = () => Promise.resolve(new Uint8Array(32));
  return {
    ...parts,
    clock,
    owner,
    by: { actor, origin: { door: "api", address: "192.0.2.1" } } as const,
    provisioning: new UserProvisioning(parts),
    groupProvisioning: new GroupProvisioning(parts),
    rightsBy: (other: readonly OidcSettings[]) =>
      new DirectoryRights({ ...parts, providers: other }),
    keys: new Keys(database, now),
    members: new Members(database, now),
    sessions: new Sessions(database, now),
    teamKeys: new TeamKeys(database, now),
    codes: new DeviceCodes(database, now),
    tools: new ToolGrants({ database, key, now }),
    grants: new GroupGrants(database, now),
    identities: new Identities({ ...parts, providers }),
    [Symbol.asyncDispose]: () => ledger[Symbol.asyncDispose](),
  };
}

const to = (value: unknown) => (before: Readonly<Record<string, unknown>>) =>
  patched(before, [{ op: "Replace", path: "active", value }]);

async function kindOf(work: Promise<unknown>): Promise<unknown> {
  const { status, scimType } = await assertRejects(() => work, ScimError);
  return scimType ?? status;
}

Deno.test("who is deactivated or deleted has no session, key, tool or code within a second, on every gateway, and gets back no key", async () => {
  await using b = await bench();
  const { by, provisioning, keys, sessions, tools, codes, clock } = b;
  const team = await b.teams.create({ name: "A", pool: true });
  for (const ends of ["deactivated", "deleted"]) {
    const { user, account } = await provisioning.createUser(
      { userName: `${ends}@example.com` },
      by,
    );
    await b.members.add(team, account);
    const own = await keys.issue(account);
    const ofTeam = await b.teamKeys.issue(team, account, {});
    const tool = await tools.issue(account, "Claude Code");
    const session = await sessions.begin(account);
    const link = await sessions.makeLink(account);
    const code = (await codes.begin("Codex", "192.0.2.9"))!;
    await codes.decide(code.userCode, account, true);
    // two gateways that have copies of the keys
    const rings = [1, 2].map(() => new KeyRing(b.database, { now: b.now, pollMs: 3_600_000 }));
    try {
      const secrets = [own.secret, ofTeam.secret, tool.accessToken];
      const accepted = async () =>
        (await Promise.all(
          rings.flatMap((ring) =>
            secrets.map((one) =>
              Promise.resolve().then(() => ring.identify([one])).then(() => true, () => false)
            )
          ),
        )).filter((one) => one).length;
      for (const ring of rings) await ring.refresh();
      assertEquals(await accepted(), 6);
      assert(await sessions.find(session));
      if (ends === "deleted") await provisioning.deleteUser(user.id, { by });
      else await provisioning.changeUser(user.id, to("False"), { by });
      // what each gateway does four times a second
      for (const ring of rings) await ring.refresh();
      assertEquals([ends, await accepted()], [ends, 0]);
      assertEquals(await sessions.find(session), undefined);
      clock.nowMs += 1_000;
      if (ends === "deleted") await provisioning.createUser({ userName: user.userName }, by);
      else await provisioning.changeUser(user.id, to("True"), { by });
      for (const ring of rings) await ring.refresh();
      const again = (await b.accounts.byId(account.id))!;
      assertEquals([again.disabledAtMs, await accepted()], [null, 0], "access is back, and no key");
      assertEquals(await sessions.find(session), undefined);
      assertEquals(await sessions.useLink(link), undefined);
      assertEquals(await tools.refresh(tool.refreshToken), "unknown");
      assertEquals(await codes.askedFor(code.deviceCode), "expired_token");
      assert(await keys.issue(again));
    } finally {
      for (const ring of rings) await ring.close();
    }
  }
});

Deno.test("who was deactivated is enabled by the directory's word alone; whom an operator disabled, by that of an operator, without a key", async () => {
  await using b = await bench();
  const { by, provisioning, keys, accounts, clock } = b;
  const { user, account } = await provisioning.createUser({ userName: "ada@example.com" }, by);
  const key = await keys.issue(account);
  const isEnabled = async () => (await accounts.byId(account.id))!.disabledAtMs === null;
  const isKept = async () => (await keys.byId(key.id))!.revokedAtMs === null;
  const change = async (edit: (before: Readonly<Record<string, unknown>>) => object) => {
    clock.nowMs += 1_000;
    await provisioning.changeUser(user.id, (before) => ({ ...edit(before) }), { by });
    return await isEnabled();
  };
  await accounts.disable(account.email);
  assertEquals(await change((before) => ({ ...before, displayName: "Ada" })), false);
  assert(await isKept(), "the directory has said nothing of it");
  assertEquals(await change(to("False")), false);
  await accounts.enable(account.email);
  assertEquals([await isEnabled(), await isKept()], [true, false]);
  assertEquals(await change(to(false)), false);
  const silent: readonly object[] = [{}, { active: null }, { Active: null }];
  for (const sent of silent) {
    assertEquals(await change(() => ({ userName: "ada@example.com", ...sent })), false);
  }
  const removed = [{ op: "remove", path: "active" }];
  assertEquals(await change((before) => patched(before, removed)), false);
  assertEquals(await change(to(true)), true);
});

Deno.test("an account that was another person's is the next one's without what the other had of their own", async () => {
  const passwords = (b: Awaited<ReturnType<typeof bench>>) =>
    new Passwords(b.database, b.now, { N: 2, r: 1, p: 1 });
  for (
    const { externalId, keeps } of [
      { externalId: "ext-1", keeps: true },
      { externalId: undefined, keeps: true },
      { externalId: "ext-2", keeps: false },
    ]
  ) {
    await using b = await bench();
    const { by, provisioning, database, identities } = b;
    const sent = { userName: "ada@example.com", externalId: "ext-1" };
    const first = await provisioning.createUser(sent, by);
    const { account } = first;
    await passwords(b).set(account, "known to somebody");
    await identities.link({ account, isRecent: true }, identityOf({}), PROVIDERS[0]!);
    await database.batch([{
      sql: `insert into passkeys
          (id, account_id, name, algorithm, public_key, counter, created_at_ms)
        values ('x', ?, 'x', -7, 'x', 0, 0)`,
      args: [account.id],
    }, {
      sql: `insert into upstream_keys (id, account_id, upstream, sealed, hint, set_at_ms)
        values (? || ':u', ?, 'u', 'x', '', 0)`,
      args: [account.id, account.id],
    }, {
      sql: `insert into top_ups (account_id, is_on, below_credits, package_id, max_per_month,
          customer_id, payment_method_id, changed_at_ms) values (?, 1, 1, 'p', 1, 'cus', 'pm', 0)`,
      args: [account.id],
    }]);
    await b.accounts.setRole(account.email, "operator");
    const team = await b.teams.create({ name: "A", pool: true });
    await b.members.add(team, account, "lead");
    await provisioning.deleteUser(first.user.id, { by });
    b.clock.nowMs += 1_000;
    const next = await provisioning.createUser({ ...sent, externalId }, by);
    const name = `${externalId}`;
    assertEquals([next.account.id, next.account.disabledAtMs], [account.id, null], name);
    assertEquals(next.account.role, keeps ? "operator" : "none", name);
    assertEquals((await b.members.list(team)).length, keeps ? 1 : 0, name);
    const pays = await database.all("select is_on, payment_method_id from top_ups");
    assertEquals(pays, [
      keeps ? { is_on: 1, payment_method_id: "pm" } : { is_on: 0, payment_method_id: null },
    ], name);
    const keys = await database.all("select id from upstream_keys");
    assertEquals(keys.length, keeps ? 1 : 0, name);
    assertEquals(
      (await identities.ownWays(account)).toSorted(),
      keeps ? ["hand", "passkey", "password"] : [],
      name,
    );
  }
  // whom an operator has let in again is there: nobody else gets the account
  await using b = await bench();
  const { by, provisioning } = b;
  const sent = { userName: "ada@example.com", externalId: "ext-1" };
  const { user, account } = await provisioning.createUser(sent, by);
  await passwords(b).set(account, "known to somebody");
  await provisioning.deleteUser(user.id, { by });
  await b.accounts.enable(account.email);
  const another = { ...sent, externalId: "ext-2" };
  assertEquals(await kindOf(provisioning.createUser(another, by)), "uniqueness");
  assert(await passwords(b).isSet(account));
  // also between reading and writing
  await b.database.batch([{
    sql:
      "update accounts set disabled_at_ms = (select disabled_at_ms from scim_users) where id = ?",
    args: [account.id],
  }]);
  let isFirst = true;
  const late = new UserProvisioning({
    ...b,
    database: {
      ...guardedDatabase(b.database, () => {}),
      async batch(statements) {
        if (isFirst) await b.accounts.enable(account.email);
        isFirst = false;
        return await b.database.batch(statements);
      },
    },
  });
  assertEquals(await kindOf(late.createUser(another, by)), "uniqueness");
  assert(await passwords(b).isSet(account));
});

Deno.test("an owner is neither taken over, deactivated nor deleted by a directory, also one who became it meanwhile", async () => {
  await using b = await bench();
  const { by, provisioning, accounts, owner } = b;
  assertEquals(
    await kindOf(provisioning.createUser({ userName: owner.email }, by)),
    "uniqueness",
  );
  const { user, account } = await provisioning.createUser({ userName: "ada@example.com" }, by);
  await accounts.setRole(account.email, "owner");
  const key = await b.keys.issue((await accounts.byId(account.id))!);
  assertEquals(await kindOf(provisioning.changeUser(user.id, to(false), { by })), 403);
  assertEquals(await kindOf(provisioning.deleteUser(user.id, { by })), 403);
  // between reading and writing
  const late = new UserProvisioning({
    ...b,
    accounts: Object.create(accounts, {
      byId: { value: async (id: string) => ({ ...(await accounts.byId(id))!, role: "none" }) },
    }),
  });
  for (
    const work of [
      () => late.changeUser(user.id, to(false), { by }),
      () => late.deleteUser(user.id, { by }),
    ]
  ) await assertRejects(work, Error);
  const [now] = await Promise.all([accounts.byId(account.id)]);
  assertEquals([now?.role, now?.disabledAtMs], ["owner", null]);
  assertEquals((await b.keys.byId(key.id))?.revokedAtMs, null);
});

/** Whom a directory sends, what is there, and what becomes of it. */
const MEETINGS: readonly {
  readonly name: string;
  readonly email?: string;
  readonly there?: "person" | "service" | "by group" | "linked" | "by password" | "by both";
  readonly providers?: readonly OidcSettings[];
  readonly becomes: "made" | "taken over" | "uniqueness";
}[] = [
  { name: "nobody of that address", becomes: "made" },
  { name: "nobody, and the domain is not claimed", email: "ada@example.org", becomes: "made" },
  { name: "somebody of a claimed domain", there: "person", becomes: "taken over" },
  {
    name: "somebody of another domain",
    email: "ada@example.org",
    there: "person",
    becomes: "uniqueness",
  },
  { name: "a service", there: "service", becomes: "uniqueness" },
  { name: "an address that no provider has verified", there: "by group", becomes: "uniqueness" },
  {
    name: "an account that somebody may have registered who waits in it",
    there: "by password",
    becomes: "uniqueness",
  },
  {
    name: "the same, whose holder has linked an identity at the company's provider",
    there: "by both",
    becomes: "taken over",
  },
  {
    name: "somebody of another domain, who signs in by the directory's ID",
    email: "ada@example.org",
    there: "linked",
    becomes: "taken over",
  },
  {
    name: "the same where two providers sign people in",
    email: "ada@example.org",
    there: "linked",
    providers: [...PROVIDERS, { ...PROVIDERS[0]!, name: "other", issuer: "https://other.example" }],
    becomes: "uniqueness",
  },
];

Deno.test("whom a directory sends, by what is there: no account is taken over by its address alone", async () => {
  for (const { name, email = "ada@example.com", there, providers, becomes } of MEETINGS) {
    await using b = await bench(providers ?? PROVIDERS);
    const account = there === undefined
      ? undefined
      : await b.accounts.create({ email, kind: there === "service" ? "service" : "person" });
    const identity = identityOf({ subject: "ext-1", email });
    if (there === "linked") {
      await b.identities.link({ account: account!, isRecent: true }, identity, PROVIDERS[0]!);
    }
    if (there === "by password" || there === "by both") {
      const passwords = new Passwords(b.database, () => 0, { N: 2, r: 1, p: 1 });
      await passwords.set(account!, "known to somebody");
    }
    if (there === "by both") {
      const own = identityOf({ subject: "another", email });
      await b.identities.link({ account: account!, isRecent: true }, own, PROVIDERS[0]!);
    }
    if (there === "by group") {
      await b.database.batch([{
        sql:
          `insert into identities (issuer, subject, account_id, provider, linked_by, linked_at_ms)
          values ('https://login.example.com', 's', ?, 'company', 'group', 1)`,
        args: [account!.id],
      }]);
    }
    const sent = { userName: email, externalId: "ext-1", displayName: "Ada" };
    const work = b.provisioning.createUser(sent, b.by);
    if (becomes === "uniqueness") {
      assertEquals(await kindOf(work), becomes, name);
      continue;
    }
    const made = await work;
    assertEquals(made.account.id === account?.id, becomes === "taken over", name);
    assertEquals(made.account.name, "Ada", name);
    assertEquals(await kindOf(b.provisioning.createUser(sent, b.by)), "uniqueness", name);
  }
});

function identityOf(more: Partial<Identity>): Identity {
  return {
    issuer: "https://login.example.com",
    subject: "s-1",
    email: "ada@example.org",
    isVerified: false,
    name: "Ada",
    groups: [],
    session: undefined,
    ...more,
  };
}

Deno.test("whom a directory has sent signs in by its ID, or by a verified address of a claimed domain", async () => {
  await using b = await bench();
  const [settings] = PROVIDERS;
  const sent = await b.provisioning.createUser({
    userName: "ada@example.org",
    externalId: "00u1",
  }, b.by);
  const signIn = (identity: Partial<Identity>, identities = b.identities) =>
    identities.signIn(identityOf(identity), settings!);
  // of two providers, one could name the other's people
  const two = new Identities({ ...b, providers: [settings, settings] });
  await assertRejects(() => signIn({ subject: "00u1" }, two), Error, "may not sign in");
  await assertRejects(() => signIn({ subject: "00u2" }), Error, "may not sign in");
  const first = await signIn({ subject: "00u1" });
  assertEquals([first.account.id, first.news], [sent.account.id, "linked"]);
  assertEquals((await signIn({ subject: "00u1" })).news, "known");
  await b.provisioning.changeUser(sent.user.id, to(false), { by: b.by });
  await assertRejects(() => signIn({ subject: "00u1" }), Error, "is disabled");
  const bob = await b.provisioning.createUser({ userName: "bob@example.com" }, b.by);
  const second = await signIn({ subject: "s-2", email: "bob@example.com", isVerified: true });
  assertEquals([second.account.id, second.news], [bob.account.id, "linked"]);
  // who became an owner links identities by hand
  const eve = await b.provisioning.createUser(
    { userName: "eve@example.org", externalId: "e" },
    b.by,
  );
  await b.accounts.setRole(eve.account.email, "owner");
  await assertRejects(() => signIn({ subject: "e" }), Error, "may not sign in");
});

Deno.test("settings and teams that change later give and take; two changes at once are both there; each has a row of the log", async () => {
  await using b = await bench();
  const { by, provisioning, groupProvisioning } = b;
  const { user, account } = await provisioning.createUser({ userName: "ada@example.com" }, by);
  const others = await Promise.all(
    ["bob", "eve"].map((name) => provisioning.createUser({ userName: `${name}@example.com` }, by)),
  );
  const id = await groupProvisioning.createGroup({ displayName: "none of the settings" }, by);
  const rename = () =>
    groupProvisioning.changeGroup(
      id,
      (group) => patched(group, [{ op: "replace", value: { displayName: "ops" } }]),
      { by },
    );
  const add = (one: { user: { id: string } }) =>
    groupProvisioning.changeGroup(
      id,
      (group) => patched(group, [{ op: "add", path: "members", value: [{ value: one.user.id }] }]),
      { by },
    );
  await Promise.all([rename(), ...[{ user }, ...others].map(add)]);
  const role = async () => (await b.accounts.byId(account.id))?.role;
  assertEquals(await role(), "operator");
  for (const one of others) {
    assertEquals((await b.accounts.byId(one.account.id))?.role, "operator");
  }
  // a team of the settings that is made later
  const team = await b.teams.create({ name: "A", pool: false });
  await b.rightsBy(PROVIDERS).evaluate(by);
  assertEquals((await b.members.find(team, account))?.role, "lead");
  // other settings
  const fewer = [{ ...PROVIDERS[0]!, groups: {} }];
  await b.rightsBy(fewer).evaluateAccount(by, account);
  assertEquals([await role(), await b.members.find(team, account)], ["none", undefined]);
  await groupProvisioning.deleteGroup(id, { by });
  await provisioning.deleteUser(user.id, { by });
  const operations = (await logEntries(b.database, { limit: 100 })).map((one) => one.operation);
  const count = (name: string) => operations.filter((one) => one === name).length;
  assertEquals(
    ["scim_user.create", "scim_group.create", "scim_group.update", "scim_group.delete"].map(count),
    [3, 1, 4, 1],
  );
  assertEquals(count("scim_user.delete"), 1);
  const [deleted] = await logEntries(b.database, { operation: "scim_group.delete", limit: 1 });
  assertEquals(deleted?.objectId, id);
  const { members, removed } = deleted?.after as { members: number; removed: string[] };
  assertEquals(members, 0);
  assertEquals(
    new Set(removed),
    new Set([account, ...others.map((o) => o.account)].map((a) => a.id)),
  );
  assert(count("account.groups") >= 3);
  // what changes nothing is no row
  await provisioning.changeUser(others[0]!.user.id, (same) => same, { by });
  assertEquals((await logEntries(b.database, { limit: 100 })).length, operations.length);
});

Deno.test("a group of many is evaluated in bounded transactions, and gives each member what it lacks, with a row of the log", async () => {
  await using b = await bench();
  const { by, database, accounts, grants } = b;
  const many = 250;
  const email = (at: number) => `p${at}@example.com`;
  await database.batch(
    Array.from({ length: many }, (_, at) => [
      {
        sql: `insert into accounts (id, email, name, kind, role, invite_code, created_at_ms)
        values (?, ?, '', 'person', 'none', ?, 0)`,
        args: [`acc_${at}`, email(at), `invite-${at}`],
      },
      {
        sql: `insert into scim_users (id, account_id, user_name, attributes, version, created_at_ms,
          changed_at_ms) values (?, ?, ?, '{}', 1, 0, 0)`,
        args: [`scim_${at}`, `acc_${at}`, email(at)],
      },
    ]).flat(),
  );
  const team = await b.teams.create({ name: "A", pool: false });
  // what was given by hand, and by another provider, in the same piece as what was not
  await accounts.setRole(email(1), "finance");
  await b.members.add(team, (await accounts.byId("acc_2"))!, "lead");
  await applyGroups(b, {
    accountIds: ["acc_3"],
    provider: "company",
    rights: rightsOf(["ops"], PROVIDERS[0]!.groups),
    by,
  });
  await b.groupProvisioning.createGroup(
    { displayName: "ops", members: [{ value: "scim_4" }] },
    by,
  );
  let transactions = 0;
  const groups = new GroupProvisioning({
    ...b,
    database: guardedDatabase(database, (use) => transactions += use === "batch" ? 1 : 0),
  });
  const members = Array.from({ length: many }, (_, at) => ({ value: `scim_${at}` }));
  const held = async () => {
    const ids = members.map((_, at) => `acc_${at}`);
    const holdings = await grants.read(ids, "SCIM");
    const budgets = await budgetsOfAccounts(database, ids, b.now());
    return ids.map((id) => [
      holdings.get(id)!.role,
      holdings.get(id)!.teams.get(team.id) ?? "none",
      budgets.get(id)?.[0]?.credits ?? 0,
    ]);
  };
  const logged = async () =>
    (await logEntries(database, { operation: "account.groups", limit: 10 * many })).length;
  const before = { held: await held(), logged: await logged() };
  const id = await groups.createGroup({ displayName: "eng", members }, by);
  const given = members.map(() => ["none", "member", 100] as [Role, TeamRole, number]);
  given[1]![0] = "finance";
  given[2]![1] = "lead";
  given[3] = given[4] = ["operator", "lead", 300];
  assertEquals(await held(), given);
  // the one who was in "ops" lacked nothing
  assertEquals(await logged(), before.logged + many - 1);
  assert(transactions < 10, `${transactions} transactions for ${many} members`);
  await groups.deleteGroup(id, { by });
  assertEquals(await held(), before.held);
  assertEquals(await logged(), before.logged + 2 * (many - 1));
});

Deno.test("a member who leaves a group while it is evaluated does not keep what it gives", async () => {
  await using b = await bench();
  const { by, provisioning, database, teams } = b;
  const people = await Promise.all(
    ["ada", "bob"].map((name) => provisioning.createUser({ userName: `${name}@example.com` }, by)),
  );
  let lists = 0;
  let id = "";
  const groups = new GroupProvisioning({
    ...b,
    teams: {
      list: async () => {
        // the second is asked for between reading who is in which group and writing what that gives
        if (++lists === 4) {
          await database.batch(changeMembers(id, { added: [], removed: [people[1]!.user.id] }));
        }
        return await teams.list();
      },
    },
  });
  id = await groups.createGroup({ displayName: "ops" }, by);
  lists = 2;
  const members = people.map(({ user }) => ({ value: user.id }));
  await groups.changeGroup(id, (before) => ({ ...before, members }), { by });
  assert(lists >= 4);
  const roles = await Promise.all(
    people.map(async ({ account }) => (await b.accounts.byId(account.id))!.role),
  );
  assertEquals(roles, ["operator", "none"]);
});

/** What somebody does: a directory, an operator, or a person who signs in. */
type Step =
  | { readonly does: "create" | "delete" | "disable" | "enable" | "key"; readonly user: number }
  | { readonly does: "active"; readonly user: number; readonly to: boolean }
  | { readonly does: "role"; readonly user: number; readonly role: Role }
  | { readonly does: "team"; readonly user: number; readonly role: TeamRole }
  | { readonly does: "signIn"; readonly user: number; readonly groups: readonly string[] }
  | { readonly does: "rename"; readonly group: number; readonly name: string }
  | { readonly does: "members"; readonly group: number; readonly users: readonly number[] }
  | { readonly does: "join" | "leave"; readonly group: number; readonly user: number }
  | { readonly does: "deleteGroup"; readonly group: number };

const NAMES = ["ops", "eng", "money", "none of the settings"];
const [USER, GROUP] = [fc.nat(1), fc.nat(2)];
const STEP: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ does: fc.constantFrom("create", "delete", "disable", "enable", "key"), user: USER }),
  fc.record({ does: fc.constant("create" as const), user: USER }),
  fc.record({ does: fc.constant("active" as const), user: USER, to: fc.boolean() }),
  fc.record({
    does: fc.constant("role" as const),
    user: USER,
    role: fc.constantFrom("none", "finance", "operator", "owner"),
  }),
  fc.record({
    does: fc.constant("team" as const),
    user: USER,
    role: fc.constantFrom("lead", "member"),
  }),
  fc.record({ does: fc.constant("signIn" as const), user: USER, groups: fc.subarray(NAMES) }),
  fc.record({
    does: fc.constant("rename" as const),
    group: GROUP,
    name: fc.constantFrom(...NAMES),
  }),
  fc.record({ does: fc.constant("members" as const), group: GROUP, users: fc.subarray([0, 1]) }),
  fc.record({ does: fc.constantFrom("join", "leave"), group: GROUP, user: USER }),
  fc.record({ does: fc.constantFrom("join", "join"), group: GROUP, user: USER }),
  fc.record({ does: fc.constant("deleteGroup" as const), group: GROUP }),
) as fc.Arbitrary<Step>;

/** Short histories that random ones are long in coming to. */
const EXAMPLES: readonly (readonly Step[])[] = [
  // whom an operator shut out, a directory does not let in
  [{ does: "create", user: 0 }, { does: "disable", user: 0 }, {
    does: "active",
    user: 0,
    to: true,
  }],
  [
    { does: "create", user: 0 },
    { does: "active", user: 0, to: false },
    { does: "enable", user: 0 },
    { does: "disable", user: 0 },
    { does: "active", user: 0, to: true },
  ],
  // what a group gave goes with its name, its members and its users
  [
    { does: "create", user: 0 },
    { does: "join", group: 0, user: 0 },
    { does: "rename", group: 0, name: "money" },
    { does: "delete", user: 0 },
    { does: "create", user: 0 },
  ],
  // what two give goes with the last
  [
    { does: "create", user: 0 },
    { does: "join", group: 0, user: 0 },
    { does: "signIn", user: 0, groups: ["eng"] },
    { does: "deleteGroup", group: 0 },
    { does: "signIn", user: 0, groups: [] },
  ],
];

/** Somebody, as far as directories and operators decide over it. */
class Person {
  account: Account | undefined;
  /** By which the directory knows it. */
  userId: string | undefined;
  disabledBy: "directory" | "operator" | undefined;
  liveKeys = 0;
  isDue = false;
  /** What its groups at the directory gave last. */
  given: string | undefined;
  readonly role = new Had<Role>("none");
  readonly inTeams = {
    A: new Had<TeamRole | "none">("none"),
    B: new Had<TeamRole | "none">("none"),
  };
  readonly budgets = new Map<string, number>();

  constructor(readonly email: string) {}

  give(provider: string, groups: readonly string[]): void {
    const { role = "none", teams, budgets } = rightsOf(groups, PROVIDERS[0]!.groups);
    this.role.byGroups(provider, role);
    for (const team of ["A", "B"] as const) {
      this.inTeams[team].byGroups(provider, teams.get(team) ?? "none");
    }
    const credits = budgets.get("month");
    if (credits === undefined) this.budgets.delete(provider);
    else this.budgets.set(provider, credits);
  }

  cut(by: "directory" | "operator"): void {
    this.disabledBy ??= by;
    if (by === "directory") this.liveKeys = 0;
  }
}

Deno.test("any history of a directory, operators and sign-ins gives what a model says", async () => {
  await using b = await bench();
  const { by, provisioning, groupProvisioning, accounts, database, grants, now, clock } = b;
  const teams = {
    A: await b.teams.create({ name: "A", pool: false }),
    B: await b.teams.create({ name: "B", pool: false }),
  };
  let histories = 0;
  const run = async (steps: readonly Step[]) => {
    const people = [1, 2].map((one) => new Person(`p${++histories}-${one}@example.com`));
    const groups = [0, 1, 2].map(() => ({
      id: undefined as string | undefined,
      name: NAMES[0]!,
      members: new Set<number>(),
    }));
    const group = async (at: number) => {
      const one = groups[at]!;
      if (one.id === undefined) {
        Object.assign(one, {
          id: await groupProvisioning.createGroup({ displayName: "ops" }, by),
          name: "ops",
        });
      }
      return one as typeof one & { id: string };
    };
    const refused = async (work: Promise<unknown>, kind: unknown) =>
      assertEquals(await kindOf(work), kind);
    const setMembers = async (at: number, wanted: ReadonlySet<number>) => {
      const one = await group(at);
      const ids = [...wanted].flatMap((index) => people[index]!.userId ?? []);
      await groupProvisioning.changeGroup(
        one.id,
        (before) => ({ ...before, members: ids.map((value) => ({ value })) }),
        { by },
      );
      for (const [index, person] of people.entries()) {
        const isIn = wanted.has(index) && person.userId !== undefined;
        if (isIn === one.members.has(index)) continue;
        isIn ? one.members.add(index) : one.members.delete(index);
        person.isDue = true;
      }
    };
    const take = async (step: Step) => {
      clock.nowMs += 1_000;
      const person = "user" in step ? people[step.user]! : undefined;
      const account = person?.account && (await accounts.byId(person.account.id))!;
      const isOwner = person?.role.value === "owner";
      switch (step.does) {
        case "create": {
          const work = provisioning.createUser({ userName: person!.email }, by);
          if (person!.userId !== undefined || isOwner) return await refused(work, "uniqueness");
          const made = await work;
          Object.assign(person!, {
            account: made.account,
            userId: made.user.id,
            isDue: true,
            given: undefined,
          });
          if (person!.disabledBy === "directory") person!.disabledBy = undefined;
          return;
        }
        case "delete": {
          if (person!.userId === undefined) return;
          const work = provisioning.deleteUser(person!.userId, { by });
          if (isOwner) return await refused(work, 403);
          await work;
          person!.cut("directory");
          Object.assign(person!, { userId: undefined, isDue: true });
          for (const one of groups) one.members.delete(step.user);
          return;
        }
        case "active": {
          if (person!.userId === undefined) return;
          const work = provisioning.changeUser(person!.userId, to(step.to), { by });
          const isActive = person!.disabledBy === undefined;
          if (!step.to && isActive && isOwner) return await refused(work, 403);
          await work;
          const isByHand = person!.disabledBy === "operator" && !isOwner;
          if (!step.to && (isActive || isByHand)) person!.cut("directory");
          if (step.to && person!.disabledBy === "directory") person!.disabledBy = undefined;
          return;
        }
        case "disable":
          if (account === undefined) return;
          await accounts.disable(account.email);
          return person!.cut("operator");
        case "enable":
          if (account === undefined) return;
          await accounts.enable(account.email);
          person!.disabledBy = undefined;
          return;
        case "key":
          if (account === undefined) return;
          await b.keys.issue(account);
          person!.liveKeys++;
          return;
        case "role": {
          if (account === undefined || account.disabledAtMs !== null) return;
          await accounts.setRole(account.email, step.role);
          return person!.role.byHand(step.role);
        }
        case "team":
          if (account === undefined) return;
          await b.members.add(teams.A, account, step.role);
          return person!.inTeams.A.byHand(step.role);
        case "signIn":
          if (account === undefined) return;
          await applyGroups({ database, teams: b.teams, grants, now }, {
            accountIds: [account.id],
            provider: "company",
            rights: rightsOf(step.groups, PROVIDERS[0]!.groups),
            by,
          });
          return person!.give("company", step.groups);
        case "rename": {
          const one = await group(step.group);
          await groupProvisioning.changeGroup(
            one.id,
            (before) => patched(before, [{ op: "replace", value: { displayName: step.name } }]),
            { by },
          );
          if (one.name !== step.name) {
            for (const index of one.members) {
              people[index]!.isDue = true;
            }
          }
          one.name = step.name;
          return;
        }
        case "members":
          return await setMembers(step.group, new Set(step.users));
        case "join":
          return await setMembers(step.group, new Set([...groups[step.group]!.members, step.user]));
        case "leave": {
          const { members } = groups[step.group]!;
          return await setMembers(
            step.group,
            new Set([...members].filter((index) => index !== step.user)),
          );
        }
        case "deleteGroup": {
          const one = groups[step.group]!;
          if (one.id === undefined) return;
          await groupProvisioning.deleteGroup(one.id, { by });
          for (const index of one.members) people[index]!.isDue = true;
          one.members.clear();
          one.id = undefined;
        }
      }
    };
    for (const [at, step] of steps.entries()) {
      await take(step);
      for (const [index, person] of people.entries()) {
        if (person.isDue) {
          const names = groups.flatMap(({ members, name }) => members.has(index) ? [name] : []);
          const { role, teams, budgets } = rightsOf(names, PROVIDERS[0]!.groups);
          const given = JSON.stringify([role, [...teams], [...budgets]]);
          // where groups give what they gave, what was taken by hand stays away
          if (given !== person.given) person.give("SCIM", names);
          Object.assign(person, { given, isDue: false });
        }
        if (person.account === undefined) continue;
        const { id } = person.account;
        const [found, holdings, budgets, keys] = await Promise.all([
          accounts.byId(id),
          grants.read([id], "SCIM"),
          budgetsOf(database, { owner: "account", ownerId: id }, now()),
          b.keys.list({ id }),
        ]);
        assertEquals({
          role: holdings.get(id)!.role,
          isDisabled: found!.disabledAtMs !== null,
          teams: [teams.A, teams.B].map((team) => holdings.get(id)!.teams.get(team.id) ?? "none"),
          budgets: budgets.map(({ credits }) => credits),
          keys: keys.filter(({ revokedAtMs }) => revokedAtMs === null).length,
        }, {
          role: person.role.value,
          isDisabled: person.disabledBy !== undefined,
          teams: [person.inTeams.A.value, person.inTeams.B.value],
          budgets: person.budgets.size === 0 ? [] : [Math.max(...person.budgets.values())],
          keys: person.liveKeys,
        }, `after step ${at}: ${JSON.stringify(step)}`);
      }
    }
  };
  await fc.assert(
    fc.asyncProperty<[readonly Step[]]>(
      fc.array(STEP, { minLength: 15, maxLength: 30, size: "max" }),
      run,
    ),
    {
      examples: EXAMPLES.map((steps): [readonly Step[]] => [steps]),
      numRuns: EXAMPLES.length + sized(12, 400),
      endOnFailure: true,
    },
  );
});
