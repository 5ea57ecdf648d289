import { checkTarget, ifThere, replaceFile } from "../../files/mod.ts";
import { basename, dirname, joinPath } from "../../std/mod.ts";
import { type Database, DatabaseError } from "../database.ts";
import { EmbeddedDatabase } from "./embedded.ts";
import { COPY } from "./embedded_protocol.ts";
import { sqliteError } from "../sqlite/failures.ts";
import { schemaVersion } from "../migrate.ts";
import { schemaFault } from "../migrations/mod.ts";
import { outboxFiles, outboxPath, outboxPlaces } from "../outbox.ts";
import { removeFile } from "../outbox_file.ts";

/** How often progress is reported. */
const TELL_MS = 250;

/**
 * Makes a consistent copy of an embedded database, as of one moment after the call, while others read
 * and write. The copy is complete and on the disk before it has its name; an older one of that name
 * is replaced if it is a regular file.
 *
 * @param tell Called now and then with the part that is done, 0 to 1.
 */
export async function backUp(
  database: Database,
  to: string,
  tell: (part: number) => void = () => {},
): Promise<{ readonly bytes: number; readonly schema: number }> {
  await refuseLiveDatabase(database.place, to);
  const size = await databaseBytes(database);
  return await replaceFile(to, async (beside) => {
    const timer = setInterval(() => {
      Deno.stat(beside).then((now) => tell(Math.min(1, now.size / size)), () => {});
    }, TELL_MS);
    try {
      await database.all(COPY, [beside]);
      const { schema } = await inspectFile(beside);
      return { bytes: (await Deno.stat(beside)).size, schema };
    } catch (error) {
      await removeCompanions(beside);
      throw error;
    } finally {
      clearInterval(timer);
    }
  }, { mode: 0o600 });
}

/**
 * Copies a database beside it before its schema is changed, while others read and write. Replaces an older copy of that name.
 *
 * @param version Of the schema that it has.
 * @throws {DatabaseError} When another program has changed the schema meanwhile: its copy is the right one.
 */
export async function copyBefore(database: Database, version: number): Promise<void> {
  const to = `${database.place}.before-schema-${version + 1}`;
  await replaceFile(to, (beside) => database.all(COPY, [beside]), {
    mode: 0o600,
    async check() {
      if (await schemaVersion(database) === version) return;
      throw new DatabaseError(
        "SLUICE_SCHEMA",
        `Cannot copy ${database.place}: it is being migrated`,
      );
    },
  });
}

/** A backup onto a database that is in use would be joined with that one's log, and spoil it. */
async function refuseLiveDatabase(place: string, to: string): Promise<void> {
  const stat = (path: string) => Deno.stat(path).catch(() => undefined);
  const [own, target] = [await stat(place), await stat(to)];
  const refuse = (why: string) => {
    throw new DatabaseError("SLUICE_IN_USE", `Cannot back up to ${to} as ${why}`);
  };
  const same = own !== undefined && target !== undefined && own.ino !== null &&
    own.dev === target.dev && own.ino === target.ino;
  if (same || isCompanion(to, place)) {
    refuse("that is the database itself: choose another name");
  }
  for (const companion of COMPANIONS) {
    const beside = await stat(`${to}${companion}`);
    if (beside !== undefined && beside.size > 0) {
      refuse(`a database is in use there (${to}${companion} is beside it): choose another name`);
    }
  }
}

/** Bytes of an embedded database, what its log holds included. */
export async function databaseBytes(database: Database): Promise<number> {
  const row = await database.one(
    "select page_count * page_size as size from pragma_page_count(), pragma_page_size()",
  );
  return Number(row!.size);
}

/** What a restored database is. */
export interface Restored {
  readonly schema: number;
  readonly bytes: number;
  /** Where the database that was there before is kept, if there was one. */
  readonly before: string | undefined;
}

/**
 * Replaces an embedded database that no process has open by a backup. The files that are there are kept
 * under another name; nothing changes before the backup has been checked.
 *
 * @throws {DatabaseError} when the backup is damaged, is none, or has a schema that this program does not know.
 */
export async function restoreFile(
  from: string,
  file: string,
  { nowMs, outboxDirectory, note = () => Promise.resolve() }: {
    readonly nowMs: number;
    /** Directory of its outboxes. Default: that of the file. */
    readonly outboxDirectory?: string | undefined;
    /** Writes to the copy before it takes its place; its schema may be an older one. */
    readonly note?: (copy: Database) => Promise<void>;
  },
): Promise<Restored> {
  const log = await Deno.stat(`${from}-wal`).catch(() => undefined);
  if (log !== undefined && log.size > 0) {
    throw new DatabaseError(
      "SLUICE_NOT_A_BACKUP",
      `Cannot restore ${from} as it is a database in use and not a backup (${from}-wal is beside ` +
        "it): make one with sluice backup",
    );
  }
  await checkTarget(file);
  const arriving = `${file}.restoring`;
  await removeDatabase(arriving);
  try {
    await Deno.copyFile(from, arriving);
    await Deno.chmod(arriving, 0o600).catch(ignoreUnsupported);
    const { schema } = await inspectFile(arriving, { name: from, note });
    const bytes = await synced(arriving);
    await takeOwnerOf(file, arriving);
    const stamp = new Date(nowMs).toISOString().replaceAll(/[-:]|\.\d+/g, "");
    const before = await unusedName(`${file}.before-restore-${stamp}`);
    const kept = await keepDatabase(file, { before, outboxDirectory });
    await Deno.rename(arriving, file); // at every moment before there was a whole database here
    return { schema, bytes, before: kept ? before : undefined };
  } catch (error) {
    await removeDatabase(arriving);
    throw error;
  }
}

