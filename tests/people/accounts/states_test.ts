/** What is written about one account, key or team leaves all others as they were; what is asked finds those and no others. */

import {
  type Account,
  AccountError,
  Accounts,
  DuplicateKey,
  expiringKeys,
  KeyRing,
  Keys,
  Members,
  ownersOfKeys,
  Passwords,
  Sessions,
  type Team,
  TeamKeys,
  Teams,
} from "../../../src/people/accounts/mod.ts";
import { labelOf } from "../../../src/people/accounts/account.ts";
import { isActive } from "../../../src/people/accounts/invitations.ts";
import { remember } from "../../../src/people/accounts/key_ring.ts";
import { hasFewInvited, hasFewSignups } from "../../../src/people/accounts/signups.ts";
import { UpstreamKeys } from "../../../src/people/accounts/upstream_keys.ts";
import { type Condition, type Database, DatabaseError } from "../../../src/ground/database/mod.ts";
import { assert, assertEquals, assertNotEquals, assertRejects } from "../../assert.ts";
import { guardedDatabase } from "../../fake/guarded_database.ts";
import { ledgerBench } from "../../fake/ledger.ts";
import { until } from "../../fake/temp.ts";

const DAY_MS = 86_400_000;
const CHEAP = { N: 2, r: 1, p: 1 };
/** The tables of accounts, and what a row is called by. */
const TABLES = {
  accounts: ["id"],
  keys: ["id"],
  teams: ["id"],
  team_members: ["team_id", "account_id"],
  sessions: ["digest"],
  sign_in_links: ["digest"],
  upstream_keys: ["id"],
  passwords: ["account_id"],
} as const;

/** Two accounts and a disabled one, all in both of two teams, with two keys, sessions, links and passwords each. */
async function world() {
  await using stack = new AsyncDisposableStack();
  const ledger = stack.use(await ledgerBench("file"));
  const clock = { nowMs: Date.UTC(2030, 0, 1) };
  const now = () => clock.nowMs;
  const failing = { on: "", error: new Error() };
  const uses: string[] = [];
  const database = guardedDatabase(ledger.database, (use) => {
    uses.push(use);
    if (use === failing.on) throw failing.error;
  });
  const all = {
    accounts: new Accounts(database, now),
    keys: new Keys(database, now),
    members: new Members(database, now),
    passwords: new Passwords(database, now, CHEAP),
    sessions: new Sessions(database, now),
    teams: new Teams(database, now),
    teamKeys: new TeamKeys(database, now),
    upstreamKeys: new UpstreamKeys(database, now),
  };
  const [red, blue] = [
    await all.teams.create({ name: "Red", pool: true }),
    await all.teams.create({ name: "Blue", pool: false }),
  ];
  const people = [];
  for (const name of ["ada", "bob", "gone"]) {
    const account = await all.accounts.create({ email: `${name}@example.com` });
    const teamKeys = [];
    for (const team of [red, blue]) {
      await all.members.add(team, account);
      teamKeys.push(await all.teamKeys.issue(team, account));
      clock.nowMs++;
      await all.upstreamKeys.set({ teamId: team.id }, { upstream: name, sealed: "", hint: "" });
    }
    const keys = [await all.keys.issue(account), await all.keys.issue(account)];
    clock.nowMs++;
    const sessions = [await all.sessions.begin(account), await all.sessions.begin(account)];
    const links = [await all.sessions.makeLink(account), await all.sessions.makeLink(account)];
    await all.passwords.set(account, `the password of ${name}`);
    await all.upstreamKeys.set({ accountId: account.id }, { upstream: "u", sealed: "", hint: "" });
    people.push({ account, keys, teamKeys, sessions, links });
  }
  const [ada, bob, gone] = people;
  await all.accounts.disable(gone!.account.email);
  const owned = stack.move();
  return {
    ...all,
    clock,
    database,
    failing,
    uses,
    red,
    blue,
    ada: ada!,
    bob: bob!,
    gone: gone!,
    [Symbol.asyncDispose]: () => owned[Symbol.asyncDispose](),
  };
}

