import type { Condition, Database, Statement } from "../../ground/database/mod.ts";
import { digestOf, randomText } from "../../ground/platform/mod.ts";
import { insertOf } from "../../ground/row.ts";
import type { Account } from "./account.ts";
import type { GrantOptions } from "./tool_grants.ts";

/** How long somebody has to approve a tool (RFC 8628, section 6.1 has the reasons of these figures). */
const CODE_MS = 600_000;
const INTERVAL_MS = 5_000;
/** By how much the interval grows for a tool that asks too soon (section 3.5). */
const SLOWER_MS = 5_000;
const DEVICE_CHARS = 43;
/** Without vowels, so that no words come about: 20 letters, 34.5 bits in 8 of them. */
const LETTERS = "BCDFGHJKLMNPQRSTVWXZ";
const USER_CHARS = 8;
/** Codes that wait at once: of all tools, and of those at one address. */
const MAX_CODES = 1_000;
const MAX_OF_ADDRESS = 20;

/** What a tool gets that wants to be signed in. */
export interface DeviceCode {
  readonly deviceCode: string;
  /** As people read and type it: `BCDF-GHJK`. */
  readonly userCode: string;
  readonly forMs: number;
  readonly intervalMs: number;
}

/** A tool that waits to be approved, as the page shows it. */
export interface WaitingTool {
  readonly client: string;
  readonly address: string;
  readonly sinceMs: number;
}

/** What became of a device code: somebody's account, or why there are no tokens (RFC 8628, section 3.5). */
export type Polled =
  | {
    readonly accountId: string;
    readonly client: string;
    /** How to sign the tool in; the transaction that does so fails if the code was used meanwhile. */
    readonly grant: GrantOptions;
  }
  | "authorization_pending"
  | "slow_down"
  | "access_denied"
  | "expired_token";

/** Tools that wait for somebody to approve them in the console (RFC 8628). Only digests of codes are stored. */
export class DeviceCodes {
  readonly #database: Database;
  readonly #now: () => number;

  constructor(database: Database, now: () => number) {
    this.#database = database;
    this.#now = now;
  }

  /**
   * Has a tool wait.
   *
   * @param client What the tool calls itself.
   * @param address Of the tool.
   * @returns `undefined` if too many wait already.
   */
  async begin(client: string, address: string): Promise<DeviceCode | undefined> {
    const now = this.#now();
    const [deviceCode, userCode] = [randomText(DEVICE_CHARS), randomText(USER_CHARS, LETTERS)];
    const [, made] = await this.#database.batch([
      { sql: "delete from device_codes where expires_at_ms <= ?", args: [now] },
      insertOf("insert into device_codes", {
        digest: digestOf(deviceCode),
        userDigest: digestOf(userCode),
        client,
        address,
        createdAtMs: now,
        askedAtMs: now,
        expiresAtMs: now + CODE_MS,
        intervalMs: INTERVAL_MS,
      }, {
        onlyIf: {
          sql: `(select count(*) from device_codes) < ?
            and (select count(*) from device_codes where address = ?) < ?`,
          args: [MAX_CODES, address, MAX_OF_ADDRESS],
        },
        then: "returning digest",
      }),
    ]);
    if (made!.length === 0) return undefined;
    return {
      deviceCode,
      userCode: `${userCode.slice(0, 4)}-${userCode.slice(4)}`,
      forMs: CODE_MS,
      intervalMs: INTERVAL_MS,
    };
  }

  /** Finds the tool that waits with a code that somebody typed. */
  async find(typed: string): Promise<WaitingTool | undefined> {
    const row = await this.#database.one(
      `select client, address, created_at_ms from device_codes
        where user_digest = ? and state = 'pending' and expires_at_ms > ?`,
      [digestOf(readUserCode(typed)), this.#now()],
    );
    return row === undefined ? undefined : {
      client: String(row.client),
      address: String(row.address),
      sinceMs: Number(row.created_at_ms),
    };
  }

  /**
   * Approves or denies a tool.
   *
   * @param account Whose tool it becomes, and the provider that has signed them in.
   * @param record Returns the statement of the log; what it is given holds if the tool still waits.
   * @returns Whether it still waited.
   */
  async decide(
    typed: string,
    account: Pick<Account, "id"> & { readonly provider?: string | null },
    isApproved: boolean,
    record?: (onlyIf: Condition) => Statement,
  ): Promise<boolean> {
    const waits = "user_digest = ? and state = 'pending' and expires_at_ms > ?";
    const args = [digestOf(readUserCode(typed)), this.#now()];
    const exists = `exists (select 1 from device_codes where ${waits})`;
    const results = await this.#database.batch([
      ...(record === undefined ? [] : [record({ sql: exists, args })]),
      {
        sql: `update device_codes set state = ?, account_id = ?, provider = ?
          where ${waits} returning digest`,
        args: [
          isApproved ? "approved" : "denied",
          isApproved ? account.id : null,
          account.provider ?? null,
          ...args,
        ],
      },
    ]);
    return results.at(-1)!.length > 0;
  }

  /** What becomes of a tool that asks whether it was approved. */
  async askedFor(deviceCode: string): Promise<Polled> {
    const digest = digestOf(deviceCode);
    const now = this.#now();
    const row = await this.#database.one("select * from device_codes where digest = ?", [digest]);
    if (row === undefined || Number(row.expires_at_ms) <= now) return "expired_token";
    if (row.state === "denied") return "access_denied";
    if (row.state === "approved") {
      return {
        accountId: String(row.account_id),
        client: String(row.client),
        grant: {
          address: String(row.address),
          provider: row.provider === null ? null : String(row.provider),
          // violates a check if the code is gone: of two that ask at once, one gets tokens
          onlyWith: [
            {
              sql: `insert into device_codes (digest) select null
                where not exists (select 1 from device_codes where digest = ?)`,
              args: [digest],
            },
            { sql: "delete from device_codes where digest = ?", args: [digest] },
          ],
        },
      };
    }
    const isSoon = now - Number(row.asked_at_ms) < Number(row.interval_ms);
    await this.#database.batch([{
      sql:
        `update device_codes set asked_at_ms = ?, interval_ms = interval_ms + ? where digest = ?`,
      args: [now, isSoon ? SLOWER_MS : 0, digest],
    }]);
    return isSoon ? "slow_down" : "authorization_pending";
  }
}

/** What somebody typed, as it was made: people leave out the dash, and type small letters. */
function readUserCode(typed: string): string {
  return typed.toUpperCase().replace(/[^A-Z]/g, "").slice(0, 2 * USER_CHARS);
}
