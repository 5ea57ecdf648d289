/** Known departures of chat upstreams: whole, and in the pieces of a stream. Each says the same: reasoning, text and, maybe, a call. */

import { chunk, completion, eventStream, sse } from "../fake/upstream.ts";

export const REASONING = "The clouds are dark.";
export const TEXT = "It will rain, take <b>care</b>.";
const CALL = {
  id: "call_1",
  type: "function",
  function: { name: "weather", arguments: '{"city":"Bonn"}' },
};
export const USAGE = { prompt_tokens: 40, completion_tokens: 60, total_tokens: 100 };

/** One departure. */
export interface Departure {
  /** As docs/departures.md names it. */
  readonly name: string;
  /** What tells it from others of the name. */
  readonly detail?: string;
  readonly quirks?: "think_tags";
  /** Whether a reply shows it only to who knows which tools were offered: a trial does not name it. */
  readonly isHidden?: true;
  readonly calls?: boolean;
  readonly whole: () => Response;
  readonly stream: () => Response;
}

function whole(
  message: Record<string, unknown>,
  finish: string,
  more = { usage: USAGE } as object,
) {
  return completion("", {
    choices: [{ index: 0, message: { role: "assistant", ...message }, finish_reason: finish }],
    usage: undefined,
    ...more,
  });
}

function stream(
  deltas: readonly Record<string, unknown>[],
  finish: string,
  more?: object,
): Response {
  const pieces = deltas.map((delta) => chunk(delta));
  const last = more ?? { usage: USAGE };
  return eventStream(sse(...pieces, chunk({}, finish, last), "[DONE]"));
}

const PLAIN = { reasoning_content: REASONING, content: TEXT };
const thinking = (text: string) => ({ type: "thinking", thinking: [{ type: "text", text }] });
const cut = (text: string, size: number) => text.match(new RegExp(`[^]{1,${size}}`, "g"))!;
const tagged = `\n<think>\n${REASONING}\n</think>\n\n${TEXT}`;

const ARGS = CALL.function.arguments;
const PARSED = { name: "weather", arguments: JSON.parse(ARGS) };
const TIMINGS = { timings: { cache_n: 0, prompt_n: 40, predicted_n: 60, predicted_ms: 9.5 } };
const BILLED = {
  usage: {
    billed_units: { input_tokens: 40, output_tokens: 60 },
    tokens: { input_tokens: 540, output_tokens: 63 },
  },
};

/** A stream of one call in these pieces of its function. */
const pieces = (...all: object[]) =>
  stream([
    PLAIN,
    ...all.map((one, at) => ({
      tool_calls: [{
        index: 0,
        ...(at === 0 ? { id: "call_1", type: "function" } : {}),
        function: one,
      }],
    })),
  ], "tool_calls");

