import { createHash } from "node:crypto";
import * as z from "zod";
import { columnsIn, insertOf, jsonText, rowOf, shownText } from "../../ground/row.ts";
import { type Account, AccountError, mustNotMislead } from "../../people/accounts/mod.ts";
import { type Database, DatabaseError } from "../../ground/database/mod.ts";
import { grantStatements } from "../ledger/mod.ts";
import { newId, randomText } from "../../ground/platform/mod.ts";
import type { CreditPackage } from "./checkout.ts";
import { DAY_MS, HOUR_MS, NEVER, startOf } from "../../ground/time.ts";

const codeRow = rowOf({
  id: z.string(),
  /** Its first characters, to recognise it. */
  hint: z.string(),
  package_id: shownText.nullable(),
  package_name: shownText.nullable(),
  credits: z.int(),
  /** Lifetime of its credits; null: never expire. */
  valid_days: z.int().nullable(),
  /** What its credits pay for; null for all models. */
  models: jsonText(z.array(z.string())).nullable(),
  note: shownText,
  created_at_ms: z.int(),
  /** Until when it can be redeemed; null: always. */
  expires_at_ms: z.int().transform((ms) => ms === NEVER ? null : ms),
  revoked_at_ms: z.int().nullable(),
  redeemed_at_ms: z.int().nullable(),
  /** ID of the account that redeemed it. */
  redeemed_by: z.string().nullable(),
});

/** A redemption code, without the code itself, of which only a digest is kept. */
export type RedemptionCode = z.output<typeof codeRow>;

/** What codes are made for. */
export interface CodeRequest {
  /** A package, with its credits and lifetime. */
  readonly offer?: CreditPackage | undefined;
  /** A number of credits, without a package or for one that has none. */
  readonly credits?: number | undefined;
  readonly validDays?: number | undefined;
  readonly expiresAtMs?: number | undefined;
  readonly note?: string | undefined;
  /** How many codes. */
  readonly count?: number | undefined;
  /** The codes. Default: random ones. */
  readonly codes?: readonly MadeCode[] | undefined;
}

/** Thrown if codes of these IDs were made before. */
export class DuplicateCode extends AccountError {
  constructor(options?: ErrorOptions) {
    super("These codes were made already", { ...options, fault: "conflict" });
  }
}

/** A code with its ID, before only its digest is kept. */
export interface MadeCode {
  readonly id: string;
  readonly code: string;
}

/** Wrong codes within an hour. */
const MAX_OF_ACCOUNT = 10;
const MAX_OF_CLIENT = 30;
const MAX_CODES = 1_000;
const MAX_CREDITS = 1e12;
/** Letters and digits that are not mistaken for each other: 5 bits each. */
const ALPHABET = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789";
/** 80 bits: they cannot be guessed, however many there are. */
const LENGTH = 16;
/** Of what codes are made from: over 200 bits. */
const SECRET_CHARS = 43;

/** Makes, lists, revokes and redeems codes that are worth credits, each once. */
export class Codes {
  readonly #database: Database;
  readonly #now: () => number;

  constructor(database: Database, now: () => number) {
    this.#database = database;
    this.#now = now;
  }

