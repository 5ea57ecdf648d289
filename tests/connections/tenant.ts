import type { ChatReport, VictimOptions } from "./victim.ts";

/** Times in milliseconds. */
export interface Times {
  readonly count: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly worstMs: number;
}

/** The tenant that must not notice an attack. */
export class Tenant implements Disposable {
  readonly #worker = new Worker(new URL("./victim.ts", import.meta.url), { type: "module" });
  #tookMs: number[] = [];
  readonly faults: string[] = [];
  /** Called for each chat. */
  onChat: (report: ChatReport) => void = () => {};

  constructor(options: VictimOptions) {
    this.#worker.onmessage = ({ data }: MessageEvent<ChatReport>) => {
      this.#tookMs.push(Math.max(0, data.tookMs - data.ownMs));
      if (data.fault !== undefined) this.faults.push(data.fault);
      this.onChat(data);
    };
    this.#worker.postMessage(options);
  }

  /** Takes the times since this was called last. */
  take(): Times {
    const sorted = this.#tookMs.sort((one, other) => one - other);
    this.#tookMs = [];
    const at = (part: number) =>
      sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? 0;
    return { count: sorted.length, p50Ms: at(0.5), p99Ms: at(0.99), worstMs: at(1) };
  }

  [Symbol.dispose](): void {
    this.#worker.terminate();
  }
}
