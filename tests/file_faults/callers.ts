import { Random } from "../fake/random.ts";
import { sleep } from "../fake/temp.ts";

const MAX_CALLERS = 8;
/** Longer than the gateway tries to settle a complete reply. */
const GIVE_UP_MS = 30_000;
/** Pause after an error, so that a gateway that refuses everything is not asked thousands of times. */
const PAUSE_MS = 20;

/** What became of a request. */
export interface Outcome {
  readonly kind: "acknowledged" | "refused" | "unanswered";
  /** The API key that it was sent with. */
  readonly key: string;
  readonly startTick: number;
  readonly endTick: number;
  /** Unknown of a request that was not answered. */
  readonly requestId?: string;
  /** What a reply said that it cost. */
  readonly credits?: number;
  /** Status and beginning of the body of an error. */
  readonly error?: string;
  /** Whether the error was one of the database. */
  readonly isDatabase: boolean;
}

/** API keys of a run. */
export interface CallersKeys {
  /** May change while callers run. */
  readonly callers: readonly string[];
  /** With the scope `admin`. */
  readonly operator: string;
}

/** Callers that send small requests, one after the other each, and keep what became of every one. */
export class Callers {
  /** Everything since the start. */
  readonly acknowledged = new Map<string, number>();
  readonly refused = new Map<string, Outcome>();
  unanswered = 0;
  /** What the present round has seen, in the order of its ends. */
  recent: Outcome[] = [];

  readonly #keys: readonly string[];
  readonly #operatorsKey: string;
  readonly #seed: number;
  readonly #url: () => string | undefined;
  readonly #count: number;
  readonly #restMs: number;
  readonly #wrong = new Set<string>();
  #started = 0;
  #isOver = true;
  #running: Promise<unknown> = Promise.resolve();

  /**
   * @param keys What callers send requests with, and the operator's.
   * @param url Where the gateway is; undefined while there is none.
   * @param options `restMs`: how long each waits after a reply, which spares the processor.
   */
  constructor(
    { callers, operator }: CallersKeys,
    seed: number,
    url: () => string | undefined,
    { count = MAX_CALLERS, restMs = 0 }: { readonly count?: number; readonly restMs?: number } = {},
  ) {
    this.#count = count;
    this.#restMs = restMs;
    this.#keys = callers;
    this.#operatorsKey = operator;
    this.#seed = seed;
    this.#url = url;
  }

  /** Remembers that a request is not charged as it should be; answers whether that was not known before. */
  isNewlyWrong(requestId: string): boolean {
    const isNew = !this.#wrong.has(requestId);
    this.#wrong.add(requestId);
    return isNew;
  }

  start(): void {
    this.#isOver = false;
    this.#started++;
    this.#running = Promise.all([
      ...Array.from({ length: this.#count }, (_, at) => this.#call(at)),
      this.#operate(),
    ]);
  }

  /** Reports and audits, which read through connections of their own: often, or after those that are not used were closed. */
  async #operate(): Promise<void> {
    const random = new Random(this.#seed + 1_000 * this.#started - 1);
    while (!this.#isOver) {
      const url = this.#url();
      const [method, path] = random.pick([["GET", "/usage"], ["POST", "/audit"]] as const);
      if (url !== undefined) await operate(`${url}/admin/v1${path}`, method, this.#operatorsKey);
      const untilTick = performance.now() +
        (random.next() < 0.8 ? random.integer(50, 1_500) : random.integer(31_000, 40_000));
      while (!this.#isOver && performance.now() < untilTick) await sleep(PAUSE_MS);
    }
  }

  /** Waits for the last replies. */
  async stop(): Promise<void> {
    this.#isOver = true;
    await this.#running;
  }

  async #call(at: number): Promise<void> {
    const random = new Random(this.#seed + 1_000 * this.#started + at);
    while (!this.#isOver) {
      const url = this.#url();
      if (url === undefined) {
        await sleep(PAUSE_MS);
        continue;
      }
      const words = Array.from({ length: random.integer(1, 30) }, () => "word").join(" ");
      const outcome = await ask(url, random.pick(this.#keys), words);
      this.#keep(outcome);
      const pauseMs = outcome.kind === "acknowledged" ? this.#restMs : PAUSE_MS;
      if (pauseMs > 0) await sleep(pauseMs);
    }
  }

  #keep(outcome: Outcome): void {
    const { kind, requestId, credits } = outcome;
    this.recent.push(outcome);
    if (requestId === undefined) this.unanswered++;
    else if (kind === "refused") this.refused.set(requestId, outcome);
    else this.acknowledged.set(requestId, credits!);
  }
}

/** Sends a request of an operator. What it gets while the disk fails is not looked at. */
async function operate(url: string, method: string, key: string): Promise<void> {
  const signal = AbortSignal.timeout(GIVE_UP_MS);
  const headers = { authorization: `Bearer ${key}` };
  await fetch(url, { method, headers, signal }).then((reply) => reply.text()).catch(() => {});
}

/** What a request says to its upstream of the key that it was sent with. */
export function markOf(key: string): string {
  return key.slice(-16);
}

async function ask(url: string, key: string, words: string): Promise<Outcome> {
  const startTick = performance.now();
  try {
    const reply = await fetch(`${url}/v1/chat/completions`, {
      method: "POST",
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      body: JSON.stringify({
        model: "small",
        messages: [{ role: "user", content: `#${markOf(key)} [[say ${words}]]` }],
      }),
      signal: AbortSignal.timeout(GIVE_UP_MS),
    });
    const text = await reply.text();
    const times = { startTick, endTick: performance.now() };
    const requestId = reply.headers.get("x-request-id");
    if (requestId === null) throw new Error(`${reply.status} without X-Request-Id`);
    if (reply.status !== 200) {
      const error = `${reply.status} ${text.slice(0, 200)}`;
      const isDatabase = /database cannot be used/.test(text);
      return { kind: "refused", key, ...times, requestId, error, isDatabase };
    }
    const credits = Number(reply.headers.get("x-sluice-credits") ?? NaN);
    return { kind: "acknowledged", key, ...times, requestId, credits, isDatabase: false };
  } catch (error) {
    const endTick = performance.now();
    return { kind: "unanswered", key, startTick, endTick, error: String(error), isDatabase: false };
  }
}
