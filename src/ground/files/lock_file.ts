import { cFunctions, within } from "../platform/mod.ts";

/** On Deno before 2.5, which can only wait for a lock. */
const LOCK_PATIENCE_MS = 1_000;

const SYMBOLS = {
  open: { parameters: ["buffer", "i32"], result: "i32" },
  flock: { parameters: ["i32", "i32"], result: "i32" },
  close: { parameters: ["i32"], result: "i32" },
} as const satisfies Deno.ForeignLibraryInterface;
// from <fcntl.h> and <sys/file.h>
const O_RDWR = 2;
const O_CLOEXEC = Deno.build.os === "linux" ? 0x8_0000 : 0x100_0000;
const LOCK_EX = 2;
const LOCK_NB = 4;

/**
 * Opens and locks a file, for as long as it is open: whatever ends the process, the lock ends with it.
 *
 * @param path The file. It is made if it is not there, unless `create` is false.
 * @returns The open file; `undefined` if another process, or another part of this one, has locked it.
 * @throws {Error} If the file cannot be opened, or its file system has no locks.
 */
export async function lockedFile(
  path: string,
  { create = true }: { readonly create?: boolean } = {},
): Promise<Deno.FsFile | undefined> {
  const file = await Deno.open(path, {
    read: true,
    write: true,
    ...(create ? { create, mode: 0o600 } : {}),
  });
  let isLocked = false;
  let isThere = true;
  try {
    isLocked = await locked(file, path);
    // who had locked it before may have removed it since it was opened
    isThere = !isLocked || (await file.stat()).nlink !== 0;
  } finally {
    if (!isLocked || !isThere) file.close();
  }
  if (!isThere) return await lockedFile(path, { create });
  return isLocked ? file : undefined;
}

/** The part of a file that matters here; `tryLock` came with Deno 2.5. */
interface Lockable {
  lock(exclusive: boolean): Promise<void>;
  tryLock?(exclusive: boolean): Promise<boolean>;
}

async function locked(file: Lockable, path: string): Promise<boolean> {
  if (file.tryLock !== undefined) return await file.tryLock(true);
  // to wait takes one of few threads for as long as the other has the lock, even after the file is closed
  if (isHeld(path)) return false;
  return await within(LOCK_PATIENCE_MS, file.lock(true).then(() => true), () => false);
}

/**
 * Whether somebody has locked a file, also in this process: tries to, for a moment. Of two who try at once, one finds that it is
 * not held. False where the C library cannot be called.
 */
function isHeld(path: string): boolean {
  const libc = cFunctions(SYMBOLS);
  if (libc === undefined) return false;
  const { open, flock, close } = libc;
  const descriptor = open(new TextEncoder().encode(`${path}\0`), O_RDWR | O_CLOEXEC);
  const isFree = descriptor < 0 || flock(descriptor, LOCK_EX | LOCK_NB) === 0;
  if (descriptor >= 0) close(descriptor);
  return !isFree;
}
