import { randomText } from "../platform/mod.ts";
import { dirname, joinPath } from "../std/mod.ts";
import { type Announcement, AnnouncementFile } from "./announcement.ts";

/** Who a gateway is among those that share a database. */
export interface GatewayIdentity extends Disposable {
  /** The same whenever it starts with the same data directory. */
  readonly id: string;
  /** Leaves word in the data directory of this gateway; gone when it stops. */
  announce(announcement: Announcement): void;
  /** Computes the answer to a challenge, which the word in the data directory lets others check. */
  prove(challenge: string): Promise<string>;
}

/** Thrown when another gateway runs on a data directory. */
export class DirectoryInUse extends Error {
  override readonly name = "DirectoryInUse";
}

/** On Deno before 2.5, which can only wait for a lock. */
const LOCK_PATIENCE_MS = 1_000;

/**
 * Takes a data directory for this process. The lock is the system's and ends with the process,
 * however it ends.
 *
 * @throws {DirectoryInUse} when another gateway runs on the directory: it would release that one's holds.
 */
export async function gatewayIdentity(directory: string): Promise<GatewayIdentity> {
  await makeDirectory(directory);
  const path = joinPath(directory, "gateway.id");
  const file = await Deno.open(path, { read: true, write: true, create: true, mode: 0o600 });
  if (!await locked(file)) {
    file.close();
    throw new DirectoryInUse(
      `Another gateway is running on ${directory}: stop it, or choose another ` +
        "directory with --data",
    );
  }
  // through the locked handle: some systems keep every other one out, ours included
  const bytes = new Uint8Array(64);
  const known = new TextDecoder().decode(bytes.subarray(0, await file.read(bytes) ?? 0)).trim();
  const id = /^gw_[A-Za-z0-9]{16}$/.test(known) ? known : `gw_${randomText(16)}`;
  if (id !== known) {
    await file.truncate();
    await file.seek(0, Deno.SeekMode.Start);
    await file.write(new TextEncoder().encode(`${id}\n`));
  }
  return identity(id, file, new AnnouncementFile(directory));
}

/**
 * Makes a directory that only this user can read.
 *
 * @throws {Error} if it cannot be made.
 */
export async function makeDirectory(directory: string): Promise<void> {
  try {
    await Deno.mkdir(directory, { recursive: true, mode: 0o700 });
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new Error(
      `Cannot create the data directory ${directory}: ${why}. Choose another with --data (SLUICE_DATA)`,
      { cause: error },
    );
  }
}

/**
 * Takes a database's own directory as well, where it is not the data directory: a gateway with another data
 * directory may use the same file.
 *
 * @param file Undefined for a server's.
 * @throws {DirectoryInUse} when one does.
 */
export async function databaseAlone(
  directory: string,
  file: string | undefined,
): Promise<Disposable | undefined> {
  if (file === undefined || dirname(file) === directory) return undefined;
  return await gatewayIdentity(dirname(file));
}

function identity(id: string, file: Deno.FsFile, announced: AnnouncementFile): GatewayIdentity {
  return {
    id,
    announce: (said) => announced.write(said),
    prove: announced.prove,
    [Symbol.dispose]() {
      announced.remove();
      file.close();
    },
  };
}

/** The part of a file that matters here; `tryLock` came with Deno 2.5. */
interface Lockable {
  lock(exclusive: boolean): Promise<void>;
  tryLock?(exclusive: boolean): Promise<boolean>;
}

async function locked(file: Lockable): Promise<boolean> {
  if (file.tryLock !== undefined) return await file.tryLock(true);
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<false>((resolve) => {
    timer = setTimeout(() => resolve(false), LOCK_PATIENCE_MS);
  });
  const got = await Promise.race([file.lock(true).then(() => true), late]);
  clearTimeout(timer);
  return got;
}