async function rowsOf(database: Database): Promise<Map<string, string>> {
  const rows = new Map<string, string>();
  for (const [table, names] of Object.entries(TABLES)) {
    for (const row of await database.all(`select * from ${table}`)) {
      const id = names.map((name) => row[name]).join(" ");
      rows.set(`${table} ${id}`, JSON.stringify(row));
    }
  }
  return rows;
}

/** How many rows of each table some work makes, changes and removes. */
async function leaves(database: Database, work: () => Promise<unknown>): Promise<string> {
  const before = await rowsOf(database);
  await work();
  const after = await rowsOf(database);
  const changes: Record<string, number> = {};
  for (const id of new Set([...before.keys(), ...after.keys()])) {
    if (before.get(id) === after.get(id)) continue;
    const sign = !before.has(id) ? "+" : !after.has(id) ? "-" : "~";
    const what = `${sign}${id.split(" ")[0]}`;
    changes[what] = (changes[what] ?? 0) + 1;
  }
  return Object.entries(changes).map(([what, n]) => `${what} ${n}`).toSorted().join(", ");
}

type World = Awaited<ReturnType<typeof world>>;

/** Each write, in this order, and the rows that it leaves changed: those of its subject. */
const WRITES: readonly [
  what: string,
  left: string,
  work: (all: World, ada: Account, red: Team) => Promise<unknown>,
][] = [
  [
    "a role in a team",
    "~team_members 1",
    ({ members }, ada, red) => members.setRole(red, ada, "lead"),
  ],
  ["added again", "", ({ members }, ada, red) => members.add(red, ada)],
  ["added as another", "~team_members 1", ({ members }, a, red) => members.add(red, a, "member")],
  ["stopped", "~team_members 1", ({ members }, ada, red) => members.stop(red, ada)],
  [
    "stopped again",
    "",
    async ({ members, clock }, a, red) => (clock.nowMs++, await members.stop(red, a)),
  ],
  [
    "another stopped",
    "~team_members 1",
    ({ members, bob }, _, red) => members.stop(red, bob.account),
  ],
  ["started", "~team_members 1", ({ members }, ada, red) => members.start(red, ada)],
  ["a key of a team that is revoked", "+keys 1", async ({ keys, teamKeys }, ada, red) => {
    await keys.revoke((await teamKeys.issue(red, ada)).id);
  }],
  ["removed", "-team_members 1, ~keys 1", async ({ members, clock }, ada, red) => {
    clock.nowMs++;
    await members.remove(red, ada);
  }],
  ["a session ended", "-sessions 1", ({ sessions, ada }) => sessions.end(ada.sessions[0]!)],
  ["a session ended again", "", ({ sessions, ada }) => sessions.end(ada.sessions[0]!)],
  [
    "a session instead of another",
    "+sessions 1, -sessions 1",
    ({ sessions, ada }, account) => sessions.begin(account, { before: ada.sessions[1] }),
  ],
  ["no session of a disabled one", "", ({ sessions, gone }) => sessions.begin(gone.account)],
  ["a link used", "-sign_in_links 1", ({ sessions, ada }) => sessions.useLink(ada.links[0]!)],
  ["a password", "~passwords 1", ({ passwords, clock }, ada) => {
    clock.nowMs++;
    return passwords.set(ada, "another password");
  }],
  [
    "all sessions ended but one",
    "-sessions 1, -sign_in_links 2",
    ({ sessions, bob }) => sessions.endAll(bob.account, { except: bob.sessions[1] }),
  ],
  ["a key renamed", "~keys 1", ({ keys, ada }) => keys.change(ada.keys[0]!.id, { name: "laptop" })],
  [
    "a key's models",
    "~keys 1",
    ({ keys, ada }) => keys.change(ada.keys[0]!.id, { models: ["m"] }),
  ],
  ["no models", "~keys 1", ({ keys, ada }) => keys.change(ada.keys[0]!.id, { models: null })],
  ["a key changed in nothing", "", ({ keys, ada }) => keys.change(ada.keys[0]!.id, {})],
  ["a key rotated", "~keys 1", ({ keys, ada }) => keys.rotate(ada.keys[0]!.id, 1_000)],
  ["a key revoked", "~keys 1", ({ keys, ada }) => keys.revoke(ada.keys[0]!.id)],
  ["a key revoked again", "", async ({ keys, ada, clock }) => {
    clock.nowMs++;
    await keys.revoke(ada.keys[0]!.id);
  }],
  ["a first key, where there are keys", "", ({ keys }, ada) => keys.issueFirst(ada)],
  ["the environment's key", "+keys 1", ({ keys }, ada) => keys.adopt(ada, `sk-${"a".repeat(32)}`)],
  ["the same key again", "", ({ keys }, ada) => keys.adopt(ada, `sk-${"a".repeat(32)}`)],
  [
    "another instead",
    "+keys 1, ~keys 1",
    ({ keys }, ada) => keys.adopt(ada, `sk-${"b".repeat(32)}`),
  ],
  ["a third, later", "+keys 1, ~keys 1", async ({ keys, clock }, ada) => {
    clock.nowMs++;
    await keys.adopt(ada, `sk-${"c".repeat(32)}`);
  }],
  [
    "an upstream's key set",
    "~upstream_keys 1",
    ({ upstreamKeys, ada }) =>
      upstreamKeys.set({ accountId: ada.account.id }, { upstream: "u", sealed: "x", hint: "" }),
  ],
  [
    "an upstream's key removed",
    "-upstream_keys 1",
    ({ upstreamKeys, ada }) => upstreamKeys.remove(`${ada.account.id}:u`),
  ],
  ["a team's name", "~teams 1", ({ teams }, _, red) => teams.change(red, { name: "Rouge" })],
  ["a team's name again", "", ({ teams }, _, red) => teams.change(red, { name: "Rouge" })],
  ["a team's models", "~teams 1", ({ teams }, _, red) => teams.change(red, { models: ["m"] })],
  ["no models", "~teams 1", ({ teams }, _, red) => teams.change(red, { models: null })],
  [
    "a team's use of keys",
    "~teams 1",
    ({ teams }, _, red) => teams.change(red, { ownKeyUse: "last" }),
  ],
  ["a team disabled", "~teams 1", ({ teams }, _, red) => teams.change(red, { disabled: true })],
  ["disabled again", "", async ({ teams, clock }, _, red) => {
    clock.nowMs++;
    await teams.change(red, { disabled: true });
  }],
  ["nothing of a team", "", ({ teams }, _, red) => teams.change(red, {})],
  ["enabled", "~teams 1", ({ teams }, _, red) => teams.change(red, { disabled: false })],
  ["an account's name", "~accounts 1", ({ accounts }, ada) => accounts.rename(ada.email, "Ada")],
  ["an account's role", "~accounts 1", ({ accounts }, ada) => accounts.setRole(ada.email, "owner")],
  [
    "another owner",
    "~accounts 1",
    ({ accounts, bob }) => accounts.setRole(bob.account.email, "owner"),
  ],
  [
    "an account disabled",
    "-sessions 1, ~accounts 1",
    ({ accounts, bob }) => accounts.disable(bob.account.email),
  ],
  ["disabled again", "", async ({ accounts, bob, clock }) => {
    clock.nowMs++;
    await accounts.disable(bob.account.email);
  }],
  [
    "an account enabled",
    "~accounts 1",
    ({ accounts, gone }) => accounts.enable(gone.account.email),
  ],
  ["an enabled one enabled", "", ({ accounts, gone }) => accounts.enable(gone.account.email)],
  ["one with a session enabled", "", ({ accounts }, ada) => accounts.enable(ada.email)],
];

