import type { Statement } from "../../ground/database/mod.ts";
import { digestOf } from "../../ground/platform/mod.ts";

/** Max requests per minute, hour and day of UTC. */
export interface RequestLimits {
  readonly minute: number;
  readonly hour: number;
  readonly day: number;
}

/** The request limits when the balance is above a number of credits. */
export interface Tier extends RequestLimits {
  /** Limits of one key are those of the tier itself. */
  readonly above: number;
  /** Limits of an account over all its keys; what is left out is five times the key's. */
  readonly account?: { readonly [Span in keyof RequestLimits]?: number | undefined } | undefined;
}

/** A tier with all its limits. */
export interface FullTier extends Tier {
  readonly account: RequestLimits;
}

/** Balances above one number of credits and up to another. */
export interface BalanceRange {
  readonly above: number;
  readonly upTo: number;
}

/** A tier as the database has it; an older gateway stores no limits per account. */
export type StoredTier = Omit<FullTier, "account"> & Partial<Pick<FullTier, "account">>;

const ACCOUNT_FACTOR = 5;

/** The tiers that a gateway goes by. Gateways that share a database may differ: each has its list. */
export class TierList {
  /** The same for the same tiers. */
  readonly id: string;
  readonly tiers: readonly FullTier[];

  constructor(tiers: readonly Tier[]) {
    this.tiers = tiers.map((tier) => ({
      ...tier,
      account: {
        minute: tier.account?.minute ?? accountLimit(tier.minute),
        hour: tier.account?.hour ?? accountLimit(tier.hour),
        day: tier.account?.day ?? accountLimit(tier.day),
      },
    }));
    this.id = TierList.idOf(this.tiers);
  }

  /** A digest of the tiers, in their order. */
  static idOf(tiers: readonly StoredTier[]): string {
    const text = JSON.stringify(
      tiers.map(({ above, minute, hour, day, account }) => [
        above,
        minute,
        hour,
        day,
        ...(account === undefined ? [] : [account.minute, account.hour, account.day]),
      ]),
    );
    return digestOf(text).slice(0, 16);
  }

  /** Balances around one that have the same tier. */
  rangeOf(balance: number): BalanceRange {
    const bounds = this.tiers.map(({ above }) => above);
    return {
      above: Math.max(-1, ...bounds.filter((above) => above < balance)),
      upTo: Math.min(Infinity, ...bounds.filter((above) => above >= balance)),
    };
  }

  /** Makes the list known to the database; harmless when it is. */
  get statements(): Statement[] {
    return this.tiers.map(({ above, minute, hour, day, account }) => ({
      sql: `insert into tiers (list_id, above, minute, hour, day, account_minute,
          account_hour, account_day)
        values (?, ?, ?, ?, ?, ?, ?, ?) on conflict do nothing`,
      args: [this.id, above, minute, hour, day, account.minute, account.hour, account.day],
    }));
  }
}

function accountLimit(keyLimit: number): number {
  return Math.min(ACCOUNT_FACTOR * keyLimit, Number.MAX_SAFE_INTEGER);
}
