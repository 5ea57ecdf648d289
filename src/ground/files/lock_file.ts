/** On Deno before 2.5, which can only wait for a lock. */
const LOCK_PATIENCE_MS = 1_000;
/** Looks at the system's list: it is read by the page, so that one look misses a lock while others end. */
const LOOKS = 3;

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
    isLocked = await locked(file);
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

async function locked(file: Lockable & Pick<Deno.FsFile, "stat">): Promise<boolean> {
  if (file.tryLock !== undefined) return await file.tryLock(true);
  // to wait takes a thread for as long as the other has the lock, even after the file is closed
  const { ino } = await file.stat();
  for (let times = 0; times < LOOKS; times++) if (await isHeld(ino)) return false;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<false>((resolve) => {
    timer = setTimeout(() => resolve(false), LOCK_PATIENCE_MS);
  });
  const got = await Promise.race([file.lock(true).then(() => true), late]);
  clearTimeout(timer);
  return got;
}

/** Whether somebody has locked a file, as far as the system says (Linux); one of another disk may have the same number. */
async function isHeld(inode: number | null): Promise<boolean> {
  const locks = await Deno.readTextFile("/proc/locks").catch(() => "");
  return locks.includes(`:${inode} `);
}
