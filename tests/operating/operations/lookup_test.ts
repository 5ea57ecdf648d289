import {
  accountOf,
  changedModels,
  checkPackageCredits,
  isoOf,
  msOf,
  mustNameOne,
  pageAfter,
  payerOf,
  routeIds,
  subjectOfNewKey,
  subjectsOfKeys,
  teamOf,
} from "../../../src/operating/operations/lookup.ts";
import type { OperationContext } from "../../../src/operating/operations/operation.ts";
import { type Account, Accounts, type Key, Teams } from "../../../src/people/accounts/mod.ts";
import { OperationError } from "../../../src/people/operation_log/mod.ts";
import { assert, assertEquals, assertThrows } from "../../assert.ts";
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

Deno.test("a page of a list begins behind the last of the one before, and says whether there are more (table)", () => {
  const all = ["a", "b", "c"].map((id) => ({ id }));
  const of = (limit: number, after?: string) => {
    const { data, has_more, next } = pageAfter(all, { limit, after }, {
      noun: "Thing",
      idOf: ({ id }) => id,
    });
    return [data.map(({ id }) => id).join(""), has_more, next];
  };
  assertEquals(of(2), ["ab", true, "b"]);
  assertEquals(of(3), ["abc", false, null]);
  assertEquals(of(4), ["abc", false, null]);
  assertEquals(of(1, "a"), ["b", true, "b"]);
  assertEquals(of(2, "a"), ["bc", false, null]);
  assertEquals(of(2, "c"), ["", false, null]);
  assertThrows(() => of(2, "d"), OperationError, "Thing");
});

Deno.test("times and credits of the input are what they are, or none", () => {
  assertEquals([msOf("2030-01-02T00:00:00Z"), msOf(undefined), msOf(null)], [
    Date.UTC(2030, 0, 2),
    undefined,
    null,
  ]);
  assertEquals(isoOf(Date.UTC(2030, 0, 2)), "2030-01-02T00:00:00.000Z");
  assertEquals(isoOf(Number.MAX_SAFE_INTEGER), "9999-12-31T00:00:00.000Z");
  const fixed = [[null, undefined], [null, 5], [7, undefined]] as const;
  for (const [credits, given] of fixed) checkPackageCredits({ credits }, given);
  assertThrows(
    () => checkPackageCredits({ credits: 7 }, 0),
    OperationError,
    "sets the credits (7)",
  );
});

Deno.test("models are those that are served, by their names, or that an object has already", async () => {
  const routes = [{ id: "a" }, { id: "b" }];
  const find = (name: string) => routes.find(({ id }) => name === id || name === `alias-${id}`);
  const c = {
    parts: { catalog: () => Promise.resolve({ find, routes }) },
  } as unknown as Parameters<
    typeof routeIds
  >[0];
  assertEquals(await routeIds(c, ["alias-b", "a"]), ["b", "a"]);
  assertEquals([await routeIds(c, null), await routeIds(c, undefined)], [null, undefined]);
  const gone = await routeIds(c, ["gone"]).catch((error) => error);
  assert(gone instanceof OperationError && gone.message.includes("Available models: a, b"), gone);
  assertEquals(await changedModels(c, ["alias-a", "gone"], ["gone"]), ["gone", "a"]);
  assertEquals(await changedModels(c, [], null), []);
  assertEquals(await changedModels(c, null, ["gone"]), null);
  assertEquals(await changedModels(c, undefined, ["gone"]), undefined);
  assert(await changedModels(c, ["gone"], null).catch((error) => error) instanceof OperationError);
});

Deno.test("a key is about who pays for it and its team; a new one of nobody is paid by nobody", async () => {
  const pool = { id: "pool" } as Account;
  const bob = { id: "bob" } as Account;
  const known = [pool, bob];
  const parts = {
    accounts: {
      byId: (id: string) => Promise.resolve(known.find((one) => one.id === id)),
      byIds: () => Promise.resolve(new Map(known.map((one) => [one.id, one]))),
    },
    teams: { byId: (id: string) => Promise.resolve({ id }) },
  } as unknown as Parameters<typeof subjectsOfKeys>[0];
  const key = (id: string, accountId: string, teamId: string | null) =>
    ({ id, accountId, teamId }) as Key;
  const keys = [key("1", "bob", null), key("2", "pool", "red"), key("3", "bob", "blue")];
  const subjects = await subjectsOfKeys(parts, keys);
  assertEquals(keys.map(({ id }) => [subjects.get(id)!.account, subjects.get(id)!.team?.id]), [
    [bob, undefined],
    [pool, "red"],
    [bob, "blue"],
  ]);
  const made = async (poolId: string | null, member: Account | null) => {
    const { key, account } = await subjectOfNewKey(parts, { id: "red", poolId }, member);
    return [key!.memberId, key!.accountId, account!.id];
  };
  assertEquals(await made("pool", bob), ["bob", "pool", "pool"]);
  assertEquals(await made("pool", null), [null, "pool", "pool"]);
  assertEquals(await made(null, bob), ["bob", "bob", "bob"]);
  assertEquals(await made(null, null), [null, "", ""]);
});
