import {
  accountOf,
  mustNameOne,
  payerOf,
  teamOf,
} from "../../../src/operating/operations/lookup.ts";
import type { OperationContext } from "../../../src/operating/operations/operation.ts";
import { Accounts, Teams } from "../../../src/people/accounts/mod.ts";
import { OperationError } from "../../../src/people/operation_log/mod.ts";
import { assertEquals, assertThrows } from "../../assert.ts";
import { ledgerBench } from "../../fake/ledger.ts";

Deno.test("accounts and teams are found by each of their names, and payers by either, never by both or neither", async () => {
  await using bench = await ledgerBench("file");
  const accounts = new Accounts(bench.database, () => 0);
  const teams = new Teams(bench.database, () => 0);
  const c = { parts: { accounts, teams } } as unknown as Pick<OperationContext, "parts">;
  const ada = await accounts.create({ email: "ada@example.com" });
  // an address may begin as an ID does
  const alike = await accounts.create({ email: "acc_1@example.com" });
  for (const one of [ada, alike]) {
    for (const name of [one.id, one.email, one.email.toUpperCase()]) {
      assertEquals((await accountOf(c, name)).id, one.id, name);
      assertEquals((await payerOf(c, { account: name })).id, one.id, name);
    }
  }
  const pooled = await teams.create({ name: "Pooled", pool: true });
  const plain = await teams.create({ name: "Plain", pool: false });
  for (const one of [pooled, plain]) {
    for (const name of [one.id, one.name]) assertEquals((await teamOf(c, name)).id, one.id);
  }
  assertEquals((await payerOf(c, { team: "Pooled" })).id, pooled.poolId!);
  const codeOf = async (work: Promise<unknown>) =>
    await work.then(() => "none", (error) => error instanceof OperationError ? error.code : error);
  assertEquals(
    await Promise.all([
      accountOf(c, "acc_nobody"),
      accountOf(c, "nobody@example.com"),
      teamOf(c, "Nobody"),
      payerOf(c, { team: "Plain" }),
      payerOf(c, {}),
      payerOf(c, { account: ada.id, team: pooled.id }),
    ].map(codeOf)),
    ["not_found", "not_found", "not_found", "conflict", "invalid_request", "invalid_request"],
  );
  for (const [named, param] of [[{}, "account"], [{ account: "a", team: "t" }, "team"]] as const) {
    const { param: seen } = assertThrows(() => mustNameOne(named), OperationError);
    assertEquals(seen, param);
  }
});
