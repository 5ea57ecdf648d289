import { Accounts, givenByHand, GroupGrants, Teams } from "../../../src/people/accounts/mod.ts";
import { sessionActor } from "../../../src/people/operation_log/mod.ts";
import { applyGroups } from "../../../src/operating/provisioning/mod.ts";
import { rightsOf } from "../../../src/people/sign_in/mod.ts";
import { signInSettings } from "../../../src/settings/config/mod.ts";
import { budgetsOf, setBudget } from "../../../src/money/ledger/mod.ts";
import { assertEquals } from "../../assert.ts";
import { ledgerBench } from "../../fake/ledger.ts";

const { groups } = signInSettings.parse({
  oidc: [{
    name: "company",
    issuer: "https://login.example.com",
    client: "sluice",
    groups: {
      eng: { teams: { Platform: "member", Nowhere: "lead" }, budget: { credits: 300 } },
      leads: { role: "finance", teams: { Platform: "lead" } },
    },
  }],
}).oidc[0]!;

Deno.test("groups give role, teams and budgets, with a row of the log where something changes and none where nothing does", async () => {
  await using ledger = await ledgerBench("file");
  const { database } = ledger;
  const now = () => Date.UTC(2030, 0, 1);
  const [accounts, teams] = [new Accounts(database, now), new Teams(database, now)];
  const grants = new GroupGrants(database, now);
  const platform = await teams.create({ name: "Platform", pool: false });
  const account = await accounts.create({ email: "ada@example.com" });
  const owner = { owner: "account", ownerId: account.id } as const;
  const signIn = (...names: string[]) =>
    applyGroups({ database, teams, grants, now }, {
      accountIds: [account.id],
      provider: "company",
      rights: rightsOf(names, groups),
      by: {
        actor: sessionActor({ account, teams: new Map() }),
        origin: { door: "console", address: "192.0.2.1" },
      },
    });
  const found = async () => {
    const { role, teams } = (await grants.read([account.id], "company")).get(account.id)!;
    const budgets = await budgetsOf(database, owner, now());
    const [log] = await database.all("select count(*) as n from operation_log");
    return [
      role,
      teams.get(platform.id),
      budgets.map(({ period, credits }) => `${credits} a ${period}`).join(),
      Number(log!.n),
    ];
  };
  assertEquals(await signIn("eng"), { unknownTeams: ["Nowhere"] });
  assertEquals(await found(), ["none", "member", "300 a month", 1]);
  await signIn("eng");
  assertEquals(await found(), ["none", "member", "300 a month", 1]);
  await signIn("eng", "leads");
  assertEquals(await found(), ["finance", "lead", "300 a month", 2]);
  await signIn("leads");
  assertEquals(await found(), ["finance", "lead", "", 3]);
  // an operator's own budget stays, whatever groups say
  await setBudget(database, { ...owner, period: "month", credits: 50 }, {
    nowMs: now(),
    also: [givenByHand(account.id, "budget", "month")],
  });
  await signIn("eng", "leads");
  assertEquals(await found(), ["finance", "lead", "50 a month", 3]);
  await signIn();
  assertEquals(await found(), ["none", undefined, "50 a month", 4]);
  await signIn();
  assertEquals(await found(), ["none", undefined, "50 a month", 4]);
});
