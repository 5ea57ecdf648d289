/** How long a charge is tried for, by what it fails with, who waits for it, and whether the gateway stops. */

import { DatabaseError } from "../../../src/ground/database/mod.ts";
import type { End } from "../../../src/requests/relay/end.ts";
import {
  type SentRequest,
  Settlement,
  type SettlementOptions,
  type SettlementParts,
} from "../../../src/requests/relay/settlement.ts";
import { countedUsage } from "../../../src/wire/dialects/mod.ts";
import { assertEquals } from "../../assert.ts";

const FAULTS = {
  busy: new DatabaseError("SQLITE_BUSY", "in use", { kind: "busy" }),
  reopening: new DatabaseError("SLUICE_REOPENING", "in a moment"),
  unknown: new DatabaseError("SLUICE_TEST", "no answer", { outcomeUnknown: true }),
  wrong: new DatabaseError("SQLITE_ERROR", "no such table", { kind: "statement" }),
  closed: new DatabaseError("SLUICE_CLOSED", "closed"),
  bug: new TypeError("a fault of the gateway"),
} as const;
type FaultName = keyof typeof FAULTS;

const ENDS = {
  /** Its client waits for the end of its response. */
  waited: { ending: "complete", status: 200 },
  /** Nobody waits. */
  left: { ending: "client_left", status: 200, patient: true },
  /** It is answered at once. */
  failed: { ending: "upstream_failed", status: 502 },
} as const satisfies Record<string, End>;

/** Settles one request with a database that fails in some ways, one after the other, and then does not. */
async function settled(end: End, faults: readonly FaultName[], { isStopping = false } = {}) {
  const left = [...faults];
  const attempts: string[] = [];
  const held: unknown[] = [];
  let warnings = 0;
  const parts = {
    database: {
      write: (_write: unknown, item: { readonly ending: string }) => {
        attempts.push(item.ending);
        const fault = left.shift();
        if (fault !== undefined) return Promise.reject(FAULTS[fault]);
        return Promise.resolve({ charged: 0, balance: 5 });
      },
    },
    log: { info: () => {}, warn: () => warnings++, error: () => {} },
    metrics: { request: () => {} },
    now: () => 0,
  } as unknown as SettlementParts;
  const options = {
    trace: { begin: () => ({ end: () => {} }) },
    caller: { accountId: "acc", keyId: "key" },
    route: { id: "m" },
    hold: { charge: () => 7, end: (one: unknown) => held.push(one), admittedAtMs: null },
    startedTick: 0,
    cutOff: isStopping ? AbortSignal.abort() : new AbortController().signal,
  } as unknown as SettlementOptions;
  const settlement = new Settlement(parts, options);
  const outcome = await settlement.settle(end).then(
    ({ balance }) => balance,
    (error) => Object.entries(FAULTS).find(([, fault]) => fault === error)?.[0],
  );
  // a second end changes nothing
  await settlement.settle(ENDS.failed).catch(() => {});
  await settlement.behind;
  const isSettled = typeof outcome === "number";
  if (isSettled) assertEquals(warnings, faults.length === 0 ? 0 : 1, `warnings for ${faults}`);
  assertEquals(held, [isSettled ? { charged: 0, balance: 5, priceCredits: 0 } : undefined]);
  return { outcome, endings: attempts };
}

/** The end, the faults, how it comes out, and how each attempt would have it recorded. */
const CASES: readonly (readonly [
  end: keyof typeof ENDS,
  faults: readonly FaultName[],
  outcome: number | FaultName,
  endings: readonly string[],
  stopping?: true,
])[] = [
  ["waited", [], 5, ["complete"]],
  ["waited", ["busy"], 5, ["complete", "complete"]],
  ["waited", ["reopening"], 5, ["complete", "complete"]],
  ["waited", ["busy", "busy"], 5, ["complete", "complete", "complete"]],
  ["waited", ["busy", "wrong"], "wrong", ["complete", "complete", "refused"]],
  // what may have been done is not given up for what otherwise would end the attempts
  ["waited", ["unknown", "wrong"], 5, ["complete", "complete", "complete"]],
  // the client gets an error, so the request costs nothing
  ["waited", ["wrong"], "wrong", ["complete", "refused"]],
  ["waited", ["bug"], "bug", ["complete", "refused"]],
  ["waited", ["unknown", "closed"], "closed", ["complete", "complete", "refused"]],
  ["waited", ["busy"], "busy", ["complete", "refused"], true],
  ["left", ["wrong"], 5, ["client_left", "client_left"]],
  ["left", ["closed"], "closed", ["client_left"]],
  ["left", ["bug"], "bug", ["client_left"]],
  ["left", ["wrong"], "wrong", ["client_left"], true],
  ["failed", [], 5, ["upstream_failed"]],
  ["failed", ["busy"], "busy", ["upstream_failed", "upstream_failed"]],
  ["failed", ["busy", "wrong"], "busy", Array.from({ length: 3 }, () => "upstream_failed")],
  ["failed", ["busy", "wrong"], "busy", ["upstream_failed", "upstream_failed"], true],
];

Deno.test("a charge is tried again for as long as it may succeed and somebody can wait, once for each request", async () => {
  const awake = setInterval(() => {}, 1_000); // the pauses between attempts keep no process from ending
  try {
    await Promise.all(CASES.map(async ([end, faults, outcome, endings, isStopping = false]) => {
      const seen = await settled(ENDS[end], faults, { isStopping });
      assertEquals(seen, { outcome, endings: [...endings] }, `${end}: ${faults}`);
    }));
  } finally {
    clearInterval(awake);
  }
});

