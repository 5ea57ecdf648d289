/** No departure of an upstream loses text, reasoning or a call through any front, or changes what is charged. */

import { assert, assertEquals } from "../assert.ts";
import { startGateway } from "../fake/gateway.ts";
import { chunk, eventStream, fakeUpstream, heldStream, sse } from "../fake/upstream.ts";
import { Random, testSeed } from "../fake/random.ts";
import { sampled, sized } from "../tier.ts";
import { type Departure, DEPARTURES, REASONING, TEXT } from "./departures.ts";

/** What a client was told. */
interface Said {
  readonly reasoning: string;
  readonly text: string;
  readonly calls: readonly string[];
  readonly finish: string;
}

// deno-lint-ignore no-explicit-any -- bodies of three dialects
type Json = any;

const TOOLS = ["weather", "weather_map"].map((name) => ({ name, parameters: { type: "object" } }));

const FRONTS: Record<
  string,
  { path: string; body: object; whole: (body: Json) => Said; events: (all: Json[]) => Said }
> = {
  chat: {
    path: "/v1/chat/completions",
    body: {
      messages: [{ role: "user", content: "Weather?" }],
      tools: TOOLS.map((tool) => ({ type: "function", function: tool })),
    },
    whole: ({ choices: [{ message, finish_reason: finish }] }) => ({
      reasoning: message.reasoning_content,
      text: message.content,
      calls: (message.tool_calls ?? []).map((one: Json) =>
        one.function.name + one.function.arguments
      ),
      finish,
    }),
    events: (all) => {
      const choices = all.flatMap(({ choices }) => choices);
      const join = (of: (delta: Json) => string | null | undefined) =>
        choices.map(({ delta }) => of(delta) ?? "").join("");
      for (const { delta } of choices) assert(!Array.isArray(delta.content), "SDKs join texts");
      const calls = choices.flatMap(({ delta }) => delta.tool_calls ?? []);
      const call = calls.map((one: Json) =>
        (one.function.name ?? "") + (one.function.arguments ?? "")
      );
      return {
        reasoning: join((delta) => delta.reasoning_content),
        text: join((delta) => delta.content),
        calls: calls.length === 0 ? [] : [call.join("")],
        finish: choices.map((one) => one.finish_reason).find(Boolean),
      };
    },
  },
  messages: {
    path: "/v1/messages",
    body: {
      max_tokens: 1_000,
      messages: [{ role: "user", content: "Weather?" }],
      tools: TOOLS.map(({ name, parameters }) => ({ name, input_schema: parameters })),
      thinking: { type: "enabled", budget_tokens: 1_024 },
    },
    whole: ({ content, stop_reason: finish }) => ({
      reasoning: content.map((one: Json) => one.thinking ?? "").join(""),
      text: content.map((one: Json) => one.text ?? "").join(""),
      calls: content.filter((one: Json) => one.type === "tool_use")
        .map((one: Json) => one.name + JSON.stringify(one.input)),
      finish,
    }),
    events: (all) => {
      const deltas = all.flatMap(({ delta }) => delta === undefined ? [] : [delta]);
      const join = (name: string) => deltas.map((delta) => delta[name] ?? "").join("");
      const begun = all.find((one) => one.content_block?.type === "tool_use");
      return {
        reasoning: join("thinking"),
        text: join("text"),
        calls: begun === undefined ? [] : [begun.content_block.name + join("partial_json")],
        finish: join("stop_reason"),
      };
    },
  },
  responses: {
    path: "/v1/responses",
    body: {
      input: "Weather?",
      tools: TOOLS.map((tool) => ({ type: "function", ...tool })),
      reasoning: { effort: "low", summary: "auto" },
    },
    whole: ({ output, status }) => ({
      reasoning: output.filter((one: Json) => one.type === "reasoning")
        .flatMap((one: Json) => [...one.summary, ...one.content ?? []]).map((one: Json) =>
          one.text
        )[0] ?? "",
      text: output.filter((one: Json) => one.type === "message")
        .flatMap((one: Json) => one.content).map((one: Json) => one.text).join(""),
      calls: output.filter((one: Json) => one.type === "function_call")
        .map((one: Json) => one.name + one.arguments),
      finish: status,
    }),
    events: (all) => FRONTS.responses!.whole(all.at(-1).response),
  },
};

const FINISHES: Record<string, readonly [string, string]> = {
  chat: ["stop", "tool_calls"],
  messages: ["end_turn", "tool_use"],
  responses: ["completed", "completed"],
};

Deno.test("docs/departures.md has a row for each", async () => {
  const page = await Deno.readTextFile(new URL("../../docs/departures.md", import.meta.url));
  const rows = [...page.matchAll(/^\| (.*?) +\|/gm)].map(([, name]) => name!);
  assertEquals(new Set(rows.slice(2)), new Set(DEPARTURES.map(({ name }) => name)));
});

/**
 * Pieces of events. What follows an end mark comes with it: it is awaited for a moment of real time only, which a busy machine may
 * need for a piece.
 */
function cut(events: string, pieces: RegExp): readonly string[] {
  const end = events.indexOf("data: [DONE]");
  return end === -1
    ? events.match(pieces)!
    : [...events.slice(0, end).match(pieces)!, events.slice(end)];
}

