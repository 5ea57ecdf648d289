/** The pump in memory: how each end is charged, and what its client gets, without sockets and databases. */

import fc from "fast-check";
import { countedUsage, type ReplyState, type Usage } from "../../../src/wire/dialects/mod.ts";
import { Refusal } from "../../../src/ground/refusal.ts";
import { ChargedUsage } from "../../../src/requests/relay/charged_usage.ts";
import { StreamPump } from "../../../src/requests/relay/pump.ts";
import type { PumpOptions } from "../../../src/requests/relay/pump_options.ts";
import type { End } from "../../../src/requests/relay/end.ts";
import type { TextReader } from "../../../src/requests/relay/text_reader.ts";
import { assert, assertEquals } from "../../assert.ts";
import { until } from "../../fake/temp.ts";
import { sized } from "../../tier.ts";

/** A reply in memory: each text is one piece of one output token; an error fails it there. */
class ScriptedReader implements TextReader {
  readonly requests = 1;
  outputLimit = Infinity;
  tokens = 0;
  readonly #steps: (string | Error)[];
  readonly #usage: Usage | undefined;

  constructor(steps: readonly (string | Error)[], usage?: Usage) {
    this.#steps = [...steps];
    this.#usage = usage;
  }

  get reply(): ReplyState {
    return {
      finished: this.finished,
      hasOutput: this.tokens > 0,
      endedChoices: this.finished ? 1 : 0,
      usage: this.finished ? this.#usage : undefined,
      countedOutput: this.tokens,
      truncate: () => "<cut>",
      close: ({ outputTokens }) => `<end ${outputTokens}>`,
    };
  }

  get atLimit(): boolean {
    return !this.finished && this.tokens >= this.outputLimit;
  }

  get finished(): boolean {
    return this.#steps.length === 0;
  }

  async next(): Promise<string> {
    await Promise.resolve();
    const step = this.#steps.shift()!;
    if (step instanceof Error) {
      this.#steps.length = 0;
      throw step;
    }
    if (step !== "") this.tokens++;
    return step;
  }

  close(): void {}
}

interface Run {
  readonly pump: StreamPump;
  readonly ends: End[];
  readonly events: string[];
}

/**
 * A pump over a scripted reply.
 *
 * @param affordable Output tokens that the balance pays for.
 * @param onSettle May throw, as a settlement does without a database.
 * @param hasLeft Whether the system knows that the client has left.
 * @param cutOff Aborted by a shutdown.
 * @param openInput Input tokens that only the upstream counts, and output tokens that may then be delivered beyond what is paid for.
 */
function run(
  reader: TextReader,
  affordable = Infinity,
  more: Partial<PumpOptions> = {},
  onSettle: () => void = () => {},
  hasLeft = false,
  cutOff = new AbortController().signal,
  { openInput = 0, beyond = 0 } = {},
): Run {
  const ends: End[] = [];
  const events: string[] = [];
  const note = (event: string) => () => void events.push(event);
  reader.outputLimit = Math.min(2, affordable);
  let granted = reader.outputLimit;
  let asked = 0;
  const pump = new StreamPump({
    keepItems: () => Promise.resolve(),
    opened: { reader, discard: note("discard"), drain: note("drain") },
    life: {
      signal: cutOff,
      cutOff,
      outputBegan() {},
      hasLeft: () => hasLeft,
      abort: note("abort"),
      end: note("end"),
      settle: async (end) => {
        await Promise.resolve();
        ends.push(end);
        onSettle();
        return { charged: 1, balance: 1, uncollected: 0 };
      },
      hold: {
        get outputTokens() {
          return granted;
        },
        extend: async (used) => {
          await Promise.resolve();
          assert(asked++ < 100, "asked for more without end");
          granted = Math.min(affordable, used + 2);
          return granted;
        },
        get maxDelivered() {
          return granted + beyond;
        },
        lookAhead() {},
      },
    },
    usage: new ChargedUsage({
      inputTokens: 5,
      openInput: () => openInput,
      choices: 1,
      maxTokens: 1_000,
      maxOutput: () => 500,
      onSettled() {},
    }),
    onClientDisconnect: "abort",
    followMs: 1_000,
    follow: () => () => {},
    errorEvent: ({ reason }) => `<error ${reason}>`,
    onFault: note("fault"),
    onEnd: note("over"),
    ...more,
  });
  return { pump, ends, events };
}

const charged = ({ ending, usage, usageSource }: End) => [
  ending,
  usage?.outputTokens,
  usageSource,
];

Deno.test("complete: charged as counted, then the last text", async () => {
  const { pump, ends, events } = run(new ScriptedReader(["a", "b", "c"]));
  assertEquals(await new Response(pump.stream()).text(), "abc<end 3>");
  assertEquals(ends.map(charged), [["complete", 3, "counted"]]);
  assertEquals(events, ["drain", "over", "end"]);
});