Deno.test("the pauses between attempts double up to two seconds", async () => {
  const awake = setInterval(() => {}, 1_000);
  const own = globalThis.setTimeout;
  const pauses: unknown[] = [];
  const soon = (act: () => void, ms: number) => (pauses.push(ms), own(act, 0));
  Object.assign(globalThis, { setTimeout: soon });
  try {
    const faults = Array.from({ length: 5 }, () => "busy" as const);
    assertEquals((await settled(ENDS.left, faults)).outcome, 5);
  } finally {
    Object.assign(globalThis, { setTimeout: own });
    clearInterval(awake);
  }
  assertEquals(pauses, [500, 1_000, 2_000, 2_000, 2_000]);
});

/** A credit for each token, half of that with a key of the caller's own; nine for each of a long input. */
const ROUTE = {
  id: "m",
  minimum: 10,
  ownKeyShare: 0.5,
  prices: { input: 1_000_000, cached: 1_000_000, output: 1_000_000 },
  units: { requests: 2_000_000 },
  rows: [],
  row: {
    name: "r",
    when: 0,
    units: { input: [1_000_000, 200, 9_000_000], output: 1_000_000, requests: 2_000 },
  },
} as unknown as SettlementOptions["route"];
const TARGET = { upstream: "up", model: "their-m" };

/** How a request is recorded, logged and measured. */
async function recorded(end: End, sent: Partial<SentRequest> = {}) {
  const items: Record<string, unknown>[] = [];
  const lines: Record<string, unknown>[] = [];
  const measured: Record<string, unknown>[] = [];
  const parts = {
    database: {
      write: (_write: unknown, item: Record<string, unknown>) => {
        items.push(item);
        return Promise.resolve({ charged: 3, balance: undefined });
      },
    },
    log: { info: (_message: string, line: Record<string, unknown>) => lines.push(line) },
    metrics: { request: (one: Record<string, unknown>) => measured.push(one) },
    now: () => 0,
  } as unknown as SettlementParts;
  const options = {
    trace: { begin: () => ({ end: () => {} }) },
    caller: { accountId: "acc", keyId: "key" },
    route: ROUTE,
    used: { asked: {}, tools: {}, factor: 1, writeFactor: 1, maxCalls: 0, isText: true },
    hold: { charge: () => 7, end: () => {}, admittedAtMs: null },
    startedTick: 0,
    cutOff: new AbortController().signal,
  } as unknown as SettlementOptions;
  const settlement = new Settlement(parts, options);
  settlement.sent = { target: TARGET, attempts: 1, outcomes: undefined, changed: [], ...sent };
  const { balance } = await settlement.settle(end);
  const [item] = items as [Record<string, unknown>];
  return { item, line: lines[0]!, measured: measured[0]!, balance };
}

Deno.test("a charge is by the input of each request, and by the share of a key of the caller's own", async () => {
  const usage = countedUsage(300, 4);
  const charged = async (more: Partial<End>, sent?: Partial<SentRequest>) => {
    const end = { ending: "complete", status: 200, usage, usageSource: "upstream", ...more } as End;
    const { item, measured, balance } = await recorded(end, sent);
    assertEquals([balance, measured.chargedCredits], [7, 3], "the balance that the hold knows");
    assertEquals(measured.priceCredits, item.price_credits);
    const { row, extras } = JSON.parse(String(item.details ?? "{}"));
    return [item.price_credits, item.minimum_credits, item.input_price, row, extras !== undefined];
  };
  assertEquals(await charged({}), [2_706, 10, 9_000_000, "r", true]);
  assertEquals(await charged({ requests: 2 }), [308, 10, 1_000_000, "r", true]);
  const own = { ownKey: "team" } as const;
  assertEquals(await charged({}, own), [1_353, 5, 4_500_000, undefined, true]);
  assertEquals(await charged({ requests: 2 }, own), [154, 5, 500_000, undefined, true]);
  assertEquals(await charged({ requests: 0 }, own), [1_352, 5, 4_500_000, undefined, false]);
  assertEquals(await charged({ usage: undefined }), [0, null, null, undefined, false]);
});

Deno.test("the attempts of a failed request say which broke off after its reply, and those of another one are as they were", async () => {
  const attempt = (outcome: string) => ({ ...TARGET, outcome, durationMs: 5 });
  const listOf = async (ending: End["ending"], sent: Partial<SentRequest>) => {
    const { item } = await recorded({ ending, status: 502 }, sent);
    return item.attempt_list === undefined
      ? undefined
      : JSON.parse(String(item.attempt_list)).map((one: { outcome: string }) => one.outcome);
  };
  const broke = "replied, then broke off";
  const [away, replied] = [attempt("status 503"), attempt("replied")];
  assertEquals(await listOf("upstream_failed", { outcomes: [away, away] }), [
    away.outcome,
    away.outcome,
  ]);
  assertEquals(await listOf("upstream_failed", { outcomes: [away, replied] }), [
    away.outcome,
    broke,
  ]);
  assertEquals(await listOf("upstream_failed", { attempts: 1 }), [broke]);
  assertEquals(await listOf("upstream_failed", { attempts: 2 }), undefined);
  assertEquals(await listOf("upstream_failed", { target: undefined }), undefined);
  assertEquals(await listOf("upstream_failed", { outcomes: [], attempts: 0 }), undefined);
  assertEquals(await listOf("client_left", { outcomes: [away, replied] }), [
    away.outcome,
    replied.outcome,
  ]);
  assertEquals(await listOf("client_left", {}), undefined);
});
