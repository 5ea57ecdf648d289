import { randomText } from "../platform/mod.ts";
import { dirname, joinPath } from "../std/mod.ts";

/** Who a gateway is among those that share a database. */
export interface GatewayIdentity extends Disposable {
  /** The same whenever it starts with the same data directory. */
  readonly id: string;
  /** Leaves word in the data directory of this gateway; gone when it stops. */
  announce(announcement: Announcement): void;
}

/** What a running gateway says of itself in its data directory, as JSON. */
export interface Announcement {
  /** Where it listens. */
  readonly url: string;
  readonly pid: number;
  /** The settings file in use, and what it held; null without one. */
  readonly settings: { readonly file: string; readonly digest: string } | null;
  /** How the last reload went; null if there was none. */
  readonly reload: {
    /** How many there were. */
    readonly count: number;
    readonly atMs: number;
    /** Why the settings in use stayed; null if the new ones are used. */
    readonly fault: string | null;
    /** Changed settings that need a restart. */
    readonly needRestart: readonly string[];
  } | null;
}

/** Thrown when another gateway runs on a data directory. */
export class DirectoryInUse extends Error {
  override readonly name = "DirectoryInUse";
}

const ANNOUNCEMENT = "gateway.json";

/** On Deno before 2.5, which can only wait for a lock. */
const LOCK_PATIENCE_MS = 1_000;

/**
 * Takes a data directory for this process. The lock is the system's and ends with the process,
 * however it ends.
 *
 * @throws {DirectoryInUse} when another gateway runs on the directory: it would release that one's holds.
 */
export async function gatewayIdentity(directory: string): Promise<GatewayIdentity> {
  await Deno.mkdir(directory, { recursive: true, mode: 0o700 });
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
  return identity(id, file, joinPath(directory, ANNOUNCEMENT));
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

function identity(id: string, file: Deno.FsFile, announcement: string): GatewayIdentity {
  let announced = false;
  return {
    id,
    announce(said) {
      const whole = `${announcement}.new`;
      Deno.writeTextFileSync(whole, `${JSON.stringify(said)}\n`, { mode: 0o600 });
      Deno.renameSync(whole, announcement);
      announced = true;
    },
    [Symbol.dispose]() {
      if (announced) removeIfThere(announcement);
      file.close();
    },
  };
}

/**
 * Reads what the gateway of a data directory said of itself.
 *
 * @param directory The data directory.
 * @returns Its announcement, or `undefined` if there is none. The gateway may have been killed since.
 */
export async function announcedGateway(directory: string): Promise<Announcement | undefined> {
  try {
    const said = JSON.parse(await Deno.readTextFile(joinPath(directory, ANNOUNCEMENT)));
    return URL.canParse(said?.url) ? said : undefined;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound || error instanceof SyntaxError) return undefined;
    throw error;
  }
}

function removeIfThere(path: string): void {
  try {
    Deno.removeSync(path);
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
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
