/** What of a reply is read when: up to a limit, up to its end, and when its client is sent a ping. */

import { CoarseTimers } from "../../../src/ground/platform/mod.ts";
import { Refusal } from "../../../src/ground/refusal.ts";
import { EventSource } from "../../../src/requests/relay/event_source.ts";
import { LATE_USAGE_MS, ReplyReader } from "../../../src/requests/relay/reply_reader.ts";
import type { ReadyBytes, Waiter } from "../../../src/requests/upstreams/mod.ts";
import { bridgeBetween, type ReplyStream, type SseEvent } from "../../../src/wire/dialects/mod.ts";
import {
  assert,
  assertEquals,
  assertRejects,
  assertStringIncludes,
  assertThrows,
} from "../../assert.ts";
import { sleep } from "../../fake/temp.ts";
import { contextOf, parseMessages } from "../../wire/dialects/ends.ts";

const PING_AFTER_MS = 20;
const LIMITS = {
  bytes: 1e6,
  values: 1e5,
  streamBytes: 1e6,
  events: 1e4,
  eventValues: 1e5,
  silentBytes: 1e5,
};

Deno.test("a client without output for long is sent a ping, whatever arrives meanwhile that is no output", async () => {
  const request = parseMessages({
    model: "m",
    stream: true,
    max_tokens: 100,
    messages: [{ role: "user", content: "Hi" }],
  });
  const arrived: string[] = [];
  const body: ReadyBytes = {
    take: () => arrived.length === 0 ? null : new TextEncoder().encode(arrived.shift()),
    whenReady() {},
    read: () => Promise.resolve(undefined),
  };
  const timers = new CoarseTimers();
  const reader = new ReplyReader(
    new EventSource({ status: 200, headers: {}, body, discard() {}, drain() {} }, timers, LIMITS),
    bridgeBetween("messages", "chat").stream(contextOf(request, { createdAtS: 1 })),
    PING_AFTER_MS,
  );
  const push = (delta: object) =>
    arrived.push(`data: ${JSON.stringify({ choices: [{ index: 0, delta }] })}\n\n`);
  try {
    push({ role: "assistant", content: "Well" });
    assertStringIncludes(reader.take()!, "Well");
    for (let times = 0; times < 3; times++) {
      await sleep(2 * PING_AFTER_MS);
      push({});
      assertEquals(reader.take(), "", "an event without output");
      const ping = reader.take();
      assert(ping !== undefined, "a ping, though something came just now");
      assertStringIncludes(ping, "event: ping");
    }
  } finally {
    reader.close();
    timers.close();
  }
});

/** What an event does to a reply: its text, and what is known of the reply from then on. */
interface Step {
  readonly text?: string;
  /** Counted output from then on; there is some output if it is more than none. */
  readonly tokens?: number;
  readonly isReason?: boolean;
  readonly isEnd?: boolean;
  readonly lacksUsage?: boolean;
  readonly fails?: Error;
}

const BROKEN = new Refusal("upstream_unavailable", "broken off");

/** A reply in memory, to which each event does what it says. */
class ScriptedReply {
  finished = false;
  lacksUsage = false;
  hasFinishReason = false;
  countedOutput = 0;
  /** Texts of events that were pushed, and ends. */
  readonly seen: string[] = [];

  get hasOutput(): boolean {
    return this.countedOutput > 0;
  }

  push({ data }: SseEvent): string {
    const { text = "", tokens, isReason, isEnd, lacksUsage, fails } = STEPS.get(data)!;
    this.seen.push(text);
    this.countedOutput = tokens ?? this.countedOutput;
    this.hasFinishReason ||= isReason === true;
    this.finished ||= isEnd === true;
    this.lacksUsage = lacksUsage ?? this.lacksUsage;
    if (fails !== undefined) throw fails;
    return text;
  }

  end(): void {
    this.seen.push("<end>");
    if (!this.hasFinishReason && !this.finished) throw BROKEN;
    this.finished = true;
  }

  ping(): string {
    return "<ping>";
  }
}

const STEPS = new Map<string, Step>();

