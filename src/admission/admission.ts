import type { Caller } from "../accounts/mod.ts";
import { affordableOutput, priceOf, type Route } from "../catalog/mod.ts";
import { type Database } from "../database/mod.ts";
import {
  admit,
  type Decision,
  expireLots,
  growHold,
  reapHolds,
  releaseHoldsOf,
  renewHolds,
  type Standing,
  standingOf,
  type TierList,
  type WindowState,
} from "../ledger/mod.ts";
import { Refusal } from "../refusal.ts";
import { Roster } from "../roster.ts";
import type { Log } from "../telemetry/mod.ts";
import { Hold, STEP_TOKENS } from "./hold.ts";
import { nearestWindow } from "./windows.ts";

/** When an account that may run one request at a time should try again. */
const UNCOLLECTED_RETRY_MS = 2_000;

/** What admission needs from outside. */
export interface AdmissionOptions {
  readonly database: Database;
  readonly tierList: TierList;
  /** This gateway among those that share the database; the same after a restart. */
  readonly gatewayId: string;
  /** How long a hold is kept after its gateway was last heard of. */
  readonly leaseMs: number;
  readonly log: Log;
  /** The database's clock, as far as it is known. */
  readonly now: () => number;
  /** Compares it with the database's again. */
  readonly syncClock?: () => Promise<void>;
}

/** A request that wants to run. */
export interface Asking {
  readonly requestId: string;
  readonly caller: Caller;
  readonly route: Route;
  readonly stream: boolean;
  /** Input as counted here. */
  readonly inputTokens: number;
  /** Output tokens that one answer may have, as far as the route and the context window go. */
  readonly permittedOutput: number;
  /** Answers wanted. */
  readonly choices: number;
}

/** A request that may run. */
export interface Admitted {
  /** Output tokens that one answer may have, as far as the balance goes too. */
  readonly permittedOutput: number;
  readonly hold: Hold;
}

/** Decides who may run. */
export class Admission {
  readonly #options: AdmissionOptions;
  readonly #running = new Roster<string>();
  #timer: ReturnType<typeof setInterval> | undefined;
  #keeping: Promise<void> = Promise.resolve();
  /** When leases were last renewed, and since when they have been without a gap (`performance.now()`). */
  #keptTick = -Infinity;
  #steadyTick = 0;

  constructor(options: AdmissionOptions) {
    this.#options = options;
  }

