import { Buffer } from "node:buffer";
import * as z from "zod";
import { columnsIn, insertOf, rowOf } from "../../ground/row.ts";
import type { Database } from "../../ground/database/mod.ts";
import { BoundCipher } from "../../wire/sealing/mod.ts";
import { AccountError } from "./account.ts";
import { jsonArrayOfRows, jsonObject } from "../../ground/sql/mod.ts";

/** When requests of a team are sent with its own keys: only, before the gateway's keys, or after them. */
export const OWN_KEY_USES = ["only", "first", "last"] as const;
/** One of them. */
export type OwnKeyUse = typeof OWN_KEY_USES[number];

/** Whom an own key belongs to: an account or a team. */
export type UpstreamKeyOwner =
  | { readonly accountId: string; readonly teamId?: undefined }
  | { readonly teamId: string; readonly accountId?: undefined };

const upstreamKeyRow = rowOf({
  id: z.string(),
  account_id: z.string().nullable(),
  team_id: z.string().nullable(),
  upstream: z.string(),
  /** The key as {@linkcode UpstreamKeyCipher} encrypted it. */
  sealed: z.string(),
  /** The end of the key. */
  hint: z.string(),
  set_at_ms: z.int(),
});

/** A key of an upstream that belongs to an account or a team. */
export type OwnUpstreamKey = z.output<typeof upstreamKeyRow>;

/** The keys of a caller, as {@linkcode OWN_KEYS_OF_CALLER} selects them. */
export const ownKeysColumn = z.string().transform((json) =>
  z.array(upstreamKeyRow).parse(JSON.parse(json))
);

const COLUMNS = columnsIn(upstreamKeyRow);

/** Keys that requests with an API key may be sent with: those of its team, or of its account if it is of none. */
export const OWN_KEYS_OF_CALLER = `(
  select ${
  jsonArrayOfRows(jsonObject(COLUMNS.replaceAll(/\w+/g, "own.$& as $&")))
} from upstream_keys as own
  where own.team_id = keys.team_id or keys.team_id is null and own.account_id = keys.account_id
)`;

const MAX_KEY_CHARS = 4_096;
const HINT_CHARS = 4;
/** Of a shorter key, its end would give too much of it away. */
const MIN_HINTED_CHARS = 16;

/**
 * Checks a key of an upstream, as it is sent in a header.
 *
 * @returns The key, without white space around it.
 * @throws {AccountError} If it is empty, too long or has characters that no header can have. The key is not in the message.
 */
export function checkUpstreamKey(key: string): string {
  const trimmed = key.trim();
  if (trimmed === "") throw new AccountError("The key is empty: pass the key of the upstream");
  if (trimmed.length > MAX_KEY_CHARS) {
    throw new AccountError(
      `The key is too long: ${trimmed.length} characters, the limit is ${MAX_KEY_CHARS}`,
    );
  }
  if (!/^[\x21-\x7e]+$/.test(trimmed)) {
    throw new AccountError("The key must have no spaces, line breaks or characters beyond ASCII");
  }
  return trimmed;
}

/** Returns the end of a key that it is recognized by; empty for a short one. */
export function upstreamKeyHint(key: string): string {
  return key.length < MIN_HINTED_CHARS ? "" : key.slice(-HINT_CHARS);
}

/** Encrypts own keys. Each is bound to its owner and upstream: elsewhere it cannot be decrypted. */
export class UpstreamKeyCipher {
  readonly #cipher: BoundCipher;

  /** @param secret The key of the seals. */
  constructor(secret: Uint8Array) {
    this.#cipher = new BoundCipher(secret, "sluice own upstream keys");
  }

  /** Encrypts a key. */
  seal(key: string, owner: UpstreamKeyOwner, upstream: string): string {
    const ownerId = owner.teamId ?? owner.accountId!;
    return this.#cipher.encrypt(key, [ownerId, upstream]).toString("base64");
  }

  /**
   * Decrypts a key.
   *
   * @returns `undefined` if it was encrypted with another key of the seals, as after a restore without it, or was changed.
   */
  open(
    { sealed, accountId, teamId, upstream }: Pick<
      OwnUpstreamKey,
      "sealed" | "accountId" | "teamId" | "upstream"
    >,
  ): string | undefined {
    try {
      return this.#cipher.decrypt(Buffer.from(sealed, "base64"), [teamId ?? accountId!, upstream]);
    } catch {
      return undefined;
    }
  }
}

/** Sets, lists and removes keys of upstreams that belong to accounts and teams. */
export class UpstreamKeys {
  readonly #database: Database;
  readonly #now: () => number;

  constructor(database: Database, now: () => number) {
    this.#database = database;
    this.#now = now;
  }

  /**
   * Sets the key of an owner at an upstream, instead of an earlier one.
   *
   * @param owner The account or team.
   * @param key Its upstream, the encrypted key and its hint.
   */
  async set(
    owner: UpstreamKeyOwner,
    { upstream, sealed, hint }: Pick<OwnUpstreamKey, "upstream" | "sealed" | "hint">,
  ): Promise<void> {
    const { accountId, teamId } = owner;
    const id = upstreamKeyId(owner, upstream);
    const row = { id, accountId, teamId, upstream, sealed, hint, setAtMs: this.#now() };
    await this.#database.batch([
      insertOf("insert into upstream_keys", row, {
        then: `on conflict (id)
          do update set sealed = excluded.sealed, hint = excluded.hint, set_at_ms = excluded.set_at_ms`,
      }),
    ]);
  }

  /** Removes a key. @throws {AccountError} If it does not exist. */
  async remove(id: string): Promise<void> {
    const [rows] = await this.#database.batch([{
      sql: "delete from upstream_keys where id = ? returning id",
      args: [id],
    }]);
    if (rows!.length > 0) return;
    throw new AccountError(`Upstream key ${id} not found`, { fault: "missing" });
  }

  /** Finds a key by its ID. */
  async byId(id: string): Promise<OwnUpstreamKey | undefined> {
    const row = await this.#database.one(
      `select ${COLUMNS} from upstream_keys where id = ?`,
      [id],
    );
    return row === undefined ? undefined : upstreamKeyRow.parse(row);
  }

  /** Lists keys, those of one owner or all, by owner and upstream. */
  async list(owner?: UpstreamKeyOwner): Promise<OwnUpstreamKey[]> {
    const { accountId, teamId } = owner ?? {};
    const [where, args] = teamId !== undefined
      ? ["where team_id = ?", [teamId]]
      : accountId !== undefined
      ? ["where account_id = ?", [accountId]]
      : ["", []];
    const rows = await this.#database.all(
      `select ${COLUMNS} from upstream_keys ${where} order by id`,
      args,
    );
    return rows.map((row) => upstreamKeyRow.parse(row));
  }
}

/** Returns the ID of the key of an owner at an upstream. */
export function upstreamKeyId({ accountId, teamId }: UpstreamKeyOwner, upstream: string): string {
  return `${teamId ?? accountId}:${upstream}`;
}
