/** What a reply may have, and that reading it lets others have their turns: at each bound, and one beyond it. */

import { setImmediate } from "node:timers";
import { Refusal } from "../../../src/ground/refusal.ts";
import {
  checkReplyJson,
  limitsFor,
  outputWith,
  Yielder,
} from "../../../src/requests/relay/reply_limits.ts";
import { assertEquals, assertThrows } from "../../assert.ts";

Deno.test("log probabilities that were asked for make room for their values, up to two million", () => {
  const limits = {
    bytes: 1,
    values: 20,
    streamBytes: 3,
    events: 4,
    eventValues: 50,
    silentBytes: 6,
  };
  const of = (logprobs: number, outputTokens: number) => {
    const { values, eventValues, ...rest } = limitsFor(limits, { logprobs, outputTokens });
    assertEquals(rest, { bytes: 1, streamBytes: 3, events: 4, silentBytes: 6 });
    return [values, eventValues];
  };
  assertEquals(of(0, 1e9), [20, 50]);
  assertEquals(of(2, 10), [260, 290]);
  assertEquals(of(20, 1e9), [2_000_020, 2_000_050]);
  assertEquals([outputWith(0), outputWith(1), outputWith(21)], [Infinity, 166_666, 7_936]);
});

Deno.test("JSON of an upstream has bounds of values and of depth, from 400 characters on", () => {
  checkReplyJson("[".repeat(399), 1);
  checkReplyJson(`[${"0,".repeat(300)}${"[".repeat(199)}`, 1_000);
  checkReplyJson(`[${"0,".repeat(300)}0]`, 302);
  for (
    const [text, values, says] of [
      ["[".repeat(400), 1_000, "nested too deeply"],
      [`[${"0,".repeat(300)}${"[".repeat(200)}`, 1_000, "nested too deeply"],
      [`[${"0,".repeat(300)}0]`, 301, "too many JSON values"],
    ] as const
  ) {
    const refusal = assertThrows(() => checkReplyJson(text, values), Refusal, says);
    assertEquals([refusal.reason, refusal.ofThisRequest], ["upstream_unavailable", true]);
  }
});

Deno.test("others have a turn after 65,536 bytes, of which an event counts for 256", async () => {
  const turns = new Yielder();
  turns.took(65_535);
  assertEquals(turns.isDue, false);
  turns.took(1);
  assertEquals(turns.isDue, true);
  await new Promise<void>((resolve) => turns.afterTurn(resolve));
  assertEquals(turns.isDue, false);
  turns.took(0, 255);
  assertEquals(turns.isDue, false);
  turns.took(256);
  assertEquals(turns.isDue, true);
});

Deno.test("a piece is waited for only when a turn is due", async () => {
  const turns = new Yielder();
  let others = 0;
  setImmediate(() => others++);
  await turns.taken(65_535);
  assertEquals(others, 0);
  await turns.taken(1);
  assertEquals([others, turns.isDue], [1, false]);
});
