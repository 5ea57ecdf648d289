import { type Account, AccountError, mustNotMislead } from "../accounts/mod.ts";
import type { Database } from "../database/mod.ts";
import { grantStatements, newLotId } from "../ledger/mod.ts";
import type { Bonuses } from "./registration.ts";

/** Credits that can be bought (`packages` of the settings). */
export interface CreditPackage {
  readonly id: string;
  readonly name: string;
  /** Null for one that is agreed on by hand. */
  readonly credits: number | null;
  readonly priceUsd: number | null;
  /** Days after which what is left of it expires; null for never. */
  readonly validDays: number | null;
}

const DAY_MS = 86_400_000;
const MAX_NOTE = 500;
/** 100 years. */
const LONGEST_MS = 36_525 * DAY_MS;
/** A thousand such grants still add up exactly. */
const MOST_CREDITS = 1e12;

/** Grants by hand, and packages. */
export class Sales {
  readonly #database: Database;
  readonly #packages: readonly CreditPackage[];
  readonly #bonuses: Bonuses;
  readonly #now: () => number;

  constructor(
    database: Database,
    packages: readonly CreditPackage[],
    bonuses: Bonuses,
    now: () => number,
  ) {
    this.#database = database;
    this.#packages = packages;
    this.#bonuses = bonuses;
    this.#now = now;
  }

  /** All that can be bought. */
  get packages(): readonly CreditPackage[] {
    return this.#packages;
  }

  /** The package of an id. Throws {@linkcode AccountError}. */
  package(id: string): CreditPackage {
    const found = this.#packages.find((one) => one.id === id);
    if (found === undefined) {
      const known = this.#packages.map((one) => one.id).join(", ");
      throw new AccountError(`There is no package ${JSON.stringify(id)}; there are ${known}`);
    }
    return found;
  }

  /** Gives credits. Answers the lot's id. */
  async grant(
    account: Account,
    { credits, expiresAtMs = null, note = "" }: {
      readonly credits: number;
      readonly expiresAtMs?: number | null | undefined;
      readonly note?: string | undefined;
    },
  ): Promise<string> {
    const now = this.#now();
    checkCredits(credits);
    if (expiresAtMs !== null && expiresAtMs <= now) {
      throw new AccountError("Cannot grant credits that have already expired");
    }
    if (expiresAtMs !== null && expiresAtMs > now + LONGEST_MS) {
      throw new AccountError("Cannot grant credits that expire in more than 100 years");
    }
    checkNote(note);
    const lotId = newLotId();
    await this.#database.batch(
      grantStatements({
        lotId,
        accountId: account.id,
        source: "grant",
        credits,
        expiresAtMs,
        note,
        atMs: now,
      }),
    );
    return lotId;
  }

  /**
   * Gives a package. Answers the lot's id.
   *
   * @param paid The account has paid for it: its first payment earns its inviter a bonus.
   * @param credits How many, for a package without a number of its own.
   * @param reference The payment's own id: the same payment gives its credits once.
   */
  async sell(
    account: Account,
    bought: CreditPackage,
    { paid, credits, reference, note = "" }: {
      readonly paid: boolean;
      readonly credits?: number | undefined;
      readonly reference?: string | undefined;
      readonly note?: string | undefined;
    },
  ): Promise<string> {
    const amount = bought.credits ?? credits;
    if (amount === undefined) {
      throw new AccountError(`The package ${bought.id} has no number of credits: give one`);
    }
    checkCredits(amount);
    const text = note === "" ? bought.name : `${bought.name}: ${note}`;
    checkNote(text);
    const now = this.#now();
    const lotId = reference === undefined ? newLotId() : `lot_${reference}`;
    const inviter = await this.#inviterOf(account);
    await this.#database.batch([
      ...grantStatements({
        lotId,
        accountId: account.id,
        source: "package",
        credits: amount,
        expiresAtMs: bought.validDays === null ? null : now + bought.validDays * DAY_MS,
        note: text,
        atMs: now,
      }),
      ...(paid && inviter !== undefined
        ? grantStatements({
          lotId: `lot_payment_${account.id}`,
          accountId: inviter,
          source: "invite_payment",
          credits: this.#bonuses.inviteFirstPayment,
          expiresAtMs: null,
          atMs: now,
        })
        : []),
    ]);
    return lotId;
  }

  async #inviterOf(account: Account): Promise<string | undefined> {
    const row = await this.#database.one("select invited_by from accounts where id = ?", [
      account.id,
    ]);
    return typeof row?.invited_by === "string" ? row.invited_by : undefined;
  }
}

function checkCredits(credits: number): void {
  if (credits < 1) throw new AccountError("Cannot grant less than 1 credit");
  if (credits > MOST_CREDITS) {
    throw new AccountError(`Cannot grant more than ${MOST_CREDITS} credits at once`);
  }
}

function checkNote(note: string): void {
  mustNotMislead("note", note);
  const { length } = note;
  if (length <= MAX_NOTE) return;
  throw new AccountError(
    `Cannot grant credits as the note has ${length} characters: at most ${MAX_NOTE} are allowed`,
  );
}
