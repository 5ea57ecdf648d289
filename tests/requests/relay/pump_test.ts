/** The pump in memory: how each end is charged, and what its client gets, without sockets and databases. */

import fc from "fast-check";
import {
  brokenOff,
  countedUsage,
  type ReplyState,
  type Usage,
} from "../../../src/wire/dialects/mod.ts";
import { Refusal } from "../../../src/ground/refusal.ts";
import { ChargedUsage } from "../../../src/requests/relay/charged_usage.ts";
import { StreamPump } from "../../../src/requests/relay/pump.ts";
import type { PumpOptions } from "../../../src/requests/relay/pump_options.ts";
import type { End } from "../../../src/requests/relay/end.ts";
import type { TextReader } from "../../../src/requests/relay/text_reader.ts";
import { type TargetPlan, TransportFault } from "../../../src/requests/upstreams/mod.ts";
import { assert, assertEquals } from "../../assert.ts";
import { isolateTicks } from "../../fake/isolate_clock.ts";
import { sleep, until } from "../../fake/temp.ts";
import { sized } from "../../tier.ts";

/** A reply in memory: each text is one piece of one output token; an error fails it there. */
class ScriptedReader implements TextReader {
  readonly requests = 1;
  outputLimit = Infinity;
  tokens = 0;
  readonly #steps: (string | Error)[];
  readonly #usage: Usage | undefined;
  readonly #more: (tokens: number) => Partial<ReplyState>;

