/**
 * Bodies that no SDK knows, with a text in them: what a caller may send, or an upstream invent tomorrow.
 *
 * @module
 */

import type { JsonObject } from "../../../src/wire/dialects/mod.ts";

/** A body with a text somewhere in it. */
export interface Invented {
  readonly name: string;
  body(text: string): JsonObject;
}

/** The text in pieces of up to that length. */
export function pieces(text: string, chars: number): string[] {
  return text.match(new RegExp(`[\\s\\S]{1,${chars}}`, "g")) ?? [];
}

const numbered = (values: readonly string[]) =>
  Object.fromEntries(values.map((value, at) => [`f${at}`, value]));
const keys = (values: readonly string[], value: string | number | boolean) =>
  Object.fromEntries(values.map((key, at) => [`${key}${at}`, value]));

/** A picture of one pixel. */
const PIXEL = "data:image/png;base64," +
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const PIXEL_DATA = PIXEL.slice(PIXEL.indexOf(",") + 1);

const user = (content: unknown): JsonObject => ({ role: "user", content } as JsonObject);

/** Fields that describe a reply, found in a request. */
const REPLYS = ["usage", "logprobs", "index", "created", "token_ids", "prompt_token_ids"];

/** For both dialects: fields beside the conversation, in a message and in a content part. */
const ANYWHERE: readonly Invented[] = [
  { name: "unknown", body: (text) => ({ invented: text }) },
  { name: "unknown object", body: (text) => ({ invented: { deep: { deeper: text } } }) },
  { name: "unknown list", body: (text) => ({ invented: pieces(text, 60) }) },
  { name: "unknown list of objects", body: (text) => ({ invented: [{ a: text }] }) },
  { name: "many small fields", body: (text) => numbered(pieces(text, 60)) },
  { name: "many small fields in one", body: (text) => ({ invented: numbered(pieces(text, 60)) }) },
  { name: "one long key", body: (text) => ({ [text]: 1 }) },
  { name: "one long key in one", body: (text) => ({ invented: { [text]: true } }) },
  { name: "many short keys", body: (text) => keys(pieces(text, 30), true) },
  { name: "many short keys in one", body: (text) => ({ invented: keys(pieces(text, 30), 1) }) },
  { name: "keys of empty texts", body: (text) => ({ invented: keys(pieces(text, 30), "") }) },
  {
    name: "many markers",
    body: (text) => ({ invented: pieces(text, 60).map((id) => ({ type: id, id })) }),
  },
  { name: "reasoning and reasoning_content", body: twice("reasoning", "reasoning_content") },
  { name: "reasoning and reasoning_details", body: twice("reasoning", "reasoning_details") },
  { name: "data without a type", body: (text) => ({ invented: { data: text } }) },
  { name: "data of a signature", body: (text) => ({ type: "thinking", signature: text }) },
  ...REPLYS.map((field) => ({ name: field, body: (text: string) => ({ [field]: text }) })),
  ...REPLYS.map((field) => ({
    name: `${field} in one`,
    body: (text: string) => ({ invented: { [field]: [text] } }),
  })),
];

/** Half of the text in each of two fields. */
function twice(first: string, second: string): Invented["body"] {
  return (text) => {
    const half = text.indexOf(" ", text.length / 2);
    const at = half < 0 ? Math.floor(text.length / 2) : half;
    return { [first]: text.slice(0, at), [second]: text.slice(at) };
  };
}

/** Bodies of chat requests. */
export const INVENTED_CHAT: readonly Invented[] = [
  ...ANYWHERE.map(({ name, body }) => ({
    name: `beside: ${name}`,
    body: (text: string) => ({ messages: [user("Hi")], ...without(body(text), "type") }),
  })),
  ...["user", "assistant", "system"].flatMap((role) =>
    ANYWHERE.map(({ name, body }) => ({
      name: `${role}: ${name}`,
      body: (text: string) => ({
        messages: [{ ...without(body(text), "type"), role, content: "Hi" }, user("Hi")],
      }),
    }))
  ),
  ...ANYWHERE.map(({ name, body }) => ({
    name: `part: ${name}`,
    body: (text: string) => ({ messages: [user([{ type: "invented", ...body(text) }])] }),
  })),
  ...ANYWHERE.map(({ name, body }) => ({
    name: `text part: ${name}`,
    body: (text: string) => ({ messages: [user([{ text: "Hi", ...body(text), type: "text" }])] }),
  })),
  ...ANYWHERE.map(({ name, body }) => ({
    name: `tool call: ${name}`,
    body: (text: string) => ({
      messages: [user("Hi"), {
        role: "assistant",
        tool_calls: [{
          id: "call_1",
          type: "function",
          function: { ...without(body(text), "type"), name: "f", arguments: "{}" },
        }],
      }, { role: "tool", tool_call_id: "call_1", content: "ok" }],
    }),
  })),
  ...["data", "url2", "detail", "note"].map((field) => ({
    name: `beside an image's url: ${field}`,
    body: (text: string) => ({
      messages: [user([{ type: "image_url", image_url: { url: PIXEL, [field]: text } }])],
    }),
  })),
  ...["data", "url", "note"].map((field) => ({
    name: `beside an image that is a text: ${field}`,
    body: (text: string) => ({
      messages: [user([{ type: "image_url", image_url: PIXEL, [field]: text }])],
    }),
  })),
];