/** A reader of pieces of events; null is nothing yet, and after all there is an end. */
function readerOf(
  pieces: readonly (readonly Step[] | null | Error)[],
  { outputLimit = Infinity, pingAfterMs = 1e9 } = {},
) {
  const left = [...pieces];
  const reply = new ScriptedReply();
  const waits: number[] = [];
  const state = { closes: 0 };
  const source = {
    take() {
      if (left.length === 0) return undefined;
      const piece = left.shift()!;
      if (piece instanceof Error) throw piece;
      return piece?.map((step) => {
        const data = `${STEPS.size}`;
        STEPS.set(data, step);
        return { event: "message", data };
      }) ?? null;
    },
    whenReady(waiter: Waiter, untilTick: number) {
      waits.push(untilTick);
      queueMicrotask(() => waiter.wake());
    },
    close: () => void state.closes++,
  } as unknown as EventSource;
  const reader = new ReplyReader(source, reply as unknown as ReplyStream, pingAfterMs);
  reader.outputLimit = outputLimit;
  const stands = () => [reader.atLimit, reader.finished];
  return {
    reader,
    reply,
    waits,
    state,
    stands,
    more: (piece: readonly Step[]) => left.push(piece),
  };
}

const word = (tokens: number): Step => ({ text: `w${tokens} `, tokens });
const REASON: Step = { text: "reason ", isReason: true };
const END: Step = { text: "end", isReason: true, isEnd: true };

Deno.test("a reader stops at its limit, and goes on with what came meanwhile when that is raised", () => {
  const { reader, reply, stands } = readerOf([[word(1), word(2), word(3), END]], {
    outputLimit: 2,
  });
  assertEquals(stands(), [false, false]);
  assertEquals([reader.take(), ...stands()], ["w1 w2 ", true, false]);
  reader.outputLimit = 3;
  assertEquals(stands(), [false, false]);
  assertEquals([reader.take(), ...stands()], ["w3 ", true, false]);
  reader.outputLimit = 4;
  assertEquals([reader.take(), ...stands()], ["end", false, true]);
  assertEquals(reply.seen.length, 4);
  // what has ended is at no limit
  const exact = readerOf([[word(1), { ...END, tokens: 2 }]], { outputLimit: 2 });
  assertEquals([exact.reader.take(), ...exact.stands()], ["w1 end", false, true]);
});

Deno.test("a response begins with its first text, at a limit of nothing, or with its end", async () => {
  const some = readerOf([[{}], null, [word(1)], [word(2)]], { outputLimit: 1 });
  await some.reader.begin(true);
  assertEquals(some.reply.seen, ["", "w1 "]);
  assertEquals(some.stands(), [false, false], "its text was not taken yet");
  assertEquals([some.reader.take(), ...some.stands()], ["w1 ", true, false]);
  const none = readerOf([[word(1)]], { outputLimit: 0 });
  await none.reader.begin(false);
  assertEquals([none.reply.seen, none.stands()], [[], [true, false]]);
  const ended = readerOf([[{ ...END, text: "" }]]);
  await ended.reader.begin(true);
  assertEquals(ended.stands(), [false, true]);
  const silent = readerOf([[{ ...END, text: "" }]]);
  await silent.reader.begin(false);
  assertEquals([silent.stands(), silent.reply.seen], [[false, true], [""]]);
  const whole = readerOf([[END]]);
  await whole.reader.begin(true);
  assertEquals(whole.stands(), [false, false]);
  assertEquals([whole.reader.take(), ...whole.stands()], ["end", false, true]);
});

Deno.test("where another target would be tried, text without output does not begin a response, nor a ping", async () => {
  const pieces = [[{ text: "role " }], null, [word(1)], [word(2)]];
  const failsOver = readerOf(pieces, { pingAfterMs: 0 });
  await failsOver.reader.begin(true);
  assertEquals(failsOver.reader.take(), "role w1 ");
  const last = readerOf(pieces, { pingAfterMs: 0 });
  await last.reader.begin(false);
  assertEquals(last.reader.take(), "role ");
  const silent = readerOf([null, [word(1)]], { pingAfterMs: 0 });
  await silent.reader.begin(false);
  assertEquals(silent.reader.take(), "<ping>");
});

