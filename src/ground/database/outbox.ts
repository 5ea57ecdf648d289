import { ifThere } from "../files/mod.ts";
import { basename, dirname, joinPath } from "../std/mod.ts";
import { framesOf, OutboxFile } from "./outbox_file.ts";

/** Bytes of one file from which on the other is written to, and this one is emptied. */
const TURN_BYTES = 512 * 1024;
/** Bytes of one file at which nothing is kept any more: the database has not taken anything for long. */
const MAX_BYTES = 64 * 1024 * 1024;

/** Items of one write, in the order in which they were written. */
export interface KeptItems {
  /** Name of the write. */
  readonly write: string;
  /** What the members of its items are, in their order. */
  readonly columns: readonly string[];
  /** A JSON array of items. */
  readonly items: string;
}

/** What the first frame of a file says. */
interface Heading {
  readonly database: string;
}

/** What an outbox needs. */
export interface OutboxOptions {
  /** Where its files are: how their names begin. */
  readonly path: string;
  /** ID of the database that its items are for. */
  readonly database: string;
  /** Whether items survive the loss of power. */
  readonly durable: boolean;
  /** Bytes that each of its files has from the beginning. Default: those until the other one's turn. */
  readonly preparedBytes?: number;
  /** Resolves when the database has all items for good that were kept before the call. */
  readonly taken: () => Promise<void>;
}

/**
 * Keeps items until the database has them. Two files take turns: while one is written, what the other has goes to the database, and then
 * that is empty.
 *
 * A frame is JSON: `[write, columns, items]` in the first one of a write in a file, `[write, null, items]` afterwards.
 */
export class WriteOutbox {
  readonly #options: OutboxOptions;
  #files: [OutboxFile, OutboxFile] | undefined;
  /** Writes whose columns the first of the files says. */
  #told = new Set<string>();
  #emptying: Promise<void> | undefined;

  constructor(options: OutboxOptions) {
    this.#options = options;
  }

  /**
   * Keeps items.
   *
   * @throws If they may not be kept: nothing is kept any more before {@linkcode restart}.
   */
  async keepItems({ write, columns, items }: KeptItems): Promise<void> {
    if (this.#files?.every((file) => file.bytes === 0 && file.isRemoved)) await this.#remove();
    const [file, other] = this.#files ??= await this.#create();
    if (file.bytes > MAX_BYTES) throw new Error("too much waits for the database");
    const { database, durable } = this.#options;
    const heading: Heading = { database };
    const head = file.bytes === 0 ? `${JSON.stringify(heading)}\n` : "";
    const known = this.#told.has(write) ? "null" : JSON.stringify(columns);
    const text = `${head}[${JSON.stringify(write)},${known},${items}]`;
    await file.appendFrame(text, { durable });
    this.#told.add(write);
    if (file.bytes < TURN_BYTES) return;
    if (other.bytes === 0) {
      this.#files = [other, file];
      this.#told = new Set();
    }
    this.#emptying ??= this.#empty(this.#files[1]).finally(() => this.#emptying = undefined);
  }

  /** Makes its files before there is anything to keep, so that a disk that is full by then has place. */
  async prepare(): Promise<void> {
    this.#files ??= await this.#create();
  }

  /** Begins again after a failure, once the database has all that was kept. */
  async restart(): Promise<void> {
    await this.#emptying;
    await this.#options.taken();
    await this.#remove();
  }

  /** Gives up what was kept, once the database has all; its files stay. */
  async clear(): Promise<void> {
    await this.#emptying;
    await this.#options.taken();
    this.#told = new Set();
    for (const file of this.#files ?? []) if (file.bytes > 0) await file.clear();
  }

  /** Ends it. If the database has taken everything, nothing is left of it. */
  async close(): Promise<void> {
    await this.#emptying;
    if (this.#files === undefined) return;
    try {
      await this.#options.taken();
    } catch {
      for (const file of this.#files) file.close(); // the next to open the database reads them
      return;
    }
    await this.#remove();
  }

  async #create(): Promise<[OutboxFile, OutboxFile]> {
    const { path, preparedBytes = TURN_BYTES } = this.#options;
    const first = await OutboxFile.create(path, preparedBytes);
    try {
      return [first, await OutboxFile.create(path, preparedBytes)];
    } catch (error) {
      await first.remove();
      throw error;
    }
  }

  async #empty(file: OutboxFile): Promise<void> {
    try {
      await this.#options.taken();
      await file.clear();
    } catch {
      // it stays as it is, and the other one grows
    }
  }

  async #remove(): Promise<void> {
    const files = this.#files ?? [];
    this.#files = undefined;
    this.#told = new Set();
    for (const file of files) await file.remove();
  }
}

/**
 * Where the outboxes of an embedded file are: in a directory of their own, which may be on another disk, and beside the file, where they
 * were once and are if no directory is given. New ones are made in the first place.
 *
 * @returns How the names of their files begin, before {@linkcode outboxPath}.
 */
export function outboxPlaces(file: string, directory: string | undefined): string[] {
  const own = directory === undefined ? file : joinPath(directory, basename(file));
  return [...new Set([own, file])];
}

/**
 * The files of all outboxes of a database file, whether their gateways run or not, and of what was refused.
 *
 * @param places As {@linkcode outboxPlaces} returns them, or the path of the database alone.
 */
export async function outboxFiles(...places: readonly string[]): Promise<string[]> {
  return (await Promise.all(places.map((place) => filesWith(outboxPath(place, ""))))).flat();
}

/** Whether a gateway has files of an outbox, which may have what the database has not: who removes them has seen to that. */
export async function hasOutbox(places: readonly string[], gatewayId: string): Promise<boolean> {
  const found = places.map((place) => filesWith(`${outboxPath(place, gatewayId)}-`));
  return (await Promise.all(found)).flat().length > 0;
}

/** Files whose path begins so, in order. */
export async function filesWith(beginning: string): Promise<string[]> {
  const start = basename(beginning);
  // there may be no such directory yet
  const entries = await ifThere(Array.fromAsync(Deno.readDir(dirname(beginning)))) ?? [];
  return entries.filter(({ name, isFile }) => isFile && name.startsWith(start))
    .map(({ name }) => `${beginning}${name.slice(start.length)}`).toSorted();
}

/** Where the outbox of a gateway is. */
export function outboxPath(file: string, gatewayId: string): string {
  return `${file}${OUTBOX}${gatewayId}`;
}

const OUTBOX = "-outbox-";

/** Whether a file of this name belongs to an outbox, of whatever database. */
export function isOutbox(name: string): boolean {
  return name.includes(OUTBOX);
}

/**
 * Reads what a file has kept, which its gateway may be writing.
 *
 * @param database ID of the database.
 * @returns Undefined if it is for another database.
 */
export async function keptItems(
  path: string,
  database: string,
): Promise<KeptItems[] | undefined> {
  const frames = framesOf(await Deno.readFile(path));
  const [first] = frames;
  if (first === undefined) return [];
  const [heading = "", rest = ""] = first.split("\n", 2);
  if ((JSON.parse(heading) as Heading).database !== database) return undefined;
  const columnsOf = new Map<string, readonly string[]>();
  return [rest, ...frames.slice(1)].map((text) => {
    const [write, columns, items] = JSON.parse(text) as [string, string[] | null, unknown[]];
    if (columns !== null) columnsOf.set(write, columns);
    return { write, columns: columnsOf.get(write)!, items: JSON.stringify(items) };
  });
}