Deno.test("each write changes the rows of its subject, and none of another", async () => {
  await using all = await world();
  for (const [what, left, work] of WRITES) {
    const found = await leaves(all.database, () => work(all, all.ada.account, all.red));
    assertEquals(found, left, what);
  }
  const { accounts, ada, bob } = all;
  // the owner who is left is the only one that is active, though another has the role
  assertEquals((await accounts.get(bob.account.email)).role, "owner");
  await assertRejects(() => accounts.disable(ada.account.email), AccountError, "last owner");
  await assertRejects(
    () => accounts.setRole(ada.account.email, "none"),
    AccountError,
    "last owner",
  );
  assertEquals((await accounts.owner())?.id, ada.account.id);
});

Deno.test("keys are listed by each filter alone and with the others, in pages", async () => {
  await using all = await world();
  const { keys, ada, bob, red, blue, clock, database } = all;
  await keys.revoke(ada.keys[0]!.id);
  await keys.change(ada.keys[1]!.id, { expiresAtMs: clock.nowMs + 10 });
  const known = await database.all("select id from keys order by created_at_ms, id");
  const every = await Promise.all(known.map(async ({ id }) => (await keys.byId(String(id)))!));
  for (const accountId of [undefined, ada.account.id, red.poolId!]) {
    for (const teamId of [undefined, red.id, blue.id]) {
      for (const memberId of [undefined, ada.account.id, bob.account.id]) {
        for (const activeAtMs of [undefined, clock.nowMs + 9, clock.nowMs + 10]) {
          const found: string[] = [];
          for (let after: string | undefined, more = true; more;) {
            const filter = { accountId, teamId, memberId, activeAtMs };
            const page = await keys.page({ ...filter, after, limit: 3 });
            found.push(...page.map(({ id }) => id));
            after = page.at(-1)?.id;
            more = page.length > 0;
          }
          const wanted = every.filter((key) =>
            [undefined, key.accountId, key.memberId].includes(accountId) &&
            (teamId ?? key.teamId) === key.teamId &&
            (memberId ?? key.memberId) === key.memberId &&
            (activeAtMs === undefined ||
              key.revokedAtMs === null && (key.expiresAtMs ?? Infinity) > activeAtMs)
          );
          const what = JSON.stringify({ accountId, teamId, memberId, activeAtMs });
          assertEquals(found, wanted.map(({ id }) => id), what);
        }
      }
    }
  }
  const owned = async (filter: Parameters<typeof ownersOfKeys>[1]) =>
    (await ownersOfKeys(database, filter)).map(({ id }) => id).toSorted();
  const ids = (keep: (key: typeof every[number]) => boolean) =>
    every.filter(keep).map(({ id }) => id).toSorted();
  const adas = ada.account.id;
  assertEquals(await owned({}), ids(() => true));
  assertEquals(await owned({ inTeam: true }), ids(({ teamId }) => teamId !== null));
  assertEquals(await owned({ teamId: red.id }), ids(({ teamId }) => teamId === red.id));
  assertEquals(await owned({ memberId: adas }), ids(({ memberId }) => memberId === adas));
  assertEquals(await owned({ keyIds: [ada.keys[1]!.id] }), [ada.keys[1]!.id]);
  assertEquals(await owned({ keyIds: [] }), []);
  assertEquals(await owned({ keyIds: [ada.keys[1]!.id], inTeam: true }), []);
  const [named] = await ownersOfKeys(database, { keyIds: [ada.keys[1]!.id] });
  assertEquals(named!.name, ada.keys[1]!.hint, "a key without a name is called by its hint");
  await keys.change(bob.keys[0]!.id, { name: "laptop" });
  const [laptop] = await ownersOfKeys(database, { keyIds: [bob.keys[0]!.id] });
  assertEquals(laptop!.name, "laptop");
});

