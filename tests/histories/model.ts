import type { Database } from "../../src/ground/database/mod.ts";
import type { Account, Key } from "../../src/people/accounts/mod.ts";
import type { Random } from "../fake/random.ts";
import type { Callers } from "../file_faults/callers.ts";

/** A gateway that reaches the database knows of a revoked key after a second; on a busy machine a little later. */
const NOTICED_MS = 5_000;

/** A gateway at a server measures that one's clock, on a busy machine by round trips that take their time. */
const CLOCK_ERROR_MS = 3_000;

/** What bounds the requests of a key beside its account's credits. */
export interface KeyBounds {
  readonly budgetCredits?: number | undefined;
  readonly atOnce?: number | undefined;
  /** Names of budgets that it shares with other keys. */
  readonly shares?: readonly string[];
}

/** Requests of a minute and an hour that a tier allows: each of its keys, and all keys of an account together. */
export type Windows = Readonly<
  Record<"key" | "account", Readonly<Record<"minute" | "hour", number>>>
>;

/** What only a history knows, and a model is compared with. */
export interface Witnesses {
  readonly callers: readonly Callers[];
  /** The most requests of a key, by its secret, that were seen at once. */
  readonly mostAtOnce: (secret: string) => number;
  /** Clocks by which requests are counted are off by up to so much. */
  readonly clocksOffMs: number;
  /** Whether the database has lost admissions, beside which as many more requests were admitted. Default: it has not. */
  readonly hasLost?: boolean;
}

/** A key as its operator knows it. */
interface KnownKey extends KeyBounds {
  readonly id: string;
  readonly secret: string;
  readonly accountId: string;
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
  /** Credits of budgets that keys share, by the name. */
  readonly #shared = new Map<string, number>();
  /** By the account's ID, of those whose tier has narrow rate windows. */
  readonly #windows = new Map<string, Windows>();
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

  /** Notes the rate windows of an account, whose balance is in no other tier. */
  limits(account: Account, windows: Windows): void {
    this.#windows.set(account.id, windows);
  }

  /** Notes a budget that keys share. */
  budgets(name: string, credits: number): void {
    this.#shared.set(name, credits);
  }

  /**
   * Notes that a key was made.
   *
   * @param share How many times as many requests it gets as another key.
   */
  issued(key: Key & { readonly secret: string }, bounds: KeyBounds, share: number): void {
    const { id, secret, accountId } = key;
    this.#keys.push({ id, secret, accountId, ...bounds });
    for (let at = 0; at < share; at++) this.inUse.push(secret);
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
    while (earlier !== undefined && this.inUse.includes(earlier.secret)) {
      this.inUse.splice(this.inUse.indexOf(earlier.secret), 1);
    }
  }

  /** Notes that the database is away; what is returned notes that it is back. */
  awayFrom(fromTick: number): (untilTick: number) => void {
    const span = { fromTick, untilTick: Infinity };
    this.#away.push(span);
    return (untilTick) => void (span.untilTick = untilTick);
  }

  /** Compares with the books, once all gateways have ended. */
  async check(database: Database, witnesses: Witnesses): Promise<string[]> {
    return [
      ...await this.#checkAccounts(database),
      ...(witnesses.hasLost ? [] : await this.#checkBudgets(database)),
      ...await this.#checkWindows(database, witnesses),
      ...this.#checkAtOnce(witnesses),
      ...this.#checkRevoked(witnesses.callers),
    ];
  }

  async #checkAccounts(database: Database): Promise<string[]> {
    const rows = await database.all(
      `select account_id as id, sum(case when kind = 'charge' then 0 else credits end) as granted, sum(credits) as balance
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
    const all = [
      ...this.#keys.map(({ id, budgetCredits = Infinity }) => [id, budgetCredits, [id]] as const),
      ...[...this.#shared].map(([name, credits]) => {
        const sharing = this.#keys.filter(({ shares }) => shares?.includes(name));
        return [name, credits, sharing.map(({ id }) => id)] as const;
      }),
    ];
    return all.flatMap(([name, credits, ids]) => {
      const sum = ids.map((id) => spent.get(id) ?? 0).reduce((sum, one) => sum + one, 0);
      return sum <= credits ? [] : [`${name} spent ${sum} of ${credits}`];
    });
  }

  /** No minute and no hour has more requests than allowed, by the times in the records; and those are true. */
  async #checkWindows(
    database: Database,
    { callers, clocksOffMs, hasLost = false }: Witnesses,
  ): Promise<string[]> {
    const rows = await database.all(
      `select request_id, key_id, account_id, admitted_at_ms as at_ms from usage_records
        where admitted_at_ms is not null`,
    );
    const found: string[] = [];
    const told = new Map(
      callers.flatMap(({ recent }) => recent).map((one) => [one.requestId, one]),
    );
    const errorMs = CLOCK_ERROR_MS + clocksOffMs;
    for (const { request_id: id, at_ms: atMs } of rows) {
      const outcome = told.get(String(id));
      if (outcome === undefined || outcome.kind !== "acknowledged") continue;
      const [fromMs, untilMs] = [outcome.startTick, outcome.endTick].map((tick) =>
        performance.timeOrigin + tick
      ) as [number, number];
      if (Number(atMs) >= fromMs - errorMs && Number(atMs) <= untilMs + errorMs) continue;
      found.push(`${id} was admitted at ${atMs}, and in flight from ${fromMs} to ${untilMs}`);
    }
    const spans = [["minute", 60_000], ["hour", 3_600_000]] as const;
    for (const owner of ["key", "account"] as const) {
      for (const [span, spanMs] of spans) {
        const counts = Map.groupBy(
          rows.filter(({ account_id: id }) => this.#windows.has(String(id))),
          (row) => `${row[`${owner}_id`]} ${span} ${Math.floor(Number(row.at_ms) / spanMs)}`,
        );
        for (const [window, all] of counts) {
          const max = this.#windows.get(String(all[0]!.account_id))![owner][span];
          if (all.length > max && !hasLost) {
            found.push(`${window}: ${all.length} requests, of at most ${max}`);
          }
        }
      }
    }
    return found;
  }

  #checkAtOnce({ mostAtOnce }: Witnesses): string[] {
    return this.#keys.flatMap(({ id, secret, atOnce = Infinity }) =>
      mostAtOnce(secret) <= atOnce
        ? []
        : [`${id} had ${mostAtOnce(secret)} requests at once, of at most ${atOnce}`]
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
