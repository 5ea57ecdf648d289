import { Buffer } from "node:buffer";
import { randomBytes } from "node:crypto";
import type { Database } from "../../ground/database/mod.ts";
import { ifThere } from "../../ground/files/mod.ts";
import { randomText } from "../../ground/platform/mod.ts";
import { joinPath } from "../../ground/std/mod.ts";

/** Where the key of the seals comes from. */
export interface SealKeyOptions {
  /** The setting `secret`; undefined if the gateway keeps a key itself. */
  readonly secret: string | undefined;
  /** The data directory. */
  readonly directory: string;
  /** A server, which keeps the key for all gateways that share it; undefined for a database file. */
  readonly server: Database | undefined;
  readonly now: () => number;
}

const KEY_BYTES = 32;
const FILE = "seal.key";
const NAME = "seal key";

const INSERT =
  "insert into secrets (name, value, created_at_ms) values (?, ?, ?) on conflict do nothing";
const DELETE = "delete from secrets where name = ?";
const READ = "select value from secrets where name = ?";

/**
 * The key of the seals. Without a setting it is made once: in the data directory, or in the database where several gateways
 * share a server.
 *
 * @throws {Error} If the key's file is damaged, or cannot be read or written.
 */
export async function sealKey(
  { secret, directory, server, now }: SealKeyOptions,
): Promise<Uint8Array> {
  if (secret !== undefined) return new TextEncoder().encode(secret);
  if (server === undefined) return await keyInFile(joinPath(directory, FILE));
  return await keyInDatabase(server, now());
}

/** A data directory, or the database of a server. */
type KeyPlace = string | Database;

/**
 * Gives a copy of a database the key that opens what is sealed in it.
 *
 * @param from Where it may be; the first that has it counts, and without one there is none to copy.
 * @param to Where it is put: everywhere.
 * @throws {Error} If a directory has another one.
 */
export async function copySealKey(
  from: readonly KeyPlace[],
  to: readonly KeyPlace[],
  nowMs: number,
): Promise<void> {
  let key: Uint8Array | undefined;
  for (const place of from) {
    key ??= await (typeof place === "string" ? keyAt(joinPath(place, FILE)) : keyIn(place));
  }
  if (key === undefined) return;
  for (const place of to) {
    if (typeof place === "string") {
      const path = joinPath(place, FILE);
      const kept = await keyAt(path) ?? await makeKey(path, new Uint8Array(key));
      if (Buffer.compare(kept, key) === 0) continue;
      throw new Error(`${path} is the key of another database: move it away`);
    }
    const text = Buffer.from(key).toString("base64url");
    await place.batch([{ sql: DELETE, args: [NAME] }, { sql: INSERT, args: [NAME, text, nowMs] }]);
  }
}

/** Of several gateways that start at once, one's key is inserted, and all read that one. */
async function keyInDatabase(database: Database, nowMs: number): Promise<Uint8Array> {
  const kept = await keyIn(database);
  if (kept !== undefined) return kept;
  const made = randomBytes(KEY_BYTES).toString("base64url");
  await database.batch([{ sql: INSERT, args: [NAME, made, nowMs] }]);
  return (await keyIn(database))!;
}

async function keyIn(database: Database): Promise<Uint8Array | undefined> {
  const row = await database.one(READ, [NAME]);
  if (row === undefined) return undefined;
  const key = Buffer.from(String(row.value), "base64url");
  if (key.length === KEY_BYTES) return key;
  throw new Error("The key of the seals in the database is damaged: delete it from table secrets");
}

async function keyInFile(path: string): Promise<Uint8Array> {
  return await keyAt(path) ?? await makeKey(path);
}

async function keyAt(path: string): Promise<Uint8Array | undefined> {
  const bytes = await ifThere(Deno.readFile(path));
  if (bytes === undefined || bytes.length === KEY_BYTES) return bytes;
  throw new Error(
    `${path} is damaged: it has ${bytes.length} bytes, not ${KEY_BYTES}. Restore it, or delete it to have a new one made: ` +
      "what clients keep sealed is then unknown",
  );
}

/** The file gets its name once it is whole and on the disk, so that nobody reads half a key; the first one stays. */
async function makeKey(
  path: string,
  key = new Uint8Array(randomBytes(KEY_BYTES)),
): Promise<Uint8Array> {
  const arriving = `${path}.${randomText(8)}`;
  try {
    {
      using file = await Deno.open(arriving, { write: true, createNew: true, mode: 0o600 });
      await file.write(key);
      await file.sync();
    }
    await Deno.link(arriving, path);
    return key;
  } catch (error) {
    const kept = await keyAt(path);
    if (kept !== undefined) return kept;
    if (!await exists(arriving)) throw error;
    await Deno.rename(arriving, path); // a file system without links
    return await keyAt(path) ?? key;
  } finally {
    await Deno.remove(arriving).catch(() => {}); // it was renamed
  }
}

async function exists(path: string): Promise<boolean> {
  return await Deno.lstat(path).then(() => true, () => false);
}
