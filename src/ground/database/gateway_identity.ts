import { printed, randomText } from "../platform/mod.ts";
import { delay, dirname, joinPath } from "../std/mod.ts";
import { ifThere, lockedFile } from "../files/mod.ts";
import { type Announcement, AnnouncementFile, LOCKS } from "./announcement.ts";

/** Who a gateway is among those that share a database. */
export interface GatewayIdentity extends Disposable {
  /**
   * One for each of its threads. They are the same whenever it starts with the same data directory, unless it takes over
   * from another.
   */
  readonly ids: readonly string[];
  /** Identities of gateways and threads that have used the directory and do not run: what they held is free. */
  readonly abandoned: readonly string[];
  /**
   * Identities in a data directory that was copied from another's. That one may run: what they hold is free only in a database that was
   * copied, too.
   */
  readonly copied: readonly string[];
  /** Path of the file that is locked. */
  readonly lock: string;
  /** Leaves word in the data directory of this gateway; gone when it stops. */
  announce(announcement: Announcement): void;
  /** Whether another gateway runs on the directory, which has taken over or is about to. */
  hasSuccessor(): Promise<boolean>;
  /** Identities of the gateway that had the directory beside this one, if that does not run any more. */
  ended(): Promise<readonly string[]>;
  /** Computes the answer to a challenge, which the word in the data directory lets others check. */
  prove(challenge: string): Promise<string>;
}

/** Thrown when another gateway runs on a data directory. */
export class DirectoryInUse extends Error {
  override readonly name = "DirectoryInUse";
}

/**
 * How often, and how soon, a lock is asked for again that somebody has. A program that this process starts has its descriptors until it
 * is loaded, and their locks with them: one that was given up just now seems to be taken.
 */
const MAX_TRIES = 10;
const TRY_MS = 10;

/** How a gateway identifies itself. */
export interface IdentityOptions {
  /** Whether another gateway may run on the directory, which is about to hand over. */
  readonly takeover?: boolean | undefined;
  /** Number of threads that serve. Default: as many as the last gateway on the directory had. */
  readonly threads?: number | undefined;
}

/**
 * Takes a data directory for this process. The lock is the system's and ends with the process,
 * however it ends.
 *
 * @throws {DirectoryInUse} when another gateway runs on the directory: it would release that one's holds. With
 *   `takeover`, when one is handing over already.
 */
export async function gatewayIdentity(
  directory: string,
  { takeover = false, threads }: IdentityOptions = {},
): Promise<GatewayIdentity> {
  await makeDirectory(directory);
  await refuseLinks(directory);
  // a gateway locks one of these; of two, one is handing over to the other
  const paths = LOCKS.map((name) => joinPath(directory, name));
  const isTaken = () => file === undefined || other === undefined && !takeover;
  let [files, file, other] = await lockedOf(paths);
  for (let tries = 0; tries < MAX_TRIES && isTaken(); tries++) {
    file?.close();
    await delay(TRY_MS);
    [files, file, other] = await lockedOf(paths);
  }
  if (file === undefined || isTaken()) {
    file?.close();
    throw new DirectoryInUse(
      takeover
        ? `A gateway on ${directory} has been taken over and still finishes its requests: try again later`
        : `Another gateway is running on ${directory}: stop it, take over from it with --takeover, ` +
          "or choose another directory with --data",
    );
  }
  const before = other && await kept(other);
  other?.close();
  const known = await kept(file);
  const own: KeptIdentity = {
    id: known?.isCopy === false ? known.id : `gw_${randomText(16)}`,
    threads: threads ?? known?.threads ?? 1,
    isCopy: false,
  };
  if (known?.threads !== own.threads || known.isCopy) await keep(file, own);
  const earlier = [before, known].filter((one) => one !== undefined);
  const ids = idsOf(own);
  const at = files.indexOf(file);
  return identity({
    ids,
    file,
    lock: paths[at]!,
    otherPath: paths[1 - at]!,
    announced: new AnnouncementFile(directory, paths[at]!),
    abandoned: idsOfAll(earlier.filter(({ isCopy }) => !isCopy)).filter((id) => !ids.includes(id)),
    copied: idsOfAll(earlier.filter(({ isCopy }) => isCopy)),
  });
}

/** Locks files, as far as nobody has them. Returns them in the order of the paths, and the first two that are locked. */
async function lockedOf(paths: readonly string[]) {
  const files = await Promise.all(paths.map((path) => lockedFile(path)));
  const [file, other] = files.filter((one) => one !== undefined);
  return [files, file, other] as const;
}

/** Returns the IDs of the gateways that have or had a data directory, whether they run or not. */
export async function gatewayIdsOf(directory: string): Promise<readonly string[]> {
  const all = await Promise.all(LOCKS.map(async (name) => {
    using file = await ifThere(Deno.open(joinPath(directory, name)));
    return file && await kept(file);
  }));
  return idsOfAll(all.filter((one) => one !== undefined));
}

