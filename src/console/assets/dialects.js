// How the playground writes requests and shows replies, by dialect.

/** The tool that can be offered. */
const TOOL = {
  name: "get_weather",
  description: "The weather at a place",
  schema: { type: "object", properties: { place: { type: "string" } }, required: ["place"] },
};

/** An OpenAI SDK's client, and what a program has with it. */
const OPENAI = {
  js: (origin) =>
    `import OpenAI from "openai";\n\nconst client = new OpenAI({ baseURL: "${origin}/v1" });`,
  python: (origin) => `from openai import OpenAI\n\nclient = OpenAI(base_url="${origin}/v1")`,
};

/**
 * How each dialect writes a request and shows a reply.
 *
 * - `body`: the request's own fields.
 * - `whole`, `event`: show a whole reply, or an event of a stream, by `add(place, text)`.
 * - `sdk`: a client, its method, and how programs print a whole reply or a stream.
 */
export const DIALECTS = {
  chat: {
    path: "/v1/chat/completions",
    body: ({ system, text, picture, maxTokens, offersTool }) => ({
      max_tokens: maxTokens,
      messages: [...(system ? [{ role: "system", content: system }] : []), {
        role: "user",
        content: picture === undefined
          ? text
          : [{ type: "text", text }, { type: "image_url", image_url: { url: urlOf(picture) } }],
      }],
      ...(offersTool && {
        tools: [{
          type: "function",
          function: { name: TOOL.name, description: TOOL.description, parameters: TOOL.schema },
        }],
      }),
    }),
    whole: ({ choices }, add) => showMessage(choices[0].message, add),
    event: ({ choices }, add) => showMessage(choices?.[0]?.delta ?? {}, add),
    sdk: {
      ...OPENAI,
      method: "chat.completions.create",
      whole: {
        js: "answer.choices[0].message.content",
        python: "answer.choices[0].message.content",
      },
      stream: {
        js: ["", 'event.choices[0]?.delta.content ?? ""'],
        python: ["if event.choices", 'event.choices[0].delta.content or ""'],
      },
    },
  },
  messages: {
    path: "/v1/messages",
    body: ({ system, text, picture, maxTokens, offersTool }) => ({
      max_tokens: maxTokens,
      ...(system && { system }),
      messages: [{
        role: "user",
        content: picture === undefined ? text : [{
          type: "image",
          source: { type: "base64", media_type: picture.type, data: picture.base64 },
        }, { type: "text", text }],
      }],
      ...(offersTool && {
        tools: [{ name: TOOL.name, description: TOOL.description, input_schema: TOOL.schema }],
      }),
    }),
    whole: ({ content }, add) => content.forEach((block) => showBlock(block, add)),
    event({ type, content_block, delta }, add) {
      if (type === "content_block_start") showBlock(content_block, add);
      else if (type === "content_block_delta") showBlock(delta, add);
    },
    sdk: {
      js: (origin) =>
        `import Anthropic from "@anthropic-ai/sdk";\n\nconst client = new Anthropic({ baseURL: "${origin}" });`,
      python: (origin) =>
        `from anthropic import Anthropic\n\nclient = Anthropic(base_url="${origin}")`,
      method: "messages.create",
      whole: { js: "answer.content", python: "answer.content" },
      stream: {
        js: ['event.type === "content_block_delta"', 'event.delta.text ?? ""'],
        python: ['if event.type == "content_block_delta"', 'getattr(event.delta, "text", "")'],
      },
    },
  },
  responses: {
    path: "/v1/responses",
    body: ({ system, text, picture, maxTokens, offersTool }) => ({
      max_output_tokens: maxTokens,
      ...(system && { instructions: system }),
      input: picture === undefined ? text : [{
        role: "user",
        content: [
          { type: "input_text", text },
          { type: "input_image", image_url: urlOf(picture) },
        ],
      }],
      ...(offersTool && {
        tools: [{
          type: "function",
          name: TOOL.name,
          description: TOOL.description,
          parameters: TOOL.schema,
          strict: false,
        }],
      }),
    }),
    whole: ({ output }, add) => output.forEach((item) => showItem(item, add)),
    event({ type, item, delta, message, response }, add) {
      if (type === "response.output_item.added" && item.name) add("answer", `\n→ ${item.name} `);
      else if (/reasoning.*\.delta$/.test(type)) add("reasoning", delta);
      else if (type.endsWith(".delta")) add("answer", delta);
      else if (type === "response.failed") add("answer", `\n${response.error.message}`);
      else if (type === "error" && message) add("answer", `\n${message}`);
    },
    sdk: {
      ...OPENAI,
      method: "responses.create",
      whole: { js: "answer.output_text", python: "answer.output_text" },
      stream: {
        js: ['event.type === "response.output_text.delta"', "event.delta"],
        python: ['if event.type == "response.output_text.delta"', "event.delta"],
      },
    },
  },
};

function urlOf({ type, base64 }) {
  return `data:${type};base64,${base64}`;
}

function showMessage({ content, reasoning_content, tool_calls }, add) {
  if (reasoning_content) add("reasoning", reasoning_content);
  if (content) add("answer", content);
  for (const call of tool_calls ?? []) {
    if (call.function?.name) add("answer", `\n→ ${call.function.name} `);
    if (call.function?.arguments) add("answer", call.function.arguments);
  }
}

function showBlock({ text, thinking, name, input, partial_json }, add) {
  if (thinking) add("reasoning", thinking);
  if (text) add("answer", text);
  if (name) {
    add(
      "answer",
      `\n→ ${name} ${Object.keys(input ?? {}).length > 0 ? JSON.stringify(input) : ""}`,
    );
  }
  if (partial_json) add("answer", partial_json);
}

function showItem({ type, content, summary, name, arguments: args, input }, add) {
  for (const { text } of summary ?? []) add("reasoning", text);
  if (type === "message") {
    for (const { text, refusal } of content) {
      add("answer", text ?? refusal);
    }
  }
  if (name) add("answer", `\n→ ${name} ${args ?? input}`);
}
