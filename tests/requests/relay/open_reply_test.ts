/** A reply in whichever form it comes, as what its client asked for: a stream as a whole, and a whole one as a stream. */

import { CoarseTimers } from "../../../src/ground/platform/mod.ts";
import { Refusal } from "../../../src/ground/refusal.ts";
import { openStream, openWhole } from "../../../src/requests/relay/open_reply.ts";
import type { Plan } from "../../../src/requests/relay/plan.ts";
import type { UpstreamReply } from "../../../src/requests/upstreams/mod.ts";
import { assert, assertEquals, assertRejects } from "../../assert.ts";
import { sleep } from "../../fake/temp.ts";
import { chunk, sse } from "../../fake/upstream.ts";
import { chatToChat, contextOf, parseChat } from "../../wire/dialects/ends.ts";

const LIMITS = {
  bytes: 1e6,
  values: 1e5,
  streamBytes: 1e6,
  events: 1e4,
  eventValues: 1e5,
  silentBytes: 1e5,
};
const usageOf = (tokens: number) => (
  { choices: [], usage: { prompt_tokens: 4, completion_tokens: tokens, total_tokens: 4 + tokens } }
);
const usageEvent = (tokens: number) => sse(JSON.stringify(usageOf(tokens)));
const TEXT = sse(chunk({ role: "assistant", content: "Hello" }));
const DONE = sse(chunk({}, "stop"), "[DONE]");
const USAGE = usageEvent(6);
const WHOLE = JSON.stringify({
  id: "x",
  object: "chat.completion",
  choices: [{ index: 0, message: { role: "assistant", content: "Hello" }, finish_reason: "stop" }],
  usage: usageOf(6).usage,
});

/** A reply in these pieces, a number being a pause; its connection may stay open behind them. */
function replyOf(
  pieces: readonly (string | number)[],
  { type, isOpen = false }: { type?: string; isOpen?: boolean } = {},
) {
  const left = [...pieces];
  const seen = { reads: 0, drains: 0 };
  const reply: UpstreamReply = {
    status: 200,
    headers: type === undefined ? {} : { "content-type": type },
    body: {
      async read() {
        seen.reads++;
        let piece = left.shift();
        if (typeof piece === "number") {
          await sleep(piece);
          piece = left.shift();
        }
        if (piece === undefined && isOpen) await new Promise(() => {});
        return typeof piece === "string" ? new TextEncoder().encode(piece) : undefined;
      },
    },
    discard() {},
    drain: () => void seen.drains++,
  };
  return { reply, seen };
}

function optionsOf(timers: CoarseTimers, choices = 1) {
  const request = parseChat({
    model: "m",
    n: choices,
    messages: [{ role: "user", content: "Hi" }],
  });
  return {
    dialect: "chat" as const,
    plan: { bridge: chatToChat, upstream: { dialect: "chat" } } as unknown as Plan,
    context: contextOf(request),
    limits: LIMITS,
    timers,
  };
}

async function whole(reply: UpstreamReply, choices?: number) {
  const timers = new CoarseTimers();
  try {
    const opened = await openWhole(reply, optionsOf(timers, choices));
    assert(opened.kind === "whole");
    return [opened.choices, opened.reply.usage?.outputTokens];
  } finally {
    timers.close();
  }
}

Deno.test("a stream where a whole reply was asked for is read up to its end mark and its usage, and no further", async () => {
  const told = replyOf([TEXT, USAGE + DONE + usageEvent(9)], { isOpen: true });
  assertEquals(await whole(told.reply), [1, 6]);
  assertEquals(told.seen, { reads: 2, drains: 1 });
  const late = replyOf([TEXT + DONE, USAGE, usageEvent(9)], { isOpen: true });
  assertEquals(await whole(late.reply), [1, 6]);
  assertEquals(late.seen, { reads: 2, drains: 1 });
  const ended = replyOf([TEXT + DONE]);
  assertEquals(await whole(ended.reply), [1, undefined]);
  const broken = replyOf([TEXT]);
  await assertRejects(() => whole(broken.reply), Refusal, "closed the stream early");
});

Deno.test("usage is awaited for a moment after the end mark, however long the stream took", async () => {
  const never = replyOf([TEXT + DONE], { isOpen: true });
  const slow = replyOf([TEXT, 300, DONE, USAGE], { isOpen: true });
  const ends = [whole(never.reply), whole(slow.reply)];
  assertEquals(await Promise.all(ends), [[1, undefined], [1, 6]]);
});

Deno.test("a whole reply has as many choices as it has, and counts for no more than were asked for", async () => {
  const two = JSON.parse(WHOLE);
  two.choices.push({ ...two.choices[0], index: 1 });
  const json = (body: string) => replyOf([body], { type: "application/json" }).reply;
  assertEquals(await whole(json(WHOLE), 2), [1, 6]);
  assertEquals(await whole(json(JSON.stringify(two)), 2), [2, 6]);
  assertEquals(await whole(json(JSON.stringify(two)), 1), [1, 6]);
});

async function stream(reply: UpstreamReply, choices: number) {
  const timers = new CoarseTimers();
  const options = { pingMs: 1e9, canFailOver: true, outputTokens: 101, choices };
  const opened = await openStream(reply, { ...optionsOf(timers, choices), ...options })
    .finally(() => timers.close());
  assert(opened.kind === "stream");
  const limit = opened.reader.outputLimit;
  opened.reader.outputLimit = Infinity;
  let text = "";
  while (!opened.reader.finished) text += await opened.reader.next();
  assert(text.includes("Hello"), text);
  return [opened.choices, limit, opened.reader.reply.usage?.outputTokens];
}

Deno.test("a whole reply where a stream was asked for is one of one choice, which has its share of the limit (table)", async () => {
  const events = TEXT + USAGE + DONE;
  for (
    const [body, type, choices, expected] of [
      [events, "text/event-stream", 1, [1, 101, 6]],
      [events, "text/event-stream", 2, [2, 101, 6]],
      [events, "Text/Event-Stream; charset=utf-8", 1, [1, 101, 6]],
      [events, "text/plain", 1, [1, 101, 6]],
      // what tells nothing is taken for what was asked for
      [`vendor: x\n${events}`, undefined, 1, [1, 101, 6]],
      [WHOLE, "application/json", 1, [1, 101, 6]],
      [WHOLE, "application/json", 2, [1, 50, 6]],
      [WHOLE, undefined, 2, [1, 50, 6]],
    ] as const
  ) {
    assertEquals(
      await stream(replyOf([body], { type: type! }).reply, choices),
      [...expected],
      body,
    );
  }
});

Deno.test("what is neither a stream nor a reply is refused as what it is (table)", async () => {
  const error = JSON.stringify({ error: { message: "it is overloaded", type: "server_error" } });
  for (
    const [body, type, says] of [
      [error, "application/json", "The upstream failed"],
      ["[1]", "application/json", "not an event stream"],
      ["<html>oh</html>", "text/html", "not an event stream"],
      ["<html>oh</html>", "application/json", "it is not JSON"],
    ] as const
  ) {
    const refusal = await assertRejects(() => stream(replyOf([body], { type }).reply, 1), Refusal);
    assert(refusal.message.includes(says), `${refusal.message}: ${says}`);
    assertEquals(refusal.reason, "upstream_unavailable");
  }
});