  /**
   * Makes codes.
   *
   * @returns Each code with its ID. The codes cannot be read again.
   * @throws {AccountError} If the request is invalid.
   */
  async make(
    { offer, credits: given, validDays: givenDays, expiresAtMs, note = "", count = 1, codes }:
      CodeRequest,
  ): Promise<readonly MadeCode[]> {
    const credits = offer?.credits ?? given;
    if (credits === undefined) throw new AccountError("Specify a package or a number of credits");
    if (!Number.isSafeInteger(credits) || credits < 1 || credits > MAX_CREDITS) {
      throw new AccountError(
        `The credits of a code must be 1 to ${MAX_CREDITS.toLocaleString("en-US")}`,
      );
    }
    if (!Number.isSafeInteger(count) || count < 1 || count > MAX_CODES) {
      throw new AccountError(
        `The number of codes must be 1 to ${MAX_CODES.toLocaleString("en-US")}`,
      );
    }
    const validDays = offer === undefined ? givenDays ?? null : offer.validDays;
    if (validDays !== null && (!Number.isSafeInteger(validDays) || validDays < 1)) {
      throw new AccountError("The lifetime of credits must be at least a day");
    }
    const nowMs = this.#now();
    if (expiresAtMs !== undefined && expiresAtMs <= nowMs) {
      throw new AccountError("The expiry of a code must be in the future");
    }
    mustNotMislead("note", note);
    if (note.length > 500) throw new AccountError("Note too long: the limit is 500 characters");
    const made = codes ?? codesOf(randomText(SECRET_CHARS), count);
    const statements = made.map(({ id, code }) =>
      insertOf("insert into redemption_codes", {
        id,
        digest: digestOf(code),
        hint: code.slice(0, 4),
        credits,
        validDays,
        note,
        packageId: offer?.id,
        packageName: offer?.name,
        models: offer?.models && JSON.stringify(offer.models),
        createdAtMs: nowMs,
        expiresAtMs: expiresAtMs ?? NEVER,
      })
    );
    try {
      await this.#database.batch(statements);
    } catch (error) {
      if (!(error instanceof DatabaseError && error.isDuplicate)) throw error;
      throw new DuplicateCode({ cause: error });
    }
    return made;
  }

  /**
   * Lists codes, newest first.
   *
   * @param options The last one of the page before, and how many at most.
   */
  async list(
    { limit = 1_000, after }: {
      readonly limit?: number;
      readonly after?: Pick<RedemptionCode, "id" | "createdAtMs"> | undefined;
    } = {},
  ): Promise<RedemptionCode[]> {
    const rows = await this.#database.all(
      `${SELECT} where ?2 is null or created_at_ms < ?2 or created_at_ms = ?2 and id > ?3
        order by created_at_ms desc, id limit ?1`,
      [limit, after?.createdAtMs ?? null, after?.id ?? null],
    );
    return rows.map((row) => codeRow.parse(row));
  }

  /** Gets a code by its ID. */
  async byId(id: string): Promise<RedemptionCode | undefined> {
    const row = await this.#database.one(`${SELECT} where id = ?`, [id]);
    return row && codeRow.parse(row);
  }

  /** Finds what somebody has typed, also if it is not valid any more. */
  async find(given: string): Promise<RedemptionCode | undefined> {
    const row = await this.#database.one(`${SELECT} where digest = ?`, [digestOf(given)]);
    return row && codeRow.parse(row);
  }

  /**
   * Revokes a code that was not redeemed. Revoking it again changes nothing.
   *
   * @throws {AccountError} If there is no such code, or it was redeemed.
   */
  async revoke(id: string): Promise<void> {
    const [, after] = await this.#database.batch([
      {
        sql: `update redemption_codes set revoked_at_ms = ?
          where id = ? and revoked_at_ms is null and redeemed_at_ms is null`,
        args: [this.#now(), id],
      },
      { sql: "select revoked_at_ms from redemption_codes where id = ?", args: [id] },
    ]);
    const [row] = after!;
    if (row === undefined) {
      throw new AccountError(
        `Unknown code ID ${JSON.stringify(id.slice(0, 60))}. List codes with: sluice codes list`,
      );
    }
    if (row.revoked_at_ms === null) throw new AccountError(`Code ${id} was redeemed already`);
  }

  /**
   * Redeems a code of which the try was counted ({@linkcode countTry}): its credits go to the account, once.
   *
   * @param given The code as it was typed.
   * @param client The client's address, of which wrong codes are counted as well.
   * @returns The credits and until when they are valid.
   * @throws {AccountError} If the code is not valid.
   */
  async redeemCounted(
    account: Account,
    given: string,
    client: string,
  ): Promise<{ readonly credits: number; readonly expiresAtMs: number | null }> {
    const nowMs = this.#now();
    const code = await this.find(given);
    // which of the reasons it is, is nobody's business who guesses
    const invalid = () =>
      new AccountError("This code is not valid: it is mistyped, already used, revoked or expired");
    if (code === undefined) throw invalid();
    const { id, credits, validDays, packageName, models } = code;
    const expiresAtMs = validDays === null ? null : Math.min(nowMs + validDays * DAY_MS, NEVER);
    const [redeemed] = await this.#database.batch([
      {
        sql: `update redemption_codes set redeemed_at_ms = ?, redeemed_by = ?
          where id = ? and redeemed_at_ms is null and revoked_at_ms is null and expires_at_ms > ?
          returning id`,
        args: [nowMs, account.id, id, nowMs],
      },
      ...grantStatements({
        lotId: `lot_${id}`,
        accountId: account.id,
        source: "grant",
        credits,
        expiresAtMs,
        note: packageName === null ? "Redeemed code" : `Redeemed code: ${packageName}`,
        models,
        atMs: nowMs,
        onlyIf: {
          sql: `exists (select 1 from redemption_codes
            where id = ? and redeemed_by = ? and redeemed_at_ms = ?)`,
          args: [id, account.id, nowMs],
        },
      }),
      // a code that was right does not count against those who have several
      ...windowsOf(account, client).flatMap(([who]) => {
        const args = [who, startOf(nowMs, HOUR_MS), id, account.id, nowMs];
        return [
          { sql: `delete from code_tries where tries = 1 and ${OF_RIGHT_CODE}`, args },
          { sql: `update code_tries set tries = tries - 1 where ${OF_RIGHT_CODE}`, args },
        ];
      }),
    ]);
    if (redeemed!.length === 0) throw invalid();
    return { credits, expiresAtMs };
  }

  /**
   * Counts that an account, at a client's address, tries a code.
   *
   * @throws {AccountError} If it has tried too many within the hour.
   */
  async countTry(account: Account, client: string): Promise<void> {
    const nowMs = this.#now();
    const windows = windowsOf(account, client);
    const counts = await this.#database.batch([
      ...windows.map(([who]) => ({
        sql: `insert into code_tries (tried_by, window_at_ms, tries) values (?, ?, 1)
          on conflict (tried_by, window_at_ms) do update set tries = code_tries.tries + 1 returning tries`,
        args: [who, startOf(nowMs, HOUR_MS)],
      })),
      { sql: "delete from code_tries where window_at_ms < ?", args: [nowMs - DAY_MS] },
    ]);
    if (windows.every(([, max], at) => Number(counts[at]![0]?.tries ?? 0) <= max)) return;
    throw new AccountError("Too many codes were tried. Try again in an hour");
  }
}