Deno.test("keys expire within a time: none that is revoked, has no end, or ends before or behind it", async () => {
  await using all = await world();
  const { keys, ada, clock, database } = all;
  const from = clock.nowMs;
  const made = [];
  for (const inMs of [1, 2, 3, 4]) {
    made.push(await keys.issue(ada.account, { expiresAtMs: from + inMs }));
  }
  await keys.revoke(made[2]!.id);
  const found = await expiringKeys(database, {
    after: { expiresAtMs: from + 1, id: made[0]!.id },
    toMs: from + 3,
    limit: 9,
  });
  assertEquals(found.map(({ id }) => id), [made[1]!.id]);
  const first = await expiringKeys(database, {
    after: { expiresAtMs: from, id: "" },
    toMs: from + 4,
    limit: 2,
  });
  assertEquals(first.map(({ id }) => id), [made[0]!.id, made[1]!.id]);
  // that of a tool is refreshed by the tool
  await database.batch([{
    sql: `insert into tool_grants
        (key_id, client, salt, generation, refreshed_at_ms, expires_at_ms) values (?, 'x', ?, 1, 0, 1)`,
    args: [made[0]!.id, "s".repeat(32)],
  }]);
  const others = await expiringKeys(database, {
    after: { expiresAtMs: from, id: "" },
    toMs: from + 4,
    limit: 9,
  });
  assertEquals(others.map(({ id }) => id), [made[1]!.id, made[3]!.id]);
});

