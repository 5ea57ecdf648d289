import { Accounts } from "../../../src/people/accounts/mod.ts";
import { Registration, Sales } from "../../../src/money/billing/mod.ts";
import { loadConfig } from "../../../src/settings/config/mod.ts";
import { audit, creditsOf } from "../../../src/money/ledger/mod.ts";
import { assert, assertEquals, assertRejects } from "../../assert.ts";
import { ledgerBench } from "../../fake/ledger.ts";
import { tempDir } from "../../fake/temp.ts";

await using dir = await tempDir();
const { settings } = await loadConfig({ env: {}, directory: dir.path });
const NOW = Date.UTC(2030, 0, 1);
const DAY = 86_400_000;

async function billing() {
  const bench = await ledgerBench("file");
  const accounts = new Accounts(bench.database, () => NOW);
  return {
    bench,
    accounts,
    registration: new Registration(bench.database, accounts, settings.credits),
    sales: new Sales(bench.database, settings.packages, settings.credits, () => NOW),
    balance: async (email: string) =>
      (await creditsOf(bench.database, (await accounts.get(email)).id, NOW)).balance,
    [Symbol.asyncDispose]: () => bench[Symbol.asyncDispose](),
  };
}

Deno.test("a new account has 10 credits; its inviter gets 50, and 500 at the first payment, each once", async () => {
  await using all = await billing();
  const { accounts, registration, sales, balance } = all;
  const ada = await registration.register({ email: "ada@example.com" });
  assertEquals(await balance("ada@example.com"), 10);
  const code = await accounts.inviteCode(ada);
  assertEquals(code, await accounts.inviteCode(ada));
  const bob = await registration.register({ email: "bob@example.com", inviteCode: code });
  assertEquals([await balance("ada@example.com"), await balance("bob@example.com")], [60, 10]);

  const starter = sales.package("starter");
  await sales.sell(bob, starter, { paid: false }); // a gift is no payment
  assertEquals(await balance("ada@example.com"), 60);
  await sales.sell(bob, starter, { paid: true });
  await sales.sell(bob, starter, { paid: true });
  assertEquals([await balance("ada@example.com"), await balance("bob@example.com")], [560, 1_510]);
  assertEquals(await registration.invitations(ada), [
    { email: "bob@example.com", joinedAtMs: NOW, earned: 550 },
  ]);
  assertEquals((await audit(all.bench.database)).mismatches, []);
});

Deno.test("the first owner keeps its credits, also when another account is the owner", async () => {
  await using all = await billing();
  const { accounts, registration, balance } = all;
  const { email } = await registration.owner("owner@example.com");
  const before = await balance(email);
  assert(before > 0);
  await accounts.create({ email: "next@example.com", role: "owner" });
  for (const role of ["operator", "none"] as const) {
    await accounts.setRole(email, role);
    assertEquals(await balance(email), before);
    assertEquals((await audit(all.bench.database)).mismatches, []);
  }
});

Deno.test("a registration that fails gives nobody anything", async () => {
  await using all = await billing();
  const { accounts, registration, balance } = all;
  const ada = await registration.register({ email: "ada@example.com" });
  const inviteCode = await accounts.inviteCode(ada);
  await assertRejects(
    () => registration.register({ email: "ADA@example.com", inviteCode }),
    Error,
    "Account ada@example.com already exists",
  );
  await assertRejects(
    () => registration.register({ email: "eve@example.com", inviteCode: "guessed" }),
    Error,
    'Unknown invite code "guessed"',
  );
  assertEquals(await balance("ada@example.com"), 10);
  assertEquals(await accounts.find("eve@example.com"), undefined);
});

Deno.test("packages expire as they say; the same payment gives its credits once", async () => {
  await using all = await billing();
  const { registration, sales, bench } = all;
  const ada = await registration.register({ email: "ada@example.com" });
  const lotsOf = async (nowMs: number) =>
    (await creditsOf(bench.database, ada.id, nowMs)).lots.map((lot) => [lot.source, lot.remaining]);
  const reference = "pay_1";
  await sales.sell(ada, sales.package("standard"), { paid: true, reference });
  await sales.sell(ada, sales.package("standard"), { paid: true, reference });
  assertEquals(await lotsOf(NOW), [["package", 5_000], ["signup", 10]]);
  assertEquals(await lotsOf(NOW + 30 * DAY - 1), [["package", 5_000], ["signup", 10]]);
  assertEquals(await lotsOf(NOW + 30 * DAY), [["signup", 10]]);
  await assertRejects(
    () => sales.sell(ada, sales.package("enterprise"), { paid: true }),
    Error,
    "has no fixed number of credits",
  );
  await sales.sell(ada, sales.package("enterprise"), { paid: true, credits: 77 });
  assertEquals((await audit(bench.database)).mismatches, []);
});
