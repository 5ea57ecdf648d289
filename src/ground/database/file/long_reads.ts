/// <reference no-default-lib="true" />
/// <reference lib="deno.worker" />

/** What is read of a log: {@linkcode LogFile}. */
export interface WatchedLog {
  hasPages(count: number): boolean;
  /** When the log or the database was last written, for comparison only. */
  writtenAtMs(): number;
}

/** Time from which on reads are long: what is written during less than that is little. */
const LONG_MS = 1_000;
/** Time without a read in which writers have had room. */
const ROOM_MS = 1_000;
/** Pages of a log that is left to grow beside readers: 64 MB. */
const LONG_PAGES = 16_384;
/** How long a reader waits at most, and how long while nothing is written: a copy of the log into the database ends with a wait for the disk. */
const MAX_WAIT_MS = 10_000;
const QUIET_MS = 2_000;
/** Between two looks. */
const LOOK_MS = 20;

/**
 * Has a connection that reads for long make room for those who write.
 *
 * The log is begun again only at a moment at which nobody reads from it (https://sqlite.org/wal.html, "Avoiding Excessively Large WAL
 * Files"). The statements of an audit follow each other at once, and so leave no such moment for minutes. Here the log of a
 * gateway at its limit grew to 6 GB, and all reads and writes became slower with it.
 */
export class LongReads {
  readonly #log: WatchedLog;
  readonly #now: () => number;
  readonly #wait: (ms: number) => void;
  /** Time that was read for since writers last had room. */
  #readMs = 0;
  #endedTick = 0;

  /**
   * @param options.monotonicNow A clock that nobody sets, in milliseconds; tests pass their own.
   * @param options.wait Waits for milliseconds; tests do not.
   */
  constructor(
    log: WatchedLog,
    { monotonicNow = () => performance.now(), wait = block }: {
      readonly monotonicNow?: () => number;
      readonly wait?: (ms: number) => void;
    } = {},
  ) {
    this.#log = log;
    this.#now = monotonicNow;
    this.#wait = wait;
  }

  /** Reads, once those who write have had room. */
  read<T>(work: () => T): T {
    if (this.#now() - this.#endedTick >= ROOM_MS) this.#readMs = 0;
    if (this.#readMs >= LONG_MS) this.#makeRoom();
    const startedTick = this.#now();
    try {
      return work();
    } finally {
      this.#endedTick = this.#now();
      this.#readMs += this.#endedTick - startedTick;
    }
  }

  /** Waits until the log is short, for as long as was read at most: nobody may write, or somebody else may read. */
  #makeRoom(): void {
    const startedTick = this.#now();
    const maxMs = Math.min(this.#readMs, MAX_WAIT_MS);
    let [writtenAtMs, writtenTick] = [this.#log.writtenAtMs(), startedTick];
    this.#readMs = 0;
    while (this.#log.hasPages(LONG_PAGES)) {
      const tick = this.#now();
      const nowWrittenAtMs = this.#log.writtenAtMs();
      if (nowWrittenAtMs !== writtenAtMs) [writtenAtMs, writtenTick] = [nowWrittenAtMs, tick];
      if (tick - startedTick >= maxMs || tick - writtenTick >= QUIET_MS) return;
      this.#wait(LOOK_MS);
    }
  }
}

function block(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}