Deno.test("a session, a link and a password are those of one account", async () => {
  await using all = await world();
  const { sessions, passwords, ada, bob, gone, accounts, clock } = all;
  const found = await sessions.findAll([ada.sessions[0]!, gone.sessions[0]!, "none"]);
  assertEquals([...found.keys()], [ada.sessions[0]!]);
  assertNotEquals(
    (await sessions.find(ada.sessions[0]!))!.csrfToken,
    (await sessions.find(ada.sessions[1]!))!.csrfToken,
  );
  assertEquals((await sessions.useLink(bob.links[0]!))?.id, bob.account.id);
  assertEquals(await sessions.useLink("none"), undefined);
  const matches = (account: Account | undefined, password: string) =>
    passwords.matches(account, password);
  assertEquals(await matches(ada.account, "the password of ada"), true);
  assertEquals(await matches(bob.account, "the password of ada"), false);
  assertEquals(await matches(undefined, "the password of ada"), false);
  const fresh = await accounts.create({ email: "fresh@example.com" });
  assertEquals([await passwords.isSet(ada.account), await passwords.isSet(fresh)], [true, false]);
  assertEquals(await matches(fresh, ""), false);
  const program = await accounts.create({ email: "program@example.com", kind: "service" });
  await assertRejects(() => sessions.makeLink(program), AccountError, "is not a person");
  assertEquals(await sessions.find(await sessions.begin(program)), undefined);
  clock.nowMs += 31 * DAY_MS;
  assertEquals((await sessions.findAll(ada.sessions)).size, 0);
});

Deno.test("keys of upstreams are listed by their owner", async () => {
  await using all = await world();
  const { upstreamKeys, ada, red } = all;
  const of = async (owner?: Parameters<UpstreamKeys["list"]>[0]) =>
    (await upstreamKeys.list(owner)).map(({ id }) => id);
  assertEquals(await of({ accountId: ada.account.id }), [`${ada.account.id}:u`]);
  assertEquals(await of({ teamId: red.id }), ["ada", "bob", "gone"].map((u) => `${red.id}:${u}`));
  assertEquals((await of()).length, 9);
  assertEquals((await upstreamKeys.byId(`${red.id}:bob`))?.upstream, "bob");
  assertEquals(await upstreamKeys.byId("none"), undefined);
  await assertRejects(() => upstreamKeys.remove("none"), AccountError, "not found");
  // a request may be sent with those of its team, or of its account if it is of none
  const ring = new KeyRing(all.database, { now: () => all.clock.nowMs });
  try {
    const ownKeys = async ({ secret }: { readonly secret: string }) =>
      (await ring.identify([secret])).ownKeys.map(({ id }) => id).toSorted();
    assertEquals(await ownKeys(ada.keys[0]!), await of({ accountId: ada.account.id }));
    assertEquals(await ownKeys(ada.teamKeys[0]!), await of({ teamId: red.id }));
  } finally {
    await ring.close();
  }
});

