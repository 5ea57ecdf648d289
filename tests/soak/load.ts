import { Random } from "../fake/random.ts";
import { sleep } from "../fake/temp.ts";
import { checkAnswer } from "./check.ts";
import { type Asked, exchange } from "./exchange.ts";
import type { SoakedGateway } from "./gateway.ts";
import type { Kind } from "./kinds.ts";
import type { Failures, Tally } from "./tally.ts";
import type { World } from "./world.ts";

/** Every request is answered, to its last byte, within so long. */
const BOUND_MS = 60_000;
/** Requests at once; above it the next one waits. */
const AT_ONCE = 60;

export interface LoadOptions {
  readonly gateway: SoakedGateway;
  readonly world: World;
  readonly kinds: readonly Kind[];
  readonly seed: number;
  readonly tally: Tally;
  readonly failures: Failures;
}

/** Sends a seeded mix of kinds and holds every answer against what it may be. */
export class Load {
  readonly #options: LoadOptions;
  readonly #random: Random;
  #running = 0;

  constructor(options: LoadOptions) {
    this.#options = options;
    this.#random = new Random(options.seed);
  }

  /** Starts `rate` callers a second for so long, while the gateway lives; then waits for all to end. */
  async run(seconds: number, rate: number): Promise<void> {
    const { gateway, world } = this.#options;
    const start = performance.now();
    let callers = 0;
    while (performance.now() - start < seconds * 1_000 && gateway.ended() === undefined) {
      const kind = this.#draw();
      for (const asked of kind.make(this.#random, world)) this.#send(kind.name, asked);
      callers++;
      const dueMs = start + callers / rate * 1_000 - performance.now();
      // after a time of standing still the missed ones are not all sent at once
      await sleep(Math.max(dueMs, 500 / rate));
      while (this.#running >= AT_ONCE && gateway.ended() === undefined) await sleep(5);
    }
    while (this.#running > 0) await sleep(20);
  }

  #draw(): Kind {
    const { kinds } = this.#options;
    let at = this.#random.next() * kinds.reduce((sum, { weight }) => sum + weight, 0);
    return kinds.find(({ weight }) => (at -= weight) < 0) ?? kinds[0]!;
  }

  async #send(name: string, asked: Asked): Promise<void> {
    const { gateway, tally, failures } = this.#options;
    this.#running++;
    tally.sent(name);
    const start = performance.now();
    const bound = new AbortController();
    const timer = setTimeout(
      () => bound.abort(new Error(`no whole answer in ${BOUND_MS / 1_000} s`)),
      BOUND_MS + (asked.waitMs ?? 0),
    );
    try {
      const answer = await exchange(gateway.url, asked, bound.signal);
      if (answer === undefined) {
        const left = asked.leave !== undefined || asked.upload?.then === "leaves";
        tally.came(name, left ? "left" : "no answer");
      } else {
        const came = checkAnswer(asked, answer);
        tally.came(name, came, performance.now() - start);
      }
    } catch (error) {
      // what breaks because the process is gone is reported once, by the first client that finds it gone
      await sleep(200);
      if (gateway.ended() === undefined) {
        tally.came(name, "FAILED");
        const message = plainText(error instanceof Error ? error.message : String(error));
        const what = message.split(/[:…]/)[0]!.slice(0, 100);
        const detail = message.slice(what.length, 500);
        failures.add(`${name}: ${what}`, `${detail}\n       asked: ${about(asked)}`);
      } else {
        tally.came(name, "gateway gone");
      }
    } finally {
      clearTimeout(timer);
      this.#running--;
    }
  }
}

/** Without the colours of an assertion's message, in one line. */
function plainText(message: string): string {
  // deno-lint-ignore no-control-regex -- that is what colours are
  return message.replaceAll(/\x1b\[\d+m/g, "").replaceAll(/\s+/g, " ");
}

/** A request in a line: how it was sent, its beginning and its end. */
function about({ path, body, upload }: Asked): string {
  const framing = upload === undefined ? "" : ` ${upload.framing.join(", ")}, ${upload.then};`;
  const shown = body.length > 500 ? `${body.slice(0, 250)} … ${body.slice(-250)}` : body;
  return `${path}${framing} ${body.length} characters: ${shown}`;
}
