import { type Account, AccountError, conflict, mustNotMislead } from "../../people/accounts/mod.ts";
import { minorUnits } from "../../settings/config/mod.ts";
import type { Database, Row, Statement } from "../../ground/database/mod.ts";
import { randomText } from "../../ground/platform/mod.ts";
import {
  grantStatements,
  idOfReference,
  lotStatement,
  takeableOf,
  type TakeBack,
  takeBack,
} from "../ledger/mod.ts";
import { type CreditPackage, packageOf, recordSale } from "../payments/mod.ts";
import type { Bonuses } from "./registration.ts";
import { DAY_MS } from "../../ground/time.ts";

/** Result of a grant. */
export interface Granted {
  readonly lotId: string;
  /** Identifies the grant: granting again with the same reference changes nothing. */
  readonly reference: string;
  /** Whether an earlier grant with the same reference already gave the credits. */
  readonly isRepeated: boolean;
}

const MAX_NOTE = 500;
const MAX_REFERENCE = 200;
/** 100 years. */
const LONGEST_MS = 36_525 * DAY_MS;
/** A thousand such grants still add up exactly. */
const MAX_CREDITS = 1e12;

/**
 * Makes a new reference.
 *
 * @returns A random reference such as `ref_h3KxTq8mPw2Nc5Ry`.
 */
export function newReference(): string {
  return `ref_${randomText(16)}`;
}

/** Grants credits, sells packages, and takes credits back. All are idempotent by their reference. */
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

  /** The packages in the settings. */
  get packages(): readonly CreditPackage[] {
    return this.#packages;
  }

  /**
   * Gets a package by its ID.
   *
   * @throws {AccountError} If the package is unknown.
   */
  package(id: string): CreditPackage {
    return packageOf(this.#packages, id);
  }

  /**
   * Grants credits.
   *
   * @param grant Number of credits (1 to 10^12), expiry in milliseconds since the epoch (`null`: never), note and
   *   reference.
   * @returns The new lot, or that of an earlier grant with the same reference.
   * @throws {AccountError} If a value is invalid, or the reference was used for something else.
   */
  async grant(
    account: Account,
    { credits, expiresAtMs = null, note = "", reference = newReference() }: {
      readonly credits: number;
      readonly expiresAtMs?: number | null | undefined;
      readonly note?: string | undefined;
      /** Identifies this grant: the same reference grants once per account. */
      readonly reference?: string | undefined;
    },
  ): Promise<Granted> {
    const atMs = this.#now();
    checkCredits(credits);
    if (expiresAtMs !== null && expiresAtMs <= atMs) {
      throw new AccountError("The expiry of a grant must be in the future");
    }
    if (expiresAtMs !== null && expiresAtMs > atMs + LONGEST_MS) {
      throw new AccountError("The expiry of a grant must be within 100 years");
    }
    checkNote(note);
    checkReference(reference);
    const lotId = idOfReference("lot", account.id, reference);
    const rows = await this.#database.batch([
      ...grantStatements({
        lotId,
        accountId: account.id,
        source: "grant",
        credits,
        expiresAtMs,
        note,
        atMs,
      }),
      // read in the same transaction, since a read after the commit could fail
      lotStatement(lotId),
    ]);
    const [made, , [lot]] = rows as [Row[], Row[], [Row]];
    mustBeSame(lot, { source: "grant", credits, reference });
    return { lotId, reference, isRepeated: made.length === 0 };
  }

  /**
   * Records the sale of a package and grants its credits.
   *
   * @param sale Whether the account paid (its first payment earns its inviter a bonus), the number of credits if the
   *   package has none of its own, what was paid if not its price, the payment's ID as reference, and a note.
   * @returns The new lot, or that of an earlier sale with the same reference.
   * @throws {AccountError} If a value is missing or invalid, or the reference was used for something else.
   */
  async sell(
    account: Account,
    bought: CreditPackage,
    { paid, credits, price, reference = newReference(), note = "" }: {
      readonly paid: boolean;
      readonly credits?: number | undefined;
      /** What was paid, if not the package's price in US dollars. */
      readonly price?: { readonly amount: number; readonly currency: string } | undefined;
      readonly reference?: string | undefined;
      readonly note?: string | undefined;
    },
  ): Promise<Granted> {
    const amount = bought.credits ?? credits;
    if (amount === undefined) {
      throw new AccountError(`Package ${bought.id} has no fixed number of credits: specify one`);
    }
    checkCredits(amount);
    const text = note === "" ? bought.name : `${bought.name}: ${note}`;
    checkNote(text);
    checkReference(reference);
    const lotId = idOfReference("lot", account.id, reference);
    const { lot, isRepeated } = await recordSale(this.#database, {
      accountId: account.id,
      reference,
      lotId,
      packageId: bought.id,
      packageName: bought.name,
      credits: amount,
      validDays: bought.validDays,
      models: bought.models,
      ...priceOf(bought, price),
      isPayment: paid,
      note: text,
      bonusCredits: this.#bonuses.inviteFirstPayment,
      atMs: this.#now(),
    });
    mustBeSame(lot, { source: "package", credits: amount, reference });
    return { lotId, reference, isRepeated };
  }

  /**
   * Takes back the remaining credits of a lot, or up to `credits` of them. Credits held by in-flight requests are not
   * taken. If the lot was the account's first payment and is taken back completely, what remains of the inviter's
   * bonus is taken back too.
   *
   * @param account Owner of the lot.
   * @param lot ID of the lot, max number of credits (default: all), note and reference.
   * @returns The take-back with its entry's ID; with the same reference, the earlier one.
   * @throws {AccountError} If nothing can be taken, a value is invalid, or the reference was used for something else.
   */
  async takeBack(
    account: Account,
    { lotId, credits, note, reference = newReference(), guards, also }: {
      readonly lotId: string;
      readonly credits?: number | undefined;
      readonly note: string;
      readonly reference?: string | undefined;
      /** Statements to run first in the same transaction: they fail if nothing may be taken any more. */
      readonly guards?: readonly Statement[] | undefined;
      /** Returns statements to run in the same transaction, by the ID of the take-back. */
      readonly also?: ((id: string) => readonly Statement[]) | undefined;
    },
  ): Promise<TakeBack & { readonly id: string; readonly reference: string }> {
    if (credits !== undefined && credits < 1) {
      throw new AccountError("Cannot take back less than 1 credit");
    }
    if (note === "") {
      throw new AccountError("A note is required: say why the credits are taken back");
    }
    checkNote(note);
    checkReference(reference);
    const accountId = account.id;
    const id = idOfReference("take_back", accountId, reference);
    const atMs = this.#now();
    const taken = await takeBack(this.#database, {
      id,
      accountId,
      lotId,
      credits,
      note,
      atMs,
      guards,
      also: also?.(id),
    });
    if (taken === undefined) throw await this.#notTaken(account, lotId);
    if (taken.lotId !== lotId || taken.wanted !== credits) {
      throw conflict(
        `Reference ${JSON.stringify(reference)} was already used to take back ${
          taken.wanted === undefined ? "all remaining credits" : plural(taken.wanted)
        } of ${taken.lotId}. Use another reference`,
      );
    }
    return { ...taken, id, reference };
  }

  async #notTaken(account: Account, lotId: string): Promise<AccountError> {
    const left = await takeableOf(this.#database, { accountId: account.id, lotId });
    if (left === undefined) {
      return new AccountError(
        `${account.email} has no lot ${
          JSON.stringify(lotId.slice(0, 60))
        }. List lots with: sluice credits show`,
        { fault: "missing" },
      );
    }
    return conflict(
      left === 0
        ? `Nothing to take back: ${lotId} has no credits left`
        : `Nothing to take back: the remaining credits of ${lotId} are held by in-flight requests. ` +
          "Try again when they have ended",
    );
  }
}

