/** What a client makes of a reply, in each dialect, whole or streamed: as SDKs put pieces together, without repairing them. */

import { assert, assertEquals } from "../assert.ts";

export type Client = "chat" | "messages" | "responses";

/** What a client heard. */
export interface Heard {
  readonly status: number;
  readonly text: string;
  readonly reasoning: string;
  /** Calls, as their name and arguments. */
  readonly calls: readonly string[];
  readonly finish: string | null | undefined;
  /** Input as the dialect counts it, of it (messages: beside it) cached, and output. */
  readonly usage: readonly [number, number, number] | undefined;
  /** Message of an error, whether instead of the reply or within it. */
  readonly error: string | undefined;
}

// deno-lint-ignore no-explicit-any -- bodies of three dialects
type Json = any;

export const NOTHING = { reasoning: "", text: "", calls: [], finish: undefined, usage: undefined };
type Said = Omit<Heard, "status" | "error">;

function chatUsage(usage: Json): Heard["usage"] {
  return usage &&
    [usage.prompt_tokens, usage.prompt_tokens_details?.cached_tokens ?? 0, usage.completion_tokens];
}

function messagesUsage(usage: Json): Heard["usage"] {
  return usage && [usage.input_tokens, usage.cache_read_input_tokens ?? 0, usage.output_tokens];
}

function responsesUsage(usage: Json): Heard["usage"] {
  return usage &&
    [usage.input_tokens, usage.input_tokens_details?.cached_tokens ?? 0, usage.output_tokens];
}

const WHOLE: Record<Client, (body: Json) => Said> = {
  chat: ({ choices: [{ message, finish_reason: finish }], usage }) => ({
    text: message.content ?? "",
    reasoning: message.reasoning_content ?? "",
    calls: (message.tool_calls ?? []).map((one: Json) => {
      assert(typeof one.id === "string" && one.id !== "" && one.type === "function");
      return one.function.name + one.function.arguments;
    }),
    finish,
    usage: chatUsage(usage),
  }),
  messages: ({ content, stop_reason: finish, usage }) => ({
    text: content.map((one: Json) => one.text ?? "").join(""),
    reasoning: content.map((one: Json) => one.thinking ?? "").join(""),
    calls: content.filter((one: Json) => one.type === "tool_use")
      .map((one: Json) => one.name + JSON.stringify(one.input)),
    finish,
    usage: messagesUsage(usage),
  }),
  responses: ({ output, status, incomplete_details: details, usage }) => {
    const of = (type: string) => output.filter((one: Json) => one.type === type);
    const parts = (items: Json[], name: string) =>
      items.flatMap((one) => one[name] ?? []).map((one) => one.text).join("");
    return {
      text: parts(of("message"), "content"),
      reasoning: parts(of("reasoning"), "summary"),
      calls: [
        ...of("function_call").map((one: Json) => one.name + one.arguments),
        ...of("custom_tool_call").map((one: Json) => `${one.name}:${one.input}`),
      ],
      finish: details?.reason ?? status,
      usage: responsesUsage(usage),
    };
  },
};

/** Joins pieces as SDKs do: by index, whatever they repeat. */
function chatStream(events: readonly Json[]): Said {
  const said = { ...NOTHING, calls: [] as { id: string; text: string[] }[] };
  let usage: Json;
  const { id } = events[0];
  for (const event of events) {
    if (event.error !== undefined) continue;
    assertEquals([event.id, event.object], [id, "chat.completion.chunk"]);
    usage = event.usage ?? usage;
    for (const { delta, finish_reason: finish } of event.choices) {
      said.text += delta.content ?? "";
      said.reasoning += delta.reasoning_content ?? "";
      for (const one of delta.tool_calls ?? []) {
        assert(Number.isInteger(one.index), "an index");
        const entry = said.calls[one.index] ??= { id: "", text: ["", ""] };
        entry.id += one.id ?? "";
        entry.text[0] += one.function?.name ?? "";
        entry.text[1] += one.function?.arguments ?? "";
      }
      said.finish = finish ?? said.finish;
    }
  }
  const calls = said.calls.map(({ id, text }) => {
    assert(id !== "", "an id");
    return text.join("");
  });
  assertEquals(new Set(said.calls.map(({ id }) => id)).size, calls.length, "ids are unique");
  return { ...said, calls, usage: chatUsage(usage) };
}

