/** Whatever a client marks for a prompt cache, the upstream of another dialect gets marks after the same texts. */

import fc from "fast-check";
import {
  bridgeBetween,
  type DialectName,
  DIALECTS,
  type JsonObject,
} from "../../../src/wire/dialects/mod.ts";
import { QUIRKS } from "../../../src/requests/upstreams/quirks.ts";
import { assertEquals } from "../../assert.ts";
import { sized } from "../../tier.ts";
import { SEALER } from "./ends.ts";
import type { Body } from "./shared_fields.ts";

/** A piece of a conversation: some text, and whether a cache may end after it. */
type Piece = boolean;
interface Sample {
  readonly tools: Piece[];
  readonly system: Piece[][];
  readonly turns:
    ({ user: Piece[] } | { call: Piece; result: Piece } | { said: Piece } | { note: Piece })[];
}

const pieces = fc.array(fc.boolean(), { minLength: 1, maxLength: 3 });
const sample: fc.Arbitrary<Sample> = fc.record({
  tools: fc.array(fc.boolean(), { maxLength: 2 }),
  system: fc.array(pieces, { maxLength: 2 }),
  turns: fc.array(
    fc.oneof(
      fc.record({ user: pieces }),
      fc.record({ call: fc.boolean(), result: fc.boolean() }),
      fc.record({ said: fc.boolean() }),
      fc.record({ note: fc.boolean() }), // an instruction in the middle
    ),
    { maxLength: 6 },
  ),
});

/** Writes samples as clients of one dialect do. `word` returns another word each time. */
const WRITE: Readonly<Record<DialectName, (sample: Sample, word: () => string) => Body>> = {
  chat({ tools, system, turns }, word) {
    const part = (mark: Piece) => ({ type: "text", text: word(), ...ephemeral(mark) });
    return {
      tools: tools.map((mark) => ({
        type: "function",
        function: { name: word(), parameters: { type: "object" } },
        ...ephemeral(mark),
      })),
      messages: [
        ...system.map((parts) => ({ role: "system", content: parts.map(part) })),
        { role: "user", content: word() },
        ...turns.flatMap((turn, at): JsonObject[] => {
          if ("user" in turn) return [{ role: "user", content: turn.user.map(part) }];
          if ("note" in turn) return [{ role: "system", content: [part(turn.note)] }];
          if ("said" in turn) return [{ role: "assistant", content: [part(turn.said)] }];
          const call = { name: word(), arguments: "{}" };
          const id = `c${at}`;
          return [
            {
              role: "assistant",
              content: null,
              tool_calls: [{ id, type: "function", function: call }],
              ...ephemeral(turn.call),
            },
            { role: "tool", tool_call_id: id, content: [part(turn.result)] },
          ];
        }),
      ],
    };
  },
  messages({ tools, system, turns }, word) {
    const block = (mark: Piece) => ({ type: "text", text: word(), ...ephemeral(mark) });
    return {
      tools: tools.map((mark) => ({
        name: word(),
        input_schema: { type: "object" },
        ...ephemeral(mark),
      })),
      system: system.flat().map(block),
      messages: [
        { role: "user", content: word() },
        ...turns.flatMap((turn, at): JsonObject[] => {
          if ("user" in turn) return [{ role: "user", content: turn.user.map(block) }];
          if ("note" in turn) return [{ role: "system", content: [block(turn.note)] }];
          if ("said" in turn) return [{ role: "assistant", content: [block(turn.said)] }];
          const id = `c${at}`;
          const call = { type: "tool_use", id, name: word(), input: {}, ...ephemeral(turn.call) };
          const content = [{ type: "text", text: word() }];
          const result = {
            type: "tool_result",
            tool_use_id: id,
            content,
            ...ephemeral(turn.result),
          };
          return [{ role: "assistant", content: [call] }, { role: "user", content: [result] }];
        }),
      ],
    };
  },
  responses({ tools, system, turns }, word) {
    const part = (mark: Piece) => ({
      type: "input_text",
      text: word(),
      ...(mark ? { prompt_cache_breakpoint: { mode: "explicit" } } : {}),
    });
    return {
      tools: tools.map(() => ({ type: "function", name: word(), parameters: { type: "object" } })),
      input: [
        ...system.map((parts) => ({ role: "developer", content: parts.map(part) })),
        { role: "user", content: word() },
        ...turns.flatMap((turn, at): JsonObject[] => {
          if ("user" in turn) return [{ role: "user", content: turn.user.map(part) }];
          if ("note" in turn) return [{ role: "developer", content: [part(turn.note)] }];
          if ("said" in turn) {
            return [{ role: "assistant", content: [{ type: "output_text", text: word() }] }];
          }
          const call_id = `c${at}`;
          return [
            { type: "function_call", call_id, name: word(), arguments: "{}" },
            { type: "function_call_output", call_id, output: [part(turn.result)] },
          ];
        }),
      ],
    };
  },
};