export const DEPARTURES: readonly Departure[] = [
  {
    name: "thinking as parts of the content",
    whole: () => whole({ content: [thinking(REASONING), { type: "text", text: TEXT }] }, "stop"),
    stream: () =>
      stream([
        { role: "assistant", content: "" },
        ...cut(REASONING, 7).map((piece) => ({ content: [thinking(piece)] })),
        { content: [{ type: "text", text: TEXT.slice(0, 5) }] },
        { content: TEXT.slice(5) },
      ], "stop"),
  },
  {
    name: "thinking between tags in the text",
    quirks: "think_tags",
    whole: () => whole({ content: tagged }, "stop"),
    stream: () => stream(cut(tagged, 3).map((content) => ({ content })), "stop"),
  },
  ...["eos", "end_turn", "STOP", "stop_sequence"].map((reason): Departure => ({
    name: "other words for an ordinary end",
    detail: reason,
    whole: () => whole(PLAIN, reason),
    stream: () => stream([PLAIN], reason),
  })),
  {
    name: "tool_use for tool_calls",
    calls: true,
    whole: () => whole({ ...PLAIN, tool_calls: [CALL] }, "tool_use"),
    stream: () => stream([PLAIN, { tool_calls: [{ index: 0, ...CALL }] }], "tool_use"),
  },
  {
    name: "usage under x_groq",
    whole: () => whole(PLAIN, "stop", { x_groq: { usage: USAGE } }),
    stream: () => stream([PLAIN], "stop", { x_groq: { id: "r", usage: USAGE } }),
  },
  {
    name: "usage in each chunk",
    whole: () => whole(PLAIN, "stop"),
    stream: () => {
      const growing = [10, 30].map((completion_tokens) => ({
        usage: { ...USAGE, completion_tokens },
      }));
      return eventStream(sse(
        chunk({ role: "assistant", reasoning_content: REASONING }, null, growing[0]),
        chunk({ content: TEXT }, null, growing[1]),
        chunk({}, "stop", { usage: USAGE }),
        "[DONE]",
      ));
    },
  },
  {
    name: "usage in the choice",
    whole: () =>
      completion("", {
        choices: [{
          index: 0,
          message: { role: "assistant", ...PLAIN },
          finish_reason: "stop",
          usage: USAGE,
        }],
        usage: undefined,
      }),
    stream: () =>
      eventStream(sse(
        chunk({ role: "assistant", ...PLAIN }),
        JSON.stringify({
          id: "u",
          object: "chat.completion.chunk",
          created: 1,
          model: "m",
          choices: [{ index: 0, delta: {}, finish_reason: "stop", usage: USAGE }],
        }),
        "[DONE]",
      )),
  },
  {
    name: "a first chunk without choices",
    whole: () => whole(PLAIN, "stop"),
    stream: () =>
      eventStream(sse(
        JSON.stringify({
          id: "",
          object: "",
          created: 0,
          model: "",
          choices: [],
          prompt_filter_results: [],
        }),
        chunk({ role: "assistant", ...PLAIN }, null, { content_filter_results: {} }),
        chunk({}, "stop", { usage: USAGE }),
        "[DONE]",
      )),
  },
  {
    name: "the name of a call in pieces",
    calls: true,
    whole: () => whole({ ...PLAIN, tool_calls: [CALL] }, "tool_calls"),
    stream: () =>
      pieces({ name: "wea", arguments: "" }, { name: "ther" }, { arguments: ARGS.slice(0, 4) }, {
        arguments: ARGS.slice(4),
      }),
  },
  {
    name: "the name of a call in pieces",
    detail: "that each begin with the one before",
    calls: true,
    whole: () => whole({ ...PLAIN, tool_calls: [CALL] }, "tool_calls"),
    stream: () => pieces({ name: "w" }, { name: "wea" }, { name: "weather", arguments: ARGS }),
  },
  {
    name: "the name of a call in pieces",
    detail: "or another tool's",
    isHidden: true,
    calls: true,
    whole: () => whole({ ...PLAIN, tool_calls: [CALL] }, "tool_calls"),
    stream: () => pieces({ name: "weather", arguments: "" }, { arguments: ARGS }),
  },
  ...([["", "{}"], ["as an object", {}], ["as a list", "[]"], ["as null", "null"]] as const).map(
    ([detail, empty]): Departure => ({
      name: "empty arguments before the others",
      detail,
      calls: true,
      whole: () => whole({ ...PLAIN, tool_calls: [CALL] }, "tool_calls"),
      stream: () =>
        pieces(
          { name: "weather", arguments: empty },
          ...cut(ARGS, 3).map((one) => ({
            arguments: one,
          })),
        ),
    }),
  ),
  {
    name: "empty arguments before the others",
    detail: "with the name again",
    calls: true,
    whole: () => whole({ ...PLAIN, tool_calls: [CALL] }, "tool_calls"),
    stream: () =>
      pieces({ name: "weather", arguments: "{}" }, { name: "weather", arguments: ARGS }),
  },
  {
    name: "arguments as an object",
    calls: true,
    whole: () => whole({ ...PLAIN, tool_calls: [{ ...CALL, function: PARSED }] }, "tool_calls"),
    stream: () => pieces(PARSED),
  },
  {
    name: "arguments in a text of JSON",
    calls: true,
    whole: () =>
      whole({
        ...PLAIN,
        tool_calls: [{ ...CALL, function: { name: "weather", arguments: JSON.stringify(ARGS) } }],
      }, "tool_calls"),
    stream: () =>
      pieces(
        { name: "weather" },
        ...cut(JSON.stringify(ARGS), 3).map((one) => ({
          arguments: one,
        })),
      ),
  },
  {
    name: "pieces of arguments that begin with those before",
    calls: true,
    whole: () => whole({ ...PLAIN, tool_calls: [CALL] }, "tool_calls"),
    stream: () =>
      pieces(
        { name: "weather", arguments: "" },
        ...[3, 5, 9, 15].map((end) => ({
          arguments: ARGS.slice(0, end),
        })),
      ),
  },
  ...[{}, { name: "weather" }].map((again): Departure => ({
    name: "the arguments once more at the end",
    detail: Object.keys(again).join(),
    calls: true,
    whole: () => whole({ ...PLAIN, tool_calls: [CALL] }, "tool_calls"),
    stream: () =>
      pieces(
        { name: "weather", arguments: "" },
        ...cut(ARGS, 4).map((one) => ({ arguments: one })),
        { ...again, arguments: ARGS },
      ),
  })),
  ...([["one", CALL], ["by their places", { 0: CALL }]] as const).map((
    [detail, calls],
  ): Departure => ({
    name: "calls as an object",
    detail,
    calls: true,
    whole: () => whole({ ...PLAIN, tool_calls: calls }, "tool_calls"),
    stream: () => stream([PLAIN, { tool_calls: calls }], "tool_calls"),
  })),
  {
    name: "a call without function",
    calls: true,
    whole: () => whole({ ...PLAIN, tool_calls: [PARSED] }, "tool_calls"),
    stream: () => stream([PLAIN, { tool_calls: [{ index: 0, ...PARSED }] }], "tool_calls"),
  },
  {
    name: "other IDs, kinds and names in each piece of a call",
    calls: true,
    whole: () => whole({ ...PLAIN, tool_calls: [CALL] }, "tool_calls"),
    stream: () =>
      stream([
        PLAIN,
        ...cut(ARGS, 5).map((one, at) => ({
          role: "assistant",
          tool_calls: [{
            id: `c${at}`,
            type: "function",
            function: { name: "weather", arguments: one },
          }],
        })),
      ], "tool_calls"),
  },
  {
    name: "text beside the message",
    whole: () =>
      completion("", {
        choices: [{ message: { reasoning_content: REASONING }, text: TEXT, finish_reason: "stop" }],
        usage: USAGE,
      }),
    stream: () =>
      eventStream(sse(
        chunk({ reasoning_content: REASONING }),
        ...cut(TEXT, 6).map((text) => JSON.stringify({ choices: [{ index: 0, text }] })),
        chunk({}, "stop", { usage: USAGE }),
        "[DONE]",
      )),
  },
  {
    name: "usage in the message",
    whole: () => whole({ ...PLAIN, usage: USAGE }, "stop", {}),
    stream: () => stream([PLAIN, { content: "", usage: USAGE }], "stop", {}),
  },
  {
    name: "usage after the end mark",
    whole: () => whole(PLAIN, "stop"),
    stream: () =>
      eventStream(
        sse(
          chunk(PLAIN),
          chunk({}, "stop"),
          "[DONE]",
          JSON.stringify({ choices: [], usage: USAGE }),
        ),
      ),
  },
  {
    name: "timings instead of usage",
    whole: () => whole(PLAIN, "stop", TIMINGS),
    stream: () => stream([PLAIN], "stop", TIMINGS),
  },
  {
    name: "usage in billed units",
    whole: () => whole(PLAIN, "stop", BILLED),
    stream: () => stream([PLAIN], "stop", BILLED),
  },
  {
    name: "usage beside an empty delta at the end",
    whole: () => whole(PLAIN, "stop"),
    stream: () =>
      eventStream(
        sse(chunk(PLAIN), chunk({}, "stop"), chunk({}, null, { usage: USAGE }), "[DONE]"),
      ),
  },
  {
    name: "no finish reason after a call",
    calls: true,
    whole: () =>
      completion("", { choices: [{ message: { ...PLAIN, tool_calls: [CALL] } }], usage: USAGE }),
    stream: () =>
      eventStream(sse(
        chunk(PLAIN),
        chunk({ tool_calls: [{ index: 0, ...CALL }] }),
        JSON.stringify({ choices: [], usage: USAGE }),
        "[DONE]",
      )),
  },
  {
    name: "two finish reasons",
    calls: true,
    whole: () => whole({ ...PLAIN, tool_calls: [CALL] }, "tool_calls"),
    stream: () =>
      eventStream(sse(
        chunk(PLAIN),
        chunk({ tool_calls: [{ index: 0, ...CALL }] }, "tool_calls"),
        chunk({}, "stop", { usage: USAGE }),
        "[DONE]",
      )),
  },
  {
    name: "output after the finish reason",
    whole: () => whole(PLAIN, "stop"),
    stream: () =>
      eventStream(sse(
        chunk({ reasoning_content: REASONING, content: TEXT.slice(0, 9) }),
        chunk({}, "stop"),
        chunk({ content: TEXT.slice(9) }, null, { usage: USAGE }),
        "[DONE]",
      )),
  },
  {
    name: "the whole message at the end",
    whole: () => whole(PLAIN, "stop"),
    stream: () =>
      eventStream(sse(
        chunk({ reasoning_content: REASONING }),
        ...cut(TEXT, 6).map((content) => chunk({ role: "assistant", content })),
        JSON.stringify({ choices: [{ message: PLAIN, finish_reason: "stop" }], usage: USAGE }),
        "[DONE]",
      )),
  },
  {
    name: "a whole reply to a request for a stream",
    calls: true,
    whole: () => whole({ ...PLAIN, tool_calls: [CALL] }, "tool_calls"),
    stream: () => whole({ ...PLAIN, tool_calls: [CALL] }, "tool_calls"),
  },
];
