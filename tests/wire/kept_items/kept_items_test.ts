import type { Database } from "../../../src/ground/database/mod.ts";
import { findSurplus, KeptItems, pruneExpired } from "../../../src/wire/kept_items/mod.ts";
import { BoundCipher } from "../../../src/wire/sealing/mod.ts";
import { createLog, SILENT } from "../../../src/ground/telemetry/mod.ts";
import { Retention } from "../../../src/money/usage/mod.ts";
import { assert, assertEquals } from "../../assert.ts";
import { ledgerBench, possible } from "../../fake/ledger.ts";

const HOUR = 3_600_000;
const NOW = Date.UTC(2030, 0, 1);
const cipher = new BoundCipher(new Uint8Array(32).fill(1), "test");

function keeping(database: Database, more: { now?: () => number; keepMs?: number } = {}) {
  return new KeptItems({ database, cipher, log: SILENT, now: () => NOW, keepMs: HOUR, ...more });
}

const message = (id: string, text = "Hello") => ({
  id,
  type: "message",
  role: "assistant",
  content: [{ type: "output_text", text, annotations: [] }],
});

for (const kind of possible(["file", "server", "postgres"])) {
  Deno.test(`${kind}: kept items are found by their account and by no other, as they were`, async () => {
    await using bench = await ledgerBench(kind);
    const { accountId: ada } = await bench.account();
    const { accountId: bob } = await bench.account();
    const kept = keeping(bench.database);
    const items = [message("msg_1", "\ud800 half a pair, \u0000 and 😀"), {
      id: "rs_1",
      type: "reasoning",
      summary: [],
      encrypted_content: "sl1.abc",
    }];
    await kept.keep(ada, "resp_1", items);
    await kept.keep(ada, "resp_1", items); // a write whose answer was lost comes twice
    await kept.keep(bob, "resp_2", [message("msg_2")]);
    assertEquals<unknown>(
      [...await kept.find(ada, ["msg_1", "rs_1", "msg_2", "msg_3", "msg_1"])]
        .toSorted(([one], [other]) => one < other ? -1 : 1),
      items.map((item): [string, unknown] => [item.id, item]),
    );
    assertEquals([...await kept.find(bob, ["msg_1", "rs_1"])], []);
    assertEquals([...await kept.find(bob, [])], []);
    const other = await bench.connect();
    assertEquals([...(await keeping(other).find(bob, ["msg_2"])).keys()], ["msg_2"]);
    await other.close();
  });
}

Deno.test("items of a reply that are more than a libSQL server takes at once are kept", async () => {
  await using bench = await ledgerBench("server");
  const { accountId } = await bench.account();
  const kept = keeping(bench.database);
  const ids = ["big_1", "big_2", "big_3", "msg_1"];
  await kept.keep(
    accountId,
    "resp_1",
    ids.map((id) => message(id, id === "msg_1" ? "Hello" : "x".repeat(2_000_000))),
  );
  const found = await bench.database.all("select item_id from kept_items order by item_id");
  assertEquals(found.map(({ item_id: id }) => id), ids);
});

Deno.test("no text of an item is in the database", async () => {
  await using bench = await ledgerBench("file");
  const { accountId } = await bench.account();
  await keeping(bench.database).keep(accountId, "resp_1", [message("msg_1", "canary")]);
  const rows = JSON.stringify(await bench.database.all("select * from kept_items"));
  assert(rows.includes("msg_1"));
  assert(!rows.includes("canary") && !rows.includes(btoa("canary").slice(0, 6)));
});

