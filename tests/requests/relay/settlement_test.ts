/** How long a charge is tried for, by what it fails with, who waits for it, and whether the gateway stops. */

import { DatabaseError } from "../../../src/ground/database/mod.ts";
import type { End } from "../../../src/requests/relay/end.ts";
import {
  Settlement,
  type SettlementOptions,
  type SettlementParts,
} from "../../../src/requests/relay/settlement.ts";
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
  const parts = {
    database: {
      write: (_write: unknown, item: { readonly ending: string }) => {
        attempts.push(item.ending);
        const fault = left.shift();
        if (fault !== undefined) return Promise.reject(FAULTS[fault]);
        return Promise.resolve({ charged: 0, balance: 5 });
      },
    },
    log: { info: () => {}, warn: () => {}, error: () => {} },
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
