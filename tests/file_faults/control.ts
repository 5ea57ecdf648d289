/** The page that the driver shares with the gateway's file calls: what `faulty.c` reads and counts. */

/** The classes of calls, in the order in which `faulty.c` keeps them. */
export const CALLS = [
  "open",
  "read",
  "write",
  "sync",
  "truncate",
  "lock",
  "unlock",
  "map",
  "unlink",
  "allocate",
] as const;
export type Call = (typeof CALLS)[number];

/**
 * How a call fails. `short` does a part of it, which is no failure by itself; `torn` does so and fails. `hang` is made once no
 * call is to fail any more.
 */
const KINDS = { EIO: 1, ENOSPC: 2, short: 4, torn: 8, ENOMEM: 16, hang: 32 } as const;
export type Kind = keyof typeof KINDS;
export const ALL_KINDS = Object.keys(KINDS) as readonly Kind[];

/** What can happen to a call of a class on a disk that is broken or full, or does not answer. */
export const KINDS_OF: Readonly<Record<Call, readonly Kind[]>> = {
  open: ["EIO", "hang"],
  read: ["EIO", "short", "hang"],
  write: ["EIO", "ENOSPC", "short", "torn", "hang"],
  sync: ["EIO", "ENOSPC", "hang"],
  truncate: ["EIO", "hang"],
  lock: ["EIO"],
  unlock: ["EIO"],
  map: ["ENOMEM"],
  unlink: ["EIO", "hang"],
  allocate: ["EIO", "ENOSPC", "hang"],
};

/** The files whose calls may fail. */
export const FILES = { database: 1, log: 2, index: 4, outbox: 8 } as const;
export type File = keyof typeof FILES;

/** How calls of one class fail for a while. */
export interface CallFaults {
  readonly call: Call;
  readonly partsPer65536: number;
  readonly kinds: readonly Kind[];
  readonly files: readonly File[];
}

/** What was counted of one class. */
export interface CallCount {
  readonly calls: number;
  readonly faults: number;
}

const HEAD_BYTES = 64;
const CLASS_BYTES = 64;
/** Where the parts of a class are within it. */
const AT = { probability: 0, kinds: 4, files: 8, calls: 16, faults: 24, failAt: 32 } as const;
const SEED_AT = 8;
const DRAWS_AT = 16;

/**
 * Turns faults on and off in a process that runs.
 *
 * The process maps the file into its memory; what is written into it here is seen there at the next call.
 */
export class FaultControl implements Disposable {
  readonly path: string;
  readonly #file: Deno.FsFile;

  constructor(path: string) {
    this.path = path;
    this.#file = Deno.openSync(path, { create: true, truncate: true, read: true, write: true });
    this.#file.truncateSync(HEAD_BYTES + CALLS.length * CLASS_BYTES);
  }

  /** Lets calls fail from now on as `faults` say, and no others; the draws restart with `seed`. */
  start(faults: readonly CallFaults[], seed: number): void {
    this.stop();
    this.#write64(SEED_AT, seed);
    this.#write64(DRAWS_AT, 0);
    for (const { call, partsPer65536, kinds, files } of faults) {
      const at = placeOf(call);
      this.#write32(at + AT.kinds, kinds.reduce((bits, kind) => bits | KINDS[kind], 0));
      this.#write32(at + AT.files, files.reduce((bits, file) => bits | FILES[file], 0));
      this.#write32(at + AT.probability, partsPer65536);
    }
    this.#write32(0, 1);
  }

  /** Lets one call fail: of those of its class that follow, the one of this number, counted from 1. */
  failOne(call: Call, number: number, kind: Kind): void {
    this.stop();
    const at = placeOf(call);
    this.#write32(at + AT.kinds, KINDS[kind]);
    this.#write64(at + AT.failAt, this.count(call).calls + number);
    this.#write32(0, 1);
  }

  /** Lets no call fail any more. */
  stop(): void {
    this.#write32(0, 0);
    for (const call of CALLS) {
      this.#write32(placeOf(call) + AT.probability, 0);
      this.#write64(placeOf(call) + AT.failAt, 0);
    }
  }

  count(call: Call): CallCount {
    const at = placeOf(call);
    return { calls: this.#read64(at + AT.calls), faults: this.#read64(at + AT.faults) };
  }

  /** Calls that were made to fail, of all classes. */
  get faults(): number {
    return CALLS.reduce((sum, call) => sum + this.count(call).faults, 0);
  }

  [Symbol.dispose](): void {
    this.#file.close();
  }

  #write32(at: number, value: number): void {
    const bytes = new Uint8Array(4);
    new DataView(bytes.buffer).setUint32(0, value, true);
    this.#write(at, bytes);
  }

  #write64(at: number, value: number): void {
    const bytes = new Uint8Array(8);
    new DataView(bytes.buffer).setBigUint64(0, BigInt(value), true);
    this.#write(at, bytes);
  }

  #write(at: number, bytes: Uint8Array): void {
    this.#file.seekSync(at, Deno.SeekMode.Start);
    if (this.#file.writeSync(bytes) !== bytes.length) throw new Error(`${this.path}: cut short`);
  }

  #read64(at: number): number {
    const bytes = new Uint8Array(8);
    this.#file.seekSync(at, Deno.SeekMode.Start);
    if (this.#file.readSync(bytes) !== 8) throw new Error(`${this.path} is too short`);
    return Number(new DataView(bytes.buffer).getBigUint64(0, true));
  }
}

function placeOf(call: Call): number {
  return HEAD_BYTES + CALLS.indexOf(call) * CLASS_BYTES;
}
