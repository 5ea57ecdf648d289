/** What admission asks of the ledger, and what it makes of the answers, at each bound and beside it; the ledger is in memory. */

import type { Caller } from "../../../src/people/accounts/mod.ts";
import { Admission } from "../../../src/requests/admission/mod.ts";
import type { AdmissionRequest } from "../../../src/requests/admission/admission.ts";
import { type AccountStatus, type Decision, TierList } from "../../../src/money/ledger/mod.ts";
import type { Database, GroupWrite, JsonObject, Row } from "../../../src/ground/database/mod.ts";
import { Refusal } from "../../../src/ground/refusal.ts";
import { SILENT } from "../../../src/ground/telemetry/mod.ts";
import { assert, assertEquals, assertRejects } from "../../assert.ts";

const LEASE_MS = 60_000;
const TIERS = new TierList([{ above: 0, minute: 1_000, hour: 1_000, day: 1_000 }]);
const CALLER = { accountId: "acc", keyId: "key", hasBudget: false, atOnce: null } as Caller;
/** A credit for each token. */
const ROUTE = {
  id: "m",
  minimum: 1,
  prices: { input: 1_000_000, cached: 1_000_000, output: 1_000_000 },
} as unknown as AdmissionRequest["route"];
const WINDOWS: AccountStatus["windows"] = [{ of: "key", span: "minute", limit: 10, used: 3 }];

/** Admission over a ledger that answers as the test says. */
function scene(
  { lendFrom = Infinity, ended }: {
    lendFrom?: number;
    ended?: (ids: readonly string[]) => Promise<readonly string[]>;
  } = {},
) {
  const at = {
    tick: 0,
    /** What it was asked to admit, and to which credits holds were to grow. */
    asked: [] as Readonly<Record<string, unknown>>[],
    grows: [] as number[],
    decides: (_item: Readonly<Record<string, unknown>>): Partial<Decision> => ({}),
    grown: (wanted: number): number => wanted,
    /** Questions for loans, recalls of loans, periods that were opened, reaps, and releases of loans of others. */
    asks: 0,
    recalls: 0,
    opens: 0,
    reaps: 0,
    releases: 0,
    warnings: 0,
    isLent: false,
    lapsed: [] as Row[],
    /** Whether it is waited for others to return what was recalled. */
    isWaitedFor: (): boolean => false,
    /** How long a renewal takes. */
    slowMs: 0,
  };
  const database: Database = {
    place: "memory",
    waiting: 0,
    all(sql) {
      const rows = (rows: Row[]) => Promise.resolve(rows);
      if (sql.includes("from budgets")) return at.opens++, rows([]);
      if (sql.startsWith("select distinct") && sql.includes("from holds")) {
        return at.reaps++, rows([]);
      }
      if (sql.includes("?2")) {
        at.recalls++;
        return rows(at.isLent ? [{ account_id: "acc", key_id: "" }] : []);
      }
      if (sql.includes("loan_id in")) return at.releases++, rows([]);
      if (sql.startsWith("select gateway_id")) return rows(at.lapsed);
      if (sql.includes("as renewed")) at.tick += at.slowMs;
      return rows([]);
    },
    one: () => Promise.resolve(at.isWaitedFor() ? { found: 1 } : undefined),
    batch(statements) {
      if (statements.some(({ sql }) => sql.includes("loan_requests"))) at.asks++;
      return Promise.resolve([[], [], [], [{}], [], []]);
    },
    write<Item extends JsonObject, Outcome>(write: GroupWrite<Item, Outcome>, item: Item) {
      const given: Readonly<Record<string, unknown>> = item;
      if (write.name === "growth") {
        const wanted = Number(given.wanted);
        at.grows.push(wanted);
        return Promise.resolve(at.grown(wanted) as Outcome);
      }
      at.asked.push(given);
      return Promise.resolve({
        verdict: "admitted",
        credits: given.wanted,
        asked: given.most,
        lentMs: undefined,
        balance: 1_000,
        bound: 0,
        windows: WINDOWS,
        budget: undefined,
        ...at.decides(given),
      } as Outcome);
    },
    close: () => Promise.resolve(),
  };
  const admission = new Admission({
    database,
    tierList: TIERS,
    gatewayId: "gw",
    leaseMs: LEASE_MS,
    log: { ...SILENT, warn: () => void at.warnings++ },
    now: () => 0,
    monotonicNow: () => at.tick,
    lendFrom,
    ended,
  });
  const statuses: AccountStatus[] = [];
  return {
    at,
    admission,
    statuses,
    admit: (more: Partial<AdmissionRequest> = {}) =>
      admission.admit({
        requestId: "req_1",
        caller: CALLER,
        route: ROUTE,
        stream: false,
        inputTokens: 10,
        permittedOutput: 100,
        choices: 1,
        ...more,
      }, (status) => statuses.push(status)),
  };
}

