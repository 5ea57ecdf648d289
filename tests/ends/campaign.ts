import { creditsOf } from "../../src/money/ledger/mod.ts";
import type { Database, Row } from "../../src/ground/database/mod.ts";
import { assertEquals } from "../assert.ts";
import { assertLedgerClean, customer } from "../fake/customer.ts";
import { startGateway, type TestGateway } from "../fake/gateway.ts";
import { until } from "../fake/temp.ts";
import { call, numberIn } from "./caller.ts";
import type { Exchange } from "./exchange.ts";
import { MINIMUM, PRICES } from "./interval.ts";
import { verdictOf } from "./oracle.ts";
import { type Back, BACKS, type Plan, planRun, turnsOf } from "./plan.ts";
import type { Taken } from "./reading.ts";
import { Report } from "./report.ts";
import { planningUpstream, type Running } from "./upstream.ts";

const ACCOUNTS = 8;
const CREDITS = 1_000_000_000_000;
const CONCURRENT = 64;
/** How long an upstream may pause, or take in all, where a plan runs into that. */
const STALL_MS = 300;
const TOTAL_MS = 300;
/** Limits that plans with a limit exceed, and no other plan meets. */
const SMALL_REPLIES = { streamBytes: 15_000, events: 90, eventValues: 300 };
const MILLION = 1_000_000;

/** Which runs there are. */
export interface CampaignOptions {
  readonly seed: number;
  /** Numbers of the runs. */
  readonly numbers: readonly number[];
}

/** Carries out runs, those of each setting one after the other. Resolves with what came of them. */
export async function campaign({ seed, numbers }: CampaignOptions): Promise<Report> {
  const report = new Report();
  const plans = numbers.map((number) => planRun(seed, number));
  for (const setting of ["drain", "abort"] as const) {
    const ours = plans.filter(({ onClientDisconnect }) => onClientDisconnect === setting);
    if (ours.length > 0) await carryOut(setting, ours, report);
  }
  return report;
}

async function carryOut(
  onClientDisconnect: Plan["onClientDisconnect"],
  plans: readonly Plan[],
  report: Report,
): Promise<void> {
  const running = new Map<number, Running>();
  await using stack = new AsyncDisposableStack();
  const upstream = () => stack.use(planningUpstream((raw) => running.get(numberIn(raw))!)).url;
  const urls = {
    chat: upstream(),
    messages: upstream(),
    responses: upstream(),
    generate: upstream(),
  };
  const start = async (replies: object) =>
    stack.use(
      await startGateway({
        settings: { ...settingsFor(urls), onClientDisconnect, replies },
        firstWaitMs: 1,
        looksInside: true,
      }),
    );
  const [wide, small] = [await start({}), await start(SMALL_REPLIES)];
  for (const [gateway, own] of [[wide, unlimited(plans)], [small, limited(plans)]] as const) {
    if (own.length > 0) await runAll(gateway, own, running, report);
  }
}

const isSmall = ({ limit }: Plan) => limit !== "none" && limit !== "totalMs";
const unlimited = (plans: readonly Plan[]) => plans.filter((plan) => !isSmall(plan));
const limited = (plans: readonly Plan[]) => plans.filter(isSmall);

async function runAll(
  gateway: TestGateway,
  plans: readonly Plan[],
  running: Map<number, Running>,
  report: Report,
): Promise<void> {
  const customers = await Promise.all(
    Array.from({ length: ACCOUNTS }, () => customer(gateway, CREDITS)),
  );
  const done: { run: number; plan: Plan; exchanges: Exchange[]; taken: Taken }[] = [];
  let next = 0;
  const work = async () => {
    while (next < plans.length) {
      const plan = plans[next++]!;
      for (const turn of turnsOf(plan)) running.set(turn.number, { plan: turn, exchanges: [] });
      const [key] = customers[plan.number % ACCOUNTS]!.keys;
      for (const one of await call(plan, gateway, key!)) {
        done.push({ ...one, ...running.get(one.plan.number)!, run: plan.number });
      }
    }
  };
  await Promise.all(Array.from({ length: CONCURRENT }, work));
  const { inFlight, database } = gateway.gateway;
  await until(() => inFlight.count === 0, { what: "the end of all requests" });
  const records = await readRecords(database);
  const charges = new Map<string, number>();
  const byId = new Map<string, Row>();
  const byRun = new Map<number, Row>();
  const known = new Set(done.map(({ taken }) => taken.requestId));
  for (const record of records) {
    const account = String(record.account_id);
    charges.set(account, (charges.get(account) ?? 0) + Number(record.charged_credits));
    byId.set(String(record.request_id), record);
    const run = /"run":"(\d+)"/.exec(String(record.tags))?.[1];
    // of the turns of a WebSocket at most one is not known by its id: the one in which the caller left
    if (run !== undefined && !known.has(String(record.request_id))) byRun.set(Number(run), record);
  }
  for (const { run, plan, exchanges, taken } of done) {
    running.delete(plan.number);
    const record = byId.get(taken.requestId ?? "") ?? byRun.get(run);
    if (taken.requestId === undefined) byRun.delete(run);
    report.note({ plan, exchanges, taken, record }, verdictOf(plan, exchanges, taken));
  }
  report.noteRecords(records.length, done.filter(({ taken }) => taken.requestId !== undefined));
  await assertLedgerClean(gateway);
  for (const { accountId } of customers) {
    const { balance } = await creditsOf(database, accountId, Date.now());
    assertEquals(balance, CREDITS - (charges.get(accountId) ?? 0), "a balance");
  }
}

function settingsFor(urls: Readonly<Record<Back, string>>) {
  const timings = {
    plain: {},
    stall: { streamMs: STALL_MS },
    total: { totalMs: TOTAL_MS },
  };
  const all = BACKS.flatMap((back) =>
    Object.entries(timings).map(([timing, timeouts]) => ({ back, timing, timeouts }))
  );
  const prices = {
    input: MILLION * PRICES.input,
    cached: MILLION * PRICES.cached,
    output: MILLION * PRICES.output,
  };
  return {
    upstreams: Object.fromEntries(all.map(({ back, timing, timeouts }) => [
      `${back}-${timing}`,
      { url: urls[back], dialect: back, timeouts },
    ])),
    routes: Object.fromEntries(
      all.flatMap(({ back, timing }) =>
        [["reasons", "always"], ["plain", "none"]].map(([suffix, reasoning]) => [
          `${back}-${timing}-${suffix}`,
          {
            targets: [{ upstream: `${back}-${timing}`, model: `m-${suffix}` }],
            context: 100_000,
            maxOutput: 4_000,
            minimum: MINIMUM,
            images: "none" as const,
            reasoning: reasoning as "always" | "none",
            prices,
          },
        ])
      ),
    ),
    limits: { drainMs: 5_000, followMs: 400, followedReplies: 4, openRequests: 4_096 },
    responses: { sockets: 4_096, socketsPerKey: 1_024 },
    durability: "normal" as const,
  };
}

/** All usage records, as much of them as is compared. */
async function readRecords(database: Database): Promise<Row[]> {
  const records: Row[] = [];
  while (true) {
    const page = await database.all(
      `select request_id, account_id, ending, status, usage_source, input_tokens, cached_tokens, output_tokens,
          price_credits, charged_credits, reason, message, tags
        from usage_records where request_id > ? order by request_id limit 5000`,
      [records.at(-1)?.request_id ?? ""],
    );
    if (page.length === 0) return records;
    records.push(...page);
  }
}
