import {
  AccountError,
  Accounts,
  DuplicateKey,
  KeyRing,
  Keys,
  Members,
  newKeyId,
  Sessions,
  TeamKeys,
  Teams,
} from "../../../src/people/accounts/mod.ts";
import { keepFileThreads, openDatabase } from "../../../src/ground/database/mod.ts";
import { RULES } from "../../../src/money/ledger/mod.ts";
import { Refusal } from "../../../src/ground/refusal.ts";
import { assert, assertEquals, assertRejects, assertStringIncludes } from "../../assert.ts";
import { writeEmptyDatabase } from "../../fake/empty_database.ts";
import { tempDir } from "../../fake/temp.ts";

keepFileThreads(4); // each test opens a database of its own

const NOON = Date.UTC(2026, 0, 1, 12);

async function open() {
  const stack = new AsyncDisposableStack();
  const dir = stack.use(await tempDir());
  await writeEmptyDatabase(`${dir.path}/sluice.db`);
  const clock = { now: NOON };
  const now = () => clock.now;
  const database = stack.adopt(
    await openDatabase({ file: `${dir.path}/sluice.db`, durability: "normal", rules: RULES, now }),
    (one) => one.close(),
  );
  const ring = stack.adopt(new KeyRing(database, { now }), (one) => one.close());
  await ring.refresh();
  const accounts = new Accounts(database, now);
  return {
    clock,
    database,
    accounts,
    keys: new Keys(database, now),
    teams: new Teams(database, now),
    members: new Members(database, now),
    teamKeys: new TeamKeys(database, now),
    sessions: new Sessions(database, now),
    person: (name: string) => accounts.create({ email: `${name}@example.com` }),
    /** Whether a running gateway takes a key, or why not. */
    async use(secret: string) {
      await ring.refresh();
      try {
        return await ring.identify([secret]);
      } catch (error) {
        if (error instanceof Refusal) return error.message;
        throw error;
      }
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

Deno.test("a team's pool pays for keys of its members and of the team", async () => {
  await using all = await open();
  const { teams, members, teamKeys } = all;
  const team = await teams.create({ name: "Platform", pool: true });
  const ada = await all.person("ada");
  await members.add(team, ada, "lead");
  const own = await teamKeys.issue(team, ada, { name: "laptop" });
  const shared = await teamKeys.issue(team, null, { name: "ci" });
  for (const [key, memberId] of [[own, ada.id], [shared, null]] as const) {
    const caller = await all.use(key.secret);
    assert(typeof caller === "object");
    assertEquals([caller.accountId, caller.teamId, caller.memberId], [
      team.poolId,
      team.id,
      memberId,
    ]);
    assertEquals([...caller.scopes], ["inference"]);
  }
  assertEquals(
    (await teamKeys.list(team)).map(({ id }) => id).toSorted(),
    [own.id, shared.id].toSorted(),
  );
  assertEquals((await all.keys.list(ada)).map(({ id }) => id), [own.id]);
  assertEquals((await teams.get("PLATFORM")).id, team.id);
  assertEquals((await teams.get(team.id)).name, "Platform");
});

Deno.test("without a pool, each member pays for keys of the team", async () => {
  await using all = await open();
  const team = await all.teams.create({ name: "Research", pool: false });
  const ada = await all.person("ada");
  await all.members.add(team, ada);
  const key = await all.teamKeys.issue(team, ada);
  assertEquals(key.accountId, ada.id);
  await assertRejects(() => all.teamKeys.issue(team, null), AccountError, "no pool");
});

Deno.test("names of teams are unique and never look like an ID", async () => {
  await using all = await open();
  await all.teams.create({ name: "Platform", pool: true });
  const other = await all.teams.create({ name: "Other", pool: false });
  await assertRejects(
    () => all.teams.create({ name: "platform", pool: true }),
    AccountError,
    "exists",
  );
  await assertRejects(() => all.teams.change(other, { name: "PLATFORM" }), AccountError, "exists");
  for (const name of ["", "  ", "team_x", "Team_x", "x".repeat(201), "a\u202eb"]) {
    await assertRejects(() => all.teams.create({ name, pool: true }), AccountError);
  }
  await assertRejects(() => all.teams.get("nothing"), AccountError, "not found");
  assertEquals((await all.accounts.list()).length, 1, "no pool of a team that was not created");
});

Deno.test("of teams that look alike since before, each keeps its name, and neither gets the other's", async () => {
  await using all = await open();
  const one = await all.teams.create({ name: "Café", pool: false });
  const other = await all.teams.create({ name: "Other", pool: false });
  // the database tells apart only the letters of ASCII
  await all.database.batch([{
    sql: "update teams set name = 'CAFÉ' where id = ?",
    args: [other.id],
  }]);
  const alike = await all.teams.byId(other.id);
  for (const [team, own, others] of [[one, "Café", "CAFÉ"], [alike!, "CAFÉ", "Café"]] as const) {
    const changed = await all.teams.change(team, { name: own, disabled: true });
    assertEquals([changed.name, changed.disabledAtMs !== null], [own, true]);
    for (const name of [others, "cafe\u0301"]) {
      await assertRejects(() => all.teams.change(team, { name }), AccountError, "exists");
    }
  }
  assertEquals((await all.teams.change(one, { name: "Bar" })).name, "Bar");
  // what shows nothing is nobody's name
  await all.database.batch([{
    sql: "update teams set name = ? where id = ?",
    args: ["\u200b", one.id],
  }]);
  for (const nothing of ["", "\u2060"]) {
    assertEquals(await all.teams.find(nothing), undefined);
  }
});

Deno.test("a stopped member's keys of the team stop, and nobody else's", async () => {
  await using all = await open();
  const { members, teamKeys } = all;
  const team = await all.teams.create({ name: "Platform", pool: true });
  const other = await all.teams.create({ name: "Other", pool: true });
  const [ada, bob] = [await all.person("ada"), await all.person("bob")];
  for (const one of [ada, bob]) await members.add(team, one);
  await members.add(other, ada);
  const adas = await teamKeys.issue(team, ada);
  const others = [
    await teamKeys.issue(team, bob),
    await teamKeys.issue(team, null),
    await teamKeys.issue(other, ada),
    await all.keys.issue(ada),
  ];
  await members.stop(team, ada);
  assertEquals(
    await all.use(adas.secret),
    "This API key's member of the team has been stopped. Contact the team's lead.",
  );
  for (const { secret } of others) assert(typeof await all.use(secret) === "object");
  await assertRejects(() => teamKeys.issue(team, ada), AccountError, "stopped");
  await members.start(team, ada);
  assert(typeof await all.use(adas.secret) === "object");
});

Deno.test("a removed member's keys are revoked: coming back brings none of them back", async () => {
  await using all = await open();
  const { members, teamKeys } = all;
  const team = await all.teams.create({ name: "Platform", pool: true });
  const ada = await all.person("ada");
  await members.add(team, ada);
  const { secret } = await teamKeys.issue(team, ada);
  const own = await all.keys.issue(ada);
  await members.remove(team, ada);
  assertStringIncludes(String(await all.use(secret)), "revoked");
  await assertRejects(() => teamKeys.issue(team, ada), AccountError, "not in it");
  await members.add(team, ada);
  assertStringIncludes(String(await all.use(secret)), "revoked");
  assert(typeof await all.use(own.secret) === "object");
  await assertRejects(() => members.stop(team, { id: "acc_none" }), AccountError, "not in team");
});

Deno.test("a key that is made while its member is removed does not work", async () => {
  await using all = await open();
  const team = await all.teams.create({ name: "Platform", pool: true });
  for (let round = 0; round < 10; round++) {
    const one = await all.person(`person${round}`);
    await all.members.add(team, one);
    const made = Array.from(
      { length: 3 },
      () => all.teamKeys.issue(team, one).catch(() => undefined),
    );
    const removed = all.members.remove(team, one);
    const keys = await Promise.all(made);
    await removed;
    await all.members.add(team, one);
    for (const key of keys) {
      if (key !== undefined) assertStringIncludes(String(await all.use(key.secret)), "revoked");
    }
  }
});

Deno.test("a disabled team's keys stop, and work again once it is enabled", async () => {
  await using all = await open();
  const team = await all.teams.create({ name: "Platform", pool: true });
  const { secret } = await all.teamKeys.issue(team, null);
  assert(typeof await all.use(secret) === "object");
  await all.teams.change(team, { disabled: true });
  assertStringIncludes(String(await all.use(secret)), "team of this API key is disabled");
  await assertRejects(() => all.teamKeys.issue(team, null), AccountError, "disabled");
  await all.teams.change(team, { disabled: false });
  assert(typeof await all.use(secret) === "object");
});

Deno.test("a disabled person's keys stop, though a pool pays for them", async () => {
  await using all = await open();
  const team = await all.teams.create({ name: "Platform", pool: true });
  const ada = await all.person("ada");
  await all.members.add(team, ada);
  const { secret } = await all.teamKeys.issue(team, ada);
  await all.accounts.disable(ada.email);
  assertStringIncludes(String(await all.use(secret)), "this API key's member is disabled");
  await assertRejects(() => all.teamKeys.issue(team, ada), AccountError, "disabled");
});

Deno.test("a key of a team may use what its own list and the team's allow", async () => {
  await using all = await open();
  const team = await all.teams.create({ name: "Platform", pool: true, models: ["a", "b"] });
  const models = async (secret: string) => {
    const caller = await all.use(secret);
    return typeof caller === "string" || caller.models === null ? caller : [...caller.models];
  };
  const free = await all.teamKeys.issue(team, null);
  const listed = await all.teamKeys.issue(team, null, { models: ["b", "c"] });
  assertEquals([await models(free.secret), await models(listed.secret)], [["a", "b"], ["b"]]);
  await all.teams.change(team, { models: ["c"] });
  assertEquals([await models(free.secret), await models(listed.secret)], [["c"], ["c"]]);
  await all.teams.change(team, { models: ["d"] });
  await all.teams.change(team, { name: "Renamed" });
  assertEquals(await models(listed.secret), []);
  await all.teams.change(team, { models: null });
  assertEquals(await models(listed.secret), ["b", "c"]);
});

Deno.test("a pool has no sign-in, role, key or membership of its own", async () => {
  await using all = await open();
  const team = await all.teams.create({ name: "Platform", pool: true });
  const pool = (await all.accounts.byId(team.poolId!))!;
  await assertRejects(() => all.sessions.makeLink(pool), AccountError, "not a person");
  assertEquals(await all.sessions.find(await all.sessions.begin(pool)), undefined);
  await assertRejects(() => all.accounts.setRole(pool.email, "owner"), AccountError, "pool");
  await assertRejects(() => all.accounts.disable(pool.email), AccountError, "disable the team");
  await assertRejects(() => all.keys.issue(pool), AccountError, "keys of the team");
  await assertRejects(() => all.members.add(team, pool), AccountError, "not a person");
  const service = await all.accounts.create({ email: "ci@example.com", kind: "service" });
  await assertRejects(() => all.sessions.makeLink(service), AccountError, "not a person");
  await assertRejects(() => all.accounts.setRole(service.email, "owner"), AccountError, "people");
  await assertRejects(() => all.members.add(team, service), AccountError, "not a person");
  assert(typeof await all.use((await all.keys.issue(service)).secret) === "object");
});

Deno.test("the last active owner is neither demoted nor disabled, whatever happens at once", async () => {
  await using all = await open();
  const { accounts } = all;
  const first = await accounts.create({ email: "first@example.com", role: "owner" });
  await assertRejects(() => accounts.setRole(first.email, "none"), AccountError, "last owner");
  await assertRejects(() => accounts.disable(first.email), AccountError, "last owner");
  const second = await all.person("second");
  const third = await all.person("third");
  for (const one of [second, third]) await accounts.setRole(one.email, "owner");
  await Promise.allSettled([
    accounts.setRole(first.email, "operator"),
    accounts.disable(second.email),
    accounts.setRole(third.email, "finance"),
  ]);
  const owners = (await accounts.list()).filter(({ role, disabledAtMs }) =>
    role === "owner" && disabledAtMs === null
  );
  assertEquals(owners.length, 1);
  assertEquals((await accounts.owner())!.id, owners[0]!.id);
  const away = (await accounts.list()).find(({ disabledAtMs }) => disabledAtMs !== null)!;
  await assertRejects(() => accounts.setRole(away.email, "owner"), AccountError, "enable it first");
});

Deno.test("scopes beyond inference need a role", async () => {
  await using all = await open();
  const ada = await all.person("ada");
  for (const scope of ["admin", "read"] as const) {
    await assertRejects(() => all.keys.issue(ada, { scopes: [scope] }), AccountError, "scope");
  }
  await assertRejects(() => all.keys.issue(ada, { scopes: [] }), AccountError, "at least one");
  const auditor = await all.accounts.setRole(ada.email, "finance");
  await assertRejects(() => all.keys.issue(auditor, { scopes: ["admin"] }), AccountError, "scope");
  const { secret } = await all.keys.issue(auditor, { scopes: ["read", "read"] });
  const caller = await all.use(secret);
  assert(typeof caller === "object");
  assertEquals([[...caller.scopes], caller.role], [["read"], "finance"]);
  await all.accounts.setRole(ada.email, "none");
  const later = await all.use(secret);
  assertEquals(typeof later === "object" && later.role, "none");
});

Deno.test("a rotated key has another secret; the previous one is valid for the chosen time", async () => {
  await using all = await open();
  const ada = await all.person("ada");
  const { secret: first, ...key } = await all.keys.issue(ada, { name: "ci", models: ["a"] });
  const { secret: second, ...rotated } = await all.keys.rotate(key.id, 60_000);
  const { hint: _old, previousUntilMs: _none, ...kept } = key;
  const { hint: _new, previousUntilMs, ...same } = rotated;
  assertEquals(same, kept);
  assertEquals(previousUntilMs, NOON + 60_000);
  const works = async (secret: string) => typeof await all.use(secret) === "object";
  assertEquals([await works(first), await works(second)], [true, true]);
  all.clock.now += 60_000;
  assertEquals([await works(first), await works(second)], [false, true]);
  assertStringIncludes(String(await all.use(first)), "replaced by another secret");

  const { secret: third } = await all.keys.rotate(key.id, 60_000);
  const { secret: fourth } = await all.keys.rotate(key.id, 0);
  const each = [];
  for (const secret of [first, second, third, fourth]) each.push(await works(secret));
  assertEquals(each, [false, false, false, true], "only one previous secret, and none for 0 ms");
  await all.keys.revoke(key.id);
  assertEquals(await works(fourth), false);
  await assertRejects(() => all.keys.rotate(key.id, 0), AccountError, "revoked");
  for (const ms of [-1, 0.5, NaN, 91 * 86_400_000]) {
    await assertRejects(() => all.keys.rotate(key.id, ms), AccountError, "90 days");
  }
});

Deno.test("a revoked key's previous secret is revoked as well", async () => {
  await using all = await open();
  const { secret, id } = await all.keys.issue(await all.person("ada"));
  await all.keys.rotate(id, 60_000);
  await all.keys.revoke(id);
  assertStringIncludes(String(await all.use(secret)), "revoked");
});

Deno.test("of two rotations at once, one secret is the key's and the loser hears of it", async () => {
  await using all = await open();
  const { id } = await all.keys.issue(await all.person("ada"));
  const done = await Promise.allSettled(Array.from({ length: 4 }, () => all.keys.rotate(id, 0)));
  const secrets = done.flatMap((one) => one.status === "fulfilled" ? [one.value.secret] : []);
  assertEquals(secrets.length, 1);
  assert(typeof await all.use(secrets[0]!) === "object");
});

Deno.test("the key of SLUICE_OWNER_KEY is not rotated", async () => {
  await using all = await open();
  const owner = await all.accounts.create({ email: "owner@example.com", role: "owner" });
  await all.keys.adopt(owner, `sk-environment-${"e".repeat(32)}`);
  const [key] = await all.keys.list(owner);
  await assertRejects(() => all.keys.rotate(key!.id, 0), AccountError, "SLUICE_OWNER_KEY");
});

Deno.test("Keys.update changes what it is told and nothing else", async () => {
  await using all = await open();
  const { id, ...made } = await all.keys.issue(await all.person("ada"), {
    name: "a",
    models: ["x"],
  });
  assertEquals((await all.keys.change(id, { name: "b" })).models, ["x"]);
  const open_ = await all.keys.change(id, { models: null, expiresAtMs: NOON + 5 });
  assertEquals([open_.name, open_.models, open_.expiresAtMs], ["b", null, NOON + 5]);
  assertEquals((await all.keys.change(id, { expiresAtMs: null })).expiresAtMs, null);
  assertEquals((await all.keys.change(id, {})).hint, made.hint);
  await assertRejects(() => all.keys.change(id, { expiresAtMs: NOON }), AccountError, "future");
  await assertRejects(() => all.keys.change(id, { name: "x".repeat(201) }), AccountError, "long");
  await all.keys.revoke(id);
  await assertRejects(() => all.keys.change(id, { name: "c" }), AccountError, "revoked");
});

Deno.test("statements about a key of a team run with it, or not at all", async () => {
  await using all = await open();
  const team = await all.teams.create({ name: "Platform", pool: true });
  const mark = (id: string) => [{
    sql: "insert into key_uses (key_id, last_used_at_ms) values (?, 7)",
    args: [id],
  }];
  const made = await all.teamKeys.issue(team, null, {}, ({ id }) => mark(id));
  assertEquals((await all.keys.lastUse(team)).get(made.id), 7);
  await all.teams.change(team, { disabled: true });
  await assertRejects(
    () => all.teamKeys.issue(team, null, {}, ({ id }) => mark(id)),
    AccountError,
    "disabled",
  );
  await all.teams.change(team, { disabled: false });
  const id = newKeyId();
  await all.teamKeys.issue(team, null, { id });
  await assertRejects(() => all.teamKeys.issue(team, null, { id }), DuplicateKey);
});