/** The count of somebody in whose hour a code was redeemed just now. */
const OF_RIGHT_CODE = `tried_by = ? and window_at_ms = ? and exists (
  select 1 from redemption_codes where id = ? and redeemed_by = ? and redeemed_at_ms = ?
)`;

function windowsOf(account: Account, client: string): [who: string, max: number][] {
  return [[`account ${account.id}`, MAX_OF_ACCOUNT], [`client ${client}`, MAX_OF_CLIENT]];
}

const SELECT = `select ${columnsIn(codeRow)} from redemption_codes`;

/** Makes the ID of a code, for the form that makes it: sent again, it makes no other. */
export function newCodeId(): string {
  return newId("code");
}

/**
 * Makes codes such as `K7QM-2XRA-9DTC-HW4P`, with their IDs. The same secret makes the same codes.
 *
 * @param secret At least 160 bits that nobody can guess.
 */
export function codesOf(secret: string, count: number): MadeCode[] {
  return Array.from({ length: Math.min(count, MAX_CODES) }, (_, at) => {
    const bytes = createHash("sha512").update(`sluice codes\n${secret}\n${at}`).digest();
    // 32 letters: no byte favours one
    const letters = Array.from(bytes.subarray(0, LENGTH), (byte) => ALPHABET[byte % 32]).join("");
    const id = `code_${bytes.subarray(32, 44).toString("hex")}`;
    return { id, code: letters.match(/.{4}/g)!.join("-") };
  });
}

/** Of the code as somebody may type it: small letters, spaces and hyphens do not matter. */
function digestOf(code: string): string {
  const plain = code.slice(0, 200).toUpperCase().replaceAll(/[^A-Z0-9]/g, "");
  return createHash("sha256").update(`sluice code\n${plain}`).digest("hex");
}
