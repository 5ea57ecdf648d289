import { markOf } from "../file_faults/callers.ts";
import { completion, type FakeUpstream, fakeUpstream } from "../fake/upstream.ts";
import type { Random } from "../fake/random.ts";
import { sleep } from "../fake/temp.ts";

/** It takes up to so long, so that requests of a key meet: far shorter than any lease. */
const MAX_MS = 50;

/** An upstream that says what it was asked to, and knows how many requests of each key it had at once. */
export class SlowUpstream implements AsyncDisposable {
  readonly #server: FakeUpstream;
  readonly #inFlight = new Map<string, number>();
  readonly #most = new Map<string, number>();

  constructor(random: Random) {
    this.#server = fakeUpstream(async ({ body }, signal) => {
      const [, mark = "", said = ""] = /^#(\S+) \[\[say (.*)\]\]$/.exec(
        body.messages.at(-1).content,
      ) ?? [];
      // no more than its budget or balance pays for
      const words = said.split(" ").slice(0, body.max_tokens);
      const ended = this.#begun(mark, signal);
      await sleep(random.integer(0, MAX_MS));
      ended(); // the gateway has it in flight for longer: until its charge is committed
      const usage = {
        prompt_tokens: 1,
        completion_tokens: words.length,
        total_tokens: words.length + 1,
      };
      return completion(words.join(" "), { usage });
    });
  }

  /** Base address, `/v1` included. */
  get url(): string {
    return this.#server.url;
  }

  /** The most requests of a key, by its secret, that it ever had at once. */
  mostAtOnce(secret: string): number {
    return this.#most.get(markOf(secret)) ?? 0;
  }

  /** Counts a request until what is returned is called, or its gateway is gone. */
  #begun(mark: string, gone: AbortSignal): () => void {
    const add = (count: number) => this.#inFlight.set(mark, this.#atOnce(mark) + count);
    let isOver = false;
    const ended = () => {
      if (!isOver) add(-1);
      isOver = true;
    };
    gone.addEventListener("abort", ended, { once: true });
    add(1);
    this.#most.set(mark, Math.max(this.#most.get(mark) ?? 0, this.#atOnce(mark)));
    return ended;
  }

  #atOnce(mark: string): number {
    return this.#inFlight.get(mark) ?? 0;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server[Symbol.asyncDispose]();
  }
}