Deno.test("a row that is moved to another account or ID is not read, nor one that was changed", async () => {
  await using bench = await ledgerBench("file");
  const { accountId: ada } = await bench.account();
  const { accountId: bob } = await bench.account();
  const kept = keeping(bench.database);
  await kept.keep(ada, "resp_1", [message("msg_1"), message("msg_2"), message("msg_3")]);
  await bench.database.batch([
    { sql: "update kept_items set account_id = ? where item_id = 'msg_1'", args: [bob] },
    { sql: "update kept_items set item_id = 'msg_4' where item_id = 'msg_2'" },
    { sql: "update kept_items set sealed = 'AAAA' || sealed where item_id = 'msg_3'" },
  ]);
  const all = ["msg_1", "msg_2", "msg_3", "msg_4"];
  assertEquals([...await kept.find(ada, all)], []);
  assertEquals([...await kept.find(bob, all)], []);
  const others = new KeptItems({
    database: bench.database,
    cipher: new BoundCipher(new Uint8Array(32).fill(2), "test"),
    log: SILENT,
    now: () => NOW,
    keepMs: HOUR,
  });
  await kept.keep(ada, "resp_2", [message("msg_5")]);
  assertEquals([...await others.find(ada, ["msg_5"])], [], "restored without its key");
});

Deno.test("items expire by the clock, are then deleted, and are not kept when that is switched off", async () => {
  await using bench = await ledgerBench("file");
  const { accountId } = await bench.account();
  let nowMs = NOW;
  const now = () => nowMs;
  const kept = keeping(bench.database, { now });
  await kept.keep(accountId, "resp_1", [message("msg_1")]);
  nowMs += HOUR - 1;
  assertEquals((await kept.find(accountId, ["msg_1"])).size, 1);
  await kept.keep(accountId, "resp_2", [message("msg_2")]);
  nowMs += 1;
  assertEquals([...(await kept.find(accountId, ["msg_1", "msg_2"])).keys()], ["msg_2"]);
  const { database } = bench;
  const retention = new Retention({ database, log: SILENT, now, days: 90, rows: 1_000 });
  await retention.pruneItems();
  assertEquals(await database.all("select item_id from kept_items"), [{ item_id: "msg_2" }]);
  const off = keeping(database, { now, keepMs: 0 });
  assertEquals((await off.find(accountId, ["msg_2"])).size, 0);
  await off.keep(accountId, "resp_3", [message("msg_3")]);
  assertEquals(await database.all("select item_id from kept_items"), [{ item_id: "msg_2" }]);
});

Deno.test("an account has at most 2,000 items and 16 MB of them: the oldest go first, other accounts' stay", async () => {
  await using bench = await ledgerBench("file");
  const { accountId: ada } = await bench.account();
  const { accountId: bob } = await bench.account();
  let nowMs = NOW;
  const kept = keeping(bench.database, { now: () => nowMs });
  await kept.keep(bob, "resp_bob", [message("msg_bob")]);
  const ids = (from: number, count: number) =>
    Array.from({ length: count }, (_, at) => `msg_${from + at}`);
  const keep = async (reply: string, all: readonly string[], text?: string) => {
    nowMs++;
    await kept.keep(ada, reply, all.map((id) => message(id, text)));
  };
  await keep("resp_1", ids(0, 1_500));
  await keep("resp_2", ids(1_500, 500));
  assertEquals((await kept.find(ada, ids(0, 2_000))).size, 2_000);
  await keep("resp_3", ids(2_000, 10));
  const found = await kept.find(ada, ids(0, 2_010));
  assertEquals([found.size, found.has("msg_2009"), found.has("msg_1500")], [2_000, true, true]);

  await keep("resp_4", ["big_1", "big_2"], "x".repeat(5_000_000));
  await keep("resp_5", ["big_3"], "x".repeat(5_000_000));
  assertEquals((await kept.find(ada, ["big_1", "big_2", "big_3"])).size, 2);
  assertEquals((await kept.find(ada, ["big_3"])).size, 1);
  await keep("resp_6", ["huge"], "x".repeat(13_000_000));
  assertEquals((await kept.find(ada, ["huge", "big_3"])).size, 1, "one that is too long by itself");
  assertEquals((await kept.find(bob, ["msg_bob"])).size, 1);
});

