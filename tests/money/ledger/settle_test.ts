/** What a settled request is remembered by: of texts that upstreams choose no more than is shown, and never half a character. */

import { BehindWriter } from "../../../src/ground/database/behind_writer.ts";
import { type Database, EmbeddedDatabase } from "../../../src/ground/database/mod.ts";
import { type KeptItems, WriteOutbox } from "../../../src/ground/database/outbox.ts";
import { refusedFiles } from "../../../src/ground/database/refused_items.ts";
import { admit, audit, settle, TierList, type UsageRecord } from "../../../src/money/ledger/mod.ts";
import { assert, assertEquals } from "../../assert.ts";
import {
  type LedgerBench,
  ledgerBench,
  ledgerCaller,
  possible,
  settlePrice,
} from "../../fake/ledger.ts";

const NOW = Date.UTC(2030, 0, 1);

/** Of a request without a price. */
const RECORD = {
  dialect: "chat",
  route: "svc-k2",
  upstream: "one",
  upstreamModel: "m",
  attempts: 1,
  status: 200,
  ending: "complete",
  streamed: false,
  usageSource: null,
  inputTokens: 0,
  cachedTokens: 0,
  outputTokens: 0,
  reasoningTokens: 0,
  startedAtMs: NOW,
  firstTokenMs: null,
  durationMs: 2,
  priceCredits: 0,
  prices: null,
  admittedAtMs: null,
  ignored: "",
  settledAtMs: NOW,
} as const;

/** Settles such a request, and returns its row. */
async function settled(bench: LedgerBench, more: Partial<UsageRecord>) {
  const caller = await bench.account();
  const requestId = `req_${crypto.randomUUID()}`;
  await settle(bench.database, { ...RECORD, ...caller, requestId, ...more });
  const row = await bench.database.one(
    `select streamed, reason, message, attempt_list, tags, details from usage_records
      where request_id = ?`,
    [requestId],
  );
  return row!;
}

Deno.test("a request without a failure, attempts or tags has none, and one with them has them", async () => {
  await using bench = await ledgerBench("file");
  assertEquals({ ...await settled(bench, {}) }, {
    streamed: 0,
    reason: null,
    message: null,
    attempt_list: null,
    tags: null,
    details: null,
  });
  const attempt = { upstream: "one", model: "m", outcome: "status 500", durationMs: 7 };
  const whole = await settled(bench, {
    streamed: true,
    ending: "refused",
    failure: { reason: "upstream_unavailable", message: "It said: no" },
    attemptList: [attempt, { ...attempt, key: "second" }],
    tags: { "team \ud83d": "red \ud83d" },
  });
  const listed = { upstream: "one", model: "m", outcome: "status 500", ms: 7 };
  assertEquals({ ...whole, attempt_list: JSON.parse(String(whole.attempt_list)) }, {
    streamed: 1,
    reason: "upstream_unavailable",
    message: "It said: no",
    attempt_list: [listed, { ...listed, key: "second" }],
    tags: '{"team \ufffd":"red \ufffd"}',
    details: null,
  });
});

Deno.test("a long message is cut where it says so, also if what is shown of it is longer than it is", async () => {
  await using bench = await ledgerBench("file");
  const remembered = async (message: string) =>
    String(
      (await settled(bench, { ending: "refused", failure: { reason: "x", message } })).message,
    );
  assertEquals(await remembered("x".repeat(700)), "x".repeat(700));
  assertEquals(await remembered("x".repeat(701)), `${"x".repeat(699)}…`);
  // shown as \u202e
  assertEquals(await remembered("\u202e".repeat(116)), "\\u202e".repeat(116));
  assertEquals(await remembered("\u202e".repeat(117)), `${"\\u202e".repeat(117).slice(0, 699)}…`);
  assertEquals(await remembered(`${"x".repeat(699)}\ud83d\ude00`), `${"x".repeat(699)}…`);
});

Deno.test("what a reply says of how it was made is remembered without what is unknown, its texts cut", async () => {
  await using bench = await ledgerBench("file");
  const details = async (of: UsageRecord["details"]) => {
    const row = await settled(bench, { details: of });
    return row.details === null ? null : JSON.parse(String(row.details));
  };
  assertEquals(await details(undefined), null);
  assertEquals(await details({ id: undefined, tier: undefined }), null);
  const extras = { searches: [2, 500] } as const;
  assertEquals(await details({ id: "x".repeat(129), tier: undefined, extras }), {
    id: `${"x".repeat(127)}…`,
    extras: { searches: [2, 500] },
  });
});

Deno.test("of many attempts the last twenty are listed", async () => {
  await using bench = await ledgerBench("file");
  const list = async (count: number) => {
    const attemptList = Array.from({ length: count }, (_, at) => (
      { upstream: `u${at}`, model: "m".repeat(200), outcome: "timed out", durationMs: at }
    ));
    const { attempt_list } = await settled(bench, { ending: "upstream_failed", attemptList });
    return JSON.parse(String(attempt_list)) as { upstream: string; model: string }[];
  };
  assertEquals((await list(20)).map(({ upstream }) => upstream)[0], "u0");
  const many = await list(21);
  assertEquals([many.length, many[0]!.upstream, many[19]!.upstream], [20, "u1", "u20"]);
  assertEquals(many[0]!.model, `${"m".repeat(127)}…`);
});