/** Rejects a reference that made something else before. */
function mustBeSame(
  lot: Row | undefined,
  { source, credits, reference }: {
    readonly source: "grant" | "package";
    readonly credits: number;
    readonly reference: string;
  },
): void {
  if (lot?.source === source && lot.granted === credits) return;
  throw conflict(
    `Reference ${JSON.stringify(reference)} was already used for a ${
      lot?.source === "package" ? "package" : "grant"
    } of ${plural(Number(lot?.granted))}. Use another reference to ${
      source === "package" ? "record a package of" : "grant"
    } ${credits.toLocaleString("en-US")}`,
  );
}

/** What was paid for a package, in minor units; null if nobody said. */
function priceOf(
  { priceUsd }: CreditPackage,
  price: { readonly amount: number; readonly currency: string } | undefined,
): { readonly amount: number | null; readonly currency: string } {
  if (price !== undefined) return price;
  try {
    return { amount: priceUsd === null ? null : minorUnits(priceUsd, "usd"), currency: "usd" };
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    return { amount: null, currency: "usd" }; // a price that no payment service would take
  }
}

function checkCredits(credits: number): void {
  if (credits < 1) throw new AccountError("Cannot grant less than 1 credit");
  if (credits > MAX_CREDITS) {
    throw new AccountError(
      `Cannot grant more than ${MAX_CREDITS.toLocaleString("en-US")} credits at once`,
    );
  }
}

function checkNote(note: string): void {
  mustNotMislead("note", note);
  const { length } = note;
  if (length <= MAX_NOTE) return;
  throw new AccountError(
    `Note too long: ${length} characters, the limit is ${MAX_NOTE}`,
  );
}

function checkReference(reference: string): void {
  mustNotMislead("reference", reference);
  const { length } = reference;
  if (length >= 1 && length <= MAX_REFERENCE) return;
  throw new AccountError(
    `The reference must be 1 to ${MAX_REFERENCE} characters long: got ${length}`,
  );
}

function plural(credits: number): string {
  return `${credits.toLocaleString("en-US")} credit${credits === 1 ? "" : "s"}`;
}