/** JSON, or the text of a call that was cut off. */
function parsed(json: string): Json {
  try {
    return JSON.parse(json);
  } catch {
    return json;
  }
}

/** Joins blocks, and asserts that one is open at a time. */
function messagesStream(events: readonly Json[]): Said {
  const blocks: Json[] = [];
  let open: number | undefined;
  let finish: string | undefined;
  let usage: Json = {};
  for (const event of events) {
    switch (event.type) {
      case "message_start":
        usage = event.message.usage;
        break;
      case "content_block_start":
        assertEquals([open, event.index], [undefined, blocks.length], "one block at a time");
        open = event.index;
        blocks.push({ json: "", ...event.content_block });
        break;
      case "content_block_delta": {
        assertEquals(event.index, open, "a delta of the open block");
        const block = blocks[open!];
        const { text, thinking, partial_json: json } = event.delta;
        if (text !== undefined) block.text += text;
        if (thinking !== undefined) block.thinking += thinking;
        if (json !== undefined) block.json += json;
        break;
      }
      case "content_block_stop":
        assertEquals(event.index, open);
        open = undefined;
        break;
      case "message_delta":
        finish = event.delta.stop_reason;
        usage = { ...usage, ...event.usage };
    }
  }
  const content = blocks.map(({ json, ...block }) =>
    block.type === "tool_use" ? { ...block, input: parsed(json || "{}") } : block
  );
  return WHOLE.messages({ content, stop_reason: finish, usage });
}

/** The last response; asserts numbers and the order of items and parts. */
function responsesStream(events: readonly Json[]): Said {
  const numbers = events.map(({ sequence_number: one }) => one).filter((one) => one !== undefined);
  assertEquals(numbers, numbers.map((_, at) => at), "numbered without gaps");
  const kinds = events.map(({ type }) => type);
  const items = events.filter(({ type }) => type === "response.output_item.done");
  if (kinds.includes("response.output_text.delta")) {
    const first = kinds.indexOf("response.output_text.delta");
    assert(kinds.slice(0, first).includes("response.content_part.added"), "a part is begun");
  }
  const last = events.at(-1).response;
  if (last === undefined) return NOTHING;
  if (last.status === "completed") {
    assertEquals(items.map(({ item }) => item), last.output, "items as the response has them");
  }
  return WHOLE.responses(last);
}

const STREAMED: Record<Client, (events: readonly Json[]) => Said> = {
  chat: chatStream,
  messages: messagesStream,
  responses: responsesStream,
};

/** The message of an error, in a body or the events of a stream. */
function errorIn(one: Json): string | undefined {
  return (one.error ?? (one.type === "error" ? one : undefined) ?? one.response?.error)?.message;
}

/**
 * Reads a reply as a client does.
 * @param response It is read to its end.
 * @returns What it says, and its text.
 * @throws {Error} If it is not well-formed in the dialect.
 */
export async function hear(client: Client, response: Response): Promise<[Heard, string]> {
  const text = await response.text();
  const { status, headers } = response;
  if (headers.get("content-type")?.includes("json")) {
    const body = JSON.parse(text);
    const error = errorIn(body);
    const said = error === undefined && status === 200 ? WHOLE[client](body) : NOTHING;
    return [{ status, error, ...said }, text];
  }
  const datas = [...text.matchAll(/^data: ([^\n]*)$/gm)].map(([, data]) => data!);
  const events = datas.filter((data) => data !== "[DONE]").map((data) => JSON.parse(data));
  const error = events.map(errorIn).find((one) => one !== undefined);
  if (client === "chat" && error === undefined) assertEquals(datas.at(-1), "[DONE]");
  return [{ status, error, ...STREAMED[client](events) }, text];
}