/**
 * Finds the processes that have a data directory, as the system knows them: two while one hands over to the other.
 *
 * @returns Their IDs; none if the system does not say.
 */
export async function lockHolders(directory: string): Promise<readonly number[]> {
  if (Deno.build.os !== "linux") return [];
  const inodes = await Promise.all(
    LOCKS.map((name) => Deno.stat(joinPath(directory, name)).then(({ ino }) => ino, () => null)),
  );
  return (await printed("/proc/locks")).split("\n").flatMap((line) => {
    const [, pid, inode] = /FLOCK +\w+ +\w+ +(\d+) +\w+:\w+:(\d+)/.exec(line) ?? [];
    return inode !== undefined && inodes.includes(Number(inode)) ? [Number(pid)] : [];
  });
}

/** What an identity's file keeps: the gateway's ID, and how many threads it has. */
interface KeptIdentity {
  readonly id: string;
  readonly threads: number;
  /** Whether the file is a copy of the one that the identity was written into. */
  readonly isCopy: boolean;
}

function idsOfAll(all: readonly KeptIdentity[]): string[] {
  return all.flatMap(idsOf);
}

/** IDs of all threads of a gateway. */
function idsOf({ id, threads }: KeptIdentity): string[] {
  return Array.from({ length: threads }, (_, at) => at === 0 ? id : `${id}.${at + 1}`);
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

/** The identity in a file. Read through the locked handle: some systems keep every other one out, ours included. */
async function kept(file: Deno.FsFile): Promise<KeptIdentity | undefined> {
  const bytes = new Uint8Array(128);
  const text = new TextDecoder().decode(bytes.subarray(0, await file.read(bytes) ?? 0)).trim();
  const [, id, threads = "1", inode] = IDENTITY.exec(text) ?? [];
  if (id === undefined) return undefined;
  const { ino } = await file.stat();
  const isCopy = inode !== undefined && ino !== null && Number(inode) !== ino;
  return { id, threads: Number(threads), isCopy };
}

/** ID, number of threads, and the file's own number in its file system, which a copy does not have. */
const IDENTITY = /^(gw_[A-Za-z0-9]{16})(?: (\d{1,3}))?(?: inode (\d+))?$/;

async function keep(file: Deno.FsFile, { id, threads }: KeptIdentity): Promise<void> {
  const { ino } = await file.stat();
  await file.truncate();
  await file.seek(0, Deno.SeekMode.Start);
  const text = `${id} ${threads}${ino === null ? "" : ` inode ${ino}`}\n`;
  await file.write(new TextEncoder().encode(text));
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
  options: IdentityOptions = {},
): Promise<GatewayIdentity | undefined> {
  if (file === undefined || dirname(file) === directory) return undefined;
  return await gatewayIdentity(dirname(file), options);
}

/** Names of what Sluice writes into a data directory. */
const WRITTEN = /^(?:sluice\.db|gateway\.|models\.json|client-keys|seal\.key)/;

/**
 * Refuses a data directory whose files are symbolic links: one that came with somebody's repository would have other files
 * of this user overwritten.
 *
 * @throws {Error} If there is such a link.
 */
export async function refuseLinks(directory: string): Promise<void> {
  const folders = [directory];
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
    for await (const { name, isSymlink, isDirectory } of entriesOf(folder)) {
      const path = joinPath(folder, name);
      const isOurs = folder !== directory || WRITTEN.test(name);
      if (isSymlink && isOurs) {
        throw new Error(
          `${path} is a symbolic link, which Sluice does not follow: remove it, or choose another directory with --data`,
        );
      }
      if (isDirectory && isOurs) folders.push(path);
    }
  }
}

async function* entriesOf(folder: string): AsyncGenerator<Deno.DirEntry> {
  try {
    yield* Deno.readDir(folder);
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
}

function identity(
  { ids, file, lock, otherPath, announced, abandoned, copied }:
    & Pick<GatewayIdentity, "ids" | "lock" | "abandoned" | "copied">
    & {
      readonly file: Deno.FsFile;
      readonly otherPath: string;
      readonly announced: AnnouncementFile;
    },
): GatewayIdentity {
  return {
    ids,
    abandoned,
    copied,
    lock,
    announce: (said) => announced.write(said),
    async hasSuccessor() {
      const other = await lockedFile(otherPath);
      other?.close();
      return other === undefined;
    },
    async ended() {
      const other = await lockedFile(otherPath);
      try {
        const known = other && await kept(other);
        return known === undefined || known.isCopy ? [] : idsOf(known);
      } finally {
        other?.close();
      }
    },
    prove: announced.prove,
    [Symbol.dispose]() {
      announced.remove();
      file.close();
    },
  };
}
