import type { Decision, Tier } from "../../../src/money/ledger/mod.ts";

/** A lot as the model keeps it. */
interface ModelLot {
  readonly id: string;
  readonly createdAtMs: number;
  readonly expiresAtMs: number;
  /** What it pays for; undefined for all models. */
  readonly models?: readonly string[] | undefined;
  remaining: number;
}

interface ModelHold {
  readonly accountId: string;
  readonly keyId: string;
  readonly gatewayId: string;
  credits: number;
  /** The price of the most that its upstream was asked for; undefined for what it holds. */
  readonly asked?: number | undefined;
  /** What it lacks of the credits that it may cost, where that is not known before. */
  readonly lacks?: number | undefined;
  readonly admittedAtMs: number;
  /** The model; undefined if it is not known. */
  readonly route?: string | undefined;
  /** Credits of bound lots that it reserves, by lot. */
  readonly reserved: Map<string, number>;
  /** Whether its lease has ended. */
  stale: boolean;
}

/** A budget; what was spent of it follows from the requests that were settled. */
export interface ModelBudget {
  readonly owner: "key" | "member" | "team" | "account";
  readonly period: "day" | "week" | "month" | "life";
  readonly zone: string;
  readonly keys: Set<string>;
  credits: number;
  raise: { readonly credits: number; readonly untilMs: number };
  /** Periods that are known, by their names. */
  readonly opened: Set<string>;
}

/** What a gateway is lent of an account. */
interface ModelLoan {
  readonly accountId: string;
  readonly gatewayId: string;
  /** The key whose budgets it counts in; empty for keys without budgets. */
  readonly keyId: string;
  /** When it was made: it counts in the periods of that time. */
  readonly admittedAtMs: number;
  readonly loanId: string;
  credits: number;
  places: Record<keyof typeof SPANS, number>;
  recalled: boolean;
  /** For how long its lease has been over; 0 while it is not. */
  lapsedMs: number;
}

/** A request that has ended. */
export interface ModelEnd {
  readonly requestId: string;
  readonly accountId: string;
  readonly keyId: string;
  readonly price: number;
  readonly route: string;
  readonly nowMs: number;
  /** What it was admitted on, if that was a loan. */
  readonly lent?: { readonly loanId: string; readonly credits: number } | undefined;
  readonly admittedAtMs?: number | null;
}

/** By how much clocks may go wrong. */
const CLOCKS_MS = 60_000;
const SPANS = { minute: 60_000, hour: 3_600_000, day: 86_400_000 } as const;

/** The ledger's rules as plain code over plain maps: what the database must agree with. */
export class LedgerModel {
  readonly lots = new Map<string, ModelLot[]>();
  readonly holds = new Map<string, ModelHold>();
  /** By account, gateway, and key if it is of one. */
  readonly loans = new Map<string, ModelLoan>();
  readonly budgets = new Map<string, ModelBudget>();
  readonly settled = new Map<string, { charged: number; balance: number }>();
  /** The account that each key pays from. */
  readonly accountOf = new Map<string, string>();
  readonly #charges: { keyId: string; credits: number; admittedAtMs: number }[] = [];
  /** When each account last had a charge that its balance did not cover. */
  readonly #owed = new Map<string, number>();
  readonly #windows = new Map<string, number>();
  readonly #tiers: readonly Tier[];

  constructor(tiers: readonly Tier[]) {
    this.#tiers = tiers;
  }

  balance(accountId: string): number {
    return this.#own(accountId).reduce((sum, { remaining }) => sum + remaining, 0);
  }

  held(accountId: string): number {
    return [...this.holds.values(), ...this.loans.values()]
      .filter((one) => one.accountId === accountId)
      .reduce((sum, { credits }) => sum + credits, 0);
  }

  /** What is held, but for loans. */
  heldByRequests(accountId: string): number {
    return this.held(accountId) - this.#lentOf(accountId)
      .reduce((sum, { credits }) => sum + credits, 0);
  }

  loan(accountId: string, gatewayId: string, keyId = ""): ModelLoan | undefined {
    return this.loans.get(`${accountId} ${gatewayId} ${keyId}`);
  }

