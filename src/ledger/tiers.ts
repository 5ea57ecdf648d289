import { createHash } from "node:crypto";
import type { Statement } from "../database/mod.ts";

/** How many requests a key has per minute, hour and day when the balance is above a number. */
export interface Tier {
  readonly above: number;
  readonly minute: number;
  readonly hour: number;
  readonly day: number;
}

/** The tiers that a gateway goes by. Gateways that share a database may differ: each has its list. */
export class TierList {
  /** The same for the same tiers. */
  readonly id: string;
  readonly tiers: readonly Tier[];

  constructor(tiers: readonly Tier[]) {
    this.tiers = tiers;
    this.id = TierList.idOf(tiers);
  }

  /** A digest of the tiers, in their order. */
  static idOf(tiers: readonly Tier[]): string {
    const text = JSON.stringify(
      tiers.map(({ above, minute, hour, day }) => [above, minute, hour, day]),
    );
    return createHash("sha256").update(text).digest("hex").slice(0, 16);
  }

  /** Makes the list known to the database; harmless when it is. */
  get statements(): Statement[] {
    return this.tiers.map(({ above, minute, hour, day }) => ({
      sql: "insert or ignore into tiers (list_id, above, minute, hour, day) values (?, ?, ?, ?, ?)",
      args: [this.id, above, minute, hour, day],
    }));
  }
}
