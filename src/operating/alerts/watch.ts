import {
  type Account,
  type Accounts,
  expiringKeys,
  type Keys,
  type Teams,
} from "../../people/accounts/mod.ts";
import { logEntries, OWNER_SIGN_IN } from "../../people/operation_log/mod.ts";
import type { DisputedRoute, Route } from "../../settings/catalog/mod.ts";
import type { Database } from "../../ground/database/mod.ts";
import { budgetUses, expiringLots, lowBalances } from "../../money/ledger/mod.ts";
import { stoppedTopUps } from "../../money/payments/mod.ts";
import { randomText } from "../../ground/platform/mod.ts";
import { delay } from "../../ground/std/mod.ts";
import type { NewAlert } from "./alert.ts";
import { budgetAlerts } from "./budget_alerts.ts";
import { catalogChange } from "./catalog_changes.ts";
import {
  type Condition,
  conditionAlerted,
  conditionOver,
  conditionsOf,
  isOver,
  seeConditions,
  type SeenCondition,
} from "./conditions.ts";
import { auditFailedMark, auditOnce, isAuditDue, rememberAudit } from "./daily_audit.ts";
import type { DeliveriesOptions } from "./deliveries.ts";
import { leaveJob, takeJob } from "./jobs.ts";
import {
  circuitClosedMark,
  circuitOpenedMark,
  diskLowMark,
  EXPIRY_MS,
  keyExpiringMark,
  lotExpiringMark,
  lowCreditsMark,
  ownerSignedInMark,
  topUpStoppedMark,
} from "./marks.ts";
import { pruneAlerts } from "./notices.ts";
import { priceDisputes } from "./price_disputes.ts";
import { replyChanges } from "./reply_changes.ts";

/** Dependencies of {@linkcode Watch}. */
export interface WatchOptions extends Omit<DeliveriesOptions, "resolve" | "everyMs"> {
  readonly database: Database;
  readonly accounts: Accounts;
  readonly keys: Keys;
  readonly teams: Teams;
  /** The routes that are served, a digest of the settings that they come from, and those whose published prices are disputed. */
  readonly served: () => {
    readonly routes: readonly Route[];
    readonly settings: string;
    readonly disputes: () => readonly DisputedRoute[];
  };
  /** What this gateway sees now that may be worth an alert if it lasts. */
  readonly see: () => Promise<readonly SeenCondition[]>;
  /** What this gateway knows that is worth an alert at once. */
  readonly alerts: () => Promise<readonly NewAlert[]>;
  /** Runs long work on a separate database connection, so that requests do not wait for it. */
  readonly aside: <T>(work: (database: Database) => Promise<T>) => Promise<T>;
  /** Called when alerts were raised. */
  readonly raised: () => void;
  readonly times?: WatchTimes | undefined;
}

/** How often the watch looks; tests are faster. */
export interface WatchTimes {
  readonly seeEveryMs: number;
  readonly passEveryMs: number;
  /** What a circuit must last until it is worth an alert. */
  readonly circuitMs: number;
  /** Time without sight after which a circuit is closed. */
  readonly circuitQuietMs: number;
}

const TIMES: WatchTimes = {
  seeEveryMs: 15_000,
  passEveryMs: 30_000,
  circuitMs: 30_000,
  circuitQuietMs: 60_000,
};
/** Time without sight after which a disk is no longer nearly full. */
const DISK_QUIET_MS = 3_600_000;
/** Rows that one query looks at, which takes the database a few milliseconds, and the pause after it. */
const PAGE_ROWS = 500;
const PAUSE_MS = 20;
/** Pages of one source in one pass; the next pass goes on behind them. */
const MAX_PAGES = 20;
const KEEP_MS = 90 * 86_400_000;
/** Younger stops are looked at: shorter than alerts are kept, so that none is raised again. */
const STOPPED_MS = 30 * 86_400_000;
/** Younger sign-ins of owners are looked at: shorter than alerts are kept, so that none is raised again. */
const SIGN_INS_MS = 86_400_000;
/** How much later than it says a row of the log may come. */
const LOG_LAG_MS = 600_000;
const PRUNE_ROWS = 200;
const TIDY_MS = 3_600_000;

/** What expires. */
interface Expiring {
  readonly id: string;
  readonly accountId: string;
  readonly expiresAtMs: number;
}

/**
 * Looks for alerts: conditions in every gateway, everything else in one of those that share a database. No request waits for
 * it: it reads what requests have written, a page at a time.
 */
export class Watch {
  readonly #options: WatchOptions;
  readonly #times: WatchTimes;
  readonly #holder = randomText(16);
  #timers: ReturnType<typeof setInterval>[] = [];
  #seeing: Promise<void> | undefined;
  #passing: Promise<void> | undefined;
  /** Up to when the log was looked through. */
  #loggedMs = 0;
  /** The routes whose prices were looked at. */
  #priced: readonly Route[] | undefined;
  /** When old rows are looked for next. */
  #tidyTick = 0;
  #stopped = false;