Deno.test("a cached key is used for three polls, or for as long as requests are admitted without the database", async () => {
  await using all = await world();
  const { ada, clock } = all;
  const [POLL_MS, PATIENCE_MS] = [1e9, 5e9];
  for (
    const [isUsable, patienceMs, lastsMs] of [
      [undefined, PATIENCE_MS, 3 * POLL_MS],
      [false, PATIENCE_MS, 3 * POLL_MS],
      [true, PATIENCE_MS, PATIENCE_MS],
      [true, 1, 3 * POLL_MS],
    ] as const
  ) {
    const database: Database = {
      ...all.database,
      place: all.database.place,
      dialect: all.database.dialect,
      ...(isUsable === undefined ? {} : { outbox: { isUsable } as never }),
    };
    let tick = 0;
    const times = { pollMs: POLL_MS, patienceMs: () => patienceMs, tick: () => tick };
    const ring = new KeyRing(database, { now: () => clock.nowMs, ...times });
    try {
      await ring.refresh();
      const { secret } = ada.keys[0]!;
      const isHeld = () => !(ring.identify([secret]) instanceof Promise);
      await ring.identify([secret]);
      tick = lastsMs;
      assertEquals(isHeld(), true, `${isUsable} ${patienceMs}`);
      tick++;
      assertEquals(isHeld(), false, `${isUsable} ${patienceMs}`);
      await ring.refresh();
      await ring.identify([secret]);
      assertEquals(isHeld(), true, "it was heard of again");
    } finally {
      await ring.close();
    }
  }
  const map = new Map<string, number>();
  for (const [at, key] of ["a", "b", "c"].entries()) remember(map, key, at, 2);
  assertEquals([...map], [["b", 1], ["c", 2]]);
});

Deno.test("those who register count for a day in their network, and those who are invited by their kind", async () => {
  await using all = await world();
  const { database, accounts, clock: { nowMs }, ada, bob, gone } = all;
  const holds = async ({ sql, args }: Condition) =>
    await database.one(`select 1 as found where ${sql}`, args) !== undefined;
  for (
    const [account, network, atMs] of [
      [ada, "one", nowMs - DAY_MS],
      [bob, "one", nowMs - DAY_MS + 1],
      [gone, "two", nowMs],
    ] as const
  ) {
    await database.batch([{
      sql: "insert into signups (account_id, network, at_ms) values (?, ?, ?)",
      args: [account.account.id, network, atMs],
    }]);
  }
  const few = (max: number) => holds(hasFewSignups("one", max, nowMs));
  assertEquals([await few(1), await few(2)], [false, true]);
  const { id: invitedBy } = ada.account;
  for (const [at, kind] of (["person", "person", "service"] as const).entries()) {
    await accounts.create({ email: `invited${at}@example.com`, kind, invitedBy });
  }
  const invited = (max: number) => holds(hasFewInvited(invitedBy, max, "kind = 'person'"));
  assertEquals([await invited(1), await invited(2)], [false, true]);
  const active = ["none", invitedBy, gone.account.id].map((id) => holds(isActive(id)));
  assertEquals(await Promise.all(active), [false, true, false]);
});

Deno.test("a fault of the database that is no duplicate is thrown as it is", async () => {
  await using all = await world();
  const { accounts, keys, teams, teamKeys, ada, gone, red, failing } = all;
  const { id } = ada.keys[0]!;
  const [taken, again] = [{ email: ada.account.email }, { id }];
  await assertRejects(() => accounts.create(taken), AccountError, "already exists");
  await assertRejects(() => keys.issue(ada.account, again), DuplicateKey);
  await assertRejects(() => teamKeys.issue(red, ada.account, again), DuplicateKey);
  failing.on = "batch";
  const ours = new TypeError("a fault of ours");
  const works = [
    () => accounts.create({ email: "new@example.com" }),
    () => keys.issue(ada.account),
    () => teams.create({ name: "Green", pool: false }),
    () => teamKeys.issue(red, ada.account),
  ];
  for (const error of [ours, new DatabaseError("SQLITE_FULL", "a fault of its own")]) {
    failing.error = error;
    for (const work of works) assert(await assertRejects(work, Error) === error);
  }
  // that no key was made excuses what the database says of it, and no fault of ours
  failing.error = ours;
  const ofNobody = () => teamKeys.issue(red, gone.account);
  assert(await assertRejects(ofNobody, Error) === ours);
});

