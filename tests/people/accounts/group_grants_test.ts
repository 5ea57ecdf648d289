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
import { assertEquals } from "../../assert.ts";
import { ledgerBench } from "../../fake/ledger.ts";
import { Random, testSeed } from "../../fake/random.ts";
import { sized } from "../../tier.ts";

/** What an account has, and whether it came from groups. */
interface Had<Value> {
  value: Value;
  isGranted: boolean;
}

Deno.test("what groups give goes with them; what was given by hand stays, in whatever order both come", async () => {
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
  const role: Had<Role> = { value: "none", isGranted: false };
  const inTeams = teams.map((): Had<TeamRole | undefined> => ({
    value: undefined,
    isGranted: false,
  }));
  const teamRoles: TeamRole[] = ["lead", "member"];
  for (let step = 0; step < sized(120, 3_000); step++) {
    const at = random.integer(0, 1);
    const [team, had] = [teams[at]!, inTeams[at]!];
    const teamRole = random.pick(teamRoles);
    switch (random.integer(0, 5)) {
      case 0: {
        role.value = random.pick(["none", "finance", "operator"]);
        role.isGranted = false;
        await accounts.setRole(account.email, role.value);
        break;
      }
      case 1: {
        await members.add(team, account, teamRole);
        Object.assign(had, { value: teamRole, isGranted: false });
        break;
      }
      case 2: {
        if (had.value === undefined) break;
        await members.remove(team, account);
        had.value = undefined;
        break;
      }
      default: {
        const given: Role = random.pick(["none", "finance", "operator"]);
        const some = teams.flatMap(({ id }) =>
          random.next() < 0.5 ? [] : [[id, random.pick(teamRoles)] as const]
        );
        await database.batch(
          grants.statements(account.id, "company", {
            role: given,
            teams: new Map(some),
            budgets: new Set(),
          }),
        );
        if (role.isGranted || role.value === "none") {
          Object.assign(role, { value: given, isGranted: given !== "none" });
        }
        for (const [index, one] of inTeams.entries()) {
          const wanted = new Map(some).get(teams[index]!.id);
          if (!one.isGranted && one.value !== undefined) continue;
          Object.assign(one, { value: wanted, isGranted: wanted !== undefined });
        }
      }
    }
    const found = await grants.read(account.id, "company");
    const message = `step ${step}, SLUICE_TEST_SEED=${seed}`;
    assertEquals(found.role, role.value, message);
    assertEquals(found.fromGroups.role, role.isGranted, message);
    assertEquals(
      teams.map(({ id }) => found.teams.get(id)),
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
    database.batch(grants.statements(account.id, "company", {
      role: "none",
      teams: new Map(ids.map((id) => [id, "member"])),
      budgets: new Set(),
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
  await give();
  const revoked = await database.all("select id from keys where revoked_at_ms is not null");
  assertEquals(revoked.map(({ id }) => id), [keys["of the team"].id]);
});

Deno.test("groups make nobody an owner, and take nothing from one", async () => {
  await using ledger = await ledgerBench("file");
  const { database } = ledger;
  const accounts = new Accounts(database, Date.now);
  const owner = await accounts.create({ email: "a@b.example", role: "owner" });
  const grants = new GroupGrants(database, Date.now);
  for (const role of ["operator", "none"] as const) {
    await database.batch(
      grants.statements(owner.id, "company", { role, teams: new Map(), budgets: new Set() }),
    );
    assertEquals((await accounts.byId(owner.id))?.role, "owner");
  }
});