Deno.test("a request asks for what it may cost: a stream for its first steps, with what it may cost beyond its tokens (table)", async () => {
  const free = { ...ROUTE, minimum: 0, prices: { input: 0, cached: 0, output: 0 } };
  const rows: readonly (readonly [
    more: Partial<AdmissionRequest>,
    asked: readonly [least: number, wanted: number, most: number],
  ])[] = [
    [{}, [11, 110, 110]],
    [{ stream: true }, [11, 110, 110]],
    [{ stream: true, permittedOutput: 10_000 }, [11, 4_106, 10_010]],
    [{ permittedOutput: 10_000 }, [11, 10_010, 10_010]],
    [{ stream: true, permittedOutput: 10_000, choices: 2 }, [22, 8_212, 20_020]],
    [{ isWhole: true }, [110, 110, 110]],
    [{ isWhole: true, stream: true, permittedOutput: 10_000 }, [10_010, 4_106, 10_010]],
    [{ reserved: 50 }, [11, 160, 160]],
    [{ reserved: 50, isWhole: true }, [160, 160, 160]],
    // an account without credits cannot use a free model either
    [{ route: free }, [1, 1, 1]],
  ];
  for (const [more, asked] of rows) {
    const { at, admit } = scene();
    await admit(more);
    const [{ least, wanted, most } = {}] = at.asked;
    assertEquals([least, wanted, most], [...asked], JSON.stringify(more));
  }
});

Deno.test("output is what the credits cover; what is short of them is missing from the reserve first (table)", async () => {
  const long = { stream: true, permittedOutput: 10_000 };
  const rows: readonly (readonly [
    more: Partial<AdmissionRequest>,
    decision: Partial<Decision>,
    seen: readonly [permitted: number, paid: number],
  ])[] = [
    [{}, {}, [100, 100]],
    [{}, { credits: 60, asked: 110 }, [50, 50]],
    [{}, { credits: 1_000 }, [100, 164]],
    [{ choices: 2 }, { credits: 120 }, [50, 100]],
    [long, {}, [10_000, 4_096]],
    [long, { asked: 5_010 }, [5_000, 4_096]],
    [{ ...long, reserved: 50 }, {}, [10_000, 4_096]],
    [{ ...long, reserved: 50 }, { credits: 4_155, asked: 4_155 }, [4_145, 4_145]],
    [{ reserved: 50 }, {}, [100, 100]],
    [{ reserved: 50 }, { credits: 130 }, [100, 100]],
    [{ reserved: 50 }, { credits: 100 }, [90, 90]],
  ];
  for (const [more, decision, [permitted, paid]] of rows) {
    const { at, admit, statuses } = scene();
    at.decides = () => decision;
    const { permittedOutput, hold } = await admit(more);
    const text = JSON.stringify([more, decision]);
    assertEquals([permittedOutput, hold.outputTokens], [permitted, paid], text);
    assertEquals(statuses.map(({ windows }) => windows.map(({ used }) => used)), [[4]]);
  }
});

Deno.test("a request that is not admitted counts in no window, and is told so", async () => {
  const { at, admit, statuses } = scene();
  at.decides = () => ({ verdict: "credits", credits: 5 });
  const { reason } = await assertRejects(() => admit(), Refusal);
  assertEquals([reason, statuses.map(({ windows }) => windows)], ["credits_short", [WINDOWS]]);
});