Deno.test("where nothing is asked for, nothing is read; what is unknown is none", async () => {
  await using all = await world();
  const { accounts, database, keys, teams, members, ada, red, uses } = all;
  uses.length = 0;
  assertEquals([(await accounts.byIds([])).size, (await keys.byIds([])).size], [0, 0]);
  assertEquals(uses, []);
  const [id, other] = [ada.account.id, ada.keys[0]!.id];
  assertEquals([...(await accounts.byIds([id, "none"])).keys()], [id]);
  assertEquals([...(await keys.byIds([other, "none"])).keys()], [other]);
  assertEquals([await accounts.byId("none"), await keys.byId("none")], [undefined, undefined]);
  assertEquals([await teams.byId("none"), await teams.ofPool("none")], [undefined, undefined]);
  assertEquals(await teams.ofPool(red.poolId!), await teams.byId(red.id));
  assertEquals(await keys.byDigest("none"), undefined);
  assertEquals((await members.find(red, { id }))?.accountId, id);
  assertEquals((await keys.bySecret(ada.keys[0]!.secret))?.id, other);
  assertEquals(await members.find(red, { id: "none" }), undefined);
  await assertRejects(() => members.remove(red, { id: "none" }), AccountError, "not in team Red");
  await database.batch([{
    sql: "update accounts set invite_code = null where id = ?",
    args: [id],
  }]);
  const code = await accounts.inviteCode(ada.account);
  uses.length = 0;
  assertEquals(await accounts.inviteCode(ada.account), code);
  assertEquals((await accounts.byInviteCode(code))?.id, id);
  assert(!uses.includes("batch"), "a code that there is is only read");
  // the name of another team, and an ID that there is
  await assertRejects(() => teams.create({ name: "Red", pool: false }), AccountError, "exists");
  assert(!uses.includes("batch"), "a name that is taken is not tried");
  const again = () => teams.create({ id: red.id, name: "Green", pool: false });
  await assertRejects(again, AccountError, "exists");
});

Deno.test("what was read of a key before it changed is not kept", async () => {
  await using all = await world();
  const { keys, ada, database, clock } = all;
  const [{ id, secret }, later] = [ada.keys[0]!, `sk-${"l".repeat(32)}`];
  const gate = Promise.withResolvers<void>();
  let reads = 0;
  const slow: Database = {
    ...database,
    place: database.place,
    dialect: database.dialect,
    one: async (sql, args) => {
      const row = await database.one(sql, args);
      if (!sql.includes("digest")) return row;
      reads++;
      await gate.promise;
      return row;
    },
  };
  const ring = new KeyRing(slow, { now: () => clock.nowMs, tick: () => 0 });
  try {
    await ring.refresh();
    const before = [secret, later].map(async (one) => await ring.identify([one]));
    const ended = Promise.allSettled(before);
    await until(() => reads === 2, { what: "both reads" });
    await keys.revoke(id);
    await keys.issue(ada.account, { secret: later });
    await ring.refresh();
    gate.resolve();
    assertEquals((await ended).map(({ status }) => status), ["fulfilled", "rejected"]);
    await assertRejects(async () => await ring.identify([secret]), Error, "revoked");
    assertEquals((await ring.identify([later])).accountId, ada.account.id);
    assertEquals(ring.size, 2);
  } finally {
    await ring.close();
  }
});

