/** Every row of `docs/faults.md`, column by column. */

import { assert, assertEquals, assertMatch } from "../assert.ts";
import { assertLedgerClean } from "../fake/customer.ts";
import { usageRecords } from "../fake/gateway.ts";
import { sleep, until } from "../fake/temp.ts";
import {
  type Bench,
  type Benches,
  type Logged,
  openBenches,
  type ProvenRow,
  type RunRow,
} from "./abuse/row.ts";
import { faultsTable, isPending, SECTIONS } from "./abuse/table.ts";

const ROOT = new URL("../../", import.meta.url);

/** Rows that run at once, each at a gateway of its own: most of them wait for something most of the time. */
const LANES = 3;

Deno.test("faults and abuse", async (t) => {
  const left = SECTIONS.flatMap(({ title, rows }) => rows.map((row) => ({ title, row })));
  await Promise.all(Array.from({ length: LANES }, async () => {
    await using benches = await openBenches();
    for (let next = left.shift(); next !== undefined; next = left.shift()) {
      const { title, row } = next;
      await t.step({
        name: `${title.toLowerCase()}: ${row.name}`,
        ignore: isPending(row) || ("onlyOn" in row && row.onlyOn !== Deno.build.os),
        // other rows run meanwhile, and connections to a gateway outlast a row: the test as a whole leaves nothing
        sanitizeOps: false,
        sanitizeResources: false,
        sanitizeExit: false,
        fn: () => "run" in row ? check(row, benches) : checkProof(row),
      });
    }
  }));
});

/** The test that a row names exists. */
async function checkProof({ proof }: ProvenRow): Promise<void> {
  const text = await Deno.readTextFile(new URL(proof.file, ROOT));
  const names = [...text.matchAll(/Deno\.test\(([^]*?)=>/g)].map(([, name]) => name!);
  assert(names.some((name) => name.includes(proof.test)), `no test of ${proof.file}`);
}

async function check(row: RunRow, benches: Benches): Promise<void> {
  await using bench = await benches.start(row);
  const before = await bench.who.balance();
  assertEquals(await row.run(bench), row.clientSees);
  // what a client that disconnected leaves behind takes a moment to be noticed
  await until(async () => isDone(row, linesOf(bench), await recordsOf(bench)))
    .catch(() => {}); // the comparison says more
  await sleep(20);
  assertEquals(
    { ...await recordsOf(bench), credits: before - await bench.who.balance() },
    { record: row.charged.record, by: row.charged.by, credits: row.charged.credits },
  );
  await checkReason(row, bench);
  const lines = linesOf(bench);
  assertEquals(lines.toSorted(), row.logged.toSorted(), bench.gateway.log());
  if (bench.gateway.gateway.inFlight.count === 0) await assertLedgerClean(bench.gateway);
}

/** A complete request has no reason; every other says why, in words that hold no secret and no address. */
async function checkReason({ charged }: RunRow, bench: Bench): Promise<void> {
  const [record] = (await usageRecords(bench.gateway))
    .filter((one) => one.account_id === bench.who.accountId);
  if (record === undefined) return;
  const { reason, message, attempt_list: list } = record;
  if (record.ending === "complete") return assertEquals([reason, message], [null, null]);
  assert(charged.record !== undefined);
  assertMatch(String(reason), /^[a-z_]+$/);
  assertMatch(String(message), /^.{1,700}$/);
  assert(!/127\.0\.0\.1|sk-/.test(`${message}${list}`), `${message} ${list}`);
  const isUpstreams = record.ending === "upstream_failed";
  assertEquals(isUpstreams, reason === "upstream_unavailable" || reason === "rate_exceeded");
  if (!isUpstreams) return;
  const attempts: { outcome: string; ms: number }[] = JSON.parse(String(list));
  assertEquals(attempts.length, record.attempts);
  for (const { outcome, ms } of attempts) assert(outcome !== "replied" && ms >= 0, String(list));
}

function isDone(
  { charged, logged }: RunRow,
  lines: readonly string[],
  { record }: { record: unknown },
): boolean {
  return record === charged.record && logged.every((line) => lines.includes(line));
}

/** The ending of the customer's request, and what it was charged by. */
async function recordsOf({ gateway, who }: Bench) {
  const records = (await usageRecords(gateway)).filter((one) => one.account_id === who.accountId);
  assert(records.length <= 1, `${records.length} records`);
  return {
    record: records[0]?.ending as string | undefined,
    by: (records[0]?.usage_source ?? undefined) as string | undefined,
  };
}

/** Levels and messages that were logged, each once. */
function linesOf({ gateway }: Bench): Logged[] {
  const lines = gateway.log().split("\n").filter((line) => line !== "").map((line) => {
    const { level, message } = JSON.parse(line);
    return `${level} ${message}` as Logged;
  });
  return [...new Set(lines)];
}

Deno.test("docs/faults.md is what the rows say", async () => {
  assertEquals(
    await Deno.readTextFile(new URL("docs/faults.md", ROOT)),
    faultsTable(),
    "regenerate it with: deno run -A tests/flow/abuse/table.ts",
  );
});