function ephemeral(mark: Piece): JsonObject {
  return mark ? { cache_control: { type: "ephemeral" } } : {};
}

/** The words before each mark, in the order of a prompt: tools, instructions, messages. */
function marksIn(body: Body): string[] {
  const order = [body.tools, body.system, body.messages ?? body.input];
  const marks: string[] = [];
  let words = "";
  const walk = (value: unknown): void => {
    if (Array.isArray(value)) return value.forEach(walk);
    if (typeof value === "string") {
      return void (words += (value.match(/w\d+/g) ?? []).join(" ") + " ");
    }
    if (typeof value !== "object" || value === null) return;
    const { cache_control: own, prompt_cache_breakpoint: theirs, ...rest } = value as Body;
    walk(Object.values(rest));
    if (own ?? theirs) marks.push(words.replace(/ +/g, " ").trim());
  };
  order.forEach(walk);
  return [...new Set(marks)];
}

/** Clients of a beta send instructions in the middle of messages. */
const header = (name: string) => name === "anthropic-beta" ? "x" : null;

function written(from: DialectName, to: DialectName, body: Body, shaping = {}) {
  const parsed = DIALECTS[from].front.parse(structuredClone(body), header, SEALER);
  return bridgeBetween(from, to).request(parsed, {
    model: "theirs",
    upstream: "up",
    permittedOutput: 900,
    shaping: { ownSampling: true, ...shaping },
  });
}

const withoutCallMark = (turn: Sample["turns"][number]) =>
  "call" in turn ? { ...turn, call: false } : turn;
const runs = { numRuns: sized(150, 2_000) };
const names = (dropped: readonly string[]) => dropped.filter((one) => /cache/.test(one));

for (
  const [from, to] of [
    ["chat", "messages"],
    ["responses", "messages"],
    ["messages", "chat"],
    ["responses", "chat"],
  ] as const
) {
  Deno.test(`marks for prompt caches are after the same texts: ${from} → ${to}`, () => {
    fc.assert(
      fc.property(sample, (any) => {
        // a call has no place for a mark in the chat dialect
        const one = to === "messages" ? any : { ...any, turns: any.turns.map(withoutCallMark) };
        let count = 0;
        const body = { model: "m", max_tokens: 900, ...WRITE[from](one, () => `w${count++}`) };
        if (from === "responses") delete (body as Body).max_tokens;
        const all = marksIn(body);
        const { body: sent, dropped } = written(from, to, body, { cacheMarks: true });
        const got = marksIn(sent);
        assertEquals(names(dropped), []);
        // Anthropic's service takes four
        assertEquals(got, to === "messages" ? all.slice(-4) : all);
      }),
      runs,
    );
  });
}

Deno.test("marks are named where the upstream takes none, and chat content stays a text", () => {
  const body = {
    model: "m",
    max_tokens: 9,
    system: [{ type: "text", text: "a", ...ephemeral(true) }],
    messages: [{ role: "user", content: [{ type: "text", text: "b", ...ephemeral(true) }] }],
  };
  const { body: sent, dropped } = written("messages", "chat", body);
  assertEquals(names(dropped), ["cache_control"]);
  assertEquals(sent.messages, [{ role: "system", content: "a" }, { role: "user", content: "b" }]);
});

Deno.test("a lifetime and a mark of the whole request are kept", () => {
  const mark = { type: "ephemeral", ttl: "1h" };
  const body = {
    model: "m",
    cache_control: { type: "ephemeral" },
    messages: [{ role: "user", content: [{ type: "text", text: "b", cache_control: mark }] }],
  };
  const { body: sent } = written("chat", "messages", body);
  assertEquals(sent.cache_control, { type: "ephemeral" });
  assertEquals((sent as Body).messages[0].content[0].cache_control, mark);
});

