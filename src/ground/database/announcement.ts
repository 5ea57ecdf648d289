import * as z from "zod";
import { randomText } from "../platform/mod.ts";
import { encodeHex, joinPath } from "../std/mod.ts";

const announced = z.object({
  url: z.url(),
  /** The host that it listens on, which the address may name by another; null from earlier programs. */
  host: z.string().nullable().default(null),
  pid: z.int().positive(),
  /** Threads that listen. */
  workers: z.int().positive().default(1),
  /** The settings file in use, and what it held; null without one. */
  settings: z.object({ file: z.string(), digest: z.string() }).nullable(),
  /** How the last reload went; null if there was none. */
  reload: z.object({
    /** How many there were. */
    count: z.int(),
    atMs: z.number(),
    /** Why the settings in use stayed; null if the new ones are used. */
    fault: z.string().nullable(),
    /** Changed settings that need a restart. */
    needRestart: z.array(z.string()).readonly(),
  }).readonly().nullable(),
  /** The number of its lock file in its file system: an announcement in a copied directory is of another directory's gateway. */
  lock: z.int().nullable().default(null),
  /** What the gateway proves itself with. */
  secret: z.string().min(32),
}).readonly();

/** What a running gateway left in its data directory. */
export type AnnouncedGateway = z.output<typeof announced>;

/** What a running gateway says of itself in its data directory, as JSON. */
export type Announcement = Omit<AnnouncedGateway, "secret" | "lock" | "host"> & {
  readonly host?: string | null;
};

const ANNOUNCEMENT = "gateway.json";

/** A gateway's word in its data directory of where it listens. */
export class AnnouncementFile {
  readonly #path: string;
  readonly #lock: string;
  readonly #secret: string;
  #written = false;

  /**
   * @param directory The data directory.
   * @param lock Path of the file in it that the gateway has locked.
   */
  constructor(directory: string, lock: string) {
    this.#path = joinPath(directory, ANNOUNCEMENT);
    this.#lock = lock;
    // while one gateway takes over from another, either may be asked for the proof
    const earlier = this.#read();
    const isCopy = earlier?.lock !== undefined && !hasLock(directory, earlier.lock);
    this.#secret = earlier === undefined || isCopy ? randomText(32) : earlier.secret;
  }

  /** Leaves word; commands read all of it or none. */
  write(said: Announcement): void {
    const lock = Deno.statSync(this.#lock).ino;
    const text = JSON.stringify({ ...said, lock, secret: this.#secret });
    const whole = `${this.#path}.${randomText(12)}`; // a new file: nothing that was there is followed
    try {
      Deno.writeTextFileSync(whole, `${text}\n`, { mode: 0o600, createNew: true });
      Deno.renameSync(whole, this.#path);
    } catch (error) {
      if (!this.#written || this.#read()?.pid !== Deno.pid) throw error;
      Deno.writeTextFileSync(this.#path, `${text}\n`); // no room for another file, but for this one
    }
    this.#written = true;
  }

  /** Takes it back, if it was left and no gateway that has taken over has left its own. */
  remove(): void {
    if (!this.#written || this.#read()?.pid !== Deno.pid) return;
    try {
      Deno.removeSync(this.#path);
    } catch (error) {
      if (!(error instanceof Deno.errors.NotFound)) throw error;
    }
  }

  #read(): AnnouncedGateway | undefined {
    try {
      if (!isPrivate(Deno.lstatSync(this.#path))) return undefined;
      return announced.safeParse(JSON.parse(Deno.readTextFileSync(this.#path))).data;
    } catch {
      return undefined;
    }
  }

  /** Proves that this is the gateway that left word. */
  readonly prove = (challenge: string): Promise<string> => proofOf(this.#secret, challenge);
}

/**
 * Computes the answer to a challenge that only the gateway of a data directory, and those who may read that directory,
 * can know. A port is not a proof: it may be another gateway's by now.
 *
 * @returns Hexadecimal digits.
 */
export async function proofOf(secret: string, challenge: string): Promise<string> {
  const encoder = new TextEncoder();
  const algorithm = { name: "HMAC", hash: "SHA-256" };
  const key = await crypto.subtle.importKey("raw", encoder.encode(secret), algorithm, false, [
    "sign",
  ]);
  return encodeHex(
    new Uint8Array(await crypto.subtle.sign("HMAC", key, encoder.encode(challenge))),
  );
}

/**
 * Reads what the gateway of a data directory said of itself.
 *
 * @param directory The data directory.
 * @returns Its announcement, or `undefined` if there is none. The gateway may have been killed since.
 */
export async function announcedGateway(directory: string): Promise<AnnouncedGateway | undefined> {
  try {
    const path = joinPath(directory, ANNOUNCEMENT);
    if (!isPrivate(await Deno.lstat(path))) return undefined;
    const text = await Deno.readTextFile(path);
    const { data } = announced.safeParse(JSON.parse(text));
    if (data === undefined || !isOfThisMachine(data.url)) return undefined;
    return hasLock(directory, data.lock) ? data : undefined;
  } catch (error) {
    const isMissing = error instanceof Deno.errors.NotFound ||
      error instanceof Deno.errors.NotADirectory;
    if (isMissing || error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/** Files that gateways lock in their data directory. */
export const LOCKS = ["gateway.id", "gateway.next.id"] as const;

/** Whether a lock file is in a directory; also if the system or an earlier program did not say which one it is. */
function hasLock(directory: string, inode: number | null): boolean {
  return inode === null || LOCKS.some((name) => {
    try {
      return Deno.statSync(joinPath(directory, name)).ino === inode;
    } catch {
      return false;
    }
  });
}

/** Whether only this user can read and write a file, as gateways leave it. One of a repository is readable by others. */
function isPrivate({ isFile, mode }: Deno.FileInfo): boolean {
  return isFile && (mode === null || (mode & 0o077) === 0);
}

/**
 * Whether an address is this machine's. A data directory that came with somebody's repository may name a server of
 * theirs, which would be sent keys and prompts.
 */
function isOfThisMachine(url: string): boolean {
  const host = URL.parse(url)?.hostname.replace(/^\[|\]$/g, "");
  if (host === undefined || host === "") return false;
  const own = Deno.hostname().toLowerCase();
  return host === "localhost" || host === own || host === "::1" ||
    /^127\.\d+\.\d+\.\d+$/.test(host) ||
    Deno.networkInterfaces().some(({ address }) => address === host);
}
