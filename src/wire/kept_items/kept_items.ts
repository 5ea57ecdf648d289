import { Buffer } from "node:buffer";
import type {
  Database,
  GroupWrite,
  JsonObject as DatabaseJson,
} from "../../ground/database/mod.ts";
import { isObject, type JsonObject, text } from "../dialects/mod.ts";
import { parseJson } from "../json/mod.ts";
import type { BoundCipher } from "../sealing/mod.ts";
import type { Log } from "../../ground/telemetry/mod.ts";
import {
  elementsOf,
  integerAt,
  jsonArray,
  jsonArrayOfRows,
  parsedElementsOf,
  ROW,
  sumOf,
  textAt,
  textsOf,
} from "../../ground/sql/mod.ts";

/** Dependencies and settings of {@linkcode KeptItems}. */
export interface KeptItemsOptions {
  readonly database: Database;
  readonly cipher: BoundCipher;
  readonly log: Log;
  /** The database's clock, in milliseconds since 1970. */
  readonly now: () => number;
  /** How long items are kept, in milliseconds; 0 for not at all. */
  readonly keepMs: number;
}

/** Limits of one account. Of more, the oldest are deleted. */
const MAX_ITEMS = 2_000;
const MAX_BYTES = 16 * 1_048_576;
/** Of several items that are written at once: a libSQL server takes 5 MB, and any server has to answer in time. */
const MAX_WRITE_BYTES = 2 * 1_048_576;
/** IDs that are kept and looked up. */
const ID = /^[A-Za-z0-9._:-]{1,128}$/;

/** What one reply leaves. */
interface Kept extends DatabaseJson {
  readonly reply: string;
  readonly account: string;
  readonly now: number;
  readonly expires: number;
  /** ID, encrypted text. */
  readonly items: readonly (readonly [string, string])[];
}

const KEEP: GroupWrite<Kept> = {
  name: "kept items",
  key: "reply",
  forgettable: true,
  repeatable: true,
  statements: [
    // a reply's JSON is read once, not for each part or item
    `insert into kept_items (account_id, item_id, bytes, created_at_ms, expires_at_ms, sealed)
      with replies (reply) as materialized (${parsedElementsOf("?1")}), kept as materialized (
        select ${textAt("reply", "account")} as account, ${integerAt("reply", "now")} as now_ms,
          ${integerAt("reply", "expires")} as expires_at_ms, ${textAt("reply", "items")} as items
        from replies
      )
      select account, ${textAt("item.value", 0)}, length(${textAt("item.value", 1)}), now_ms,
        expires_at_ms, ${textAt("item.value", 1)}
      from kept cross join ${elementsOf("items", "item")}
      where true on conflict (account_id, item_id) do update set bytes = excluded.bytes,
        created_at_ms = excluded.created_at_ms, expires_at_ms = excluded.expires_at_ms,
        sealed = excluded.sealed`,
    // The newest that fit stay: rows of an account by age, with sums from the newest on.
    `with owners as materialized (
        select ${textAt("value", "account")} as id from ${elementsOf("?1")}
      ), newest as materialized (
        select ${ROW} as id, row_number() over newer as number,
          ${sumOf("bytes")} over newer as total
        from kept_items where account_id in (select id from owners)
        window newer as (partition by account_id order by expires_at_ms desc, bytes desc
          rows between unbounded preceding and current row)
      )
      delete from kept_items where ${ROW} in (
        select id from newest where number > ${MAX_ITEMS} or total > ${MAX_BYTES})`,
  ],
};

const OWN = `where account_id = ? and item_id in ${textsOf()} and expires_at_ms > ?`;
const SIZE = `select coalesce(${sumOf("bytes")}, 0) as bytes from kept_items ${OWN}`;

/** One text, so that reading stays flat in memory. */
const FIND = `select ${jsonArrayOfRows(jsonArray("item_id", "sealed"))} as items from kept_items
  ${OWN}`;

/** Keeps the items of replies, and finds them again. */
export class KeptItems {
  readonly #options: KeptItemsOptions;

  constructor(options: KeptItemsOptions) {
    this.#options = options;
  }

  /**
   * Keeps the items of a reply. Never rejects: what cannot be kept is logged, and is unknown later.
   *
   * @param accountId The account that may refer to them.
   * @param reply The reply's ID.
   * @param items Objects with an `id`; others are left out.
   */
  async keep(accountId: string, reply: string, items: readonly JsonObject[]): Promise<void> {
    const { database, log, now, keepMs } = this.#options;
    if (keepMs === 0) return;
    try {
      const kept = items.flatMap((item) => {
        const id = text(item.id);
        if (id === undefined || !ID.test(id)) return [];
        const encrypted = this.#encrypt(item, [accountId, id]);
        return encrypted.length > MAX_BYTES ? [] : [[id, encrypted] as const];
      });
      const nowMs = now();
      for (const portion of portionsOf(kept)) {
        await database.write(KEEP, {
          reply,
          account: accountId,
          now: nowMs,
          expires: nowMs + keepMs,
          items: portion,
        });
      }
    } catch (error) {
      log.warn("items of a reply were not kept", { reply, error: String(error) });
    }
  }

  /**
   * Finds kept items of an account.
   *
   * @param makeRoom Called with their size in bytes before they are read. They are read once it resolves.
   * @returns Those that are there, by their IDs.
   * @throws {DatabaseError} If the database cannot be read.
   */
  async find(
    accountId: string,
    ids: readonly string[],
    makeRoom: (bytes: number) => Promise<void> = () => Promise.resolve(),
  ): Promise<ReadonlyMap<string, JsonObject>> {
    const { database, now, keepMs } = this.#options;
    const found = new Map<string, JsonObject>();
    const known = [...new Set(ids)].filter((id) => ID.test(id));
    if (keepMs === 0 || known.length === 0) return found;
    const owned = [accountId, JSON.stringify(known), now()];
    const size = await database.one(SIZE, owned);
    await makeRoom(Number(size?.bytes ?? 0));
    const row = await database.one(FIND, owned);
    const rows: unknown = JSON.parse(String(row?.items ?? "[]"));
    for (const one of Array.isArray(rows) ? rows : []) {
      const [id, encrypted] = (Array.isArray(one) ? one : []).map(String);
      if (id === undefined || encrypted === undefined) continue;
      const item = this.#decrypt(encrypted, [accountId, id]);
      if (item !== undefined) found.set(id, item);
    }
    return found;
  }

  #encrypt(item: JsonObject, owner: readonly string[]): string {
    return this.#options.cipher.encrypt(JSON.stringify(item), owner).toString("base64url");
  }

  /** Undefined for one of another key, as after a restore, and for one that was tampered with. */
  #decrypt(encrypted: string, owner: readonly string[]): JsonObject | undefined {
    try {
      const json = this.#options.cipher.decrypt(Buffer.from(encrypted, "base64url"), owner);
      const item: unknown = json === undefined ? undefined : parseJson(json);
      return isObject(item) ? item : undefined;
    } catch (error) {
      this.#options.log.warn("a kept item cannot be read", {
        item: owner[1],
        error: String(error),
      });
      return undefined;
    }
  }
}

/** Items in their order, as many together as are written at once. */
function portionsOf(items: Kept["items"]): Kept["items"][] {
  const portions: (Kept["items"][number])[][] = [];
  let bytes = Infinity;
  for (const item of items) {
    bytes += item[1].length;
    if (bytes > MAX_WRITE_BYTES) {
      portions.push([]);
      bytes = item[1].length;
    }
    portions.at(-1)!.push(item);
  }
  return portions;
}