  /** @param more What is known of the reply besides, by how many tokens were read. */
  constructor(
    steps: readonly (string | Error)[],
    usage?: Usage,
    more: (tokens: number) => Partial<ReplyState> = () => ({}),
  ) {
    this.#steps = [...steps];
    this.#usage = usage;
    this.#more = more;
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
      ...this.#more(this.tokens),
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
  /** How often output was said to have begun. */
  readonly begun: () => number;
}

/**
 * A pump over a scripted reply.
 *
 * @param affordable Output tokens that the balance pays for.
 * @param onSettle May throw, as a settlement does without a database, and takes as long as its promise.
 * @param hasLeft Whether the system knows that the client has left.
 * @param cutOff Aborted by a shutdown.
 * @param openInput Input tokens that only the upstream counts, and output tokens that may then be delivered beyond what is paid for.
 * @param signal Aborted when the request is given up, as by a shutdown.
 */
function run(
  reader: TextReader,
  affordable = Infinity,
  more: Partial<PumpOptions> = {},
  onSettle: () => void | Promise<void> = () => {},
  hasLeft = false,
  cutOff = new AbortController().signal,
  { openInput = 0, beyond = 0, signal = cutOff } = {},
): Run {
  const ends: End[] = [];
  const events: string[] = [];
  const note = (event: string) => () => void events.push(event);
  reader.outputLimit = Math.min(2, affordable);
  let granted = reader.outputLimit;
  let asked = 0;
  let begun = 0;
  const pump = new StreamPump({
    keepItems: () => Promise.resolve(),
    opened: { reader, discard: note("discard"), drain: note("drain") },
    life: {
      signal,
      cutOff,
      outputBegan: () => void begun++,
      hasLeft: () => hasLeft,
      abort: note("abort"),
      end: note("end"),
      settle: async (end) => {
        await Promise.resolve();
        ends.push(end);
        await onSettle();
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
  return { pump, ends, events, begun: () => begun };
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
  await sleep(60); // the break is handled, too
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

const BROKEN = new Refusal("upstream_unavailable", "broken");
const turn = () => new Promise((resolve) => setTimeout(resolve, 0));

/** Has what the pump sends, as the platform would take it. */
function taking({ pump, events }: Run): string[] {
  const given: string[] = [];
  pump.start({
    desiredSize: 1,
    enqueue: (bytes) => void given.push(new TextDecoder().decode(bytes)),
    close() {},
    error: () => void events.push("error"),
  });
  return given;
}

Deno.test("asked again while there is no text yet, a pump goes on once", async () => {
  const one = run(new ScriptedReader(["a"]), 0);
  const given = taking(one);
  one.pump.pull();
  one.pump.pull();
  await until(() => one.events.includes("end"));
  await turn();
  assertEquals([given, one.ends.length], [["<cut><end 0>"], 1]);
  assertEquals(one.events, ["discard", "over", "end"]);
});

Deno.test("a request that is given up without a shutdown ends no stream by that alone", async () => {
  const left = new AbortController();
  const { signal } = left;
  const one = run(new ScriptedReader(["a", "b"]), Infinity, {}, () => {}, false, undefined, {
    signal,
  });
  const reader = one.pump.stream().getReader();
  await reader.read();
  left.abort();
  await turn();
  assertEquals([one.ends, one.events], [[], []]);
  while (!(await reader.read()).done);
  assertEquals(one.ends.map(charged), [["complete", 2, "counted"]]);
});

Deno.test("a failure before any output is told at once: there is nobody to be found gone", async () => {
  const one = run(new ScriptedReader([BROKEN]));
  const reading = one.pump.stream().getReader().read();
  for (let count = 0; count < 100; count++) await Promise.resolve(); // and no timer
  assertEquals(one.ends.length, 1);
  await reading;
});

Deno.test("output has begun with the first text that has any; items are kept if the reply has such", async () => {
  const outputItems = [{ id: "one" }];
  for (const items of [outputItems, undefined]) {
    const kept: unknown[] = [];
    const keepItems = (all: readonly object[]) => Promise.resolve(void kept.push(all));
    const more = () => (items === undefined ? {} : { outputItems: items });
    const one = run(new ScriptedReader(["", "", "a"], undefined, more), Infinity, { keepItems });
    assertEquals(await new Response(one.pump.stream()).text(), "a<end 1>");
    assertEquals([one.begun(), kept], [1, items === undefined ? [] : [items]]);
  }
});

Deno.test("what a failed stream costs, and why it is said to have failed (table)", async () => {
  const asked = new Refusal("request_invalid", "too long");
  const ofThis = Object.assign(new Refusal("upstream_unavailable", "large"), {
    ofThisRequest: true,
  });
  const rows: readonly (readonly [
    texts: readonly string[],
    error: Error,
    hasLeft: boolean,
    end: readonly [ending: End["ending"], reason: string, output: number | undefined],
  ])[] = [
    [["a"], asked, false, ["refused", "request_invalid", 1]],
    [["a"], asked, true, ["refused", "request_invalid", 1]],
    [[], asked, false, ["refused", "request_invalid", undefined]],
    [["a"], ofThis, false, ["upstream_failed", "upstream_unavailable", 1]],
    [["a"], BROKEN, false, ["upstream_failed", "upstream_unavailable", undefined]],
    [["a"], BROKEN, true, ["client_left", "client_disconnected", 1]],
    [[], BROKEN, true, ["upstream_failed", "upstream_unavailable", undefined]],
    // a fault of the gateway's own is free
    [["a"], new TypeError("a fault"), true, ["refused", "internal", undefined]],
    [["a"], new TypeError("a fault"), false, ["refused", "internal", undefined]],
  ];
  for (const [texts, error, hasLeft, end] of rows) {
    const one = run(new ScriptedReader([...texts, error]), Infinity, {}, () => {}, hasLeft);
    await new Response(one.pump.stream()).text();
    const seen = one.ends.map(({ ending, failure, usage }) => [
      ending,
      failure?.reason,
      usage?.outputTokens,
    ]);
    assertEquals(seen, [[...end]], `${texts} ${error} ${hasLeft}`);
    assertEquals(one.events.includes("fault"), error instanceof TypeError);
  }
});

Deno.test("a client that had not read for a while when the gateway stops pays for what it got", async () => {
  const shutdown = new AbortController();
  const one = run(new ScriptedReader(["a", "b"]), Infinity, {}, () => {}, false, shutdown.signal);
  const reader = one.pump.stream().getReader();
  await reader.read();
  await sleep(300);
  shutdown.abort();
  await until(() => one.events.includes("end"), { what: "its end, which nobody reads" });
  while (!(await reader.read()).done);
  assertEquals(one.ends.map(charged), [["client_left", 1, "counted"]]);
  assertEquals(one.ends[0]!.failure?.reason, "client_slow");
});

Deno.test("a target is told of streams that break by themselves, and of those that are complete (table)", async () => {
  const rows: readonly (readonly [error: Error | undefined, told: string | undefined])[] = [
    [undefined, "completed m"],
    [brokenOff(), "broke m"],
    [new TransportFault("broken", "reset"), "broke m"],
    [new TransportFault("no_reply", "late"), undefined],
    [BROKEN, undefined],
    [Object.assign(new TypeError("a fault"), { kind: "broken" }), undefined],
  ];
  for (const [error, told] of rows) {
    for (const isGivenUp of [false, true]) {
      const heard: string[] = [];
      const health = {
        streamBroke: (model: string) => heard.push(`broke ${model}`),
        streamCompleted: (model: string) => heard.push(`completed ${model}`),
      };
      const plan = { target: { model: "m" }, upstream: { health } } as unknown as TargetPlan;
      const signal = isGivenUp ? AbortSignal.abort() : new AbortController().signal;
      const steps = ["a", ...error === undefined ? [] : [error]];
      const one = run(new ScriptedReader(steps), 9, { plan }, () => {}, false, undefined, {
        signal,
      });
      await new Response(one.pump.stream()).text();
      const isSilent = told === undefined || isGivenUp && error !== undefined;
      assertEquals(heard, isSilent ? [] : [told], `${error} ${isGivenUp}`);
    }
  }
});

Deno.test("a client that leaves while its reply is settled ends it once, and without a fault", async () => {
  for (const steps of [["a"], ["a", BROKEN]]) {
    const settled = Promise.withResolvers<void>();
    const one = run(new ScriptedReader(steps), Infinity, {}, () => settled.promise);
    const reader = one.pump.stream().getReader();
    const reading = steps.length === 1 ? reader.read() : reader.read().then(() => reader.read());
    await until(() => one.ends.length === 1, { what: "the settlement" });
    const leaving = reader.cancel();
    await turn();
    settled.resolve();
    await Promise.all([leaving, reading]);
    await until(() => one.events.includes("end"));
    await turn();
    assertEquals(one.events, ["drain", "over", "end"]);
  }
});

Deno.test("disconnected: a reply is followed for an input that only its end tells, if the account may follow another one", async () => {
  const open = { openInput: 7 };
  const leaveOpen = async (reader: TextReader, more: Partial<PumpOptions> = {}, affordable = 9) => {
    const one = run(reader, affordable, more, undefined, false, undefined, open);
    await leaveAfter(one, 1);
    const [{ usage, usageSource, ending } = {} as End] = one.ends;
    return [ending, usage?.inputTokens, usage?.outputTokens, usageSource, ...one.events];
  };
  const told = () => new ScriptedReader(["a", "b", "c"], countedUsage(9, 7));
  const complete = ["drain", "over", "end"];
  const cut = ["discard", "abort", "over", "end"];
  assertEquals(await leaveOpen(told()), ["client_left", 9, 7, "upstream", ...complete]);
  let [followed, ended] = [0, 0];
  const follow = () => (followed++, () => void ended++);
  assertEquals(await leaveOpen(told(), { follow }), ["client_left", 9, 7, "upstream", ...complete]);
  assertEquals([followed, ended], [1, 1]);
  const none = { follow: () => undefined };
  assertEquals(await leaveOpen(told(), none), ["client_left", 12, 1, "counted", ...cut]);
  // it is followed as far as the balance goes
  assertEquals(await leaveOpen(told(), {}, 1), ["client_left", 12, 1, "counted", ...cut]);
  // what was told of the input before it broke counts, what was said meanwhile does not
  const input = { inputTokens: 9, cachedTokens: 3, cacheWrittenTokens: 0 };
  const broken = new ScriptedReader(["a", "b", BROKEN], undefined, (tokens) => ({
    partialUsage: {
      input: tokens > 1 ? input : undefined,
      outputTokens: undefined,
      outputAfter: 0,
    },
  }));
  assertEquals(await leaveOpen(broken), ["client_left", 9, 1, "counted", ...complete]);
  const nothing = run(told(), 9, { follow }, undefined, false, undefined, open);
  await leaveAfter(nothing, 0);
  assertEquals([nothing.ends.map(charged), followed], [
    [["client_left", undefined, undefined]],
    1,
  ]);
});

Deno.test("what comes for a client that has left goes nowhere", async () => {
  const came = Promise.withResolvers<void>();
  class LateReader extends ScriptedReader {
    override async next(): Promise<string> {
      await came.promise;
      return await super.next();
    }
  }
  const one = run(new LateReader(["a", "b"]));
  const reader = one.pump.stream().getReader();
  const reading = reader.read();
  await turn();
  await reader.cancel();
  came.resolve();
  assertEquals((await reading).done, true);
  await turn();
  assertEquals(one.ends.map(charged), [["client_left", undefined, undefined]]);
  assertEquals(one.events, ["discard", "abort", "over", "end"]);
});

Deno.test("a client that leaves while its hold is to grow is charged once, as one that has left", async () => {
  const one = run(new ScriptedReader(["a", "b"]), 1);
  const reader = one.pump.stream().getReader();
  await reader.read();
  const reading = reader.read();
  await Promise.all([reader.cancel(), reading]);
  await turn();
  assertEquals(one.ends.map(charged), [["client_left", 1, "counted"]]);
  assertEquals(one.events, ["discard", "abort", "over", "end"]);
});

Deno.test("a reply goes on beyond what may be charged as far as some tokenizer explains its count, and if all of that is paid for", async () => {
  for (
    const [overcounted, affordable, beyond, text] of [
      [0, 3, 0, "abc<cut><end 3>"],
      [2, 3, 0, "abcde<cut><end 3>"],
      [2, 3, 2, "abc<cut><end 3>"],
      [0, 4, 2, "abcd<cut><end 4>"],
    ] as const
  ) {
    const reader = new ScriptedReader([..."abcdefg"], undefined, () => ({ overcounted }));
    const one = run(reader, affordable, {}, undefined, false, undefined, { beyond });
    assertEquals(await new Response(one.pump.stream()).text(), text);
  }
});

Deno.test("a client that leaves while a shutdown ends its stream is sent nothing more, without a fault", async () => {
  const [shutdown, settled] = [new AbortController(), Promise.withResolvers<void>()];
  const { signal } = shutdown;
  const one = run(new ScriptedReader(["a", "b"]), 9, {}, () => settled.promise, false, signal);
  const reader = one.pump.stream().getReader();
  await reader.read();
  shutdown.abort();
  await until(() => one.ends.length === 1, { what: "the settlement" });
  const leaving = reader.cancel();
  settled.resolve();
  await leaving;
  await turn();
  assertEquals(one.events, ["discard", "over", "end"]);
});

Deno.test("a break says something of its target if it comes early, by its last output, and its client reads (table)", async () => {
  let tick = 0;
  using _ticks = isolateTicks(() => tick);
  class TimedReader extends ScriptedReader {
    readonly #ticks: number[];

    constructor(steps: readonly (readonly [text: string, tick: number])[]) {
      super([...steps.map(([text]) => text), brokenOff()]);
      this.#ticks = steps.map(([, at]) => at);
    }

    override async next(): Promise<string> {
      tick = this.#ticks.shift() ?? tick;
      return await super.next();
    }
  }
  for (
    const [steps, readAfterMs, isBroken] of [
      [[["a", 0]], 0, true],
      [[["a", 0], ["b", 10_000]], 0, true],
      [[["a", 0], ["b", 10_001]], 0, false],
      [[["a", 0], ["", 20_000]], 0, true],
      [[["a", 0]], 3_000, false],
    ] as const
  ) {
    const heard: string[] = [];
    const health = { streamBroke: (model: string) => heard.push(model) };
    const plan = { target: { model: "m" }, upstream: { health } } as unknown as TargetPlan;
    tick = 0;
    const one = run(new TimedReader(steps), 9, { plan });
    const reader = one.pump.stream().getReader();
    await reader.read();
    tick += readAfterMs;
    while (!(await reader.read()).done);
    assertEquals(heard, isBroken ? ["m"] : [], JSON.stringify(steps));
    assertEquals(one.ends.map(({ ending }) => ending), [
      readAfterMs === 0 ? "upstream_failed" : "client_left",
    ]);
  }
});
