import {
  Accounts,
  GroupGrants,
  Keys,
  Members,
  type Role,
  TeamKeys,
  type TeamRole,
  Teams,
} from "../../../src/people/accounts/mod.ts";
import { givenByHand } from "../../../src/people/accounts/group_grants.ts";
import { assertEquals } from "../../assert.ts";
import { Had } from "../../fake/had.ts";
import { ledgerBench } from "../../fake/ledger.ts";
import { Random, testSeed } from "../../fake/random.ts";
import { sized } from "../../tier.ts";

const PROVIDERS = ["company", "SCIM"] as const;

Deno.test("what groups give goes with the last provider that gives it; what was given by hand stays, in whatever order they come", async () => {
  await using ledger = await ledgerBench("file");
  const now = () => Date.UTC(2030, 0, 1);
  const { database } = ledger;
  const [accounts, members] = [new Accounts(database, now), new Members(database, now)];
  const grants = new GroupGrants(database, now);
  const teams = await Promise.all(
    ["One", "Two"].map((name) => new Teams(database, now).create({ name, pool: false })),
  );
  const account = await accounts.create({ email: "a@b.example" });
  const seed = testSeed();
  const random = new Random(seed);
  const role = new Had<Role>("none");
  const inTeams = teams.map(() => new Had<TeamRole | "none">("none"));
  const teamRoles: TeamRole[] = ["lead", "member"];
  for (let step = 0; step < sized(200, 4_000); step++) {
    const at = random.integer(0, 1);
    const [team, had] = [teams[at]!, inTeams[at]!];
    const teamRole = random.pick(teamRoles);
    switch (random.integer(0, 7)) {
      case 0: {
        role.byHand(random.pick(["none", "finance", "operator"]));
        await accounts.setRole(account.email, role.value);
        break;
      }
      case 1: {
        await members.add(team, account, teamRole);
        had.byHand(teamRole);
        break;
      }
      case 2: {
        if (had.value === "none") break;
        await members.remove(team, account);
        had.value = "none";
        break;
      }
      default: {
        const provider = random.pick([...PROVIDERS]);
        const given: Role = random.pick(["none", "finance", "operator"]);
        const some = new Map(
          teams.flatMap(({ id }) =>
            random.next() < 0.5 ? [] : [[id, random.pick(teamRoles)] as const]
          ),
        );
        await database.batch(
          grants.statements([account.id], provider, {
            role: given,
            teams: some,
            budgets: new Map(),
          }),
        );
        role.byGroups(provider, given);
        for (const [index, one] of inTeams.entries()) {
          const wanted = some.get(teams[index]!.id) ?? "none";
          // who was taken out by hand comes back when a group gives it again
          const isOut = one.value === "none" && wanted === "none";
          one.byGroups(provider, wanted);
          if (isOut) one.value = "none";
        }
      }
    }
    const found = (await grants.read([account.id], PROVIDERS[0])).get(account.id)!;
    const message = `step ${step}, SLUICE_TEST_SEED=${seed}`;
    assertEquals(found.role, role.value, message);
    assertEquals(found.granted.role, role.byProvider.get(PROVIDERS[0]) ?? "none", message);
    assertEquals(found.others.role, role.byProvider.get(PROVIDERS[1]) ?? "none", message);
    assertEquals(
      teams.map(({ id }) => found.teams.get(id) ?? "none"),
      inTeams.map(({ value }) => value),
      message,
    );
  }
});

Deno.test("a team that came from a group goes with its keys, and other keys stay", async () => {
  await using ledger = await ledgerBench("file");
  const { database } = ledger;
  const now = () => Date.UTC(2030, 0, 1);
  const [accounts, teams] = [new Accounts(database, now), new Teams(database, now)];
  const [team, other] = [
    await teams.create({ name: "One", pool: true }),
    await teams.create({ name: "Two", pool: true }),
  ];
  const [account, colleague] = [
    await accounts.create({ email: "a@b.example" }),
    await accounts.create({ email: "c@b.example" }),
  ];
  const grants = new GroupGrants(database, now);
  const [members, teamKeys] = [new Members(database, now), new TeamKeys(database, now)];
  const give = (...ids: string[]) =>
    database.batch(grants.statements([account.id], "company", {
      role: "none",
      teams: new Map(ids.map((id) => [id, "member"])),
      budgets: new Map(),
    }));
  await give(team.id);
  await members.add(team, colleague);
  await members.add(other, account);
  const keys = {
    "of the team": await teamKeys.issue(team, account),
    "of a colleague": await teamKeys.issue(team, colleague),
    "of another team": await teamKeys.issue(other, account),
    "own": await new Keys(database, now).issue(account),
  };
  const before = await teamKeys.issue(team, account);
  await database.batch([{
    sql: "update keys set revoked_at_ms = 7 where id = ?",
    args: [before.id],
  }]);
  await give();
  const revoked = await database.all(
    "select id, revoked_at_ms from keys where revoked_at_ms is not null order by 2",
  );
  assertEquals(revoked.map(({ id, revoked_at_ms }) => [id, revoked_at_ms]), [
    [before.id, 7],
    [keys["of the team"].id, now()],
  ]);
});

