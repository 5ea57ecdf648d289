import {
  type Account,
  AccountError,
  inviterIdOf,
  isActive,
  mustNotMislead,
} from "../accounts/mod.ts";
import type { Condition, Database, Row, Statement } from "../database/mod.ts";
import { randomText } from "../platform/mod.ts";
import {
  grantStatements,
  idOfReference,
  isGranted,
  lotStatement,
  takeableOf,
  type TakeBack,
  takeBack,
} from "../ledger/mod.ts";
import { type Bonuses, paymentBonusOf } from "./registration.ts";

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

/** Credits that were given. */
export interface Granted {
  readonly lotId: string;
  /** Giving it again repeats this grant, which changes nothing. */
  readonly reference: string;
  /** Whether an earlier grant of the same reference gave them. */
  readonly isRepeated: boolean;
}

const DAY_MS = 86_400_000;
const MAX_NOTE = 500;
const MAX_REFERENCE = 200;
/** 100 years. */
const LONGEST_MS = 36_525 * DAY_MS;
/** A thousand such grants still add up exactly. */
const MOST_CREDITS = 1e12;

/** A reference that was not used yet, such as `ref_h3KxTq8mPw2Nc5Ry`. */
export function newReference(): string {
  return `ref_${randomText(16)}`;
}

/** Grants by hand, packages, and taking them back. */
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

  /** Gives credits. Throws {@linkcode AccountError}. */
  async grant(
    account: Account,
    { credits, expiresAtMs = null, note = "", reference = newReference() }: {
      readonly credits: number;
      readonly expiresAtMs?: number | null | undefined;
      readonly note?: string | undefined;
      /** What this grant is called: the same reference gives an account its credits once. */
      readonly reference?: string | undefined;
    },
  ): Promise<Granted> {
    const now = this.#now();
    checkCredits(credits);
    if (expiresAtMs !== null && expiresAtMs <= now) {
      throw new AccountError("Cannot grant credits that have already expired");
    }
    if (expiresAtMs !== null && expiresAtMs > now + LONGEST_MS) {
      throw new AccountError("Cannot grant credits that expire in more than 100 years");
    }
    checkNote(note);
    checkReference(reference);
    const source = "grant";
    return await this.#give({
      accountId: account.id,
      source,
      credits,
      expiresAtMs,
      note,
      reference,
    });
  }

  /**
   * Gives a package. Throws {@linkcode AccountError}.
   *
   * @param paid The account has paid for it: its first payment earns its inviter a bonus.
   * @param credits How many, for a package without a number of its own.
   * @param reference The payment's own id: the same payment gives its credits once.
   */
  async sell(
    account: Account,
    bought: CreditPackage,
    { paid, credits, reference = newReference(), note = "" }: {
      readonly paid: boolean;
      readonly credits?: number | undefined;
      readonly reference?: string | undefined;
      readonly note?: string | undefined;
    },
  ): Promise<Granted> {
    const amount = bought.credits ?? credits;
    if (amount === undefined) {
      throw new AccountError(`The package ${bought.id} has no number of credits: give one`);
    }
    checkCredits(amount);
    const text = note === "" ? bought.name : `${bought.name}: ${note}`;
    checkNote(text);
    checkReference(reference);
    return await this.#give({
      accountId: account.id,
      source: "package",
      credits: amount,
      expiresAtMs: bought.validDays === null ? null : this.#now() + bought.validDays * DAY_MS,
      note: text,
      reference,
    }, paid ? await inviterIdOf(this.#database, account) : "nobody");
  }

  /**
   * Takes back what is left of a lot, or `credits` of it. Credits that in-flight requests hold are not taken.
   * If it was the account's first payment and is taken back whole, so is what is left of the inviter's bonus.
   *
   * @throws {AccountError} if nothing of it can be taken.
   */
  async takeBack(
    account: Account,
    { lotId, credits, note, reference = newReference() }: {
      readonly lotId: string;
      readonly credits?: number | undefined;
      readonly note: string;
      readonly reference?: string | undefined;
    },
  ): Promise<TakeBack & { readonly id: string; readonly reference: string }> {
    if (credits !== undefined && credits < 1) {
      throw new AccountError("Cannot take back less than 1 credit");
    }
    if (note === "") throw new AccountError("Give a note that says why credits are taken back");
    checkNote(note);
    checkReference(reference);
    const accountId = account.id;
    const id = idOfReference("take_back", accountId, reference);
    const atMs = this.#now();
    const taken = await takeBack(this.#database, { id, accountId, lotId, credits, note, atMs });
    if (taken === undefined) throw await this.#notTaken(account, lotId);
    if (taken.lotId !== lotId || taken.wanted !== credits) {
      throw new AccountError(
        `The reference ${JSON.stringify(reference)} was used to take back ${
          taken.wanted === undefined ? "all that was left" : plural(taken.wanted)
        } of ${taken.lotId} already: use another one`,
      );
    }
    return { ...taken, id, reference };
  }

  async #notTaken(account: Account, lotId: string): Promise<AccountError> {
    const found = await takeableOf(this.#database, { accountId: account.id, lotId });
    if (found === undefined) {
      return new AccountError(
        `${account.email} has no lot ${
          JSON.stringify(lotId.slice(0, 60))
        }; see sluice credits show`,
      );
    }
    return new AccountError(
      found.remaining === 0
        ? `Cannot take credits back as ${lotId} has nothing left`
        : `Cannot take credits back as what is left of ${lotId} is held by in-flight requests: ` +
          "try again when they have ended",
    );
  }

  /** @param payment Whose code the account came with, if this is a payment. */
  async #give(
    { reference, ...gift }: {
      readonly accountId: string;
      readonly source: "grant" | "package";
      readonly credits: number;
      readonly expiresAtMs: number | null;
      readonly note: string;
      readonly reference: string;
    },
    payment: string | undefined | "nobody" = "nobody",
  ): Promise<Granted> {
    const atMs = this.#now();
    const { accountId } = gift;
    const lotId = idOfReference("lot", accountId, reference);
    const isSame = isGranted({ lotId, source: gift.source, credits: gift.credits });
    const rows = await this.#database.batch([
      ...grantStatements({ lotId, ...gift, atMs }),
      // read in the transaction itself: what comes after its commit may fail
      lotStatement(lotId),
      ...payment === "nobody"
        ? []
        : this.#firstPayment(accountId, payment, { lotId, isSame, atMs }),
    ]);
    const [made, , [lot]] = rows as [Row[], Row[], [Row]];
    if (lot.source !== gift.source || lot.granted !== gift.credits) {
      throw new AccountError(
        `The reference ${JSON.stringify(reference)} was used for a ${
          lot.source === "package" ? "package" : "grant"
        } of ${plural(Number(lot.granted))} already: use another one to ${
          gift.source === "package" ? "record a package of" : "grant"
        } ${gift.credits.toLocaleString("en-US")}`,
      );
    }
    return { lotId, reference, isRepeated: made.length === 0 };
  }

  /** Keeps which payment was an account's first one, and gives its inviter the bonus for it. */
  #firstPayment(
    accountId: string,
    inviter: string | undefined,
    { lotId, isSame, atMs }: {
      readonly lotId: string;
      readonly isSame: Condition;
      readonly atMs: number;
    },
  ): Statement[] {
    const active = isActive(inviter ?? "");
    const bonus = inviter === undefined ? [] : grantStatements({
      lotId: paymentBonusOf(accountId),
      accountId: inviter,
      source: "invite_payment",
      credits: this.#bonuses.inviteFirstPayment,
      expiresAtMs: null,
      atMs,
      onlyIf: {
        sql: `${active.sql} and ${isSame.sql}
          and not exists (select 1 from first_payments where account_id = ?)`,
        args: [...active.args, ...isSame.args, accountId],
      },
    });
    return [...bonus, {
      sql: `insert into first_payments (account_id, lot_id) select ?, ? where ${isSame.sql}
        on conflict (account_id) do nothing`,
      args: [accountId, lotId, ...isSame.args],
    }];
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

function checkReference(reference: string): void {
  mustNotMislead("reference", reference);
  const { length } = reference;
  if (length >= 1 && length <= MAX_REFERENCE) return;
  throw new AccountError(
    `A reference has 1 to ${MAX_REFERENCE} characters: this one has ${length}`,
  );
}

function plural(credits: number): string {
  return `${credits.toLocaleString("en-US")} credit${credits === 1 ? "" : "s"}`;
}
