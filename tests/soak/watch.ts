import { sleep } from "../fake/temp.ts";

/** Resident memory of a process in MB; undefined where the system does not tell. */
async function residentMb(pid: number): Promise<number | undefined> {
  try {
    const kb = Deno.build.os === "linux"
      ? /^VmRSS:\s*(\d+) kB/m.exec(await Deno.readTextFile(`/proc/${pid}/status`))?.[1]
      : new TextDecoder().decode(
        (await new Deno.Command("ps", { args: ["-o", "rss=", "-p", `${pid}`] }).output()).stdout,
      );
    return Number(kb) > 0 ? Number(kb) / 1_024 : undefined;
  } catch {
    return undefined;
  }
}

/** Watches the gateway from outside: its memory every second, and whether it still attends. */
export class Watch {
  /** Seconds since the beginning and MB. */
  readonly memory: { readonly at: number; readonly mb: number }[] = [];
  /** The longest that it took to say that it is up, in milliseconds. */
  longestMs = 0;
  readonly #pid: number;
  readonly #url: string;
  readonly #startMs = performance.now();
  readonly #loops: Promise<void>[];
  #over = false;
  /** How long this process stood still itself during the present question. */
  #ownMs = 0;

  constructor(pid: number, url: string) {
    this.#pid = pid;
    this.#url = url;
    this.#loops = [this.#weigh(), this.#ask(), this.#feel()];
  }

  get seconds(): number {
    return (performance.now() - this.#startMs) / 1_000;
  }

  async stop(): Promise<void> {
    this.#over = true;
    await Promise.all(this.#loops);
  }

  /**
   * The memory below which a fourth of the readings are, from one second to another; undefined without a reading. The higher ones say what
   * waits for a collection, which on a busy machine comes late.
   */
  heldMb(from: number, to: number): number | undefined {
    const found = this.memory.filter(({ at }) => at >= from && at <= to).map(({ mb }) => mb)
      .sort((a, b) => a - b);
    return found[Math.floor(found.length / 4)];
  }

  get highestMb(): number {
    return Math.max(0, ...this.memory.map(({ mb }) => mb));
  }

  async #weigh(): Promise<void> {
    while (!this.#over) {
      const mb = await residentMb(this.#pid);
      if (mb !== undefined) this.memory.push({ at: this.seconds, mb });
      await sleep(1_000);
    }
  }

  async #ask(): Promise<void> {
    while (!this.#over) {
      this.#ownMs = 0;
      const asked = performance.now();
      try {
        await (await fetch(`${this.#url}/healthz`, { signal: AbortSignal.timeout(30_000) })).text();
      } catch {
        // whether it still runs is asked elsewhere; how long it did not answer counts here
      }
      const ms = performance.now() - asked - this.#ownMs;
      this.longestMs = Math.max(this.longestMs, ms);
      await sleep(200);
    }
  }

  async #feel(): Promise<void> {
    let last = performance.now();
    while (!this.#over) {
      await sleep(20);
      const now = performance.now();
      this.#ownMs += Math.max(0, now - last - 20);
      last = now;
    }
  }
}

/** Memory at the end against memory when everything had warmed up. */
export interface MemoryVerdict {
  readonly early: number;
  readonly late: number;
  /** How much more the late reading may be, as a part of the early one. */
  readonly margin: number;
  readonly within: boolean;
}

/**
 * A fourth of the load's time from the second minute on against its last fourth, at most 10 % apart. A load of less than two minutes has not
 * warmed up by then: its middle against its end, 25 %.
 */
export function judgeMemory(watch: Watch, seconds: number): MemoryVerdict | undefined {
  const brief = seconds < 120;
  const window = seconds * (brief ? 0.2 : 0.25);
  const from = brief ? seconds * 0.5 : 60;
  const margin = brief ? 0.25 : 0.1;
  const early = watch.heldMb(from, from + window);
  const late = watch.heldMb(seconds - window, seconds);
  if (early === undefined || late === undefined) return undefined;
  return { early, late, margin, within: late <= early * (1 + margin) };
}