Deno.test("groups make nobody an owner, and take nothing from one", async () => {
  await using ledger = await ledgerBench("file");
  const { database } = ledger;
  const accounts = new Accounts(database, Date.now);
  const owner = await accounts.create({ email: "a@b.example", role: "owner" });
  const grants = new GroupGrants(database, Date.now);
  for (const role of ["operator", "none"] as const) {
    await database.batch(
      grants.statements([owner.id], "company", { role, teams: new Map(), budgets: new Map() }),
    );
    assertEquals((await accounts.byId(owner.id))?.role, "owner");
    // nor if groups had given it a role before
    await database.batch([{
      sql: `insert into group_grants (account_id, kind, name, provider, value, granted_at_ms)
        values (?, 'role', 'role', 'company', 'operator', 1) on conflict do nothing`,
      args: [owner.id],
    }]);
  }
});

Deno.test("what each provider's groups give is its own: role, teams and budgets, of which the best and the most count", async () => {
  await using ledger = await ledgerBench("file");
  const { database } = ledger;
  const [account, other] = [
    await new Accounts(database, Date.now).create({ email: "a@b.example" }),
    await new Accounts(database, Date.now).create({ email: "c@b.example" }),
  ];
  const team = await new Teams(database, Date.now).create({ name: "One", pool: false });
  const colleague = await new Accounts(database, Date.now).create({ email: "b@b.example" });
  await new Members(database, Date.now).add(team, colleague);
  let nowMs = 1;
  const grants = new GroupGrants(database, () => nowMs);
  const give = (provider: string, budgets: Record<string, number>, more: object = {}) =>
    database.batch(grants.statements([account.id, other.id], provider, {
      role: "none",
      teams: new Map(),
      budgets: new Map(Object.entries(budgets)),
      ...more,
    }));
  const read = async (provider: string, { id } = account) => {
    const { granted, others } = (await grants.read([id], provider)).get(id)!;
    return [granted, others].map(({ role, teams, budgets }) =>
      JSON.stringify([role, [...teams.values()], Object.fromEntries([...budgets].toSorted())])
    );
  };
  const all = (role: string, roles: string[], budgets: object) =>
    JSON.stringify([role, roles, budgets]);
  const lead = { role: "finance", teams: new Map([[team.id, "lead"]]) };
  const member = { role: "operator", teams: new Map([[team.id, "member"]]) };
  await give("a", { day: 10, month: 5 }, member);
  await give("b", { day: 7 }, lead);
  await give("c", { day: 9 }, { teams: member.teams });
  for (const one of [account, other]) {
    assertEquals(await read("a", one), [
      all("operator", ["member"], { day: 10, month: 5 }),
      all("finance", ["lead"], { day: 9 }),
    ]);
    assertEquals(await read("c", one), [
      all("none", ["member"], { day: 9 }),
      all("operator", ["lead"], { day: 10, month: 5 }),
    ]);
  }
  nowMs++;
  await give("a", { day: 3 }, member);
  const since = await database.all("select distinct granted_at_ms from group_grants");
  assertEquals(since.map(({ granted_at_ms }) => granted_at_ms), [1], "it was given before");
  assertEquals(await read("a"), [
    all("operator", ["member"], { day: 3 }),
    all("finance", ["lead"], { day: 9 }),
  ]);
  await give("b", {});
  assertEquals(await read("b"), [
    all("none", [], {}),
    all("operator", ["member"], { day: 9 }),
  ]);
  await database.batch([givenByHand(account.id, "budget", "day")]);
  assertEquals(await read("a"), [all("operator", ["member"], {}), all("none", ["member"], {})]);
  assertEquals((await read("a", other))[0], all("operator", ["member"], { day: 3 }));
});
