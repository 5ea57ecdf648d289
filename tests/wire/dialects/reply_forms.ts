/**
 * Whole replies of each dialect as the streams that say the same, and streams as the whole replies that clients put together.
 *
 * @module
 */

import type { DialectName, JsonObject } from "../../../src/wire/dialects/mod.ts";

/** A reply's body, of any dialect. */
// deno-lint-ignore no-explicit-any -- bodies of three dialects, which tables read and write
export type Reply = any;

/** A reply that says nothing but yes. */
export function plainReply(dialect: DialectName): Reply {
  switch (dialect) {
    case "chat":
      return {
        id: "theirs",
        object: "chat.completion",
        created: 7,
        model: "theirs",
        choices: [{
          index: 0,
          message: { role: "assistant", content: "Yes" },
          logprobs: null,
          finish_reason: "stop",
        }],
        usage: { prompt_tokens: 9, completion_tokens: 3, total_tokens: 12 },
      };
    case "messages":
      return {
        id: "theirs",
        type: "message",
        role: "assistant",
        model: "theirs",
        content: [{ type: "text", text: "Yes" }],
        stop_reason: "end_turn",
        stop_sequence: null,
        usage: { input_tokens: 9, output_tokens: 3 },
      };
    case "responses":
      return {
        id: "theirs",
        object: "response",
        created_at: 7,
        status: "completed",
        error: null,
        incomplete_details: null,
        model: "theirs",
        output: [{
          id: "msg_1",
          type: "message",
          status: "completed",
          role: "assistant",
          content: [{ type: "output_text", text: "Yes", annotations: [], logprobs: [] }],
        }],
        usage: {
          input_tokens: 9,
          input_tokens_details: { cached_tokens: 0 },
          output_tokens: 3,
          output_tokens_details: { reasoning_tokens: 0 },
          total_tokens: 12,
        },
      };
  }
}

/** A text in two pieces, cut between characters. */
function halves(text: string): string[] {
  const units = [...text];
  const half = Math.ceil(units.length / 2);
  return [units.slice(0, half).join(""), units.slice(half).join("")].filter((one) => one !== "");
}

/** The data of the events that say a whole reply. */
export function eventsOfWhole(dialect: DialectName, whole: Reply): JsonObject[] {
  return { chat: chunksOf, messages: blockEvents, responses: itemEvents }[dialect](
    structuredClone(whole),
  );
}

function chunksOf({ choices, usage, object: _, ...head }: Reply): JsonObject[] {
  const chunks: JsonObject[] = [];
  for (const { index, message, finish_reason, logprobs } of choices) {
    const add = (delta: JsonObject, more: JsonObject = {}) =>
      chunks.push({
        ...head,
        object: "chat.completion.chunk",
        choices: [{ index, delta, finish_reason: null, ...more }],
      });
    const { role, content, tool_calls: calls = [], ...others } = message;
    add({ role, content: "" });
    for (const [field, value] of Object.entries(others)) {
      if (typeof value !== "string") continue;
      for (const piece of halves(value)) add({ [field]: piece });
    }
    halves(content ?? "").forEach((piece, at) =>
      add({ content: piece }, at === 0 && logprobs ? { logprobs } : {})
    );
    if (message.annotations !== undefined) add({ annotations: message.annotations });
    if (message.images !== undefined) add({ images: message.images });
    if (message.extra_content !== undefined) add({ extra_content: message.extra_content });
    calls.forEach((call: Reply, at: number) => {
      const [own, field] = call.custom ? ["custom", "input"] : ["function", "arguments"];
      const { [field!]: said, ...named } = call[own!];
      add({ tool_calls: [{ ...call, index: at, [own!]: { ...named, [field!]: "" } }] });
      for (const piece of halves(said)) {
        add({ tool_calls: [{ index: at, [own!]: { [field!]: piece } }] });
      }
    });
    add({}, { finish_reason });
  }
  return [...chunks, { ...head, object: "chat.completion.chunk", choices: [], usage }];
}

function blockEvents({ content, stop_reason, stop_sequence, ...message }: Reply): JsonObject[] {
  const { stop_details, usage } = message;
  const events: JsonObject[] = [{
    type: "message_start",
    message: { ...message, content: [], stop_reason: null, stop_sequence: null },
  }];
  content.forEach((block: Reply, index: number) => {
    const begin = (empty: JsonObject) =>
      events.push({ type: "content_block_start", index, content_block: { ...block, ...empty } });
    const add = (delta: JsonObject) => events.push({ type: "content_block_delta", index, delta });
    switch (block.type) {
      case "text":
        begin({ text: "" });
        for (const text of halves(block.text)) add({ type: "text_delta", text });
        break;
      case "thinking":
        begin({ thinking: "", signature: "" });
        for (const thinking of halves(block.thinking)) add({ type: "thinking_delta", thinking });
        add({ type: "signature_delta", signature: block.signature });
        break;
      case "tool_use":
        begin({ input: {} });
        for (const partial_json of halves(JSON.stringify(block.input))) {
          add({ type: "input_json_delta", partial_json });
        }
        break;
      default:
        begin({});
    }
    events.push({ type: "content_block_stop", index });
  });
  const delta = { stop_reason, stop_sequence, ...(stop_details ? { stop_details } : {}) };
  return [...events, { type: "message_delta", delta, usage }, { type: "message_stop" }];
}