/**
 * Makes a database file, which has its name once the work is done and it is on the disk.
 *
 * @throws {DatabaseError} If there is a file of that name.
 */
export async function fillFile<T>(
  file: string,
  work: (database: Database) => Promise<T>,
): Promise<T> {
  if (await Deno.lstat(file).then(() => true, () => false)) {
    throw new DatabaseError(
      "SLUICE_NOT_EMPTY",
      `Cannot copy to ${file}: the file exists. Move it away first`,
    );
  }
  const arriving = `${file}.arriving`;
  await removeDatabase(arriving);
  try {
    (await Deno.open(arriving, { write: true, createNew: true, mode: 0o600 })).close();
    const database = await EmbeddedDatabase.open(arriving, { durability: "normal" });
    const result = await work(database).finally(() => database.close());
    await inspectFile(arriving);
    await synced(arriving);
    await takeOwnerOf(file, arriving);
    await Deno.rename(arriving, file);
    return result;
  } catch (error) {
    await removeDatabase(arriving);
    throw error;
  }
}

/** Looks a closed database file through. */
async function inspectFile(
  path: string,
  { name = path, note }: {
    readonly name?: string;
    readonly note?: (copy: Database) => Promise<void>;
  } = {},
): Promise<{ readonly schema: number }> {
  let database: EmbeddedDatabase | undefined;
  try {
    database = await EmbeddedDatabase.open(path, { durability: "full" });
    const damage = Object.values((await database.one("pragma quick_check(1)"))!)[0];
    if (damage !== "ok") throw new DatabaseError("SQLITE_CORRUPT", `it is damaged (${damage})`);
    const schema = await schemaVersion(database);
    if (schema === 0) throw new DatabaseError("SLUICE_NOT_A_BACKUP", "it is no Sluice database");
    const fault = schemaFault(schema, { isBackup: true });
    if (fault !== undefined) throw new DatabaseError(fault.code, `${fault.why}. ${fault.remedy}`);
    await note?.(database);
    await foldLog(database);
    return { schema };
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    const code = error instanceof DatabaseError ? error.code : "SQLITE_ERROR";
    // a full or failing disk says nothing of the backup
    const what = /^SQLITE_(FULL|IOERR)/.test(code)
      ? `Cannot check ${name}`
      : `Cannot use ${name} as a backup`;
    throw sqliteError(code, `${what}: ${why}`, { cause: error });
  } finally {
    await database?.close();
    await removeCompanions(path); // the driver leaves them, empty
  }
}

/** Makes a file durable; answers its size. */
async function synced(path: string): Promise<number> {
  using file = await Deno.open(path, { read: true, write: true });
  await file.sync();
  return (await file.stat()).size;
}

/** What belongs to a database besides its file. */
const COMPANIONS = ["-wal", "-shm"];

/** Whether a path is that of a file beside a database. */
function isCompanion(path: string, file: string): boolean {
  return COMPANIONS.some((companion) => path === `${file}${companion}`) ||
    path.startsWith(outboxPath(file, ""));
}

/** A name that nothing has yet: what was kept before stays. */
async function unusedName(name: string): Promise<string> {
  for (let count = 1;; count++) {
    const tried = count === 1 ? name : `${name}-${count}`;
    if (!await Deno.lstat(tried).then(() => true, () => false)) return tried;
  }
}

/** Gives a database another name besides its own, and its log that name alone. */
async function keepDatabase(
  file: string,
  { before, outboxDirectory }: {
    readonly before: string;
    readonly outboxDirectory: string | undefined;
  },
): Promise<boolean> {
  const there = await Deno.stat(file).then(() => true, () => false);
  if (there) {
    await foldLogOf(file);
    await Deno.link(file, before).catch(() => Deno.copyFile(file, before));
  }
  // a log without its database as well: it would be played into the restored one, as what an outbox has kept
  for (const companion of COMPANIONS) {
    await ifThere(Deno.rename(`${file}${companion}`, `${before}${companion}`));
  }
  for (const place of outboxPlaces(file, outboxDirectory)) {
    // each in its directory, which may be on another disk
    const aside = joinPath(dirname(place), basename(before));
    for (const outbox of await outboxFiles(place)) {
      await Deno.rename(outbox, `${aside}${outbox.slice(place.length)}`);
    }
  }
  return there;
}

/**
 * Takes an embedded database's log into its file, so that all of it is there.
 *
 * @returns Whether it is: not when another process reads or writes just now.
 */
export async function foldLog(database: Database): Promise<boolean> {
  return (await database.one("pragma wal_checkpoint(truncate)"))?.busy === 0;
}

/** Does so with a file; one that cannot be opened keeps its log beside it. */
async function foldLogOf(file: string): Promise<void> {
  try {
    const database = await EmbeddedDatabase.open(file, { durability: "full" });
    await foldLog(database);
    await database.close();
  } catch {
    // a damaged database is why one restores
  }
}

/** A restore that runs as root is for the user that the gateway runs as. */
async function takeOwnerOf(file: string, arriving: string): Promise<void> {
  const { uid, gid } = await Deno.stat(file).catch(() => Deno.stat(dirname(file)));
  if (uid === null || gid === null) return;
  await Deno.chown(arriving, uid, gid).catch(() => {}); // only root may, and only root must
}

async function removeDatabase(path: string): Promise<void> {
  await removeFile(path);
  await removeCompanions(path);
}

async function removeCompanions(path: string): Promise<void> {
  for (const companion of COMPANIONS) await removeFile(`${path}${companion}`);
}

/** Windows has no modes of this kind. */
function ignoreUnsupported(error: unknown): void {
  if (!(error instanceof Deno.errors.NotSupported)) throw error;
}
