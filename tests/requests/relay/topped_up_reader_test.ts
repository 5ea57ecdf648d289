import fc from "fast-check";
import type { OpenedStream } from "../../../src/requests/relay/opened_reply.ts";
import type { TextReader } from "../../../src/requests/relay/text_reader.ts";
import { ToppedUpReader } from "../../../src/requests/relay/topped_up_reader.ts";
import type { ReplyState } from "../../../src/wire/dialects/mod.ts";
import { assertEquals } from "../../assert.ts";
import { sized } from "../../tier.ts";

/** A choice of some tokens, one of them with each piece. */
class Choice implements TextReader {
  readonly requests = 1;
  readonly #tokens: number;
  outputLimit = 1_000;
  read = 0;
  isClosed = false;
  readonly reply: ReplyState;

  constructor(tokens: number) {
    this.#tokens = tokens;
    this.reply = joined([], this);
  }

  get atLimit(): boolean {
    return !this.finished && this.read >= this.outputLimit;
  }

  get finished(): boolean {
    return this.read === this.#tokens;
  }

  next(): Promise<string> {
    this.read++;
    return Promise.resolve("a");
  }

  close(): void {
    this.isClosed = true;
  }
}

function opened(reader: TextReader): OpenedStream {
  return { kind: "stream", reader, choices: 1, discard: () => {}, drain: () => {} };
}

/** What is known of choices together, or of one. */
function joined(parts: readonly ReplyState[], own?: Choice): ReplyState {
  const sum = (of: (part: ReplyState) => number, first: number) =>
    parts.reduce((all, part) => all + of(part), first);
  return {
    get countedOutput() {
      return sum((part) => part.countedOutput, own?.read ?? 0);
    },
    get endedChoices() {
      return sum((part) => part.endedChoices, own?.finished ? 1 : 0);
    },
    close: () => "",
  } as Partial<ReplyState> as ReplyState;
}

Deno.test("choices that are requested later share what the limit leaves, whenever it is raised", async () => {
  const amounts = fc.array(fc.integer({ min: 0, max: 6 }), { minLength: 2, maxLength: 4 });
  const raises = fc.array(fc.integer({ min: 0, max: 5 }), { minLength: 40, maxLength: 40 });
  await fc.assert(
    fc.asyncProperty(amounts, raises, async ([first, ...others], raises) => {
      const [choice, ...rest] = [first!, ...others].map((tokens) => new Choice(tokens)) as [
        Choice,
        ...Choice[],
      ];
      const from: number[] = [];
      const reader = new ToppedUpReader(opened(choice), {
        choices: 1 + rest.length,
        request: (first) => (from.push(first), Promise.resolve(rest.map(opened))),
        join: (parts) => joined(parts),
      });
      let limit = 0;
      for (let at = 0; !reader.finished && at < 400; at++) {
        limit += raises[at % raises.length]!;
        reader.outputLimit = limit;
        assertEquals(reader.outputLimit, limit);
        const left = Math.floor((limit - first!) / rest.length);
        if (from.length === 0) assertEquals(choice.outputLimit, limit);
        else assertEquals(rest.map((one) => one.outputLimit), rest.map(() => left));
        if (reader.atLimit) limit += rest.length;
        else await reader.next();
        if (from.length === 1) assertEquals(reader.requests, 1 + rest.length);
      }
      assertEquals([reader.finished, from], [true, [1]]);
      assertEquals(reader.reply.endedChoices, 1 + rest.length);
      reader.close();
      assertEquals([choice, ...rest].map((one) => one.isClosed), [true, ...rest.map(() => true)]);
    }),
    {
      numRuns: sized(50, 1_000),
      // the first choice takes all of the limit
      examples: [[[1, 1], Array<number>(40).fill(0)]],
    },
  );
});

Deno.test("a stream that has all choices requests none", async () => {
  const choice = new Choice(1);
  const reader = new ToppedUpReader(opened(choice), {
    choices: 1,
    request: () => Promise.reject(new Error("requested")),
    join: (parts) => joined(parts),
  });
  assertEquals(reader.finished, false);
  await reader.next();
  assertEquals([reader.finished, reader.requests, reader.reply.countedOutput], [true, 1, 1]);
  reader.close();
});

Deno.test("a stream whose choices have all ended goes on until it has", async () => {
  const choice = new Choice(2);
  Object.defineProperty(choice.reply, "endedChoices", { value: 1 });
  const reader = new ToppedUpReader(opened(choice), {
    choices: 1,
    request: () => Promise.reject(new Error("requested")),
    join: (parts) => joined(parts),
  });
  assertEquals(reader.finished, false);
  for (let piece = 0; piece < 2; piece++) assertEquals(await reader.next(), "a");
  assertEquals(reader.finished, true);
});

Deno.test("a stream ends with what it has if no choice that it lacks can be had", async () => {
  const reader = new ToppedUpReader(opened(new Choice(1)), {
    choices: 2,
    request: () => Promise.resolve([]),
    join: (parts) => joined(parts),
  });
  assertEquals([await reader.next(), reader.finished], ["a", false]);
  assertEquals([await reader.next(), reader.finished, reader.requests], ["", true, 1]);
});