  readonly #lowCredits = this.#walk<string>(async (after = "") => {
    const { database, settings, accounts } = this.#options;
    const { lowCredits } = settings();
    const own: Record<string, number> = {};
    for (const [email, credits] of Object.entries(lowCredits.accounts)) {
      const account = await accounts.find(email);
      if (account !== undefined) own[account.id] = credits;
    }
    const page = { after, limit: PAGE_ROWS };
    const { found, next } = await lowBalances(database, page, { ...lowCredits, accounts: own });
    await this.#raiseFound(found, lowCreditsMark);
    return next;
  });

  readonly #budgets = this.#walk<string>(async (after = "") => {
    const { database, outbox, now } = this.#options;
    const page = { after, limit: PAGE_ROWS, nowMs: now() };
    const { found, next } = await budgetUses(database, page);
    const alerts = await budgetAlerts(found, this.#options);
    const known = await outbox.known(alerts.map(({ mark }) => mark));
    await this.#raise(alerts.filter(({ mark }) => !known.has(mark)));
    return next;
  });

  readonly #lots = this.#walkExpiring(expiringLots, lotExpiringMark);
  readonly #keys = this.#walkExpiring(expiringKeys, keyExpiringMark);

  readonly #topUps = this.#walk<string>(async (after = "") => {
    const { database, now } = this.#options;
    const sinceMs = now() - STOPPED_MS;
    const found = await stoppedTopUps(database, { after, sinceMs, limit: PAGE_ROWS });
    await this.#raiseFound(found, topUpStoppedMark);
    return found.length < PAGE_ROWS ? undefined : found.at(-1)?.accountId;
  });

  readonly #ownerSignIns = this.#walk<string>(async (after) => {
    const { database, outbox, now } = this.#options;
    const nowMs = now();
    const sinceMs = Math.max(nowMs - SIGN_INS_MS, Math.min(nowMs, this.#loggedMs) - LOG_LAG_MS);
    const page = { operation: OWNER_SIGN_IN, sinceMs, after, limit: PAGE_ROWS };
    const alerts = (await logEntries(database, page)).map(ownerSignedInMark);
    const known = await outbox.known(alerts.map(({ mark }) => mark));
    await this.#raise(alerts.filter(({ mark }) => !known.has(mark)));
    if (alerts.length === PAGE_ROWS) return alerts.at(-1)!.mark.split(":")[1];
    this.#loggedMs = nowMs;
    return undefined;
  });

  constructor(options: WatchOptions) {
    this.#options = options;
    this.#times = options.times ?? TIMES;
  }

  /** Starts looking. */
  start(): void {
    const { seeEveryMs, passEveryMs } = this.#times;
    this.#timers = [
      setInterval(() => {
        this.#seeing ??= this.#try("conditions could not be noted", () => this.see())
          .finally(() => this.#seeing = undefined);
      }, seeEveryMs),
      setInterval(() => {
        this.#passing ??= this.#try("alerts could not be looked for", async () => {
          await this.pass();
        }).finally(() => this.#passing = undefined);
      }, passEveryMs),
    ];
  }

  /** Stops, and leaves the job to another gateway. Resolves when the step in progress has ended. */
  async close(): Promise<void> {
    this.#stopped = true;
    for (const timer of this.#timers) clearInterval(timer);
    await Promise.all([this.#seeing, this.#passing]);
    if (this.#timers.length === 0) return;
    await this.#try("the job was not left", () => leaveJob(this.#options.database, this.#holder));
  }

  /** Notes what this gateway sees. */
  async see(): Promise<void> {
    const { database, see, now } = this.#options;
    await seeConditions(database, await see(), now());
  }

  /** Looks for alerts, if this gateway has the job: returns whether it has. */
  async pass(): Promise<boolean> {
    const { database, now, outbox, settings } = this.#options;
    const leaseMs = 3 * this.#times.passEveryMs;
    await this.#raise(await this.#options.alerts());
    if (!await takeJob(database, { holder: this.#holder, nowMs: now(), leaseMs })) return false;
    await this.#conditions();
    await this.#catalog();
    await this.#prices();
    await this.#replies();
    await this.#lowCredits();
    await this.#budgets();
    await this.#lots();
    await this.#keys();
    await this.#topUps();
    await this.#ownerSignIns();
    await this.#audit();
    if (performance.now() >= this.#tidyTick) {
      await outbox.giveUpOthers(settings().receivers);
      const beforeMs = now() - KEEP_MS;
      await this.#pages(() => pruneAlerts(database, { beforeMs, limit: PRUNE_ROWS }));
      this.#tidyTick = performance.now() + TIDY_MS;
    }
    return true;
  }

  /** Looks for automatic purchases that have just stopped, before somebody turns them on again. Failures are logged. */
  async seeStoppedTopUps(): Promise<void> {
    await this.#try("stopped top-ups could not be looked for", () => this.#topUps());
  }

  async #raise(alerts: readonly NewAlert[]): Promise<void> {
    const { outbox, settings, metrics, log, raised } = this.#options;
    const counts = await outbox.raise(alerts, settings().receivers);
    if (counts.size === 0) return;
    for (const [kind, count] of counts) {
      metrics.alertsRaised(kind, count);
      log.warn("alerts raised", { kind, count });
    }
    raised();
  }

  /** Raises what was found and has not been raised before, but of disabled accounts. */
  async #raiseFound<Found extends Pick<Expiring, "accountId">>(
    found: readonly Found[],
    describe: (one: Found, account: Pick<Account, "email">) => NewAlert | undefined,
  ): Promise<void> {
    const { outbox, accounts } = this.#options;
    const markOf = (one: Found) => describe(one, { email: "" })?.mark;
    const known = await outbox.known(found.flatMap((one) => markOf(one) ?? []));
    const fresh = found.filter((one) => {
      const own = markOf(one);
      return own !== undefined && !known.has(own);
    });
    const owners = await accounts.byIds([...new Set(fresh.map(({ accountId }) => accountId))]);
    await this.#raise(fresh.flatMap((one) => {
      const account = owners.get(one.accountId);
      if (account?.disabledAtMs !== null) return [];
      return describe(one, account) ?? [];
    }));
  }

  async #conditions(): Promise<void> {
    const { database, now } = this.#options;
    const { circuitMs, circuitQuietMs } = this.#times;
    for (const one of await conditionsOf(database)) {
      const isCircuit = one.kind === "circuit";
      const lastsMs = one.seenAtMs - one.beganAtMs;
      let { isAlerted } = one;
      if (!isAlerted && lastsMs >= (isCircuit ? circuitMs : 0)) {
        await this.#raise([isCircuit ? circuitOpenedMark(one) : diskLowMark(one)]);
        await conditionAlerted(database, one);
        isAlerted = true;
      }
      if (isOver(one, now(), isCircuit ? circuitQuietMs : DISK_QUIET_MS)) {
        await this.#over({ ...one, isAlerted });
      }
    }
  }

  async #over(condition: Condition): Promise<void> {
    if (condition.kind === "circuit" && condition.isAlerted) {
      await this.#raise([circuitClosedMark(condition)]);
    }
    await conditionOver(this.#options.database, condition);
  }

  async #catalog(): Promise<void> {
    const { database, served } = this.#options;
    const { routes, settings } = served();
    const { alert, done } = await catalogChange(database, routes, settings);
    if (alert !== undefined) await this.#raise([alert]);
    await done();
  }

  async #prices(): Promise<void> {
    const { outbox, served } = this.#options;
    const { routes, disputes } = served();
    if (routes === this.#priced) return;
    const alerts = priceDisputes(disputes());
    const known = await outbox.known(alerts.map(({ mark }) => mark));
    await this.#raise(alerts.filter(({ mark }) => !known.has(mark)));
    this.#priced = routes;
  }

  async #replies(): Promise<void> {
    const { database, now } = this.#options;
    const { alerts, done } = await replyChanges(database, now());
    await this.#raise(alerts);
    await done();
  }

  /** The audit goes on beside the passes: it may take minutes. */
  async #audit(): Promise<void> {
    const { database, aside, settings, now } = this.#options;
    if (!settings().dailyAudit || !await isAuditDue(database, now())) return;
    void this.#try("the daily audit failed", async () => {
      const report = await auditOnce(aside);
      const alert = auditFailedMark(report);
      if (alert !== undefined) await this.#raise([alert]);
      await rememberAudit(database, report, now());
    });
  }

  /**
   * Walks a source in pages, up to a number of them in one pass: the next one goes on behind them.
   *
   * @param page Reads a page, and returns where the next one begins, if there are more.
   */
  #walk<Cursor>(page: (after: Cursor | undefined) => Promise<Cursor | undefined>) {
    let after: Cursor | undefined;
    return () => this.#pages(async () => (after = await page(after)) !== undefined);
  }

  /** Walks what expires soon. */
  #walkExpiring<Found extends Expiring>(
    read: (
      database: Database,
      page: { after: Omit<Expiring, "accountId">; toMs: number; limit: number },
    ) => Promise<readonly Found[]>,
    mark: (one: Found, account: Pick<Account, "email">, nowMs: number) => NewAlert | undefined,
  ) {
    return this.#walk<Found | Omit<Expiring, "accountId">>(async (last) => {
      const { database, now } = this.#options;
      const nowMs = now();
      const after = last ?? { expiresAtMs: nowMs, id: "" };
      const found = await read(database, { after, toMs: nowMs + EXPIRY_MS, limit: PAGE_ROWS });
      await this.#raiseFound(found, (one, account) => mark(one, account, nowMs));
      return found.length < PAGE_ROWS ? undefined : found.at(-1);
    });
  }

  /** @param page Returns whether there are more. */
  async #pages(page: () => Promise<boolean>): Promise<void> {
    for (let pages = 0; pages < MAX_PAGES && !this.#stopped && await page(); pages++) {
      await delay(PAUSE_MS);
    }
  }

  async #try(what: string, work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      if (!this.#stopped) this.#options.log.warn(what, { error: String(error) });
    }
  }
}