for (const from of ["chat", "responses"] as const) {
  Deno.test(`${from}: a prompt_cache_key has an upstream cache that caches only what is marked`, () => {
    const input = [
      { role: "system", content: "w0" },
      { role: "user", content: "w1" },
      { role: "assistant", content: "w2" },
      { role: "user", content: "w3" },
    ];
    const own = from === "chat" ? { messages: input } : { input };
    const body = { model: "m", prompt_cache_key: "k", ...own };
    const { body: sent, dropped } = written(from, "messages", body, { cacheMarks: true });
    assertEquals([marksIn(sent), names(dropped)], [["w0", "w0 w1 w2 w3"], []]);
    // not where caches work by themselves
    const plain = written(from, "messages", body);
    assertEquals(marksIn(plain.body), []);
    assertEquals(names(plain.dropped), from === "chat" ? ["prompt_cache_key"] : []);
    // nor beside the client's own marks
    const text = { type: from === "chat" ? "text" : "input_text", text: "w3", ...ephemeral(true) };
    input.push({ role: "user", content: [text] as never });
    const marked = written(from, "messages", body, { cacheMarks: true });
    assertEquals(marksIn(marked.body).length, 1);
  });
}

Deno.test("a summary of the conversation is not written to a cache, since nothing begins like it", () => {
  const input = [{ role: "user", content: "w0" }, { type: "compaction_trigger" }];
  const body = { model: "m", prompt_cache_key: "k", instructions: "w1", input };
  assertEquals(marksIn(written("responses", "messages", body, { cacheMarks: true }).body), []);
});

/** What a prompt cache compares: everything in the order of a prompt, without marks, message borders aside. */
function promptOf({ tools, system, instructions, messages, input }: Body): string[] {
  const plain = (value: unknown) =>
    JSON.stringify(
      value,
      (key, one) => key === "cache_control" || key === "prompt_cache_breakpoint" ? undefined : one,
    );
  const joined = (list: Body) =>
    Array.isArray(list) ? list.map(({ text }: Body) => text).join("") : list;
  const said = (messages ?? input).flatMap(({ content, ...rest }: Body) => {
    const isSystem = rest.role === "system" || rest.role === "developer";
    const own = isSystem ? joined(content) : content;
    const blocks = Array.isArray(own) ? own : [{ type: "text", text: own }];
    return [
      ...blocks.map((block: Body) => plain([rest.role, block])),
      ...(Object.keys(rest).length > 1 ? [plain(rest)] : []),
    ];
  });
  return [plain(tools), plain(joined(system) ?? instructions), ...said];
}

/** Upstreams by their dialects: with each service's quirks, and with none but what marks need. */
const UPSTREAMS = [
  ...(["chat", "messages", "responses"] as const).map((dialect) => ({
    dialect,
    name: dialect,
    quirk: { shaping: { cacheMarks: true } },
  })),
  ...Object.entries(QUIRKS).flatMap(([name, quirk]) => {
    const isMessages = name.endsWith("anthropic");
    const dialects = isMessages
      ? ["messages"] as const
      : name === "openai"
      ? ["chat", "responses"] as const
      : ["chat"] as const;
    return dialects.map((dialect) => ({ dialect, name: `${dialect} of ${name}`, quirk }));
  }),
];

for (const from of ["chat", "messages", "responses"] as const) {
  for (const { dialect, name, quirk } of UPSTREAMS) {
    Deno.test(`each turn begins with the prompt of the turn before, wherever marks are: ${from} → ${name}`, () => {
      fc.assert(
        fc.property(sample, fc.nat(), (one, cut) => {
          const { turns } = one;
          const until = turns.length === 0 ? 0 : cut % turns.length + 1;
          const isReply = (turn: Sample["turns"][number]) => "said" in turn || "call" in turn;
          // a request ends there, and the model replies
          if (until > 0 && "said" in turns[until - 1]!) return;
          if (until < turns.length && !isReply(turns[until]!)) return;
          const promptAt = (of: Sample) => {
            let word = 0;
            const more = from === "messages" ? { max_tokens: 900 } : {};
            const body = { model: "m", ...more, ...WRITE[from](of, () => `w${word++}`) };
            const { body: sent } = written(from, dialect, body, quirk.shaping);
            return promptOf("adjust" in quirk ? quirk.adjust!(sent, () => {}) : sent);
          };
          const before = promptAt({ ...one, turns: turns.slice(0, until) });
          // marks move on from turn to turn
          const unmarked: Sample = JSON.parse(JSON.stringify(one).replaceAll("true", "false"));
          assertEquals(promptAt(unmarked).slice(0, before.length), before);
        }),
        runs,
      );
    });
  }
}