function itemEvents(whole: Reply): JsonObject[] {
  const begun = { ...whole, status: "in_progress", output: [], usage: null };
  const events: JsonObject[] = [{ type: "response.created", response: begun }];
  whole.output.forEach((item: Reply, output_index: number) => {
    const at = { item_id: item.id, output_index };
    const add = (type: string, more: JsonObject) => events.push({ type, ...at, ...more });
    const empty: JsonObject = {};
    for (const list of ["content", "summary"]) if (item[list]) empty[list] = [];
    for (const text of ["arguments", "input"]) if (item[text]) empty[text] = "";
    const { encrypted_content: _, ...shown } = item;
    events.push({ type: "response.output_item.added", output_index, item: { ...shown, ...empty } });
    for (const field of ["arguments", "input"]) {
      if (typeof item[field] !== "string") continue;
      const kind = field === "input" ? "custom_tool_call_input" : "function_call_arguments";
      for (const delta of halves(item[field])) add(`response.${kind}.delta`, { delta });
      add(`response.${kind}.done`, { [field]: item[field] });
    }
    for (const list of ["content", "summary"]) {
      (item[list] ?? []).forEach((part: Reply, index: number) => {
        const place = { [`${list}_index`]: index };
        const name = list === "summary" ? "reasoning_summary_part" : "content_part";
        const field = part.type === "refusal" ? "refusal" : "text";
        const kind = { summary_text: "reasoning_summary_text" }[part.type as string] ?? part.type;
        const { annotations = [], logprobs = [] } = part;
        const lists = part.type === "output_text" ? { annotations: [], logprobs: [] } : {};
        add(`response.${name}.added`, { ...place, part: { ...part, [field]: "", ...lists } });
        halves(part[field]).forEach((delta, at) =>
          add(`response.${kind}.delta`, {
            ...place,
            delta,
            ...(part.type === "output_text" ? { logprobs: at === 0 ? logprobs : [] } : {}),
          })
        );
        annotations.forEach((annotation: JsonObject, annotation_index: number) =>
          add("response.output_text.annotation.added", { ...place, annotation_index, annotation })
        );
        add(`response.${kind}.done`, {
          ...place,
          [field]: part[field],
          ...(part.type === "output_text" ? { logprobs } : {}),
        });
        add(`response.${name}.done`, { ...place, part });
      });
    }
    events.push({ type: "response.output_item.done", output_index, item });
  });
  events.push({ type: `response.${whole.status}`, response: whole });
  return events.map((event, sequence_number) => ({ ...event, sequence_number }));
}

/** Events as the bytes of a stream. */
export function streamText(dialect: DialectName, events: readonly JsonObject[]): string {
  const lines = events.map((event) =>
    (dialect === "chat" ? "" : `event: ${event.type}\n`) + `data: ${JSON.stringify(event)}\n\n`
  );
  return lines.join("") + (dialect === "chat" ? "data: [DONE]\n\n" : "");
}

/** A stream as the whole reply that a client puts together. */
export function wholeOf(dialect: DialectName, text: string): Reply {
  // lines end at line feeds only
  const events = text.split("\n").filter((line) => /^data: (?!\[DONE\])/.test(line))
    .map((line) => JSON.parse(line.slice("data: ".length)));
  return { chat: wholeOfChunks, messages: wholeOfBlocks, responses: wholeOfItems }[dialect](events);
}

function wholeOfChunks(chunks: Reply[]): Reply {
  const message: Reply = { role: "assistant" };
  const whole: Reply = {
    ...chunks[0],
    choices: [{ message, finish_reason: null, logprobs: null }],
  };
  const [choice] = whole.choices;
  for (const chunk of chunks) {
    if (chunk.usage) whole.usage = chunk.usage;
    for (const { delta, finish_reason, logprobs } of chunk.choices) {
      choice.finish_reason = finish_reason ?? choice.finish_reason;
      if (logprobs?.content) {
        (choice.logprobs ??= { content: [] }).content.push(...logprobs.content);
      }
      for (const [field, value] of Object.entries(delta)) {
        if (field === "role" || value === null) continue;
        if (typeof value === "string") message[field] = (message[field] ?? "") + value;
        else if (field !== "tool_calls") message[field] = [message[field] ?? [], value].flat();
      }
      for (const { index, ...piece } of delta.tool_calls ?? []) {
        const call = (message.tool_calls ??= [])[index] ??= { ...piece };
        if (call.id === piece.id) continue;
        if (piece.custom) call.custom.input += piece.custom.input;
        else call.function.arguments += piece.function.arguments;
      }
    }
  }
  return whole;
}

function wholeOfBlocks(events: Reply[]): Reply {
  const whole = events[0].message;
  for (const { type, index, content_block: block, delta, usage } of events) {
    const open = whole.content[index];
    if (type === "content_block_start") whole.content[index] = { ...block, json: "" };
    else if (type === "content_block_delta") {
      if (delta.type === "text_delta") open.text += delta.text;
      else if (delta.type === "thinking_delta") open.thinking += delta.thinking;
      else if (delta.type === "signature_delta") open.signature = delta.signature;
      else open.json += delta.partial_json;
    } else if (type === "content_block_stop") {
      if (open.type === "tool_use" && open.json !== "") open.input = JSON.parse(open.json);
      delete open.json;
    } else if (type === "message_delta") {
      Object.assign(whole, delta, { usage: { ...whole.usage, ...usage } });
    }
  }
  return whole;
}

function wholeOfItems(events: Reply[]): Reply {
  return events.at(-1).response;
}
