/** What a process uses of memory, and a bound on it that the system keeps. */

/** A place where the system counts and bounds the memory of processes. */
export interface MemoryGroup {
  /** Where to write the ID of a process, so that it is counted. */
  readonly processesFile: string;
  /** Bytes in use, apart from what the system caches of files. */
  usedBytes(): Promise<number>;
  /** Whether the bound was reached at any time. */
  reached(): Promise<boolean>;
  /** Removes it. All its processes must have ended. */
  remove(): Promise<void>;
}

/** How one of the two versions of control groups names things. */
interface Version {
  readonly root: string;
  readonly limit: string;
  readonly usage: string;
  readonly cached: RegExp;
  readonly reached: (read: (name: string) => Promise<string>) => Promise<boolean>;
}

const VERSIONS: readonly Version[] = [
  {
    root: "/sys/fs/cgroup/memory",
    limit: "memory.limit_in_bytes",
    usage: "memory.usage_in_bytes",
    cached: /^total_cache (\d+)$/m,
    reached: async (read) => Number(await read("memory.failcnt")) > 0,
  },
  {
    root: "/sys/fs/cgroup",
    limit: "memory.max",
    usage: "memory.current",
    cached: /^file (\d+)$/m,
    reached: async (read) => /^max [1-9]/m.test(await read("memory.events")),
  },
];

/** Makes a group with this limit in bytes; undefined where that is not possible. */
export async function memoryGroup(limitBytes: number): Promise<MemoryGroup | undefined> {
  for (const version of VERSIONS) {
    const folder = `${version.root}/sluice-connections-${Deno.pid}`;
    const read = (name: string) => Deno.readTextFile(`${folder}/${name}`);
    try {
      await Deno.mkdir(folder);
    } catch {
      continue;
    }
    try {
      await Deno.writeTextFile(`${folder}/${version.limit}`, `${limitBytes}`, { create: false });
    } catch {
      await Deno.remove(folder);
      continue;
    }
    return {
      processesFile: `${folder}/cgroup.procs`,
      async usedBytes() {
        const cached = version.cached.exec(await read("memory.stat"))?.[1] ?? 0;
        return Number(await read(version.usage)) - Number(cached);
      },
      reached: () => version.reached(read),
      remove: () => Deno.remove(folder),
    };
  }
  return undefined;
}

/** The resident memory of a process, and the most that it ever was, in bytes; 0 once it has ended. */
export async function residentBytes(pid: number): Promise<{ now: number; peak: number }> {
  const status = await Deno.readTextFile(`/proc/${pid}/status`).catch(() => "");
  const value = (name: string) =>
    Number(new RegExp(`^${name}:\\s*(\\d+) kB`, "m").exec(status)?.[1] ?? 0);
  return { now: value("VmRSS") * 1_024, peak: value("VmHWM") * 1_024 };
}

/** Reads a memory again and again. */
export class MemoryWatch {
  peakBytes = 0;
  lastBytes = 0;
  #isOver = false;
  readonly #loop: Promise<void>;

  constructor(read: () => Promise<number>, everyMs: number) {
    this.#loop = this.#watch(read, everyMs);
  }

  async stop(): Promise<void> {
    this.#isOver = true;
    await this.#loop;
  }

  async #watch(read: () => Promise<number>, everyMs: number): Promise<void> {
    while (!this.#isOver) {
      this.lastBytes = await read().catch(() => 0);
      this.peakBytes = Math.max(this.peakBytes, this.lastBytes);
      await new Promise((resolve) => setTimeout(resolve, everyMs));
    }
  }
}
