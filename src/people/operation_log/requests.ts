import { Buffer } from "node:buffer";
import { createHmac } from "node:crypto";
import type { Database, Row, Statement } from "../../ground/database/mod.ts";
import { digestOf, randomText } from "../../ground/platform/mod.ts";
import { BoundCipher } from "../../wire/sealing/mod.ts";
import { OperationError } from "./operation_error.ts";
import { least } from "../../ground/sql/mod.ts";

/** How long replies are kept. */
export const KEEP_REPLIES_MS = 24 * 3_600_000;
/** How long a request that has not ended keeps others of the same key waiting, should its gateway have died. */
const CLAIM_MS = 10_000;
/** What clocks of gateways may differ by. A claim that ends later than any may is of a clock that was wrong. */
const CLOCK_SLACK_MS = 60_000;
/** Replies that are kept at most; the oldest are deleted first. */
const MAX_REPLIES = 100_000;

/** The reply to a write. */
export interface StoredReply {
  readonly status: number;
  /** JSON text. */
  readonly body: string;
}

/** A write that this gateway carries out, and no other at the same time. */
export interface ClaimedRequest {
  /** Follows from the account and the `Idempotency-Key`. */
  readonly id: string;
  readonly claim: string;
  readonly createdAtMs: number;
  /** What IDs and secrets of the write are made of. */
  readonly seed: Uint8Array;
}

/** Writes with an `Idempotency-Key`: each is carried out once, and its reply is given again. */
export class Requests {
  readonly #database: Database;
  readonly #secret: Uint8Array;
  readonly #cipher: BoundCipher;
  readonly #now: () => number;

  /** @param secret The key of the seals: replies have secrets of new keys. */
  constructor(database: Database, { secret, now }: {
    readonly secret: Uint8Array;
    readonly now: () => number;
  }) {
    this.#database = database;
    this.#secret = secret;
    this.#cipher = new BoundCipher(secret, "sluice replies of operations");
    this.#now = now;
  }

  /**
   * Begins a write, or finds the reply to an earlier request with the same key.
   *
   * @param key The `Idempotency-Key`, the account that sent it, and how long the write may act outside of the database.
   * @param request All that tells the request from another.
   * @throws {OperationError} `idempotency_key_reused` if the key came with another request; `in_progress` if the first
   *   request has not ended.
   */
  async begin(
    { accountId, key, outsideMs = 0 }: {
      readonly accountId: string;
      readonly key: string;
      readonly outsideMs?: number | undefined;
    },
    request: unknown,
  ): Promise<ClaimedRequest | StoredReply> {
    const id = `op_${digestOf(JSON.stringify([accountId, key])).slice(0, 40)}`;
    const hash = digestOf(canonical(request));
    const claim = randomText(16);
    const nowMs = this.#now();
    const untilMs = nowMs + CLAIM_MS + outsideMs;
    const [, , found] = await this.#database.batch([
      {
        sql:
          `insert into operation_requests (id, request_hash, created_at_ms, claim, claimed_until_ms)
          values (?, ?, ?, ?, ?) on conflict (id) do nothing`,
        args: [id, hash, nowMs, claim, untilMs],
      },
      {
        sql: `update operation_requests set claim = ?, claimed_until_ms = ?,
            created_at_ms = ${least("created_at_ms", "?")}
          where id = ? and request_hash = ? and reply is null
            and (claimed_until_ms <= ? or claimed_until_ms > ?)`,
        args: [claim, untilMs, nowMs, id, hash, nowMs, untilMs + CLOCK_SLACK_MS],
      },
      { sql: "select * from operation_requests where id = ?", args: [id] },
    ]);
    const row = found![0]!;
    if (row.request_hash !== hash) throw reused();
    if (row.reply !== null) return this.#open(row);
    if (row.claim !== claim) {
      throw new OperationError(
        "in_progress",
        "The first request with this Idempotency-Key has not ended. Repeat this request in a moment.",
        { retryAfterMs: 1_000 },
      );
    }
    const seed = createHmac("sha256", this.#secret).update(`sluice operation\n${id}`).digest();
    return {
      id,
      claim,
      createdAtMs: Number(row.created_at_ms),
      seed: new Uint8Array(seed),
    };
  }

  /** Returns the statement that keeps the reply to a request, unless it has one. */
  replyStatement({ id }: ClaimedRequest, { status, body }: StoredReply): Statement {
    return {
      sql: "update operation_requests set status = ?, reply = ? where id = ? and reply is null",
      args: [status, this.#cipher.encrypt(body, [id]).toString("base64"), id],
    };
  }

  /** Reads the reply to a request: of several gateways that made one, the first is kept. */
  async replyOf({ id }: ClaimedRequest): Promise<StoredReply | undefined> {
    const row = await this.#database.one("select * from operation_requests where id = ?", [id]);
    return row === undefined || row.reply === null ? undefined : this.#open(row);
  }

  /** Lets a request be tried again that did not change anything. */
  async release({ id, claim }: ClaimedRequest): Promise<void> {
    await this.#database.batch([{
      sql: "delete from operation_requests where id = ? and claim = ? and reply is null",
      args: [id, claim],
    }]);
  }

  #open({ id, status, reply }: Row): StoredReply {
    const body = this.#cipher.decrypt(Buffer.from(String(reply), "base64"), [String(id)]);
    if (body === undefined) throw reused(); // the key of the seals has been replaced
    return { status: Number(status), body };
  }
}

/**
 * Deletes old and surplus replies, up to a number of them.
 *
 * @returns Whether there may be more.
 */
export async function pruneRequests(
  database: Database,
  { nowMs, limit }: { readonly nowMs: number; readonly limit: number },
): Promise<boolean> {
  const surplus = await database.one(
    `select created_at_ms from operation_requests order by created_at_ms desc, id desc
      limit 1 offset ?`,
    [MAX_REPLIES],
  );
  const beforeMs = Math.max(nowMs - KEEP_REPLIES_MS, Number(surplus?.created_at_ms ?? 0));
  const old = `select id from operation_requests where created_at_ms <= ? and claimed_until_ms < ?
    order by created_at_ms, id limit ?`;
  const [gone] = await database.batch([{
    sql: `delete from operation_requests where id in (${old}) returning 1 as gone`,
    args: [beforeMs, nowMs, limit],
  }]);
  return gone!.length === limit;
}

/** Says that a key was used for another request. */
export function reused(): OperationError {
  return new OperationError(
    "idempotency_key_reused",
    "This Idempotency-Key was used for another request, or longer ago than its reply is kept. Use a new one.",
  );
}

/** JSON in which the order of members does not matter. */
function canonical(value: unknown): string {
  return JSON.stringify(
    value,
    (_name, part: unknown) =>
      typeof part === "object" && part !== null && !Array.isArray(part)
        ? Object.fromEntries(Object.entries(part).toSorted(([a], [b]) => a < b ? -1 : 1))
        : part,
  );
}
