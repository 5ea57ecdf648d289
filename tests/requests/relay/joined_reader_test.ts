/** Several streams as one: whichever has something is read, and no part beyond its limit. */

import { JoinedReader } from "../../../src/requests/relay/joined_reader.ts";
import type { TextReader } from "../../../src/requests/relay/text_reader.ts";
import type { ReplyState } from "../../../src/wire/dialects/mod.ts";
import { assertEquals, assertRejects } from "../../assert.ts";

/** A choice whose pieces come when the test says so; it counts each as soon as it is asked for. */
class Choice implements TextReader {
  readonly requests = 1;
  readonly #name: string;
  readonly #tokens: number;
  outputLimit = 1_000;
  asked = 0;
  isClosed = false;
  #came: PromiseWithResolvers<string> | undefined;

  constructor(name: string, tokens: number) {
    this.#name = name;
    this.#tokens = tokens;
  }

  get reply(): ReplyState {
    return { close: () => `<${this.#name}>` } as Partial<ReplyState> as ReplyState;
  }

  get finished(): boolean {
    return this.asked === this.#tokens;
  }

  get atLimit(): boolean {
    return !this.finished && this.asked >= this.outputLimit;
  }

  next(): Promise<string> {
    this.asked++;
    this.#came = Promise.withResolvers();
    return this.#came.promise;
  }

  /** Its next piece has come. */
  async comes(): Promise<void> {
    this.#came!.resolve(`${this.#name}${this.asked}`);
    await turns();
  }

  async fails(error: Error): Promise<void> {
    this.#came!.reject(error);
    await turns();
  }

  close(): void {
    this.isClosed = true;
  }
}

/** What waits for a settled promise has gone on. */
async function turns(): Promise<void> {
  for (let count = 0; count < 5; count++) await Promise.resolve();
}

function joined(...parts: readonly Choice[]): JoinedReader {
  return new JoinedReader(parts, {} as ReplyState);
}

Deno.test("pieces go on in the order in which they come, each choice ends by itself, and the whole with its last text", async () => {
  const [a, b] = [new Choice("a", 2), new Choice("b", 1)];
  const reader = joined(a, b);
  assertEquals([reader.finished, reader.atLimit, reader.requests], [false, false, 2]);
  const first = reader.next();
  assertEquals([a.asked, b.asked], [1, 1]);
  await b.comes();
  assertEquals(await first, "b1<b>");
  const second = reader.next();
  assertEquals([a.asked, b.asked], [1, 1], "one piece of each is read at a time");
  await a.comes();
  assertEquals(await second, "a1");
  const third = reader.next();
  assertEquals([a.finished, b.finished], [true, true]);
  assertEquals([reader.finished, reader.atLimit], [false, false], "a text is on its way");
  await a.comes();
  assertEquals(await third, "a2<a>");
  assertEquals([reader.finished, reader.atLimit], [true, false]);
  assertEquals([a.asked, b.asked], [2, 1]);
});

Deno.test("what came meanwhile needs no wait, though nothing else is read", async () => {
  const [a, b] = [new Choice("a", 1), new Choice("b", 1)];
  const reader = joined(a, b);
  const first = reader.next();
  await Promise.all([a.comes(), b.comes()]);
  assertEquals(await first, "a1<a>");
  assertEquals([reader.finished, reader.atLimit], [false, false]);
  assertEquals(await reader.next(), "b1<b>");
  assertEquals(reader.finished, true);
});

Deno.test("a choice at its share of the limit is not read, and all wait only when each is at its own or has ended", async () => {
  const [a, b, ended] = [new Choice("a", 9), new Choice("b", 2), new Choice("c", 0)];
  const reader = joined(a, b, ended);
  assertEquals(reader.outputLimit, 3_000);
  reader.outputLimit = 5;
  assertEquals([a.outputLimit, b.outputLimit, ended.outputLimit], [1, 1, 1]);
  assertEquals([reader.outputLimit, reader.atLimit], [3, false]);
  assertEquals(await reader.next(), "<c>");
  assertEquals(ended.asked, 0);
  assertEquals([a.atLimit, b.atLimit, reader.atLimit], [true, true, false], "two are on their way");
  await a.comes();
  assertEquals(await reader.next(), "a1");
  assertEquals(reader.atLimit, false, "one is on its way");
  b.outputLimit = 2;
  const waiting = reader.next();
  assertEquals([a.asked, b.asked], [1, 1]);
  await b.comes();
  assertEquals(await waiting, "b1");
  assertEquals(reader.atLimit, false);
  const last = reader.next();
  assertEquals([a.asked, b.asked], [1, 2]);
  await b.comes();
  assertEquals(await last, "b2<b>");
  assertEquals(
    [reader.atLimit, reader.finished],
    [true, false],
    "one has ended, one is at its limit",
  );
});

Deno.test("a choice that fails, fails the whole as it did; all are let go", async () => {
  const [a, b] = [new Choice("a", 2), new Choice("b", 1)];
  const reader = joined(a, b);
  const first = reader.next();
  const error = new RangeError("broken");
  await b.fails(error);
  assertEquals(await assertRejects(() => first, RangeError), error);
  reader.close();
  assertEquals([a.isClosed, b.isClosed], [true, true]);
});