/** Bodies of messages requests. */
export const INVENTED_MESSAGES: readonly Invented[] = [
  ...ANYWHERE.map(({ name, body }) => ({
    name: `beside: ${name}`,
    body: (text: string) => ({ messages: [user("Hi")], ...without(body(text), "type") }),
  })),
  ...ANYWHERE.map(({ name, body }) => ({
    name: `message: ${name}`,
    body: (text: string) => ({ messages: [{ ...without(body(text), "type"), ...user("Hi") }] }),
  })),
  ...ANYWHERE.map(({ name, body }) => ({
    name: `block: ${name}`,
    body: (text: string) => ({ messages: [user([{ type: "invented", ...body(text) }])] }),
  })),
  ...ANYWHERE.map(({ name, body }) => ({
    name: `text block: ${name}`,
    body: (text: string) => ({ messages: [user([{ text: "Hi", ...body(text), type: "text" }])] }),
  })),
  ...ANYWHERE.map(({ name, body }) => ({
    name: `instructions: ${name}`,
    body: (text: string) => ({
      system: [{ text: "Hi", ...body(text), type: "text" }],
      messages: [user("Hi")],
    }),
  })),
  ...ANYWHERE.map(({ name, body }) => ({
    name: `tool's result: ${name}`,
    body: (text: string) => ({
      messages: [user("Hi"), {
        role: "assistant",
        content: [{ type: "tool_use", id: "toolu_1", name: "f", input: {} }],
      }, {
        role: "user",
        content: [{
          ...without(body(text), "type"),
          type: "tool_result",
          tool_use_id: "toolu_1",
          content: "ok",
        }],
      }],
    }),
  })),
  ...["url", "note"].map((field) => ({
    name: `beside an image's data: ${field}`,
    body: (text: string) => ({
      messages: [user([{
        type: "image",
        source: { type: "base64", media_type: "image/png", data: PIXEL_DATA, [field]: text },
      }])],
    }),
  })),
];

/** Bodies of responses requests. */
export const INVENTED_RESPONSES: readonly Invented[] = [
  ...ANYWHERE.map(({ name, body }) => ({
    name: `beside: ${name}`,
    body: (text: string) => ({ input: [user("Hi")], ...without(body(text), "type") }),
  })),
  ...ANYWHERE.map(({ name, body }) => ({
    name: `message: ${name}`,
    body: (text: string) => ({ input: [{ ...without(body(text), "type"), ...user("Hi") }] }),
  })),
  ...ANYWHERE.map(({ name, body }) => ({
    name: `item: ${name}`,
    body: (text: string) => ({ input: [user("Hi"), { type: "invented", ...body(text) }] }),
  })),
  ...ANYWHERE.map(({ name, body }) => ({
    name: `text part: ${name}`,
    body: (text: string) => ({
      input: [user([{ text: "Hi", ...body(text), type: "input_text" }])],
    }),
  })),
  ...ANYWHERE.map(({ name, body }) => ({
    name: `call: ${name}`,
    body: (text: string) => ({
      input: [
        user("Hi"),
        {
          ...without(body(text), "type"),
          type: "function_call",
          call_id: "call_1",
          name: "f",
          arguments: "{}",
        },
        { type: "function_call_output", call_id: "call_1", output: "ok" },
      ],
    }),
  })),
  ...ANYWHERE.map(({ name, body }) => ({
    name: `tool's result: ${name}`,
    body: (text: string) => ({
      input: [
        user("Hi"),
        { type: "function_call", call_id: "call_1", name: "f", arguments: "{}" },
        {
          ...without(body(text), "type"),
          type: "function_call_output",
          call_id: "call_1",
          output: "ok",
        },
      ],
    }),
  })),
  ...["data", "url", "note"].map((field) => ({
    name: `beside an image's url: ${field}`,
    body: (text: string) => ({
      input: [user([{ type: "input_image", image_url: PIXEL, [field]: text }])],
    }),
  })),
];

function without({ ...body }: JsonObject, field: string): JsonObject {
  delete body[field];
  return body;
}