for (const kind of possible(["file", "postgres"])) {
  // Proves P3.
  Deno.test(`a request that costs more than it holds takes nothing of what others hold (${kind})`, async () => {
    await using bench = await ledgerBench(kind);
    const tierList = new TierList([{ above: 0, minute: 9, hour: 9, day: 9 }]);
    const { accountId, keyId, ask } = await ledgerCaller(bench, { tierList, nowMs: NOW });
    await bench.grant(accountId, 12);
    const asked = [ask(5, 5), ask(5, 5)];
    for (const one of asked) await admit(bench.database, one);
    const charged = [];
    for (const [at, price] of [9, 5].entries()) {
      const { requestId } = asked[at]!;
      const ended = { requestId, accountId, keyId, price, nowMs: NOW, admittedAtMs: NOW };
      charged.push((await settlePrice(bench.database, ended)).charged);
    }
    assertEquals(charged, [7, 5]);
    assertEquals((await audit(bench.database)).mismatches, []);
  });
}

Deno.test("settled behind is what its loan covers, and nothing else", async () => {
  await using bench = await ledgerBench("file", { behind: true });
  const caller = await bench.account();
  await bench.grant(caller.accountId, 1_000, null, NOW);
  const end = (price: number, lent?: number) =>
    settle(bench.database, {
      ...RECORD,
      ...caller,
      requestId: `req_${crypto.randomUUID()}`,
      usageSource: "upstream",
      priceCredits: price,
      lent: lent === undefined ? undefined : { loanId: "loan_gone", credits: lent },
    });
  assertEquals(await end(5, 5), { charged: 5, balance: undefined });
  assertEquals(await end(6, 5), { charged: 6, balance: 989 }); // and finds the one before
  assertEquals(await end(7), { charged: 7, balance: 982 });
});

Deno.test("what the outbox of a gateway that was killed has kept is charged when the database is opened, once", async () => {
  await using bench = await ledgerBench("file");
  assert(bench.database instanceof EmbeddedDatabase, "an outbox is beside a file");
  const { accountId, keyId } = await bench.account();
  await bench.grant(accountId, 1_000, null, NOW);
  // the text of a settlement, as a program of this version keeps it
  const sent: KeptItems[] = [];
  const writer = new BehindWriter({
    outbox: {
      keepItems: (kept: KeptItems) => Promise.resolve(void sent.push(kept)),
    } as WriteOutbox,
    send() {},
    taken: () => Promise.resolve(),
  });
  const requestId = `req_${crypto.randomUUID()}`;
  await settle({ writeBehind: (write, item) => writer.write(write, item) } as Database, {
    ...RECORD,
    accountId,
    keyId,
    requestId,
    usageSource: "upstream",
    priceCredits: 5,
    lent: { loanId: "loan_gone", credits: 5 },
  });
  const outbox = new WriteOutbox({
    path: `${bench.database.place}-outbox-gw_dead`,
    database: String((await bench.database.one("select id from database_identity"))!.id),
    durable: false,
    taken: () => Promise.reject(new Error("it was killed")),
  });
  await outbox.keepItems(sent[0]!);
  await outbox.close();
  for (let times = 0; times < 2; times++) {
    await bench.reopen();
    const row = await bench.database.one(
      "select charged_credits, balance_credits from usage_records where request_id = ?",
      [requestId],
    );
    assertEquals({ ...row }, { charged_credits: 5, balance_credits: 995 });
  }
  assertEquals((await audit(bench.database)).mismatches, []);
});

Deno.test("a settlement that the database refuses is in the audit until it is charged", async () => {
  await using bench = await ledgerBench("file");
  const { accountId, keyId } = await bench.account();
  await bench.grant(accountId, 1_000, null, NOW);
  assert(bench.database instanceof EmbeddedDatabase);
  await bench.database.keepOutbox({ gatewayId: "gw", onFault() {}, onRefused() {} });
  const requestId = `req_${crypto.randomUUID()}`;
  const ending = "unheard" as "complete";
  const lent = { loanId: "loan_gone", credits: 5 };
  const price = { usageSource: "upstream", priceCredits: 5 } as const;
  await settle(bench.database, {
    ...RECORD,
    ...{ accountId, keyId, requestId, ending, lent, ...price },
  });
  const file = bench.database.place;
  for (let times = 0; times < 2; times++) {
    await bench.reopen();
    assertEquals((await audit(bench.database)).mismatches, [{
      noun: "settlement",
      kind: "refused",
      id: requestId,
      found: null,
      expected: 5,
      promise: "P2",
    }]);
  }
  const [kept = ""] = await refusedFiles(file);
  await Deno.writeTextFile(
    kept,
    (await Deno.readTextFile(kept)).replace('"unheard"', '"complete"'),
  );
  for (let times = 0; times < 2; times++) {
    await bench.reopen();
    assertEquals((await audit(bench.database)).mismatches, []);
    assertEquals(await refusedFiles(file), []);
    const balance = await bench.database.one("select balance from balances where account_id = ?", [
      accountId,
    ]);
    assertEquals(balance?.balance, 995);
  }
});
