import type { Database } from "../../src/ground/database/mod.ts";
import type { Account, Key } from "../../src/people/accounts/mod.ts";
import type { Random } from "../fake/random.ts";
import type { Callers } from "../file_faults/callers.ts";

/** A gateway that reaches the database knows of a revoked key after a second; on a busy machine a little later. */
const NOTICED_MS = 5_000;

/** A key as its operator knows it. */
interface KnownKey {
  readonly id: string;
  readonly secret: string;
  readonly accountId: string;
  readonly budget: number | undefined;
  /** When it was revoked for certain. */
  revokedTick?: number;
}

/** What operators did, and what has to be true for it, whatever happened in between. */
export class Model {
  readonly accounts: Account[] = [];
  /** Secrets of all keys that callers use: revoked ones stay among them for a while. */
  readonly inUse: string[] = [];
  readonly #keys: KnownKey[] = [];
  /** By the account's ID: what was granted, and what may have been, as the answer was lost. */
  readonly #granted = new Map<string, { certain: number; maybe: number }>();
  /** Spans in which the database was away. */
  readonly #away: { readonly fromTick: number; untilTick: number }[] = [];

  /** Grants credits to an account, by what does so. */
  async grants(account: Account, credits: number, grant: () => Promise<unknown>): Promise<void> {
    if (!this.#granted.has(account.id)) this.accounts.push(account);
    const of = this.#granted.get(account.id) ?? { certain: 0, maybe: 0 };
    this.#granted.set(account.id, of);
    of.maybe += credits;
    await grant();
    of.certain += credits;
    of.maybe -= credits;
  }

  /** Notes that a key was made. */
  issued(key: Key & { readonly secret: string }, budget: number | undefined): void {
    const { id, secret, accountId } = key;
    this.#keys.push({ id, secret, accountId, budget });
    this.inUse.push(secret);
  }

  /** Has one of an account's keys revoked; callers go on with it. */
  async revokes(
    account: Account,
    random: Random,
    revoke: (id: string) => Promise<unknown>,
  ): Promise<void> {
    const valid = this.#keys.filter(({ accountId, revokedTick }) =>
      accountId === account.id && revokedTick === undefined
    );
    const key = random.pick(valid);
    await revoke(key.id);
    key.revokedTick = performance.now();
    // one that was revoked earlier is not used any more, else most requests would be rejected
    const earlier = this.#keys.find(({ revokedTick, secret }) =>
      revokedTick !== undefined && revokedTick < performance.now() - 2 * NOTICED_MS &&
      this.inUse.includes(secret)
    );
    if (earlier !== undefined) this.inUse.splice(this.inUse.indexOf(earlier.secret), 1);
  }

  /** Notes that the database is away; what is returned notes that it is back. */
  awayFrom(fromTick: number): (untilTick: number) => void {
    const span = { fromTick, untilTick: Infinity };
    this.#away.push(span);
    return (untilTick) => void (span.untilTick = untilTick);
  }

  /** Compares with the books, once all gateways have ended. */
  async check(database: Database, callers: readonly Callers[]): Promise<string[]> {
    return [
      ...await this.#checkAccounts(database),
      ...await this.#checkBudgets(database),
      ...this.#checkRevoked(callers),
    ];
  }

  async #checkAccounts(database: Database): Promise<string[]> {
    const rows = await database.all(
      `select account_id as id, sum(iif(kind = 'charge', 0, credits)) as granted, sum(credits) as balance
        from entries group by 1`,
    );
    const byId = new Map(rows.map((row) => [row.id, row]));
    return [...this.#granted].flatMap(([id, { certain, maybe }]) => {
      const { granted, balance } = byId.get(id) ?? { granted: 0, balance: 0 };
      const isRight = Number(granted) >= certain && Number(granted) <= certain + maybe;
      return [
        ...(isRight
          ? []
          : [`${id} was granted ${granted}, and not ${certain} to ${certain + maybe}`]),
        ...(Number(balance) >= 0 ? [] : [`the balance of ${id} is ${balance}`]),
      ];
    });
  }

  async #checkBudgets(database: Database): Promise<string[]> {
    const rows = await database.all(
      "select key_id as id, sum(charged_credits) as spent from usage_records group by 1",
    );
    const spent = new Map(rows.map((row) => [row.id, Number(row.spent)]));
    return this.#keys.flatMap(({ id, budget = Infinity }) =>
      (spent.get(id) ?? 0) <= budget ? [] : [`${id} spent ${spent.get(id)} of ${budget}`]
    );
  }

  /** A revoked key is rejected by every gateway that could know of it. */
  #checkRevoked(callers: readonly Callers[]): string[] {
    const revoked = new Map(
      this.#keys.flatMap(({ secret, id, revokedTick }) =>
        revokedTick === undefined ? [] : [[secret, { id, revokedTick }] as const]
      ),
    );
    const couldKnow = (fromTick: number, untilTick: number) =>
      untilTick > fromTick + NOTICED_MS &&
      !this.#away.some((one) => one.fromTick < untilTick && one.untilTick > untilTick - NOTICED_MS);
    const late = callers.flatMap(({ recent }) =>
      recent.filter(({ kind, key, startTick }) => {
        const revokedTick = revoked.get(key)?.revokedTick;
        return kind === "acknowledged" && revokedTick !== undefined &&
          couldKnow(revokedTick, startTick);
      })
    );
    return [...Map.groupBy(late, ({ key }) => key)].map(([key, all]) =>
      `${revoked.get(key)!.id} was served ${all.length} times after it was revoked`
    );
  }
}