Deno.test("of too many items in all, the oldest are found", async () => {
  await using bench = await ledgerBench("file");
  const { accountId } = await bench.account();
  let nowMs = NOW;
  const kept = keeping(bench.database, { now: () => nowMs });
  for (let reply = 0; reply < 30; reply++) {
    nowMs++;
    await kept.keep(accountId, `resp_${reply}`, [message(`a_${reply}`), message(`b_${reply}`)]);
  }
  const { database } = bench;
  assertEquals(await findSurplus(database, { rows: 60, bytes: 1e9 }), undefined);
  const surplusMs = await findSurplus(database, { rows: 20, bytes: 1e9 });
  await pruneExpired(database, { nowMs: surplusMs!, limit: 1_000 });
  const left = await database.all("select item_id from kept_items order by expires_at_ms");
  assert(left.length <= 20 && left.length >= 18, String(left.length));
  assertEquals(left.at(-1)!.item_id, "b_29");
  assertEquals(await findSurplus(database, { rows: 20, bytes: 1e9 }), undefined);
  assert(await findSurplus(database, { rows: 20, bytes: 100 }) !== undefined);
});

Deno.test("accounts whose items are kept at the same time do not displace each other's", async () => {
  await using bench = await ledgerBench("file");
  const accounts = [(await bench.account()).accountId, (await bench.account()).accountId];
  const kept = keeping(bench.database);
  const items = Array.from({ length: 1_500 }, (_, at) => message(`msg_${at}`, "a"));
  await Promise.all(accounts.map((account, at) => kept.keep(account, `resp_${at}`, items)));
  const ids = items.map(({ id }) => id);
  for (const account of accounts) assertEquals((await kept.find(account, ids)).size, 1_500);
});

Deno.test("surplus items are found beyond those that are counted at a time", async () => {
  await using bench = await ledgerBench("file");
  const { accountId } = await bench.account();
  await bench.database.batch([{
    sql: `insert into kept_items (account_id, item_id, bytes, created_at_ms, expires_at_ms, sealed)
      with recursive n(i) as (select 1 union all select i + 1 from n where i < 12000)
      select ?, 'msg_' || i, 10, 0, i, 'x' from n`,
    args: [accountId],
  }]);
  const limits = (rows: number, bytes: number) => findSurplus(bench.database, { rows, bytes });
  assertEquals(await limits(11_000, 1e9), 1_000);
  assertEquals(await limits(1e9, 110_000), 1_000);
  assertEquals(await limits(12_000, 120_000), undefined);
});

Deno.test("deleting says whether there may be more", async () => {
  await using bench = await ledgerBench("file");
  const { accountId } = await bench.account();
  await keeping(bench.database).keep(accountId, "resp_1", [
    message("msg_1"),
    message("msg_2"),
    message("msg_3"),
  ]);
  const nowMs = NOW + 2 * HOUR;
  assertEquals(await pruneExpired(bench.database, { nowMs, limit: 2 }), true);
  assertEquals(await pruneExpired(bench.database, { nowMs, limit: 2 }), false);
});

Deno.test("a write that fails is logged, and nobody's else", async () => {
  await using bench = await ledgerBench("file");
  const { accountId } = await bench.account();
  let lines = "";
  const log = createLog({
    format: "json",
    level: "debug",
    now: Date.now,
    write: (text) => lines += text,
  });
  const kept = new KeptItems({
    database: bench.database,
    cipher,
    log,
    now: () => NOW,
    keepMs: HOUR,
  });
  await Promise.all([
    kept.keep("nobody", "resp_1", [message("msg_1", "canary")]), // no such account
    kept.keep(accountId, "resp_2", [message("msg_2"), { type: "message" }, { id: 7 }]),
  ]);
  assertEquals((await kept.find(accountId, ["msg_2"])).size, 1);
  assert(lines.includes("items of a reply were not kept") && lines.includes("resp_1"));
  assert(!lines.includes("canary") && !lines.includes("resp_2"));
});

Deno.test("IDs are looked up as they are: no other text reaches the database", async () => {
  await using bench = await ledgerBench("file");
  const { accountId } = await bench.account();
  const kept = keeping(bench.database);
  const odd = ["\ud800", "a b", "'", "%", "", "x".repeat(129), "__proto__\u0000"];
  await kept.keep(accountId, "resp_1", odd.map((id) => message(id)));
  assertEquals((await kept.find(accountId, odd)).size, 0);
  await kept.keep(accountId, "resp_2", [message("__proto__")]);
  assertEquals((await kept.find(accountId, ["__proto__"])).size, 1);
});