Deno.test("a key that is revoked, or a code that is made, between a look and a write stays as it is then", async () => {
  await using all = await world();
  const { database, keys, ada, bob, clock } = all;
  const now = () => clock.nowMs;
  /** Does something before the first write. */
  const late = (work: () => Promise<unknown>): Database => {
    let isFirst = true;
    return {
      ...database,
      place: database.place,
      dialect: database.dialect,
      batch: async (...args) => {
        if (isFirst) {
          isFirst = false;
          await work();
        }
        return await database.batch(...args);
      },
    };
  };
  const [one, two] = ada.keys;
  const renamed = new Keys(late(() => keys.revoke(one!.id)), now);
  assertEquals((await renamed.change(one!.id, { name: "late" })).name, "");
  const rotated = new Keys(late(() => keys.revoke(two!.id)), now);
  await assertRejects(() => rotated.rotate(two!.id, 0), AccountError, "at the same time");
  const { id } = ada.account;
  await database.batch([{
    sql: "update accounts set invite_code = null where id = ?",
    args: [id],
  }]);
  let code = "";
  const invited = new Accounts(
    late(async () => code = await all.accounts.inviteCode(ada.account)),
    now,
  );
  assertEquals([await invited.inviteCode(ada.account), code.length], [code, 12]);
  assertEquals(await keys.issueFirst(bob.account), undefined);
  const fresh = await all.accounts.create({ email: "fresh@example.com" });
  const first = await keys.issueFirst(fresh);
  assertEquals((await keys.bySecret(first!))?.accountId, fresh.id);
});

Deno.test("what a key may be given is said of each value", async () => {
  await using all = await world();
  const { keys, accounts, teamKeys, ada, gone, red, blue } = all;
  const [one, two] = ada.keys;
  const rotate = (keepMs: number, endsEarlier = false) => () =>
    keys.rotate(one!.id, keepMs, undefined, endsEarlier);
  await keys.revoke(two!.id);
  const pool = await accounts.byId(red.poolId!);
  const rows: readonly [work: () => Promise<unknown>, why?: string][] = [
    [rotate(-1), "up to 90 days"],
    [rotate(0.5), "up to 90 days"],
    [rotate(90 * DAY_MS + 1), "up to 90 days"],
    [rotate(90 * DAY_MS)],
    [rotate(1), "still valid"],
    [rotate(1, true)],
    [rotate(0)],
    [() => keys.rotate(two!.id, 0), "is revoked"],
    [() => keys.change(two!.id, { name: "x" }), "is revoked"],
    [() => keys.change("none", {}), "not found"],
    [() => keys.import(ada.account, { hex: "a".repeat(64), hint: "" })],
    [() => keys.import(ada.account, { hex: "a".repeat(63), hint: "" }), "Invalid digest"],
    [() => keys.import(ada.account, { hex: "A".repeat(64), hint: "" }), "Invalid digest"],
    [() => keys.issue(pool!), "pool of a team"],
    [() => keys.issue(ada.account, { scopes: [] }), "at least one scope"],
    [() => keys.issue(ada.account, { scopes: ["inference"] })],
    [() => keys.issue(ada.account, { scopes: ["inference", "admin"] }), "cannot have the scope"],
    [() => teamKeys.issue(blue, null), "has no pool"],
    [() => teamKeys.issue(red, null)],
    [() => teamKeys.issue(red, gone.account), "is stopped, disabled or not in it"],
    [() => accounts.rename(pool!.email, "x"), "rename the team"],
    [() => accounts.disable(pool!.email), "disable the team"],
    [() => accounts.create({ email: `${"x".repeat(64)}@${"y".repeat(63)}.example.com` })],
    [
      () => accounts.create({ email: `abc@${"x.".repeat(120)}example.com` }),
      "Invalid email address",
    ],
    [() => accounts.create({ email: `ab@${"x.".repeat(120)}example.com` })],
  ];
  for (const [work, why] of rows) {
    if (why === undefined) await work();
    else await assertRejects(work, AccountError, why);
  }
  assertEquals(
    ([["pool", "Red"], ["pool", ""], ["person", "Ada"]] as const).map(([kind, name]) =>
      labelOf({ kind, name, email: "e" })
    ),
    ["Red", "e", "e"],
  );
  assert((await keys.issue(ada.account)).models === null);
});