Deno.test("what is lent is recalled as often as it takes, up to twenty times; so are periods opened", async () => {
  const { at, admit } = scene();
  at.decides = ({ may_recall }) => ({ verdict: may_recall === 1 ? "recall" : "credits" });
  await assertRejects(() => admit(), Refusal, "This request costs at least");
  assertEquals(at.asked.length, 21);
  at.asked.length = 0;
  at.decides = () => ({ verdict: "period" });
  await assertRejects(() => admit(), Refusal, "A budget cannot be renewed");
  assertEquals([at.asked.length, at.opens], [21, 20]);
  // who did not return it a moment ago is not waited for
  at.asked.length = 0;
  at.isWaitedFor = () => (at.tick += 2_000, true);
  at.decides = ({ may_recall }) => ({ verdict: may_recall === 1 ? "recall" : "credits" });
  await assertRejects(() => admit(), Refusal);
  assertEquals(at.asked.map(({ may_recall }) => may_recall), [1, null]);
});

Deno.test("a hold that cannot grow has what is lent recalled, once, if anything is and may be", async () => {
  const { at, admit } = scene();
  const { hold } = await admit({ stream: true, permittedOutput: 50_000 });
  const grow = async () => {
    at.grows.length = at.recalls = 0;
    await hold.extend(hold.outputTokens);
    return [at.grows.length, at.recalls];
  };
  assertEquals(await grow(), [1, 0], "it has grown");
  at.grown = (wanted) => wanted - 1;
  assertEquals(await grow(), [1, 1], "nothing is lent");
  at.isLent = true;
  assertEquals(await grow(), [2, 1]);
  at.isWaitedFor = () => (at.tick += 2_000, true);
  assertEquals(await grow(), [2, 1]);
  at.isWaitedFor = () => false;
  assertEquals(await grow(), [1, 0], "it was not returned a moment ago");
});

Deno.test("a key with a limit of requests at once, and one with budgets, ask for no loan", async () => {
  for (
    const [more, asks] of [
      [{}, 1],
      [{ atOnce: 3 }, 0],
      [{ hasBudget: true }, 0],
    ] as const
  ) {
    const { at, admit } = scene({ lendFrom: 0 });
    await admit({ caller: { ...CALLER, ...more } });
    assertEquals(at.asks, asks, JSON.stringify(more));
  }
});

Deno.test("leases of others are ended by who has kept its own for half a lease without a gap, and was not kept waiting", async () => {
  const { at, admission } = scene();
  at.lapsed = [{ gateway_id: "gw_gone", loan_id: "loan" }];
  let reaps = 0;
  for (
    const [tick, slowMs, isReaping] of [
      [0, 0, false],
      [29_999, 0, false],
      [30_000, 0, true],
      [60_000, 0, true],
      [90_001, 0, false],
      [120_001, 15_000, true],
      [140_000, 15_001, false],
      [160_000, 0, true],
    ] as const
  ) {
    Object.assign(at, { tick, slowMs });
    await admission.keep();
    assertEquals(at.reaps - reaps, isReaping ? 1 : 0, `${tick}`);
    reaps = at.reaps;
  }
  assertEquals([at.warnings, at.releases], [0, 0], "nobody knows who has ended");
});

Deno.test("loans of others end once it is certain that these have, and who has none is not asked about", async () => {
  const asked: (readonly string[])[] = [];
  let gone: readonly string[] = [];
  const { at, admission } = scene({ ended: (ids) => (asked.push(ids), Promise.resolve(gone)) });
  const keep = async () => {
    at.tick += 30_000;
    await admission.keep();
    return [asked.length, at.releases];
  };
  await keep();
  assertEquals(await keep(), [0, 0]);
  at.lapsed = [{ gateway_id: "gw_gone", loan_id: "loan" }];
  assertEquals(await keep(), [1, 0]);
  gone = ["gw_elsewhere"];
  assertEquals(await keep(), [2, 0]);
  gone = ["gw_elsewhere", "gw_gone"];
  assertEquals(await keep(), [3, 1]);
  assert(asked.every((ids) => ids.join() === "gw_gone"));
  assertEquals(at.warnings, 0);
});
