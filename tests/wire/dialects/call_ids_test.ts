/** Ids of tool calls: legal for every client, their upstream's own again on the next turn. */

import fc from "fast-check";
import {
  type Bridge,
  type JsonObject,
  NO_USAGE,
  type ParsedRequest,
  SseDecoder,
} from "../../../src/wire/dialects/mod.ts";
import { clientId, legalId, upstreamId } from "../../../src/wire/dialects/neutral/call_ids.ts";
import { assert, assertEquals, assertMatch } from "../../assert.ts";
import { sized } from "../../tier.ts";
import {
  chatToMessages,
  contextOf,
  messagesToChat,
  messagesToMessages,
  parseChat,
  parseMessages,
} from "./ends.ts";

const LEGAL = /^[a-zA-Z0-9_-]+$/;

/** Ids of real upstreams, ids that imitate the escapes, and any text, halves of characters included. */
const anyId = fc.oneof(
  fc.constantFrom(
    "functions.Read:0",
    "call_a1B2",
    "toolu_01A",
    "chatcmpl-tool-9f",
    "x_again2",
    "sl-x",
    "sl-x_again2",
    "slm-x__y",
    "slx-_2e_",
    "_",
    "__",
    "_2e_",
    "\ud800",
    "ü\u0000",
    " ",
  ),
  fc.stringMatching(/^(sl[mx]?-)?[a-f_.:0-9-]{1,12}(_again[0-9])?$/),
  fc.string({ unit: "binary", minLength: 1, maxLength: 40 }),
  fc.array(fc.integer({ min: 0, max: 0xffff }), { minLength: 1, maxLength: 9 })
    .map((units) => String.fromCharCode(...units)),
);
const origin = fc.constantFrom("chat" as const, "messages" as const);
const count = fc.integer({ min: 1, max: 12 });

Deno.test("an upstream's id is legal for its client and is restored (property)", () => {
  fc.assert(
    fc.property(anyId, origin, count, (id, origin, count) => {
      const own = clientId(id, { origin, count });
      assertMatch(own, LEGAL);
      assertEquals(upstreamId(own, origin), id);
      assertEquals(upstreamId(own, "chat"), id, "chat upstreams take any id");
      if (/^[a-zA-Z0-9_-]{1,40}$/.test(id) && !/^sl[mx]?-|_again\d+$/.test(id) && count === 1) {
        assertEquals(own, id, "what is legal stays");
      }
    }),
    { numRuns: sized(300, 5_000) },
  );
});

Deno.test("no two ids become one (property)", () => {
  fc.assert(
    fc.property(anyId, anyId, origin, count, count, (a, b, origin, first, second) => {
      const same = a === b && first === second;
      const own = [clientId(a, { origin, count: first }), clientId(b, { origin, count: second })];
      assertEquals(own[0] === own[1], same);
      assertMatch(legalId(a), LEGAL);
      assertEquals(legalId(a) === legalId(b), a === b);
      assertEquals(legalId(own[0]!) === legalId(own[1]!), same);
    }),
    { numRuns: sized(300, 5_000) },
  );
});

const OPTIONS = { model: "m", upstream: "up", permittedOutput: 500, shaping: {} };
const STRICT = { ...OPTIONS, shaping: { signedReasoning: true } };
const user = { role: "user", content: "Hi" };

/** A chat upstream's reply with calls of these ids, as a messages client gets it. */
function replyIds(bridge: Bridge, request: ParsedRequest, ids: readonly string[], stream: boolean) {
  const context = contextOf(request);
  if (bridge === messagesToMessages) {
    const blocks = ids.map((id) => ({ type: "tool_use", id, name: "f", input: {} }));
    if (!stream) {
      return idsOf(
        bridge.reply({ content: blocks, stop_reason: "tool_use" }, context).body.content,
      );
    }
    const reply = bridge.stream(context);
    return blocks.flatMap((block, index) => {
      const text = reply.push(
        {
          event: "",
          data: JSON.stringify({ type: "content_block_start", index, content_block: block }),
        } as never,
      );
      const events = new SseDecoder().push(new TextEncoder().encode(text));
      return events.flatMap(({ data }) => idsOf([JSON.parse(data).content_block]));
    });
  }
  const calls = ids.map((id, index) => ({
    index,
    id,
    type: "function",
    function: { name: "f", arguments: "{}" },
  }));
  const choice = {
    index: 0,
    message: { content: null, tool_calls: calls },
    finish_reason: "tool_calls",
  };
  if (!stream) {
    return idsOf(bridge.reply({ choices: [choice] }, context).withUsage(NO_USAGE).content);
  }
  const reply = bridge.stream(context);
  const { message, ...rest } = choice;
  let text = reply.push(
    { event: "", data: JSON.stringify({ choices: [{ ...rest, delta: message }] }) } as never,
  );
  text += reply.close(NO_USAGE);
  const events = new SseDecoder().push(new TextEncoder().encode(text));
  return events.flatMap(({ data }) => idsOf([JSON.parse(data).content_block]));
}

function idsOf(content: unknown): string[] {
  return (content as (JsonObject | undefined)[]).flatMap((block) =>
    block?.type === "tool_use" ? [String(block.id)] : []
  );
}

/** Turns of a conversation: the ids of the calls in each. */
const turns = fc.array(fc.uniqueArray(anyId, { minLength: 1, maxLength: 4 }), {
  minLength: 1,
  maxLength: 4,
});

