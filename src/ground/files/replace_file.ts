import { randomText } from "../platform/mod.ts";
import { basename, dirname, joinPath } from "../std/mod.ts";
import { lockedFile } from "./lock_file.ts";

/** Names of the standard output, for commands that write a file. */
const STANDARD_OUTPUT = ["-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"];

/** Whether a path that a user has given means the standard output. */
export function isStandardOutput(path: string): boolean {
  return STANDARD_OUTPUT.includes(path);
}

/**
 * Makes sure that a path names a regular file or nothing.
 *
 * @param path Where a file is to be written.
 * @returns What is there; `undefined` for nothing.
 * @throws {Error} If something else is there, saying what.
 */
export async function checkTarget(path: string): Promise<Deno.FileInfo | undefined> {
  const fault = (why: string, cause?: unknown) =>
    new Error(`Cannot write to ${path} as ${why}: name a regular file or a new one`, { cause });
  const found = await Deno.lstat(path).catch((error) => {
    if (error instanceof Deno.errors.NotFound) return undefined;
    if (error instanceof Deno.errors.NotADirectory) {
      throw fault(`${dirname(path)} is not a directory`, error);
    }
    // the platform guards /dev, /proc and /sys (https://docs.deno.com/runtime/fundamentals/security/)
    if (error instanceof Deno.errors.NotCapable) {
      throw fault("it is a device or a file of the system", error);
    }
    throw error;
  });
  if (found === undefined || found.isFile) return found;
  throw fault(`it is ${await kindOf(path, found)}`);
}

/** What is at a path, in words. Windows tells links and directories only. */
async function kindOf(path: string, found: Deno.FileInfo): Promise<string> {
  if (found.isSymlink) return `a link to ${await Deno.readLink(path).catch(() => "a file")}`;
  if (found.isDirectory) return "a directory";
  if (found.isFifo) return "a named pipe";
  return found.isSocket ? "a socket" : "a device";
}

/** How a file is replaced. */
interface ReplaceOptions {
  /** Permissions of a new file, before the umask. One that is replaced keeps those of its own that are among them. */
  readonly mode: number;
  /** Called once the file is on the disk, before it takes its name. If it throws, nothing changes. */
  readonly check?: (beside: string) => void | Promise<void>;
}

/**
 * Replaces a file by a new one, which keeps the owner of the old one. Of several writers at once, each writes a file of its own,
 * and the last one's stays.
 *
 * @param write Fills a new, empty file beside it, whose path it is given.
 * @returns What `write` resolved with.
 * @throws {Error} If something else than a regular file is there, or writing fails. Nothing is changed then.
 */
export async function replaceFile<T>(
  path: string,
  write: (beside: string) => Promise<T>,
  options: ReplaceOptions,
): Promise<T> {
  const before = await checkTarget(path);
  const directory = dirname(path);
  if (!await Deno.stat(directory).then((one) => one.isDirectory, () => false)) {
    throw new Error(`Cannot write to ${path} as there is no directory ${directory}: create it`);
  }
  await removeLeftovers(path);
  const { beside, free } = await besideOf(path);
  try {
    return await replaceBy(path, { ...options, beside, before }, write);
  } finally {
    await free();
  }
}

async function replaceBy<T>(
  path: string,
  { beside, before, mode, check }: ReplaceOptions & {
    readonly beside: string;
    readonly before: Deno.FileInfo | undefined;
  },
  write: (beside: string) => Promise<T>,
): Promise<T> {
  try {
    const own = 0o600 | mode & (before?.mode ?? mode); // it is written before it may be read-only
    (await Deno.open(beside, { write: true, createNew: true, mode: own })).close();
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new Error(`Cannot write to ${path}: no file can be created beside it (${why})`, {
      cause: error,
    });
  }
  try {
    const result = await write(beside);
    await keepOwner(before, beside);
    if (before !== undefined && before.mode !== null) await Deno.chmod(beside, mode & before.mode);
    await sync(beside);
    await check?.(beside);
    await checkTarget(path); // it may have become something else
    await Deno.rename(beside, path);
    await syncDirectory(dirname(path));
    return result;
  } catch (error) {
    await Deno.remove(beside).catch(() => {});
    throw error;
  }
}