  /** Releases what this gateway held when it last died, and begins to keep its leases. */
  async start(): Promise<void> {
    const { database, tierList, gatewayId, leaseMs } = this.#options;
    await database.batch(tierList.statements);
    await releaseHoldsOf(database, gatewayId);
    this.#timer = setInterval(() => {
      this.#keeping = this.#keeping.then(() => this.keep());
    }, leaseMs / 4);
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.#keeping;
  }

  /**
   * Counts the request in the windows of its key and its account and holds what it may cost.
   *
   * @param stands Called with where the caller stands, admitted or not.
   * @throws {Refusal} `rate_exceeded`, `budget_spent` or `credits_short`.
   */
  async admit(asking: Asking, stands: (standing: Standing) => void): Promise<Admitted> {
    const { database, gatewayId, leaseMs, tierList, now } = this.#options;
    const { requestId, caller, route, choices, permittedOutput } = asking;
    // each answer may have to be asked for on its own, and then each reads the whole input
    const inputTokens = asking.inputTokens * choices;
    const mostOutput = permittedOutput * choices;
    // a route may be free: it holds a credit all the same, so that who has none cannot use it
    const price = (outputTokens: number) =>
      Math.max(1, priceOf(route, { inputTokens, cachedTokens: 0, outputTokens }));
    const least = price(choices);
    const wanted = price(
      asking.stream ? Math.min(mostOutput, STEP_TOKENS * choices) : mostOutput,
    );
    const nowMs = now();
    const { accountId, keyId } = caller;
    const holder = { requestId, accountId, keyId, gatewayId, leaseMs };
    const decision = await admit(database, {
      ...holder,
      least,
      wanted,
      nowMs,
      tierListId: tierList.id,
    });
    const admitted = decision.verdict === "admitted";
    const windows = admitted ? decision.windows.map(counted) : decision.windows;
    stands({ balance: decision.balance, windows });
    if (!admitted) throw refusalOf(decision, least, nowMs);

    // a stream's hold may grow, but never beyond the balance
    const most = asking.stream ? decision.balance : decision.credits;
    const permitted = Math.min(
      permittedOutput,
      Math.floor(affordableOutput(route, { inputTokens, credits: most }) / choices),
    );
    const place = this.#running.add(requestId);
    const hold = new Hold(
      { route, inputTokens, mostOutput: permitted * choices, choices, admittedAtMs: nowMs },
      decision.credits,
      (more) => growHold(database, { ...holder, wanted: more, nowMs: now(), admittedAtMs: nowMs }),
      () => this.#running.take(place, requestId),
    );
    return { permittedOutput: permitted, hold };
  }

  /** Where a caller stands, without counting anything. */
  standing(caller: Pick<Caller, "accountId" | "keyId">): Promise<Standing> {
    const { database, tierList, now } = this.#options;
    return standingOf(database, caller, tierList, now());
  }

  /**
   * Renews the leases of what runs here, releases holds whose gateway is gone, compares the clock with the
   * database's, expires lots, keeps the tiers known.
   */
  async keep(): Promise<void> {
    const { database, tierList, leaseMs, log, now, syncClock } = this.#options;
    const tick = performance.now();
    // When the database was away, others have not renewed their leases yet: they are given time to.
    if (tick - this.#keptTick > leaseMs / 2) this.#steadyTick = tick;
    try {
      await database.batch(tierList.statements); // the file may have been replaced by another's
      await renewHolds(database, this.#running.all(), leaseMs);
      // others may have waited as long as this did
      const waited = performance.now() - tick > leaseMs / 4;
      if (!waited && tick - this.#steadyTick >= leaseMs / 2) await reapHolds(database);
      await syncClock?.();
      await expireLots(database, now());
      this.#keptTick = tick;
    } catch (error) {
      log.warn("leases could not be renewed", { error: String(error) });
    }
  }
}

function counted({ of, span, limit, used }: WindowState): WindowState {
  return { of, span, limit, used: used + 1 };
}

function refusalOf({ verdict, balance, windows }: Decision, least: number, nowMs: number): Refusal {
  if (verdict === "rate") {
    const { of, span, limit, resetAtMs } = nearestWindow(windows, nowMs)!;
    const seconds = Math.ceil((resetAtMs - nowMs) / 1_000);
    return new Refusal(
      "rate_exceeded",
      `Rate limit reached: ${limit} requests per ${span} for this ${of}. Please try again in ` +
        `${seconds} s.`,
      { retryAfterMs: resetAtMs - nowMs },
    );
  }
  if (verdict === "uncollected") {
    return new Refusal(
      "rate_exceeded",
      "This account has uncollected charges, so it is limited to one request at a time. " +
        "Wait for the in-flight request to end, or add credits to lift the limit.",
      { retryAfterMs: UNCOLLECTED_RETRY_MS },
    );
  }
  if (verdict === "budget") {
    const message =
      `The budget of this API key does not cover this request, which costs at least ` +
      `${least} ${creditWord(least)}. Raise the budget, or use another key.`;
    return new Refusal("budget_spent", message);
  }
  const has = `balance of ${balance} ${creditWord(balance)}`;
  if (balance > 0 && windows.length === 0) {
    return new Refusal("credits_short", `No rate-limit tier covers a ${has}. Add credits.`);
  }
  const held = balance >= least ? ", because other requests hold part of it" : "";
  return new Refusal(
    "credits_short",
    `This request costs at least ${least} ${
      creditWord(least)
    }, which the ${has} does not cover${held}. Add credits, or ` +
      "shorten the request.",
  );
}

function creditWord(number: number): string {
  return number === 1 ? "credit" : "credits";
}