Deno.test("a conversation of a messages client: legal and unique ids, and each upstream's own again (property)", () => {
  fc.assert(
    fc.property(turns, fc.boolean(), fc.boolean(), (turns, isChat, stream) => {
      const bridge = isChat ? messagesToChat : messagesToMessages;
      const messages: JsonObject[] = [user];
      const seen: string[] = [];
      const ask = () => parseMessages({ model: "m", max_tokens: 9, messages });
      for (const ids of turns) {
        const own = replyIds(bridge, ask(), ids, stream);
        assertEquals(own.length, ids.length);
        for (const id of own) assertMatch(id, LEGAL);
        seen.push(...own);
        messages.push(
          {
            role: "assistant",
            content: own.map((id) => ({ type: "tool_use", id, name: "f", input: {} })),
          },
          // in the other order, as tools end
          {
            role: "user",
            content: own.toReversed().map((id) => ({
              type: "tool_result",
              tool_use_id: id,
              content: id,
            })),
          },
        );
      }
      assertEquals(new Set(seen).size, seen.length, "a client knows each call by its id");
      const sent = bridge.request(ask(), OPTIONS).body.messages as JsonObject[];
      const restored = sent.filter(({ role }) => role === "assistant").map((message) =>
        isChat ? (message.tool_calls as JsonObject[]).map(({ id }) => id) : idsOf(message.content)
      );
      // of ids that look like another one's escape one keeps its own form: never do two become one
      for (const [at, ids] of turns.entries()) {
        assertEquals(new Set(restored[at]).size, ids.length);
        if (ids.every((id) => !/^sl[mx]?-|_again\d+$/.test(id))) {
          assertEquals<unknown>(restored[at], ids);
        }
      }
      // another provider after a failover, strict or not
      for (const options of [OPTIONS, STRICT]) {
        const other = messagesToMessages.request(ask(), options).body.messages as JsonObject[];
        const legal = other.flatMap(({ content }) => idsOf(Array.isArray(content) ? content : []));
        if (isChat || options === STRICT) { for (const id of legal) assertMatch(id, LEGAL); }
        if (options === STRICT) assertEquals(new Set(legal).size, seen.length);
      }
    }),
    { numRuns: sized(40, 500) },
  );
});

Deno.test("texts after calls whose ids differ at the upstream arrive as they are", () => {
  const id = "slm-functions_2e_Read_3a_0";
  const content = (id: string) => [
    { role: "assistant", content: [{ type: "tool_use", id, name: "f", input: {} }] },
    { role: "user", content: [{ type: "tool_result", tool_use_id: id, content: "1" }] },
    { role: "system", content: "Be brief." },
    { role: "user", content: "Now add two." },
  ];
  const request = { model: "m", max_tokens: 9, messages: [user, ...content(id)] };
  const { body } = messagesToMessages.request(parseMessages(request, { beta: true }), OPTIONS);
  assertEquals<unknown>(body.messages, [user, ...content("functions.Read:0")]);
});

Deno.test("a chat client's history, no matter who wrote its ids, is legal and unique for a messages upstream (property)", () => {
  fc.assert(
    fc.property(turns, (turns) => {
      const messages: JsonObject[] = [user];
      for (const ids of turns) {
        messages.push(
          {
            role: "assistant",
            content: null,
            tool_calls: ids.map((id) => ({
              id,
              type: "function",
              function: { name: "f", arguments: "{}" },
            })),
          },
          ...ids.map((id) => ({ role: "tool", tool_call_id: id, content: `r${id}` })),
        );
      }
      const { body } = chatToMessages.request(parseChat({ model: "m", messages }), OPTIONS);
      const sent = body.messages as { content: JsonObject[] }[];
      const ids = sent.flatMap(({ content }) => idsOf(content));
      for (const id of ids) assertMatch(id, LEGAL);
      assertEquals(new Set(ids).size, turns.flat().length);
      const results = sent.flatMap(({ content }) =>
        content.filter(({ type }) => type === "tool_result").map((block) => block.tool_use_id)
      );
      assertEquals<unknown>(results, ids, "each call has its result");
      for (const [at, id] of turns.flat().entries()) {
        if (LEGAL.test(id) && !id.startsWith("slx-") && !turns.flat().slice(0, at).includes(id)) {
          assert(ids[at] === id || ids.includes(id), "an upstream's own legal id is its own again");
        }
      }
    }),
    { numRuns: sized(40, 500) },
  );
});

Deno.test("ids of a client's own making are legal for messages upstreams", () => {
  const content = [{ type: "tool_use", id: "my call.1", name: "f", input: {} }];
  const result = [{ type: "tool_result", tool_use_id: "my call.1", content: "ok" }];
  const request = parseMessages({
    model: "m",
    max_tokens: 9,
    messages: [user, { role: "assistant", content }, { role: "user", content: result }],
  });
  for (const options of [OPTIONS, STRICT]) {
    const [, call, back] = messagesToMessages.request(request, options).body.messages as {
      content: JsonObject[];
    }[];
    assertEquals([call!.content[0]!.id, back!.content[0]!.tool_use_id], [
      "slx-my_20_call_2e_1",
      "slx-my_20_call_2e_1",
    ]);
  }
});
