import { newRequestId } from "../../../src/ground/platform/ids.ts";
import { audit, creditsOf } from "../../../src/money/ledger/mod.ts";
import { creditUsage } from "../../../src/doors/http/credits.ts";
import { assert, assertEquals } from "../../assert.ts";
import { startGateway } from "../../fake/gateway.ts";
import { ledgerBench, settlePrice } from "../../fake/ledger.ts";
import { signedIn } from "../../fake/visitor.ts";
import { sized } from "../../tier.ts";

const DAY = 86_400_000;
const NOON = Date.UTC(2030, 0, 31, 12);

Deno.test('"30 days" means the same in the console, its CSV and GET /user/credits', async () => {
  await using gateway = await startGateway({ now: () => NOON });
  const { database, keys, accounts, owner } = gateway.gateway;
  const [key] = await keys.list(owner);
  const prices = [[30 * DAY - 8 * 3_600_000, 1], [29 * DAY + 3_600_000, 20], [0, 300]];
  for (const [ago, price] of prices as [number, number][]) {
    const nowMs = NOON - ago;
    const requestId = newRequestId(nowMs);
    await settlePrice(database, { accountId: owner.id, keyId: key!.id, requestId, price, nowMs });
  }
  const reply = await fetch(`${gateway.url}/user/credits?days=30`, {
    headers: { authorization: `Bearer ${gateway.key}` },
  });
  const { usage_by_day } = await reply.json();
  const sum = (values: readonly number[]) => values.reduce((all, one) => all + one, 0);
  const told = sum(usage_by_day.map(({ credits }: { credits: number }) => credits));
  assertEquals(told, 320);
  const browser = await signedIn(gateway, (await accounts.byId(owner.id))!.email);
  for (const by of ["day", "model", "key"]) {
    const csv = await (await browser.get(`/console/usage.csv?by=${by}`)).text();
    const [head, ...rows] = csv.trim().split("\r\n").map((line) => line.split(","));
    assertEquals(sum(rows.map((row) => Number(row[head!.indexOf("credits")]))), told, by);
  }
});

Deno.test("two keys of one name are two rows in the CSV and on the page", async () => {
  await using gateway = await startGateway();
  const { database, keys, owner } = gateway.gateway;
  const two = [await keys.issue(owner, { name: "ci" }), await keys.issue(owner, { name: "ci" })];
  for (const [at, { id }] of two.entries()) {
    const nowMs = Date.now();
    const requestId = newRequestId(nowMs);
    await settlePrice(database, {
      accountId: owner.id,
      keyId: id,
      requestId,
      price: at + 1,
      nowMs,
    });
  }
  const browser = await signedIn(gateway, owner.email);
  const csv = await (await browser.get("/console/usage.csv?by=key")).text();
  const [head, ...rows] = csv.trim().split("\r\n");
  assertEquals(head!.split(",").slice(0, 2), ["key", "key_id"]);
  assertEquals(rows.map((row) => row.split(",")[1]).toSorted(), two.map(({ id }) => id).toSorted());
  const page = await (await browser.get("/console/usage?by=key")).text();
  for (const { hint } of two) assert(page.includes(`ci (${hint})`), hint);
});

Deno.test("each of many readings of credits under load adds up in itself", async () => {
  await using bench = await ledgerBench("file");
  const caller = await bench.account();
  const granted = 1_000_000;
  await bench.grant(caller.accountId, granted);
  const nowMs = Date.now();
  let reading = true;
  const settling = (async () => {
    for (let price = 1; reading; price++) {
      const requestId = newRequestId(nowMs);
      await settlePrice(bench.database, { ...caller, requestId, price: price % 5, nowMs });
    }
  })();
  const wrong: unknown[] = [];
  const balances = new Set<number>();
  const sum = (rows: readonly { credits: number }[]) =>
    rows.reduce((all, { credits }) => all + credits, 0);
  for (let at = 0; at < sized(150, 2_000) || balances.size <= 10 && at < 2_000; at++) {
    const seen = await creditUsage(bench.database, {
      caller: { ...caller, teamId: null, memberId: null, hasBudget: false },
      query: new URLSearchParams(),
      nowMs,
    });
    const left = seen.lots.reduce((all, { remaining }) => all + remaining, 0);
    const { credits_remaining: remaining, credits_consumed: consumed } = seen;
    balances.add(remaining);
    const adds = remaining === left && remaining + consumed === granted &&
      sum(seen.usage_by_day) === consumed && sum(seen.usage_by_hour) === consumed;
    if (!adds) wrong.push({ remaining, left, consumed });
  }
  reading = false;
  await settling;
  assertEquals(wrong.slice(0, 3), []);
  assert(balances.size > 10, `only ${balances.size} different readings`);
  assertEquals((await audit(bench.database)).mismatches, []);
});

Deno.test("the balance that is told without admission leaves out what has expired", async () => {
  let nowMs = NOON;
  await using gateway = await startGateway({ now: () => nowMs });
  const { accounts, keys, sales, database } = gateway.gateway;
  const ada = await accounts.create({ email: "ada@example.com" });
  const { secret } = await keys.issue(ada);
  await sales.grant(ada, { credits: 70, expiresAtMs: NOON + DAY });
  await sales.grant(ada, { credits: 30 });
  nowMs += DAY;
  const reply = await fetch(`${gateway.url}/v1/models`, {
    headers: { authorization: `Bearer ${secret}` },
  });
  await reply.body?.cancel();
  assertEquals(reply.headers.get("x-credits-remaining"), "30");
  assertEquals((await creditsOf(database, ada.id, nowMs)).balance, 30);
});
