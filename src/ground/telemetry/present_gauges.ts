import { VERSION } from "../platform/mod.ts";
import type { Instruments } from "./instruments.ts";

/** Values that are read whenever the metrics are. */
export interface Present {
  readonly requestsInFlight: number;
  readonly writesWaiting: number;
  /** What keeps settlements while the database does not answer; undefined where nothing does. */
  readonly outbox?: { readonly isDetached: boolean; readonly kept: number } | undefined;
  readonly databaseBytes: number | undefined;
  readonly upstreams: readonly PresentUpstream[];
}

/** An upstream at present. */
export interface PresentUpstream {
  readonly name: string;
  readonly resting: boolean;
  /** Keys of an upstream that has several, by their place in the settings. */
  readonly keys: readonly { readonly position: number; readonly resting: boolean }[];
}

/**
 * Makes the gauges.
 *
 * @param instruments What makes them.
 * @returns Sets them to present values, and to those of the process.
 */
export function presentGauges(instruments: Instruments): (present: Present) => void {
  const ofUpstream = (
    name: string,
    help: string,
    labelNames: readonly string[],
  ) => instruments.gauge(name, help, { labelNames, merging: "max" });
  const inFlight = instruments.gauge("sluice_requests_in_flight", "In-flight requests.");
  const waiting = instruments.gauge(
    "sluice_database_writes_waiting",
    "Writes waiting for a commit.",
  );
  const detached = instruments.gauge(
    "sluice_detached",
    "1 while the database server does not answer: requests are admitted from lent credits, and settlements are kept here.",
    { merging: "max" },
  );
  const kept = instruments.gauge(
    "sluice_settlements_kept",
    "Settlements in the outbox that the database server does not have yet.",
  );
  const bytes = instruments.gauge(
    "sluice_database_bytes",
    "Size of the embedded database in bytes.",
    { merging: "max" },
  );
  const resting = ofUpstream(
    "sluice_upstream_resting",
    "1 while an upstream is in cooldown after failures: other targets are tried first.",
    ["upstream"],
  );
  const keyResting = ofUpstream(
    "sluice_upstream_key_resting",
    "1 while a key is in cooldown, because it was rejected, exhausted or over its rate limit.",
    ["upstream", "key"],
  );
  const resident = instruments.gauge("process_resident_memory_bytes", "Resident memory in bytes.", {
    merging: "max",
  });
  const heap = instruments.gauge("sluice_heap_used_bytes", "JavaScript heap in use, in bytes.");
  setConstants(instruments);
  return ({ requestsInFlight, writesWaiting, outbox, databaseBytes, upstreams }) => {
    inFlight.set(requestsInFlight);
    waiting.set(writesWaiting);
    detached.set(outbox?.isDetached ? 1 : 0);
    kept.set(outbox?.kept ?? 0);
    if (databaseBytes !== undefined) bytes.set(databaseBytes);
    // a reload may have removed some
    resting.reset();
    keyResting.reset();
    for (const { name: upstream, resting: rests, keys } of upstreams) {
      resting.set({ upstream }, rests ? 1 : 0);
      for (const { position, resting: keyRests } of keys) {
        keyResting.set({ upstream, key: String(position) }, keyRests ? 1 : 0);
      }
    }
    const memory = Deno.memoryUsage();
    resident.set(memory.rss);
    heap.set(memory.heapUsed);
  };
}

/** Sets what stays the same as long as the process runs. */
function setConstants(instruments: Instruments): void {
  instruments.gauge("sluice_workers", "Threads that serve requests.").set(1);
  instruments.gauge(
    "process_start_time_seconds",
    "Start time of the process, in seconds since the Unix epoch.",
    { merging: "min" },
  ).set(Math.round(performance.timeOrigin / 1_000));
  instruments.gauge(
    "sluice_build_info",
    "Always 1, labelled with the versions of Sluice and Deno.",
    { labelNames: ["version", "deno"], merging: "max" },
  ).set({ version: VERSION, deno: Deno.version.deno }, 1);
}
