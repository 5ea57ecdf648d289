/** What viewers of their own account are sent, and what is read for it: by the second, without a stream. */

import { AccountSource } from "../../../src/doors/console/live_account.tsx";
import type { Viewer } from "../../../src/doors/console/live_streams.ts";
import { settle, type UsageRecord } from "../../../src/money/ledger/mod.ts";
import { newRequestId } from "../../../src/ground/platform/ids.ts";
import { assertEquals } from "../../assert.ts";
import { guardedDatabase } from "../../fake/guarded_database.ts";
import { type LedgerBench, ledgerBench } from "../../fake/ledger.ts";
import { ROLE_NONE } from "./live_fakes.ts";

const NOW = Date.UTC(2026, 5, 15, 12);

/** Settles a request of one credit. */
async function settled(
  { database }: LedgerBench,
  { accountId, keyId, atMs }: { accountId: string; keyId: string; atMs: number },
): Promise<string> {
  const requestId = newRequestId(atMs);
  await settle(database, {
    requestId,
    accountId,
    keyId,
    dialect: "chat",
    route: "m",
    upstream: "up",
    upstreamModel: "m",
    attempts: 1,
    status: 200,
    ending: "complete",
    streamed: true,
    usageSource: "upstream",
    inputTokens: 1,
    cachedTokens: 0,
    outputTokens: 1,
    reasoningTokens: 0,
    startedAtMs: atMs - 1,
    firstTokenMs: 1,
    durationMs: 1,
    priceCredits: 1,
    ignored: "",
    prices: null,
    admittedAtMs: null,
    settledAtMs: atMs,
  } as UsageRecord);
  return requestId;
}

/** An account with a source of what is new of it, and who looks at it. */
async function bench() {
  const ledger = await ledgerBench("file");
  const one = await ledger.account();
  await ledger.grant(one.accountId, 1_000);
  const reads: string[] = [];
  const inFlight: { accountId: string; route: string }[] = [];
  const source = new AccountSource(
    {
      database: guardedDatabase(ledger.database, (use) => reads.push(use)),
      keys: { list: () => Promise.resolve([{ id: one.keyId, name: "laptop", hint: "sk" }]) },
      liveRequests: () => Promise.resolve(inFlight),
      now: () => nowMs,
      perUsd: undefined,
    } as unknown as ConstructorParameters<typeof AccountSource>[0],
  );
  const viewers: { readonly viewer: Viewer; got: string[] }[] = [];
  let nowMs = NOW;
  return {
    inFlight,
    settled: (atMs: number) => settled(ledger, { ...one, atMs }),
    look(parts: readonly string[], { seenMs, accountId = one.accountId }: {
      seenMs?: number;
      accountId?: string;
    } = {}) {
      const own = {
        viewer: {
          accountId,
          session: ROLE_NONE,
          parts: new Set(parts),
          seenMs,
          sent: new Map(),
          send: ({ part, html, seenMs }) =>
            own.got.push(
              part === "requests"
                ? [part, seenMs, ...html.matchAll(/data-row="([^"]*)"/g)].map((found) =>
                  Array.isArray(found) ? found[1] : found
                ).join(" ")
                : `${part}: ${html.replaceAll(/<[^>]*>/g, " ").replaceAll(/\s+/g, " ").trim()}`,
            ),
        } as Viewer,
        got: [] as string[],
      };
      viewers.push(own);
      return {
        /** What came since. */
        got: () => own.got.splice(0),
        leave: () => viewers.splice(viewers.indexOf(own), 1),
      };
    },
    /** A second later, or at a time. @returns How often the database was read. */
    async tick(atMs = nowMs) {
      nowMs = atMs;
      reads.length = 0;
      await source.tick(viewers.map(({ viewer }) => viewer));
      return reads.length;
    },
    [Symbol.asyncDispose]: () => ledger[Symbol.asyncDispose](),
  };
}

const balance = (credits: number) => `balance: Balance ${credits} credits`;
const today = (requests: number) =>
  `today: Today ${requests} ${requests} request${requests === 1 ? "" : "s"}`;

Deno.test("requests in flight are told without the database, to those who look at them, when they change", async () => {
  await using one = await bench();
  assertEquals(await one.tick(), 0, "nobody looks");
  const other = one.look(["/console/operator/live"]);
  const words = one.look(["in-flight-words"]);
  const both = one.look(["in-flight", "in-flight-words"]);
  const stranger = one.look(["in-flight"], { accountId: "acc_other" });
  const none = ["in-flight: In flight now 0 requests", "in-flight-words: No requests in flight."];
  assertEquals(await one.tick(), 0);
  assertEquals([other.got(), words.got(), both.got()], [[], none.slice(1), none]);
  assertEquals(stranger.got(), none.slice(0, 1));
  one.inFlight.push({ accountId: "acc_other", route: "x" });
  assertEquals(await one.tick(), 0);
  assertEquals([words.got(), both.got()], [[], []]);
  assertEquals(stranger.got(), ["in-flight: In flight now 1 request"]);
});

Deno.test("figures and requests are read when somebody comes, and the second after they have changed", async () => {
  await using one = await bench();
  const old = await one.settled(NOW - 5_001);
  const early = await one.settled(NOW - 5_000);
  const late = await one.settled(NOW + 1);
  const poor = one.look(["balance"]);
  assertEquals(await one.tick(), 1);
  assertEquals(poor.got(), [balance(997)]);
  assertEquals(await one.tick(), 1);
  assertEquals(poor.got(), []);
  // of what the page has, only what may have been missed
  const rich = one.look(["balance", "today", "requests"], { seenMs: NOW });
  const fresh = one.look(["requests"]);
  await one.tick();
  assertEquals(rich.got(), [balance(997), today(3), `requests ${NOW + 1} ${late} ${early}`]);
  assertEquals(fresh.got(), [`requests ${NOW + 1} ${late} ${early} ${old}`]);
  assertEquals(poor.got(), []);
  await one.tick();
  assertEquals([rich.got(), fresh.got(), poor.got()], [[], [], []]);

  const next = await one.settled(NOW + 6_000);
  await one.tick();
  assertEquals([rich.got(), fresh.got(), poor.got()], [[balance(996)], [], [balance(996)]]);
  await one.tick();
  const rows = `requests ${NOW + 6_000} ${next} ${late}`;
  assertEquals([rich.got(), fresh.got(), poor.got()], [[today(4), rows], [rows], []]);
  await one.tick();
  assertEquals([rich.got(), fresh.got(), poor.got()], [[], [], []]);

  // nobody looks for a while: who comes then has seen nothing
  for (const viewer of [poor, rich, fresh]) viewer.leave();
  assertEquals(await one.tick(), 0);
  const later = one.look(["today"]);
  const stranger = one.look(["balance", "requests"], { accountId: "acc_other" });
  await one.tick();
  assertEquals([later.got(), stranger.got()], [[today(4)], []]);
});

Deno.test("a new day begins for who looks already, without a request", async () => {
  await using one = await bench();
  await one.settled(NOW);
  const looker = one.look(["balance", "today"]);
  const midnightMs = NOW + 12 * 3_600_000;
  await one.tick(midnightMs - 1);
  assertEquals(looker.got(), [balance(999), today(1)]);
  await one.tick(midnightMs);
  assertEquals(looker.got(), [today(0)]);
  await one.tick();
  assertEquals(looker.got(), []);
});