/**
 * Writes a file, whole or not at all, as {@linkcode replaceFile} does.
 *
 * @throws {Error} If something else than a regular file is there, or writing fails. Nothing is changed then.
 */
export async function writeFile(
  path: string,
  content: string,
  options: ReplaceOptions,
): Promise<void> {
  await replaceFile(path, (beside) => Deno.writeTextFile(beside, content), options);
}

/** What is older than this has no writer any more, in milliseconds. */
const LEFT_MS = 86_400_000;
const PARTIAL = ".partial";
/** What SQLite has beside a file while it writes. */
const COMPANIONS = ["-journal", "-wal", "-shm"];
const LOCK = ".lock";
/** The end of a name beside a file, of what belongs to that, and of its lock. */
const BESIDE = /\.[A-Za-z0-9]{12}\.partial(-journal|-wal|-shm|\.lock)?$/;

/**
 * Chooses a name that nothing else has, and a short one, since those of files have 255 bytes. A lock says that its writer lives: on a
 * file of its own, as SQLite locks what it writes, and on some file systems the two would meet.
 *
 * @returns The path, and what gives up the lock.
 */
async function besideOf(path: string): Promise<{ beside: string; free: () => Promise<void> }> {
  while (true) {
    const beside = joinPath(dirname(path), `${beginningOf(path)}${randomText(12)}${PARTIAL}`);
    const lock = `${beside}${LOCK}`;
    const remove = () => Deno.remove(lock).catch(() => {});
    try {
      const file = await lockedFile(lock);
      if (file === undefined) continue; // another writer takes it for a leftover just now
      return { beside, free: () => remove().finally(() => file.close()) };
    } catch {
      await remove(); // without locks, what is left goes by its age
      return { beside, free: () => Promise.resolve() };
    }
  }
}

function beginningOf(path: string): string {
  return `.${basename(path).slice(0, 40)}.`;
}

/**
 * Removes what writers of a file left beside it when they were killed: where a lock shows that the writer is dead, at once, else after a
 * day.
 */
export async function removeLeftovers(path: string): Promise<void> {
  const [directory, beginning] = [dirname(path), beginningOf(path)];
  try {
    for await (const { name, isFile } of Deno.readDir(directory)) {
      if (!isFile || !name.startsWith(beginning) || !BESIDE.test(name)) continue;
      const left = joinPath(directory, name);
      if (name.endsWith(LOCK)) await removeDead(left).catch(() => {});
      const { mtime = null } = await Deno.lstat(left).catch(() => ({ mtime: null }));
      if (mtime !== null && mtime.getTime() < Date.now() - LEFT_MS) await Deno.remove(left);
    }
  } catch {
    // a new file does not depend on it
  }
}

/** Removes a lock that nobody holds, with all that it was for. */
async function removeDead(lock: string): Promise<void> {
  using held = await lockedFile(lock, { create: false });
  if (held === undefined) return;
  const beside = lock.slice(0, -LOCK.length);
  for (const end of ["", ...COMPANIONS, LOCK]) {
    await Deno.remove(`${beside}${end}`).catch(() => {});
  }
}

/** Who writes as root does so for the user that the file is of. */
async function keepOwner(before: Deno.FileInfo | undefined, path: string): Promise<void> {
  if (before === undefined || before.uid === null || before.gid === null) return;
  const { uid, gid } = await Deno.stat(path);
  if (uid === before.uid && gid === before.gid) return;
  await Deno.chown(path, before.uid, before.gid).catch(() => {}); // only root may, and only root must
}

/** Waits until the names of new files in a directory survive the loss of power, where the system can open directories. */
export async function syncDirectory(path: string): Promise<void> {
  await sync(path).catch(() => {});
}

async function sync(path: string): Promise<void> {
  using file = await Deno.open(path);
  await file.sync();
}
