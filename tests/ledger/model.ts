import type { Decision, Tier } from "../../src/ledger/mod.ts";

/** A lot as the model keeps it. */
interface ModelLot {
  readonly id: string;
  readonly createdAtMs: number;
  readonly expiresAtMs: number;
  remaining: number;
}

interface ModelHold {
  readonly accountId: string;
  readonly keyId: string;
  readonly gatewayId: string;
  credits: number;
  /** Whether its lease has ended. */
  stale: boolean;
}

const SPANS = { minute: 60_000, hour: 3_600_000, day: 86_400_000 } as const;

/** The ledger's rules as plain code over plain maps: what the database must agree with. */
export class LedgerModel {
  readonly lots = new Map<string, ModelLot[]>();
  readonly holds = new Map<string, ModelHold>();
  readonly budgets = new Map<string, { readonly credits: number; spent: number }>();
  readonly settled = new Map<string, { charged: number; balance: number }>();
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
    return [...this.holds.values()].filter((hold) => hold.accountId === accountId)
      .reduce((sum, { credits }) => sum + credits, 0);
  }

  grant(
    accountId: string,
    id: string,
    credits: number,
    expiresAtMs: number,
    createdAtMs: number,
  ): void {
    this.#own(accountId).push({ id, createdAtMs, expiresAtMs, remaining: credits });
  }

  /** What is left of a lot and not held, or as much of it as is wanted. */
  takeBack(accountId: string, lotId: string, wanted: number, nowMs: number): number {
    this.expire(accountId, nowMs);
    const lot = this.#own(accountId).find(({ id }) => id === lotId);
    if (lot === undefined) return 0;
    const free = this.balance(accountId) - this.held(accountId);
    const taken = Math.min(lot.remaining, free, wanted);
    lot.remaining -= taken;
    return taken;
  }

  /** What has expired and is not held leaves the balance. */
  expire(accountId: string, nowMs: number): void {
    let free = this.balance(accountId) - this.held(accountId);
    for (const lot of this.#inOrder(accountId)) {
      if (lot.expiresAtMs > nowMs) continue;
      const taken = Math.min(lot.remaining, free);
      lot.remaining -= taken;
      free -= taken;
    }
  }

  admit(
    { requestId, accountId, keyId, gatewayId, least, wanted, nowMs }: {
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
    const balance = this.balance(accountId);
    const free = balance - this.held(accountId);
    const tier = this.#tiers.filter(({ above }) => above < balance)
      .toSorted((a, b) => b.above - a.above)[0];
    if (tier === undefined) return "credits";
    const windows = Object.entries(SPANS).flatMap(([name, ms]) => {
      const span = name as keyof typeof SPANS;
      const at = `${span} ${Math.floor(nowMs / ms)}`;
      const limit = tier.account?.[span] ?? 5 * tier[span];
      return [[`${keyId} ${at}`, tier[span]], [`${accountId} ${at}`, limit]] as const;
    });
    for (const [window, limit] of windows) {
      if ((this.#windows.get(window) ?? 0) >= limit) return "rate";
    }
    if (this.held(accountId) > 0 && this.#owes(accountId)) return "uncollected";
    const budget = this.#budgetLeft(keyId);
    if (budget < least) return "budget";
    if (free < least) return "credits";
    for (const [window] of windows) {
      this.#windows.set(window, (this.#windows.get(window) ?? 0) + 1);
    }
    const credits = Math.min(wanted, free, budget);
    this.holds.set(requestId, { accountId, keyId, gatewayId, credits, stale: false });
    return "admitted";
  }

  /** One whose lease has ended holds anew what there is. */
  grow(
    { requestId, accountId, keyId, gatewayId, wanted, nowMs }: {
      requestId: string;
      accountId: string;
      keyId: string;
      gatewayId: string;
      wanted: number;
      nowMs: number;
    },
  ): number {
    this.expire(accountId, nowMs);
    const before = this.holds.get(requestId)?.credits ?? 0;
    const free = this.balance(accountId) - this.held(accountId);
    const more = Math.min(free, this.#budgetLeft(keyId));
    const credits = Math.max(before, Math.min(wanted, before + more));
    if (credits > 0) {
      const stale = this.holds.get(requestId)?.stale ?? false;
      this.holds.set(requestId, { accountId, keyId, gatewayId, credits, stale });
    }
    return credits;
  }

  settle(
    { requestId, accountId, keyId, price, nowMs }: {
      requestId: string;
      accountId: string;
      keyId: string;
      price: number;
      nowMs: number;
    },
  ) {
    this.holds.delete(requestId);
    const known = this.settled.get(requestId);
    if (known !== undefined) return known;
    const free = this.balance(accountId) - this.held(accountId);
    const charged = Math.max(0, Math.min(price, free, this.#budgetLeft(keyId)));
    if (price > free) {
      this.#owed.set(accountId, Math.max(nowMs, this.#owed.get(accountId) ?? 0));
    }
    let due = charged;
    for (const lot of this.#inOrder(accountId)) {
      const taken = Math.min(lot.remaining, due);
      lot.remaining -= taken;
      due -= taken;
    }
    const budget = this.budgets.get(keyId);
    if (budget !== undefined) budget.spent += charged;
    const outcome = { charged, balance: this.balance(accountId) };
    this.settled.set(requestId, outcome);
    return outcome;
  }

  release(gone: (hold: ModelHold) => boolean): void {
    for (const [id, hold] of this.holds) if (gone(hold)) this.holds.delete(id);
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
      a.expiresAtMs - b.expiresAtMs || a.createdAtMs - b.createdAtMs || (a.id < b.id ? -1 : 1)
    );
  }

  #budgetLeft(keyId: string): number {
    const budget = this.budgets.get(keyId);
    if (budget === undefined) return Infinity;
    const held = [...this.holds.values()].filter((hold) => hold.keyId === keyId)
      .reduce((sum, { credits }) => sum + credits, 0);
    return budget.credits - budget.spent - held;
  }
}