Deno.test("complete: charged as reported, unless the report cannot be true", async () => {
  const reported = run(new ScriptedReader(["a"], countedUsage(5, 9)));
  assertEquals(await new Response(reported.pump.stream()).text(), "a<end 9>");
  assertEquals(reported.ends.map(charged), [["complete", 9, "upstream"]]);
  const lying = run(new ScriptedReader(["a"], countedUsage(5, 501)));
  await new Response(lying.pump.stream()).text();
  assertEquals(lying.ends.map(charged), [["complete", 1, "counted"]]);
});

Deno.test("the balance pays for no more: cut off as at a limit", async () => {
  const { pump, ends, events } = run(new ScriptedReader(["a", "b", "c", "d", "e"]), 3);
  assertEquals(await new Response(pump.stream()).text(), "abc<cut><end 3>");
  assertEquals(ends.map(charged), [["complete", 3, "counted"]]);
  assertEquals(events, ["discard", "over", "end"]);
});

Deno.test("the balance pays for no more, and only the end tells what the input was: read on, as far as anything may be delivered", async () => {
  const open = { openInput: 7, beyond: 2 };
  const runOf = (pieces: string, usage?: Usage) =>
    run(new ScriptedReader([...pieces], usage), 4, {}, undefined, false, undefined, open);
  const told = runOf("abcdef", countedUsage(9, 6));
  assertEquals(await new Response(told.pump.stream()).text(), "abcdef<end 6>");
  assertEquals(told.ends.map(charged), [["complete", 6, "upstream"]]);
  const endless = runOf("abcdefg", countedUsage(9, 7));
  assertEquals(await new Response(endless.pump.stream()).text(), "abcdef<cut><end 4>");
  assertEquals(endless.ends.map(charged), [["complete", 4, "counted"]]);
  assertEquals(endless.ends[0]!.usage!.inputTokens, 5 + open.openInput);
});

Deno.test("a client that is found gone when it is given the last text", async () => {
  const { pump, ends, events } = run(new ScriptedReader(["a"]));
  const given: string[] = [];
  let over = false;
  pump.start({
    desiredSize: 1,
    enqueue(bytes) {
      given.push(new TextDecoder().decode(bytes));
      over = true;
      void pump.cancel();
    },
    close() {
      if (over) throw new TypeError("The stream controller cannot close or enqueue");
    },
    error: () => events.push("error"),
  });
  pump.pull();
  await until(() => events.length >= 3);
  assertEquals(given, ["a<end 1>"]);
  assertEquals(ends.map(charged), [["complete", 1, "counted"]]);
  assertEquals(events, ["drain", "over", "end"]);
});

Deno.test("failed: what came before is delivered, an error event ends it, nothing is charged", async () => {
  const broken = new Refusal("upstream_unavailable", "broken");
  const { pump, ends, events } = run(new ScriptedReader(["a", broken, "b"]));
  assertEquals(await new Response(pump.stream()).text(), "a<error upstream_unavailable>");
  assertEquals(ends.map(charged), [["upstream_failed", undefined, undefined]]);
  assertEquals(events, ["discard", "over", "end"]);
});

Deno.test("an error that nobody expects is logged and does not leak", async () => {
  const { pump, ends, events } = run(new ScriptedReader([new Error("secret")]));
  assertEquals(await new Response(pump.stream()).text(), "<error internal>");
  assertEquals([ends[0]!.status, events], [500, ["fault", "discard", "over", "end"]]);
});

Deno.test("a settlement that fails: an error event in the place of the end", async () => {
  const { pump, events } = run(new ScriptedReader(["a"]), Infinity, {}, () => {
    throw new Refusal("gateway_unavailable", "no database");
  });
  assertEquals(await new Response(pump.stream()).text(), "a<error gateway_unavailable>");
  assertEquals(events, ["discard", "over", "end"]);
});

/** Reads some pieces, then cancels. */
async function leaveAfter({ pump }: Run, pieces: number): Promise<void> {
  const reader = pump.stream().getReader();
  for (let count = 0; count < pieces; count++) await reader.read();
  await reader.cancel();
}

Deno.test("disconnected: charged for what was delivered, nothing before any output", async () => {
  const some = run(new ScriptedReader(["a", "b", "c"]));
  await leaveAfter(some, 2);
  assertEquals(some.ends.map(charged), [["client_left", 2, "counted"]]);
  assertEquals(some.events, ["discard", "abort", "over", "end"]);
  const none = run(new ScriptedReader(["a", "b"]));
  await leaveAfter(none, 0);
  assertEquals(none.ends.map(charged), [["client_left", undefined, undefined]]);
});

