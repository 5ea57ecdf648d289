// How the playground shows replies, and programs that get them, by dialect. Requests are written by the server.

/** How many numbers of a vector are shown. */
const SHOWN_NUMBERS = 8;

/** An OpenAI SDK's client, and what a program has with it. */
const OPENAI = {
  js: (origin) =>
    `import OpenAI from "openai";\n\nconst client = new OpenAI({ baseURL: "${origin}/v1" });`,
  python: (origin) => `from openai import OpenAI\n\nclient = OpenAI(base_url="${origin}/v1")`,
};

/**
 * How each dialect, and the embeddings API, shows a reply.
 *
 * - `kind`: the models that it is for.
 * - `whole`, `event`: show a whole reply, or an event of a stream, by `show`: `add(place, text)`, `call(id, name)`,
 *   `input(text)` for the arguments of the last call, `use(tokens)`. There is no `event` where nothing streams.
 * - `sdk`: a client, its method, and how programs print a whole reply or a stream.
 */
export const DIALECTS = {
  chat: {
    kind: "generation",
    path: "/v1/chat/completions",
    whole({ choices, usage }, show) {
      showMessage(choices[0].message, show);
      showChatUse(usage, show);
    },
    event({ choices, usage }, show) {
      showMessage(choices?.[0]?.delta ?? {}, show);
      showChatUse(usage, show);
    },
    sdk: {
      ...OPENAI,
      method: "chat.completions.create",
      whole: {
        js: "answer.choices[0].message.content ?? answer.choices[0].message.tool_calls",
        python: "answer.choices[0].message.content or answer.choices[0].message.tool_calls",
      },
      stream: {
        js: [
          "",
          'event.choices[0]?.delta.content ?? event.choices[0]?.delta.tool_calls?.[0]?.function?.arguments ?? ""',
        ],
        python: [
          "if event.choices",
          'event.choices[0].delta.content or event.choices[0].delta.tool_calls or ""',
        ],
      },
    },
  },
  messages: {
    kind: "generation",
    path: "/v1/messages",
    whole({ content, usage }, show) {
      for (const block of content) showBlock(block, show);
      showMessagesUse(usage, show);
    },
    event({ type, message, content_block, delta, usage }, show) {
      if (type === "content_block_start") showBlock(content_block, show);
      else if (type === "content_block_delta") showBlock(delta, show);
      else if (type === "message_start") showMessagesUse(message.usage, show);
      else if (type === "message_delta") showMessagesUse(usage, show);
    },
    sdk: {
      js: (origin) =>
        `import Anthropic from "@anthropic-ai/sdk";\n\nconst client = new Anthropic({ baseURL: "${origin}" });`,
      python: (origin) =>
        `from anthropic import Anthropic\n\nclient = Anthropic(base_url="${origin}")`,
      method: "messages.create",
      whole: { js: "answer.content", python: "answer.content" },
      stream: {
        js: [
          'event.type === "content_block_delta"',
          'event.delta.text ?? event.delta.partial_json ?? ""',
        ],
        python: [
          'if event.type == "content_block_delta"',
          'getattr(event.delta, "text", getattr(event.delta, "partial_json", ""))',
        ],
      },
    },
  },
  responses: {
    kind: "generation",
    path: "/v1/responses",
    whole({ output, usage }, show) {
      for (const item of output) showItem(item, show);
      showResponsesUse(usage, show);
    },
    event({ type, item, delta, message, response }, show) {
      if (type === "response.output_item.added" && item.name) show.call(item.call_id, item.name);
      else if (/arguments\.delta$|input\.delta$/.test(type)) show.input(delta);
      else if (/reasoning.*\.delta$/.test(type)) show.add("reasoning", delta);
      else if (type.endsWith(".delta")) show.add("answer", delta);
      else if (type === "response.failed") show.fail(response.error.message);
      else if (type === "error" && message) show.fail(message);
      showResponsesUse(response?.usage, show);
    },
    sdk: {
      ...OPENAI,
      method: "responses.create",
      whole: {
        js: "answer.output_text || answer.output",
        python: "answer.output_text or answer.output",
      },
      stream: {
        js: ['event.type.endsWith(".delta")', "event.delta"],
        python: ['if event.type.endswith(".delta")', "event.delta"],
      },
    },
  },
  embeddings: {
    kind: "embeddings",
    path: "/v1/embeddings",
    whole({ data: [{ embedding }], usage }, show, credits) {
      const first = embedding.slice(0, SHOWN_NUMBERS).join(", ");
      show.add(
        "answer",
        `Dimensions: ${embedding.length}\n` +
          `Vector: [${first}${embedding.length > SHOWN_NUMBERS ? ", …" : ""}]\n` +
          `Input tokens: ${usage.prompt_tokens}\n` +
          `Credits: ${credits ?? "unknown"}`,
      );
    },
    sdk: {
      ...OPENAI,
      method: "embeddings.create",
      whole: {
        js: "answer.data[0].embedding.slice(0, 8), answer.usage.prompt_tokens",
        python: "answer.data[0].embedding[:8], answer.usage.prompt_tokens",
      },
    },
  },
};

function showMessage({ content, reasoning_content, tool_calls }, show) {
  if (reasoning_content) show.add("reasoning", reasoning_content);
  if (content) show.add("answer", content);
  for (const { id, function: called } of tool_calls ?? []) {
    if (called?.name) show.call(id, called.name);
    if (called?.arguments) show.input(called.arguments);
  }
}

function showBlock({ id, text, thinking, name, input, partial_json }, show) {
  if (thinking) show.add("reasoning", thinking);
  if (text) show.add("answer", text);
  if (name) {
    show.call(id, name);
    if (Object.keys(input ?? {}).length > 0) show.input(JSON.stringify(input));
  }
  if (partial_json) show.input(partial_json);
}

function showItem({ type, content, summary, name, call_id, arguments: args, input }, show) {
  for (const { text } of summary ?? []) show.add("reasoning", text);
  if (type === "message") {
    for (const { text, refusal } of content) {
      show.add("answer", text ?? refusal);
    }
  }
  if (name) {
    show.call(call_id, name);
    show.input(args ?? input);
  }
}

function showChatUse(usage, show) {
  if (!usage) return;
  show.use({
    input: usage.prompt_tokens,
    cached: usage.prompt_tokens_details?.cached_tokens ?? 0,
    output: usage.completion_tokens,
  });
}

function showMessagesUse(usage, show) {
  if (!usage) return;
  const { input_tokens, cache_read_input_tokens: cached, cache_creation_input_tokens: made } =
    usage;
  show.use({
    ...(input_tokens !== undefined && {
      input: input_tokens + (cached ?? 0) + (made ?? 0),
      cached: cached ?? 0,
    }),
    output: usage.output_tokens,
  });
}

function showResponsesUse(usage, show) {
  if (!usage) return;
  show.use({
    input: usage.input_tokens,
    cached: usage.input_tokens_details?.cached_tokens ?? 0,
    output: usage.output_tokens,
  });
}
