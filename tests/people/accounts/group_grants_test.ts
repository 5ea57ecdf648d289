import {
  Accounts,
  GroupGrants,
  Members,
  type Role,
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
