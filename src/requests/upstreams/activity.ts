import { MINUTE_MS } from "../../ground/time.ts";

/** Minutes that are kept. */
const MINUTES = 60;

/** Latencies are counted in classes, each a quarter wider than the one before: up to 1 ms, up to 1.25 ms, … up to 20 min. */
const GROWTH = 1.25;
const CLASSES = 64;

/** Requests that were sent to an upstream within one minute. */
export interface MinuteOfActivity {
  /** Beginning of the minute, in milliseconds since the epoch. */
  readonly atMs: number;
  /** HTTP requests that were sent, retries included. */
  readonly attempts: number;
  /** Those that failed by the upstream's fault: 5xx, 429, timeouts, rejected keys, streams that broke off. */
  readonly failed: number;
  /** Replies whose reported usage was not believed. */
  readonly departed: number;
}

/** What became of the requests that were sent to an upstream, as plain data. */
export interface ActivityState {
  /** The last 60 minutes, oldest first, those without requests included. */
  readonly minutes: readonly MinuteOfActivity[];
  /** How many replies of the last 60 minutes are in each class of latency. */
  readonly latencies: readonly number[];
  /** The same since the process was started. */
  readonly total: Omit<MinuteOfActivity, "atMs">;
}

interface Minute {
  /** Number of the minute since the epoch; 0 for one that was never used. */
  index: number;
  attempts: number;
  failed: number;
  departed: number;
  readonly latencies: Uint32Array;
}

/**
 * Counts what became of the requests that were sent to an upstream, for the last hour: 60 places that are used again, so that
 * it takes the same memory however many requests there are.
 */
export class Activity {
  readonly #now: () => number;
  readonly #minutes: (Minute | undefined)[] = new Array(MINUTES).fill(undefined);
  #attempts = 0;
  #failed = 0;
  #departed = 0;

  constructor(now: () => number) {
    this.#now = now;
  }

  /** Notes a reply, and the time to its first byte. */
  replied(latencyMs: number): void {
    this.#attempts++;
    const minute = this.#minute();
    minute.attempts++;
    minute.latencies[classOf(latencyMs)]!++;
  }

  /** Notes an attempt without a usable reply. @param isFault Whether the upstream is to blame. */
  ended(isFault: boolean): void {
    this.#attempts++;
    const minute = this.#minute();
    minute.attempts++;
    if (isFault) this.#fail(minute);
  }

  /** Notes that a reply broke off that had begun, which was counted as an attempt then. */
  broke(): void {
    this.#fail(this.#minute());
  }

  /** Notes that the usage which a reply reported was not believed. */
  departed(): void {
    this.#departed++;
    this.#minute().departed++;
  }

  /** Reads it. */
  get state(): ActivityState {
    const last = this.#index();
    const latencies = new Array<number>(CLASSES).fill(0);
    const minutes = Array.from({ length: MINUTES }, (_, at): MinuteOfActivity => {
      const index = last - MINUTES + 1 + at;
      const minute = this.#minutes[index % MINUTES];
      const atMs = index * MINUTE_MS;
      if (minute?.index !== index) return { atMs, attempts: 0, failed: 0, departed: 0 };
      minute.latencies.forEach((count, place) => latencies[place]! += count);
      const { attempts, failed, departed } = minute;
      return { atMs, attempts, failed, departed };
    });
    const total = { attempts: this.#attempts, failed: this.#failed, departed: this.#departed };
    return { minutes, latencies, total };
  }

  #fail(minute: Minute): void {
    this.#failed++;
    minute.failed++;
  }

  #index(): number {
    return Math.max(MINUTES, Math.floor(this.#now() / MINUTE_MS));
  }

  #minute(): Minute {
    const index = this.#index();
    const place = index % MINUTES;
    let minute = this.#minutes[place];
    if (minute === undefined) {
      minute = { index, attempts: 0, failed: 0, departed: 0, latencies: new Uint32Array(CLASSES) };
      this.#minutes[place] = minute;
    } else if (minute.index !== index) {
      Object.assign(minute, { index, attempts: 0, failed: 0, departed: 0 });
      minute.latencies.fill(0);
    }
    return minute;
  }
}

function classOf(latencyMs: number): number {
  const place = Math.ceil(Math.log(latencyMs) / Math.log(GROWTH)); // negative below 1 ms
  return Math.max(0, Math.min(CLASSES - 1, place));
}

/** Sums of the last hour of an upstream. */
export interface HourOfActivity extends Omit<MinuteOfActivity, "atMs"> {
  /** Half of the replies, and 95 of 100, took up to this long to their first byte; undefined without replies. */
  readonly p50Ms: number | undefined;
  readonly p95Ms: number | undefined;
}

/**
 * Adds up the last hour of an upstream.
 *
 * @returns Counts, and latencies that are up to a quarter too high.
 */
export function hourOf({ minutes, latencies }: ActivityState): HourOfActivity {
  const sum = (name: keyof ActivityState["total"]) =>
    minutes.reduce((all, one) => all + one[name], 0);
  return {
    attempts: sum("attempts"),
    failed: sum("failed"),
    departed: sum("departed"),
    p50Ms: percentile(latencies, 0.5),
    p95Ms: percentile(latencies, 0.95),
  };
}

function percentile(latencies: readonly number[], share: number): number | undefined {
  const replies = latencies.reduce((sum, count) => sum + count, 0);
  if (replies === 0) return undefined;
  let below = 0;
  const found = latencies.findIndex((count) => (below += count) >= share * replies);
  return Math.round(GROWTH ** found);
}

/** Adds up what two threads know of one upstream. */
export function sumOfActivity(one: ActivityState, other: ActivityState): ActivityState {
  const others = new Map(other.minutes.map((minute) => [minute.atMs, minute]));
  return {
    minutes: one.minutes.map((minute) => {
      const { attempts = 0, failed = 0, departed = 0 } = others.get(minute.atMs) ?? {};
      return {
        ...minute,
        attempts: minute.attempts + attempts,
        failed: minute.failed + failed,
        departed: minute.departed + departed,
      };
    }),
    latencies: one.latencies.map((count, at) => count + (other.latencies[at] ?? 0)),
    total: {
      attempts: one.total.attempts + other.total.attempts,
      failed: one.total.failed + other.total.failed,
      departed: one.total.departed + other.total.departed,
    },
  };
}
