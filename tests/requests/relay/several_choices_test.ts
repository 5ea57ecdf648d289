/** Choices that a first reply leaves out: which are requested, when, and what becomes of those that fail. */

import { Refusal } from "../../../src/ground/refusal.ts";
import type { AttemptRecord } from "../../../src/money/ledger/mod.ts";
import type { OpenedReply, OpenedStream } from "../../../src/requests/relay/opened_reply.ts";
import type { Plan } from "../../../src/requests/relay/plan.ts";
import {
  allAttempts,
  type Opened,
  withAllChoices,
} from "../../../src/requests/relay/several_choices.ts";
import type { TextReader } from "../../../src/requests/relay/text_reader.ts";
import { ExchangeFailed, type Sent } from "../../../src/requests/upstreams/mod.ts";
import type { MultipleChoices, Reply, ReplyState } from "../../../src/wire/dialects/mod.ts";
import { assert, assertEquals, assertRejects } from "../../assert.ts";

/** A choice of one piece. */
function reader(): TextReader {
  let isRead = false;
  return {
    requests: 1,
    outputLimit: 1_000,
    atLimit: false,
    get finished() {
      return isRead;
    },
    get reply() {
      const endedChoices = isRead ? 1 : 0;
      const state = { endedChoices, countedOutput: 0, close: () => "" };
      return state as Partial<ReplyState> as ReplyState;
    },
    next: () => (isRead = true, Promise.resolve("a")),
    close() {},
  };
}

/** Requests of a client for some choices, and what each of them gets. */
function scene(choices: number, errors: Readonly<Record<number, unknown>> = {}) {
  const singles = new Set<string>();
  const [sent, discarded, drained]: [number[], number[], number[]] = [[], [], []];
  const reached: number[] = [];
  const outcome = { upstream: "up", model: "m", outcome: "replied", durationMs: 1 };
  const sentOf = (number: number, kind: OpenedReply["kind"], own: number): Sent<Plan, Opened> => {
    const ends = {
      choices: own,
      discard: () => void discarded.push(number),
      drain: () => void drained.push(number),
    };
    const reply = { choices: own } as Partial<Reply> as Reply;
    const opened: OpenedReply = kind === "whole"
      ? { kind, reply, requests: 1, ...ends }
      : { kind, reader: reader(), ...ends };
    const plan = {
      upstream: { health: { singleChoiceModels: singles } },
      target: { upstream: "up", model: "m" },
    } as unknown as Plan;
    return {
      opened: { opened, dropped: [], adjusted: [] },
      plan,
      attempts: 1 + number,
      outcomes: number === 0 ? undefined : [outcome],
    } as unknown as Sent<Plan, Opened>;
  };
  /** @param own Choices of the first reply, and kinds of it and of the others. */
  const run = (own: number, kind: OpenedReply["kind"], others = kind) => {
    const first = sentOf(0, kind, own);
    const opening = withAllChoices(first, {
      choices,
      stream: kind === "stream",
      multiple: {
        joinReplies: (replies: readonly Reply[]) => ({ choices: replies.length }),
        joinStreams: () => ({ close: () => "", countedOutput: 0 }),
      } as unknown as MultipleChoices,
      context: () => ({}) as never,
      send(number) {
        sent.push(number);
        return number in errors
          ? Promise.reject(errors[number])
          : Promise.resolve(sentOf(number, others, 1));
      },
      reached: (all, opened) => (reached.push(all.length), opened),
    });
    return opening.then((opened) => ({ opened, first: first.opened.opened }));
  };
  return { run, singles, sent, discarded, drained, reached };
}

Deno.test("the choices that a whole reply leaves out, or a target that returns one at a time, are requested at once (table)", async () => {
  const rows: readonly (readonly [
    choices: number,
    own: number,
    kind: OpenedReply["kind"],
    sent: readonly number[],
    isNoted: boolean,
  ])[] = [
    [3, 3, "whole", [], false],
    [3, 5, "whole", [], false],
    [1, 1, "whole", [], false],
    [3, 1, "whole", [1, 2], true],
    [3, 2, "whole", [2], true],
    // a stream says by its plan that its target returns one at a time
    [3, 1, "stream", [1, 2], false],
    [1, 1, "stream", [], false],
  ];
  for (const [choices, own, kind, expected, isNoted] of rows) {
    const { run, sent, singles, reached, discarded } = scene(choices);
    const { opened, first } = await run(own, kind);
    const text = `${choices} ${own} ${kind}`;
    assertEquals([sent, singles.has("m")], [[...expected], isNoted], text);
    assertEquals([opened === first, opened.kind], [expected.length === 0, kind], text);
    assertEquals([reached, discarded], [[1 + expected.length], []], text);
    if (opened.kind !== "whole" || opened === first) continue;
    assertEquals([opened.requests, opened.reply.choices], [
      1 + expected.length,
      1 + expected.length,
    ]);
    assertEquals(opened.choices, own + expected.length, text);
  }
});

Deno.test("one choice that fails fails them all, after as many attempts as there were; nothing stays open", async () => {
  const refusal = new Refusal("upstream_unavailable", "away");
  const failed = new ExchangeFailed(refusal, { attempts: 5, outcomes: [] }, undefined);
  const one = scene(3, { 1: failed });
  const error = await assertRejects(() => one.run(1, "whole"), ExchangeFailed);
  // one for the first, three for the third
  assertEquals([error.refusal, error.attempts, error.outcomes.length], [refusal, 9, 1]);
  assertEquals([one.discarded, one.reached], [[0, 2], []]);
  const bug = new TypeError("a fault of the gateway");
  const other = scene(3, { 2: bug });
  assertEquals(await assertRejects(() => other.run(1, "whole"), TypeError), bug);
  assertEquals([other.discarded, other.reached], [[0, 1], []]);
});

/** Reads a stream to its end. */
async function readOf({ reader }: OpenedStream): Promise<string> {
  let text = "";
  while (!reader.finished) text += await reader.next();
  return text;
}

Deno.test("a stream that ends without some of its choices has them requested then, and those that fail stay out", async () => {
  for (
    const [errors, others, text, count] of [
      [{}, "stream", "aaa", 3],
      [{ 1: new Error("away") }, "stream", "aa", 2],
      [{}, "whole", "a", 3],
    ] as const
  ) {
    const { run, sent, singles, reached } = scene(3, errors);
    const { opened, first } = await run(3, "stream", others);
    assert(opened.kind === "stream" && opened !== first);
    assertEquals([sent, singles.has("m"), reached], [[], false, [1]]);
    assertEquals(await readOf(opened), text);
    assertEquals([sent, singles.has("m"), reached], [[1, 2], true, [1, count]]);
  }
});

Deno.test("attempts of several exchanges are listed if one of them lists its own", () => {
  const outcome = (name: string): AttemptRecord => (
    { upstream: "up", model: "m", outcome: name, durationMs: 1 }
  );
  const of = (...lists: readonly (readonly string[] | undefined)[]) => {
    const all = lists.map((list) => ({ attempts: 2, outcomes: list?.map(outcome) }));
    const { attempts, outcomes } = allAttempts(all);
    return [attempts, outcomes?.map((one) => one.outcome)];
  };
  assertEquals(of(undefined, undefined), [4, undefined]);
  assertEquals(of(["one"], undefined, ["two", "three"]), [6, ["one", "two", "three"]]);
});