/** The same events as the standard lets servers write them, and in pieces. */
const FORMS: Record<string, (events: string) => readonly string[]> = {
  "event by event": (events) => cut(events, /[^]+?\n\n/g),
  "in lines of CR without spaces, after a byte order mark": (events) => [
    `\ufeff${events.replaceAll("data: ", "data:").replaceAll("\n", "\r")}`,
  ],
  ...sized({}, {
    "in one piece": (events: string) => [events],
    "in pieces of seven bytes": (events: string) => cut(events, /[^]{1,7}/g),
    "without the last line breaks": (events: string) => [events.trimEnd()],
    "in lines of CRLF with comments": (events: string) => [
      `: hi\r\n\r\n${events.replaceAll("\n", "\r\n")}`,
    ],
  }),
};

/** The form in which each departure is met; how a stream is written and cut has nothing to do with what departs in it. */
const USUAL = "event by event";

/** What an upstream replies, by the form of it; in forms other than the usual one where that is asked for. */
async function repliesOf(
  { whole, stream }: Departure,
  inAllForms: boolean,
): Promise<[string, () => Response][]> {
  const reply = stream();
  if (!reply.headers.get("content-type")?.startsWith("text/event-stream")) {
    return [["whole", whole]];
  }
  const events = await reply.text();
  return [
    ["whole", whole],
    ...Object.entries(FORMS).filter(([form]) => inAllForms || form === USUAL).map((
      [form, write],
    ): [string, () => Response] => [
      form,
      () => eventStream(...write(events)),
    ]),
  ];
}

Deno.test("departures, whichever of both forms was asked for, and however a stream is cut", async (t) => {
  let reply: () => Response;
  await using upstream = fakeUpstream(() => reply());
  const route = (name: string) => ({
    targets: [{ upstream: name, model: "m" }],
    context: 100_000,
    maxOutput: 4_000,
    reasoning: "effort" as const,
    prices: { input: 100_000, cached: 100_000, output: 1_000_000 },
  });
  await using gateway = await startGateway({
    settings: {
      upstreams: {
        none: { url: upstream.url, quirks: "none" },
        think_tags: { url: upstream.url, quirks: "think_tags" },
      },
      routes: { none: route("none"), think_tags: route("think_tags") },
    },
  });
  const seed = testSeed();
  const inAllForms = new Set(sampled(DEPARTURES, new Random(seed), 3));
  for (const departure of DEPARTURES) {
    const { name, detail = "", quirks: model = "none", calls = false } = departure;
    const replies = await repliesOf(departure, inAllForms.has(departure));
    await t.step(`departure: ${name} ${detail}`.trim(), async () => {
      const requests: string[] = [];
      for (const [front, { path, body, whole: read, events }] of Object.entries(FRONTS)) {
        for (const [form, one] of replies) {
          for (const stream of [false, true]) {
            reply = one;
            const response = await gateway.post(path, { model, stream, ...body });
            const text = await response.text();
            requests.push(response.headers.get("x-request-id")!);
            const what = `seed ${seed}: ${front} ${
              stream ? "streamed" : "whole"
            } from ${form}: ${text}`;
            assertEquals(response.status, 200, what);
            const datas = [...text.matchAll(/^data: (\{.*)$/gm)].map(([, data]) =>
              JSON.parse(data!)
            );
            const said = stream ? events(datas) : read(JSON.parse(text));
            assertEquals(said.reasoning.trim(), REASONING, what);
            assertEquals(said.text, TEXT, what);
            assertEquals(said.calls, calls ? ['weather{"city":"Bonn"}'] : [], what);
            assertEquals(said.finish, FINISHES[front]![calls ? 1 : 0], what);
          }
        }
      }
      const records = await gateway.gateway.database.all(
        `select distinct charged_credits as credits, usage_source, input_tokens, output_tokens
        from usage_records where request_id in (select value from json_each(?))`,
        [JSON.stringify(requests)],
      );
      // 40 tokens at 0.1, and 60 at 1
      const charged = {
        credits: 64,
        usage_source: "upstream",
        input_tokens: 40,
        output_tokens: 60,
      };
      assertEquals(records.map((one) => ({ ...one })), [charged]);
    });
  }
});

Deno.test("a connection that stays open after the end mark keeps no client waiting for usage", async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  const events = sse(chunk({ content: TEXT }), chunk({}, "stop"), "[DONE]");
  await using upstream = fakeUpstream(() =>
    heldStream([events, ": over\n\n"], (at) => at === 0 ? Promise.resolve() : promise)
  );
  await using gateway = await startGateway({
    settings: {
      upstreams: { a: { url: upstream.url, quirks: "none" } },
      routes: {
        house: {
          targets: [{ upstream: "a", model: "m" }],
          prices: { input: 0, cached: 0, output: 1_000_000 },
        },
      },
    },
  });
  try {
    for (const { path, body, whole, events } of Object.values(FRONTS)) {
      for (const stream of [false, true]) {
        const response = await gateway.post(path, { model: "house", stream, ...body });
        const text = await response.text();
        const datas = [...text.matchAll(/^data: (\{.*)$/gm)].map(([, data]) => JSON.parse(data!));
        assertEquals((stream ? events(datas) : whole(JSON.parse(text))).text, TEXT, text);
      }
    }
  } finally {
    resolve();
  }
  const records = await gateway.gateway.database.all("select usage_source from usage_records");
  assertEquals(records.map(({ usage_source: source }) => source), new Array(6).fill("counted"));
});