  /** Half of what is free, and of the places that are left. */
  lend(
    { accountId, keyId, gatewayId, loanId, isNew, byKey, leastCredits, leastPlaces, nowMs }: {
      byKey: boolean;
      loanId: string;
      isNew: boolean;
      accountId: string;
      keyId: string;
      gatewayId: string;
      leastCredits: number;
      leastPlaces: number;
      nowMs: number;
    },
  ): void {
    this.expire(accountId, nowMs);
    const ofKey = byKey ? keyId : "";
    const place = `${accountId} ${gatewayId} ${ofKey}`;
    if (isNew && this.loans.get(place)?.loanId !== loanId) this.loans.delete(place);
    const own = this.loans.get(place);
    if (own?.loanId !== loanId && !isNew) return;
    const windows = this.#windowsOf({ accountId, keyId }, nowMs);
    if (windows === undefined || own?.recalled || this.#owes(accountId)) return;
    const budgets = this.budgetsOf(keyId);
    const lentAtMs = own?.admittedAtMs ?? nowMs;
    if (byKey) {
      if (budgets.length === 0) return;
      const isSame = (one: ModelBudget) => periodName(one, lentAtMs) === periodName(one, nowMs);
      if (!budgets.every((one) => one.opened.has(periodName(one, nowMs)) && isSame(one))) return;
    } else if (budgets.length > 0 || this.#isBudgeted(accountId)) return;
    // a raise ends, whatever was lent of it
    const left = this.#budgetLeft(keyId, nowMs, Infinity) + (own?.credits ?? 0);
    if (this.#own(accountId).some((lot) => lot.models && lot.remaining > 0)) return;
    const free = this.balance(accountId) - this.held(accountId) + (own?.credits ?? 0);
    const credits = Math.trunc(Math.min(free, byKey ? left : Infinity) / 2);
    const places = { minute: 0, hour: 0, day: 0 };
    for (const span of Object.keys(SPANS) as (keyof typeof SPANS)[]) {
      const others = this.#lentOf(accountId).filter((loan) => loan !== own)
        .reduce((sum, loan) => sum + loan.places[span], 0);
      const left = windows.filter((window) => window.span === span)
        .map(({ owner, limit, at }) => limit - this.#mostUsed(owner, span, at));
      places[span] = Math.max(0, Math.trunc((Math.min(...left) - others) / 2));
    }
    if (credits < leastCredits || Math.min(...Object.values(places)) < leastPlaces) return;
    this.loans.set(place, {
      accountId,
      gatewayId,
      keyId: ofKey,
      admittedAtMs: lentAtMs,
      loanId,
      credits: Math.max(credits, own?.credits ?? 0),
      places: {
        minute: Math.max(places.minute, own?.places.minute ?? 0),
        hour: Math.max(places.hour, own?.places.hour ?? 0),
        day: Math.max(places.day, own?.places.day ?? 0),
      },
      recalled: false,
      lapsedMs: 0,
    });
  }

  /** Its requests are counted, and hold their credits themselves. */
  returnLoan(
    { accountId, gatewayId, loanId, requests }: {
      loanId: string;
      accountId: string;
      gatewayId: string;
      requests: readonly {
        requestId: string;
        keyId: string;
        credits: number;
        admittedAtMs: number;
      }[];
    },
  ): void {
    this.releaseLoans((loan) =>
      loan.accountId === accountId && loan.gatewayId === gatewayId && loan.loanId === loanId
    );
    let free = this.#free(accountId, (lot) => lot.models === undefined);
    const open = requests.filter(({ requestId }) =>
      !this.settled.has(requestId) && !this.holds.has(requestId)
    );
    for (
      const { requestId, keyId, credits, admittedAtMs } of open.toSorted((a, b) =>
        a.requestId < b.requestId ? -1 : 1
      )
    ) {
      this.#count({ accountId, keyId }, admittedAtMs);
      const held = Math.min(credits, free);
      free -= credits;
      if (held > 0) {
        this.holds.set(requestId, {
          accountId,
          keyId,
          gatewayId,
          credits: held,
          admittedAtMs,
          reserved: new Map(),
          stale: false,
        });
      }
    }
  }

  grant(
    accountId: string,
    id: string,
    credits: number,
    expiresAtMs: number,
    createdAtMs: number,
    models?: readonly string[],
  ): void {
    this.#own(accountId).push({ id, createdAtMs, expiresAtMs, models, remaining: credits });
    if (models !== undefined) this.recall([accountId]);
  }

  /** What is left of a lot and not held, or as much of it as is wanted. */
  takeBack(accountId: string, lotId: string, wanted: number, nowMs: number): number {
    for (const loan of this.#lentOf(accountId)) loan.recalled = true;
    this.expire(accountId, nowMs);
    const lot = this.#own(accountId).find(({ id }) => id === lotId);
    if (lot === undefined) return 0;
    const free = this.#free(accountId, (one) => one === lot);
    const taken = Math.min(lot.remaining - this.#reserved(lot), free, wanted);
    lot.remaining -= taken;
    return taken;
  }

  /** What has expired and is not held leaves the balance. */
  expire(accountId: string, nowMs: number): void {
    this.#take(accountId, Infinity, (lot) => lot.expiresAtMs <= nowMs);
  }

  /** Credits that are not held, without those of bound lots that are not taken from. */
  #free(accountId: string, from: (lot: ModelLot) => boolean): number {
    return this.#own(accountId)
      .filter((lot) => lot.models !== undefined && !from(lot))
      .reduce(
        (free, lot) => free - lot.remaining + this.#reserved(lot),
        this.balance(accountId) - this.held(accountId),
      );
  }

  /** What holds reserve of a bound lot. */
  #reserved({ id }: ModelLot): number {
    return [...this.holds.values()].reduce((sum, hold) => sum + (hold.reserved.get(id) ?? 0), 0);
  }

  /** Takes what is free of lots, in order. */
  #take(accountId: string, credits: number, from: (lot: ModelLot) => boolean): number {
    let due = Math.max(0, Math.min(credits, this.#free(accountId, from)));
    const charged = due;
    for (const lot of this.#inOrder(accountId).filter(from)) {
      const taken = Math.min(lot.remaining - this.#reserved(lot), due);
      lot.remaining -= taken;
      due -= taken;
    }
    return charged;
  }

  /** Has a hold reserve credits of bound lots. */
  #reserve({ accountId, route, reserved }: ModelHold, credits: number): void {
    let due = credits;
    for (const lot of this.#inOrder(accountId)) {
      if (lot.models === undefined || !pays(lot, route)) continue;
      const more = Math.min(lot.remaining - this.#reserved(lot), due);
      if (more > 0) reserved.set(lot.id, (reserved.get(lot.id) ?? 0) + more);
      due -= more;
    }
  }

  admit(
    {
      requestId,
      accountId,
      keyId,
      gatewayId,
      least,
      wanted,
      most,
      reserved = 0,
      nowMs,
      mayRecall = false,
      route,
    }: {
      route?: string | undefined;
      mayRecall?: boolean;
      most?: number | undefined;
      reserved?: number | undefined;
      requestId: string;
      accountId: string;
      keyId: string;
      gatewayId: string;
      least: number;
      wanted: number;
      nowMs: number;
    },
  ): Decision["verdict"] {
    this.expire(accountId, nowMs);
    const free = this.#free(accountId, (lot) => pays(lot, route));
    const windows = this.#windowsOf({ accountId, keyId }, nowMs);
    if (this.budgetsOf(keyId).some((one) => !one.opened.has(periodName(one, nowMs)))) {
      return "period";
    }
    if (windows === undefined) return "credits";
    const lent = this.#lentOf(accountId);
    const hasNoPlace = windows.some(({ window, span, limit }) =>
      (this.#windows.get(window) ?? 0) + lent.reduce((sum, { places }) => sum + places[span], 0) >=
        limit
    );
    const budget = this.#budgetLeft(keyId, nowMs, nowMs);
    const sharing = [...this.loans.values()].filter((loan) =>
      this.budgetsOf(keyId).some(({ keys }) => keys.has(loan.keyId))
    );
    const recalls = () => {
      for (const loan of [...lent, ...sharing]) loan.recalled = true;
      return "recall" as const;
    };
    if (mayRecall && sharing.some(({ lapsedMs }) => lapsedMs === 0) && budget < wanted) {
      return recalls();
    }
    const isShort = budget >= least && free < (reserved > 0 ? wanted : Math.min(wanted, budget));
    const mayReturn = lent.some(({ lapsedMs }) => lapsedMs === 0);
    if (mayReturn && mayRecall && (hasNoPlace || isShort || this.#owes(accountId))) {
      return recalls();
    }
    if (hasNoPlace) return "rate";
    const isInFlight = this.held(accountId) >
      lent.filter(({ lapsedMs }) => lapsedMs > 0).reduce((sum, loan) => sum + loan.credits, 0);
    if (isInFlight && this.#owes(accountId)) return "uncollected";
    if (budget < least) return "budget";
    if (free < least) return "credits";
    const credits = Math.min(wanted, free, budget);
    const lacks = reserved > 0 ? wanted - credits : 0;
    const isLacking = [...this.holds.values()].some((hold) =>
      hold.accountId === accountId && (hold.lacks ?? 0) > 0
    );
    const isShortOfCredits = isInFlight && free < wanted;
    if (lacks > 0 && (isLacking || isShortOfCredits)) return "unreserved";
    this.#count({ accountId, keyId }, nowMs);
    // others may have asked their upstreams for more than they hold
    const askedMore = [...this.holds.values()].filter((hold) => hold.accountId === accountId)
      .reduce((sum, hold) => sum + Math.max(0, (hold.asked ?? 0) - hold.credits), 0);
    const asked = Math.min(
      most ?? wanted,
      budget,
      Math.max(Math.min(wanted, free), free - askedMore),
    );
    const hold: ModelHold = {
      accountId,
      keyId,
      gatewayId,
      credits,
      asked,
      lacks,
      admittedAtMs: nowMs,
      route,
      reserved: new Map(),
      stale: false,
    };
    this.#reserve(hold, credits);
    this.holds.set(requestId, hold);
    return "admitted";
  }

  /** One whose lease has ended holds again what there is. */
  grow(
    { requestId, accountId, keyId, gatewayId, wanted, nowMs, admittedAtMs, route }: {
      route?: string | undefined;
      requestId: string;
      accountId: string;
      keyId: string;
      gatewayId: string;
      wanted: number;
      nowMs: number;
      admittedAtMs: number;
    },
  ): number {
    this.expire(accountId, nowMs);
    const before = this.holds.get(requestId)?.credits ?? 0;
    const free = this.#free(accountId, (lot) => pays(lot, route));
    const more = Math.min(free, this.#budgetLeft(keyId, admittedAtMs, nowMs));
    const credits = Math.max(before, Math.min(wanted, before + more));
    if (credits > 0) {
      const { stale = false, asked, lacks, reserved = new Map<string, number>() } =
        this.holds.get(requestId) ?? {};
      const hold = { accountId, keyId, gatewayId, credits, asked, lacks, admittedAtMs, stale };
      const grown = { ...hold, route, reserved };
      this.#reserve(grown, credits - before);
      this.holds.set(requestId, grown);
    }
    return credits;
  }

  /**
   * Ends requests together: first those on which order may tell, then those whose loans cover all of them, or that hold their price.
   *
   * @param options `leavesBudgets`: whether loans of one key are among the first, as on PostgreSQL.
   */
  settleAll(
    ends: readonly ModelEnd[],
    { leavesBudgets }: { readonly leavesBudgets: boolean },
  ): Map<string, { charged: number; balance: number }> {
    const sorted = ends.toSorted((a, b) => a.requestId < b.requestId ? -1 : 1);
    const asked = (end: ModelEnd) =>
      ends.filter(({ accountId, lent }) =>
        lent !== undefined && accountId === end.accountId && lent.loanId === end.lent!.loanId
      ).reduce((sum, { price }) => sum + price, 0);
    const isCovered = (end: ModelEnd) => {
      const hold = this.holds.get(end.requestId);
      if (end.lent === undefined) {
        return hold !== undefined && hold.credits >= end.price &&
          !this.#own(end.accountId).some((lot) => lot.models && lot.remaining > 0);
      }
      const loan = this.#loanById(end.accountId, end.lent.loanId);
      return hold === undefined && end.price <= end.lent.credits && loan !== undefined &&
        loan.credits >= asked(end) && !(leavesBudgets && loan.keyId !== "");
    };
    const isTogether = (end: ModelEnd) =>
      isCovered(end) && end.admittedAtMs !== undefined && end.admittedAtMs !== null &&
      !this.settled.has(end.requestId) && this.budgetsOf(end.keyId).length === 0;
    const [together, alone] = [sorted.filter(isTogether), sorted.filter((end) => !isTogether(end))];
    return new Map([...alone, ...together].map((end) => [end.requestId, this.settle(end)]));
  }

  settle({ requestId, accountId, keyId, price, route, nowMs, lent, admittedAtMs }: ModelEnd) {
    if (lent !== undefined && !this.holds.has(requestId) && !this.settled.has(requestId)) {
      const loan = this.#loanById(accountId, lent.loanId);
      if (loan !== undefined) loan.credits -= Math.min(loan.credits, lent.credits, price);
      if (admittedAtMs !== undefined && admittedAtMs !== null) {
        this.#count({ accountId, keyId }, admittedAtMs);
      }
    }
    this.holds.delete(requestId);
    const known = this.settled.get(requestId);
    if (known !== undefined) return known;
    // what a loan covers is charged to what it was lent of
    const isCovered = lent !== undefined && price <= lent.credits;
    const charged = this.#take(accountId, price, (lot) => pays(lot, isCovered ? undefined : route));
    if (price > charged) {
      this.#owed.set(accountId, Math.max(nowMs, this.#owed.get(accountId) ?? 0));
    }
    this.#charges.push({ keyId, credits: charged, admittedAtMs: admittedAtMs ?? nowMs });
    const outcome = { charged, balance: this.balance(accountId) };
    this.settled.set(requestId, outcome);
    return outcome;
  }

  /** Ends holds whose lease is over: time alone ends no loan. */
  reapHolds(): void {
    for (const [id, { stale }] of this.holds) if (stale) this.holds.delete(id);
  }

  /** Ends what a gateway held when it was last running. */
  releaseOf(gatewayId: string): void {
    for (const [id, hold] of this.holds) if (hold.gatewayId === gatewayId) this.holds.delete(id);
    this.releaseLoans((loan) => loan.gatewayId === gatewayId);
  }

  /** Ends loans, whose credits are free again. @returns How many, of how many accounts, and of how many credits. */
  releaseLoans(
    which: (loan: ModelLoan) => boolean,
  ): { loans: number; accounts: number; credits: number } {
    const ended = [...this.loans].filter(([, loan]) => which(loan));
    for (const [id] of ended) this.loans.delete(id);
    return {
      loans: ended.length,
      accounts: new Set(ended.map(([, { accountId }]) => accountId)).size,
      credits: ended.reduce((sum, [, { credits }]) => sum + credits, 0),
    };
  }

  /** Nobody is admitted to windows that ended after a lease did. */
  freePlaces(): void {
    for (const { lapsedMs, places } of this.loans.values()) {
      for (const [span, ms] of Object.entries(SPANS) as [keyof typeof SPANS, number][]) {
        if (lapsedMs > ms + CLOCKS_MS) places[span] = 0;
      }
    }
  }

  #loanById(accountId: string, loanId: string): ModelLoan | undefined {
    return this.#lentOf(accountId).find((loan) => loan.loanId === loanId);
  }

  /** The most requests in a window from a time on. */
  #mostUsed(owner: string, span: string, from: number): number {
    return Math.max(
      0,
      ...[...this.#windows].flatMap(([window, used]) => {
        const [whose, which, at] = window.split(" ");
        return whose === owner && which === span && Number(at) >= from ? [used] : [];
      }),
    );
  }

  #lentOf(accountId: string): ModelLoan[] {
    return [...this.loans.values()].filter((loan) => loan.accountId === accountId);
  }

  #windowsOf(
    { accountId, keyId }: { accountId: string; keyId: string },
    nowMs: number,
  ):
    | { window: string; owner: string; at: number; span: keyof typeof SPANS; limit: number }[]
    | undefined {
    const balance = this.balance(accountId);
    const tier = this.#tiers.filter(({ above }) => above < balance)
      .toSorted((a, b) => b.above - a.above)[0];
    if (tier === undefined) return undefined;
    return Object.entries(SPANS).flatMap(([name, ms]) => {
      const span = name as keyof typeof SPANS;
      const at = Math.floor(nowMs / ms);
      const accountLimit = tier.account?.[span] ?? 5 * tier[span];
      return [{ owner: keyId, limit: tier[span] }, { owner: accountId, limit: accountLimit }]
        .map((one) => ({ ...one, window: `${one.owner} ${span} ${at}`, at, span }));
    });
  }

  #count({ accountId, keyId }: { accountId: string; keyId: string }, atMs: number): void {
    for (const owner of [keyId, accountId]) {
      for (const [span, ms] of Object.entries(SPANS)) {
        const window = `${owner} ${span} ${Math.floor(atMs / ms)}`;
        this.#windows.set(window, (this.#windows.get(window) ?? 0) + 1);
      }
    }
  }

  /** Whether it has not got credits since its balance last did not cover a charge. */
  #owes(accountId: string): boolean {
    const newestLot = Math.max(...this.#own(accountId).map(({ createdAtMs }) => createdAtMs));
    return (this.#owed.get(accountId) ?? -Infinity) >= newestLot;
  }

  #own(accountId: string): ModelLot[] {
    let own = this.lots.get(accountId);
    if (own === undefined) this.lots.set(accountId, own = []);
    return own;
  }

  #inOrder(accountId: string): ModelLot[] {
    return this.#own(accountId).toSorted((a, b) =>
      Number(a.models === undefined) - Number(b.models === undefined) ||
      a.expiresAtMs - b.expiresAtMs || a.createdAtMs - b.createdAtMs || (a.id < b.id ? -1 : 1)
    );
  }

  /** The budgets that apply to a key. */
  budgetsOf(keyId: string): ModelBudget[] {
    return [...this.budgets.values()].filter(({ keys }) => keys.has(keyId));
  }

  /** The period of a time and the next one are known from now on. */
  open(budget: ModelBudget, nowMs: number): void {
    const now = periodName(budget, nowMs);
    budget.opened.add(now);
    if (budget.period === "life") return;
    let atMs = nowMs;
    do atMs += 3_600_000; while (periodName(budget, atMs) === now);
    budget.opened.add(periodName(budget, atMs));
  }

  /** What is lent of accounts is to be returned. */
  recall(accountIds: readonly string[]): void {
    for (const id of accountIds) for (const loan of this.#lentOf(id)) loan.recalled = true;
  }

  /** What was spent, and is held, in a period of a budget. */
  used(budget: ModelBudget, period: string): { readonly spent: number; readonly held: number } {
    const ofPeriod = <T extends { keyId: string; credits: number; admittedAtMs: number }>(
      all: T[],
    ) =>
      all.filter(({ keyId, admittedAtMs }) =>
        budget.keys.has(keyId) && periodName(budget, admittedAtMs) === period
      ).reduce((sum, { credits }) => sum + credits, 0);
    return {
      spent: ofPeriod(this.#charges),
      held: ofPeriod([...this.holds.values(), ...this.loans.values()]),
    };
  }

  /** Whether a budget that is not a key's own applies to a key of the account. */
  #isBudgeted(accountId: string): boolean {
    return [...this.budgets.values()].some(({ owner, keys }) =>
      owner !== "key" && [...keys].some((keyId) => this.accountOf.get(keyId) === accountId)
    );
  }

  #budgetLeft(keyId: string, admittedAtMs: number, nowMs: number): number {
    return Math.min(
      Infinity,
      ...this.budgetsOf(keyId).flatMap((budget) => {
        const period = periodName(budget, admittedAtMs);
        if (!budget.opened.has(period)) return [];
        const { spent, held } = this.used(budget, period);
        const raise = nowMs < budget.raise.untilMs ? budget.raise.credits : 0;
        return [budget.credits + raise - spent - held];
      }),
    );
  }
}

/** Whether the credits of a lot pay for a model. */
function pays({ models }: ModelLot, route: string | undefined): boolean {
  return models === undefined ||
    route !== undefined &&
      models.some((model) =>
        model.endsWith("*") ? route.startsWith(model.slice(0, -1)) : route === model
      );
}

/** The name of the period that a time is in: its first date in the budget's time zone. */
export function periodName(
  { period, zone }: Pick<ModelBudget, "period" | "zone">,
  atMs: number,
): string {
  if (period === "life") return "life";
  const known = `${period} ${zone} ${atMs}`;
  let name = NAMES.get(known);
  if (name === undefined) NAMES.set(known, name = nameOf(period, zone, atMs));
  return name;
}

const NAMES = new Map<string, string>();

function nameOf(period: "day" | "week" | "month", zone: string, atMs: number): string {
  const date = new Intl.DateTimeFormat("en-CA", { timeZone: zone, dateStyle: "short" }).format(
    atMs,
  );
  if (period === "day") return date;
  if (period === "month") return date.slice(0, 7);
  const day = new Date(`${date}T00:00:00Z`);
  const monday = day.getTime() - ((day.getUTCDay() + 6) % 7) * 86_400_000;
  return new Date(monday).toISOString().slice(0, 10);
}
