import {
  AccountError,
  Accounts,
  Members,
  Sessions,
  Teams,
} from "../../../src/people/accounts/mod.ts";
import { assertEquals, assertRejects } from "../../assert.ts";
import { ledgerBench } from "../../fake/ledger.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** Sessions of one account, by a clock. */
async function bench() {
  const ledger = await ledgerBench("file");
  const clock = { nowMs: Date.UTC(2030, 0, 1) };
  const account = await new Accounts(ledger.database, () => clock.nowMs)
    .create({ email: "a@b.example" });
  const disable = (atMs: number | null) =>
    ledger.database.batch([{
      sql: "update accounts set disabled_at_ms = ? where id = ?",
      args: [atMs, account.id],
    }]);
  return {
    clock,
    account,
    disable,
    sessions: new Sessions(ledger.database, () => clock.nowMs),
    teams: new Teams(ledger.database, () => clock.nowMs),
    members: new Members(ledger.database, () => clock.nowMs),
    [Symbol.asyncDispose]: () => ledger[Symbol.asyncDispose](),
  };
}

Deno.test("a disabled account gets no link and no session, and those that it has are none", async () => {
  await using one = await bench();
  const { sessions, account, disable } = one;
  const token = await sessions.begin(account);
  const link = await sessions.makeLink(account);
  await disable(1);
  assertEquals(await sessions.find(token), undefined);
  assertEquals(await sessions.useLink(link), undefined);
  await assertRejects(() => sessions.makeLink(account), AccountError, "is disabled");
  const late = await sessions.begin(account);
  await disable(null);
  assertEquals(await sessions.find(late), undefined, "it was not begun");
  assertEquals((await sessions.find(token))?.account.id, account.id);
});

Deno.test("links end after a day, sessions after 30, to the millisecond; what has ended is deleted", async () => {
  await using one = await bench();
  const { sessions, account, clock } = one;
  for (const [lateMs, isGood] of [[-1, true], [0, false]] as const) {
    const begunMs = clock.nowMs;
    const link = await sessions.makeLink(account);
    const token = await sessions.begin(account);
    clock.nowMs = begunMs + DAY_MS + lateMs;
    assertEquals(await sessions.useLink(link) !== undefined, isGood, `a link, ${lateMs} ms`);
    clock.nowMs = begunMs + 30 * DAY_MS + lateMs;
    assertEquals(await sessions.find(token) !== undefined, isGood, `a session, ${lateMs} ms`);
    clock.nowMs = begunMs + 100 * DAY_MS;
  }
});

Deno.test("a session that a link began counts as such for an hour", async () => {
  await using one = await bench();
  const { sessions, account, clock } = one;
  const byLink = await sessions.begin(account, { byLink: true });
  const byPassword = await sessions.begin(account);
  const begunMs = clock.nowMs;
  const counts = async (token: string) => (await sessions.find(token))?.byLink;
  assertEquals([await counts(byLink), await counts(byPassword)], [true, false]);
  clock.nowMs = begunMs + HOUR_MS - 1;
  assertEquals(await counts(byLink), true);
  clock.nowMs = begunMs + HOUR_MS;
  assertEquals(await counts(byLink), false);
});

Deno.test("somebody has signed in lately for ten minutes, or for as long as a link counts", async () => {
  await using one = await bench();
  const { sessions, account, clock } = one;
  const byLink = await sessions.begin(account, { byLink: true });
  const byPassword = await sessions.begin(account);
  const begunMs = clock.nowMs;
  const recent = async (token: string) => (await sessions.find(token))!.isRecent;
  for (const afterMs of [0, 599_999, 600_000, HOUR_MS - 1, HOUR_MS]) {
    clock.nowMs = begunMs + afterMs;
    assertEquals(await recent(byLink), afterMs < HOUR_MS, `by a link, ${afterMs} ms`);
    assertEquals(await recent(byPassword), afterMs < 600_000, `by a password, ${afterMs} ms`);
  }
});

Deno.test("ending all sessions but one leaves that one, and no link", async () => {
  await using one = await bench();
  const { sessions, account } = one;
  const tokens = [await sessions.begin(account), await sessions.begin(account)] as const;
  const link = await sessions.makeLink(account);
  await sessions.endAll(account, { except: tokens[1] });
  assertEquals(await sessions.find(tokens[0]), undefined);
  assertEquals((await sessions.find(tokens[1]))?.account.id, account.id);
  assertEquals(await sessions.useLink(link), undefined);
});

Deno.test("a session has the roles of teams in which its account was not stopped", async () => {
  await using one = await bench();
  const { sessions, account, teams, members } = one;
  const [red, blue] = [
    await teams.create({ name: "Red", pool: false }),
    await teams.create({ name: "Blue", pool: false }),
  ];
  await members.add(red, account);
  await members.add(blue, account, "lead");
  const token = await sessions.begin(account);
  const roles = async () => Object.fromEntries((await sessions.find(token))!.teams);
  assertEquals(await roles(), { [red.id]: "member", [blue.id]: "lead" });
  await members.stop(red, account);
  assertEquals(await roles(), { [blue.id]: "lead" });
});
