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
    name: "a whole reply to a request for a stream",
    calls: true,
    whole: () => whole({ ...PLAIN, tool_calls: [CALL] }, "tool_calls"),
    stream: () => whole({ ...PLAIN, tool_calls: [CALL] }, "tool_calls"),
  },
];