Deno.test("disconnected as the upstream breaks: charged for what was delivered, though the break is handled first", async () => {
  const broken = new Refusal("upstream_unavailable", "broken");
  const both = run(new ScriptedReader(["a", "b", broken]));
  const reader = both.pump.stream().getReader();
  await reader.read();
  await reader.read();
  const failing = reader.read(); // fails in this turn; that the client is gone is known in the next one
  await new Promise((resolve) => setTimeout(resolve, 0));
  await reader.cancel();
  assertEquals((await failing).done, true);
  assertEquals(both.ends.map(charged), [["client_left", 2, "counted"]]);
});

Deno.test("disconnected before the upstream broke, and not noticed yet: charged for what was delivered", async () => {
  const broken = () => new Refusal("upstream_unavailable", "broken");
  for (
    const [texts, hasLeft, end] of [
      [["a"], true, ["client_left", 1, "counted"]],
      [["a"], false, ["upstream_failed", undefined, undefined]],
      [[], true, ["upstream_failed", undefined, undefined]],
    ] as const
  ) {
    const one = run(new ScriptedReader([...texts, broken()]), Infinity, {}, () => {}, hasLeft);
    await new Response(one.pump.stream()).text();
    assertEquals(one.ends.map(charged), [[...end]]);
  }
});

Deno.test("disconnected with drain: followed to the report, charged by it", async () => {
  const drain = { onClientDisconnect: "drain" } as const;
  const told = run(new ScriptedReader(["a", "b", "c"], countedUsage(5, 7)), Infinity, drain);
  await leaveAfter(told, 1);
  assertEquals(told.ends.map(charged), [["client_left", 7, "upstream"]]);
  assertEquals(told.events, ["drain", "over", "end"]);
  const silent = run(new ScriptedReader(["a", "b", "c"]), Infinity, drain);
  await leaveAfter(silent, 1);
  assertEquals(silent.ends.map(charged), [["client_left", 1, "counted"]]);
});

Deno.test("whatever happens: settled once, ended once, charged at most for what was read (property)", async () => {
  const step = fc.oneof(
    { weight: 8, arbitrary: fc.constantFrom("a", "bb", "") },
    { weight: 1, arbitrary: fc.constant(new Refusal("upstream_unavailable", "x")) },
  );
  await fc.assert(fc.asyncProperty(
    fc.array(step, { minLength: 1, maxLength: 8 }),
    fc.integer({ min: 0, max: 10 }),
    fc.integer({ min: 1, max: 10 }),
    async (steps, reads, affordable) => {
      const reader = new ScriptedReader(steps);
      const one = run(reader, affordable);
      await leaveAfter(one, reads);
      assertEquals(one.ends.length, 1);
      assertEquals(one.events.filter((event) => event === "over" || event === "end").length, 2);
      const [end] = one.ends;
      const output = end!.usage?.outputTokens ?? 0;
      assert(output <= Math.min(reader.tokens, affordable), `${output}`);
      if (end!.ending === "client_left" && reads === 0) assertEquals(end!.usage, undefined);
    },
  ));
});

Deno.test("a shutdown ends a stream once, whatever is going on in it: settled once, and the last is an end or an error (property)", async () => {
  const turn = () => new Promise((resolve) => setTimeout(resolve, 0));
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.constantFrom("a", "bb", ""), { minLength: 1, maxLength: 5 }),
      fc.integer({ min: 0, max: 6 }),
      fc.option(fc.integer({ min: 0, max: 9 })),
      fc.integer({ min: 1, max: 8 }),
      /** @param microtasks Since the client has asked for more; null if it does not. */
      async (steps, reads, microtasks, affordable) => {
        const shutdown = new AbortController();
        const reply = new ScriptedReader(steps);
        const one = run(reply, affordable, {}, () => {}, false, shutdown.signal);
        const reader = one.pump.stream().getReader();
        let text = "";
        const next = async () => {
          const { done, value } = await reader.read();
          if (!done) text += new TextDecoder().decode(value);
          return !done;
        };
        for (let count = 0; count < reads && await next(); count++);
        const reading = microtasks === null ? undefined : next();
        for (let count = 0; count < (microtasks ?? 0); count++) await Promise.resolve();
        shutdown.abort();
        await reading;
        while (await next());
        await turn(); // what would be settled twice is
        assertEquals(one.ends.map(({ ending }) => ending).length, 1, text);
        assertEquals(one.events.filter((event) => event !== "discard" && event !== "drain"), [
          "over",
          "end",
        ]);
        const isComplete = one.ends[0]!.ending === "complete";
        assertEquals(/<end \d+>$/.test(text), isComplete, text);
        assertEquals(text.endsWith("<error gateway_unavailable>"), !isComplete, text);
      },
    ),
    {
      numRuns: sized(30, 300),
      // before it is read, between two texts, while it is settled, and after its end
      examples: [[["a"], 0, null, 8], [["a", "a"], 1, null, 8], [["a"], 0, 6, 8], [["a"], 2, 0, 8]],
    },
  );
});