Deno.test("a failure is thrown after the text before it, and at once if there is none", async () => {
  const error = new Refusal("upstream_unavailable", "overloaded");
  const after = readerOf([[word(1), { fails: error }, word(2)]]);
  await after.reader.begin(true);
  assertEquals(after.stands(), [false, false]);
  assertEquals(after.reader.take(), "w1 ");
  assertEquals(assertThrows(() => after.reader.take(), Refusal), error);
  assertEquals(after.reply.seen, ["w1 ", ""]);
  // an end that is a failure is none
  const end = readerOf([[word(1), { fails: error, isEnd: true }]]);
  assertEquals([end.reader.take(), ...end.stands()], ["w1 ", false, false]);
  assertEquals(assertThrows(() => end.reader.take(), Refusal), error);
  const first = readerOf([[word(1)], [{ fails: error }]]);
  assertEquals(first.reader.take(), "w1 ");
  assertEquals(assertThrows(() => first.reader.take(), Refusal), error);
  // the client has seen nothing: another target can be tried, whatever came before it
  const early = readerOf([[{ text: "role " }, { fails: error }]]);
  assertEquals(await assertRejects(() => early.reader.begin(true), Refusal), error);
  assertEquals(early.state.closes, 1);
});

Deno.test("what breaks off or fails after its finish reason has ended", () => {
  for (const piece of [[{ fails: BROKEN }], BROKEN]) {
    const { reader, reply, stands } = readerOf([[word(1), REASON], piece]);
    assertEquals([reader.take(), reader.take(), ...stands()], ["w1 reason ", "", false, true]);
    assertEquals(reply.seen.at(-1), "<end>");
  }
  const broken = readerOf([[word(1)], BROKEN]);
  assertEquals(broken.reader.take(), "w1 ");
  assertEquals(assertThrows(() => broken.reader.take(), Refusal), BROKEN);
  const cut = readerOf([[word(1)]]);
  assertEquals(cut.reader.take(), "w1 ");
  assertEquals(assertThrows(() => cut.reader.take(), Refusal), BROKEN);
});

Deno.test("usage that follows the end mark is awaited for a moment, and nothing else is read after it", async () => {
  const lacking: Step = { text: "end", tokens: 2, isEnd: true, lacksUsage: true };
  const usage: Step = { text: "", lacksUsage: false };
  const beside = readerOf([[word(1), lacking, usage, word(2)]], { outputLimit: 1 });
  assertEquals(beside.reader.take(), "w1 ");
  beside.reader.outputLimit = 2;
  assertEquals([beside.reader.take(), ...beside.stands()], ["end", false, true]);
  assertEquals([beside.reply.seen, beside.state.closes], [["w1 ", "end", ""], 0]);
  // it is not waited for the time of the next ping
  const later = readerOf([[lacking], null, [{ text: "" }], [usage], [word(2)]]);
  assertEquals([later.reader.take(), ...later.stands()], ["end", false, false]);
  assertEquals([later.state.closes, later.reader.take()], [1, undefined]);
  later.reader.whenReady({ wake() {} });
  assert(later.waits[0]! < 1e9);
  assertEquals([later.reader.take(), ...later.stands()], ["", false, false], "of something else");
  assertEquals([later.reader.take(), ...later.stands()], ["", false, true]);
  assertEquals(later.reply.seen, ["end", "", ""]);
  for (const piece of [undefined, BROKEN]) {
    const ended = readerOf([[lacking], ...piece === undefined ? [] : [piece]]);
    assertEquals([ended.reader.take(), ended.reader.take(), ...ended.stands()], [
      "end",
      "",
      false,
      true,
    ]);
  }
  const never = readerOf([[lacking], null, null, null]);
  assertEquals([never.reader.take(), never.reader.take()], ["end", undefined]);
  await sleep(LATE_USAGE_MS + 50);
  assertEquals([never.reader.take(), ...never.stands()], ["", false, true]);
});

Deno.test("the time of the next ping counts from the last text", async () => {
  const { reader, waits } = readerOf([null, [word(1)], [{}]]);
  const until = async () => {
    await sleep(5);
    reader.whenReady({ wake() {} });
    return waits.at(-1)!;
  };
  const first = await until();
  assertEquals(reader.take(), undefined, "it is not time yet");
  reader.take();
  const second = await until();
  reader.take();
  assert(second > first);
  assertEquals(await until(), second, "an event without text is none");
});
