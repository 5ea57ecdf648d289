import { foldInstructions } from "../fold.ts";
import type { JsonObject } from "../json.ts";
import type { Conversation, Part, Tool, ToolCall, Turn } from "../neutral.ts";

/** The fields of a chat request that a conversation fills, and what it could not say. */
export interface WrittenChat {
  readonly body: JsonObject;
  readonly ignored: readonly string[];
}

/** Writes a conversation in the chat dialect. */
export function chatFromNeutral(conversation: Conversation): WrittenChat {
  const { instructions, tools, toolChoice, parallelTools, temperature, topP, stop, schema } =
    conversation;
  const body: JsonObject = {
    messages: [
      ...(instructions === "" ? [] : [{ role: "system", content: instructions }]),
      ...messagesOf(foldInstructions(conversation.turns)),
    ],
  };
  if (tools.length > 0) {
    body.tools = tools.map(toolOf);
    if (toolChoice !== undefined) body.tool_choice = choiceOf(toolChoice);
    if (parallelTools !== undefined) body.parallel_tool_calls = parallelTools;
  }
  if (temperature !== undefined) body.temperature = temperature;
  if (topP !== undefined) body.top_p = topP;
  if (stop.length > 0) body.stop = [...stop];
  if (schema !== undefined) {
    body.response_format = {
      type: "json_schema",
      json_schema: { name: "response", strict: true, schema: withoutMeta(schema) },
    };
  }
  return { body, ignored: conversation.ignored };
}

function messagesOf(turns: readonly Turn[]): JsonObject[] {
  const messages: JsonObject[] = [];
  for (let at = 0; at < turns.length; at++) {
    const turn = turns[at]!;
    if (turn.role === "user") {
      messages.push({ role: "user", content: contentOf(turn.parts) });
    } else if (turn.role === "assistant") {
      messages.push(assistantOf(turn));
      const results: ToolTurn[] = [];
      for (let next = turns[at + 1]; next?.role === "tool"; next = turns[++at + 1]) {
        results.push(next);
      }
      if (turn.calls.length > 0 || results.length > 0) {
        messages.push(...answersOf(turn.calls, results));
      }
    } else if (turn.role === "tool") {
      messages.push(...answersOf([], [turn]));
    }
  }
  return messages;
}

type AssistantTurn = Turn & { role: "assistant" };
type ToolTurn = Turn & { role: "tool" };

function assistantOf({ reasoning, text, calls }: AssistantTurn): JsonObject {
  return {
    role: "assistant",
    content: text === "" && calls.length > 0 ? null : text,
    ...(reasoning === "" ? {} : { reasoning_content: reasoning }),
    ...(calls.length === 0 ? {} : {
      tool_calls: calls.map(({ id, name, args }) => ({
        id,
        type: "function",
        function: { name, arguments: args },
      })),
    }),
  };
}

/**
 * One tool message for each call, in the calls' order and before anything else: upstreams refuse a
 * missing, a late or a strange one. What a tool message cannot hold follows in a user message.
 */
function answersOf(calls: readonly ToolCall[], results: readonly ToolTurn[]): JsonObject[] {
  const messages: JsonObject[] = [];
  const attached: Part[] = [];
  for (const { id } of calls) {
    const result = results.find(({ callId }) => callId === id);
    const content = result === undefined ? "[no result]" : resultText(result, attached);
    messages.push({ role: "tool", tool_call_id: id, content });
  }
  const strays = results.filter(({ callId }) => !calls.some(({ id }) => id === callId));
  for (const stray of strays) {
    attached.push({ type: "text", text: `Result of a tool: ${resultText(stray, attached)}` });
  }
  if (attached.length > 0) messages.push({ role: "user", content: contentOf(attached) });
  return messages;
}

function resultText({ parts, failed }: ToolTurn, attached: Part[]): string {
  const texts = parts.map((part) => {
    if (part.type === "text") return part.text;
    attached.push(part);
    return `[${part.type} ${attached.length}, see below]`;
  }).filter((one) => one !== "");
  const text = texts.join("\n");
  if (failed) return text === "" ? "Error" : `Error: ${text}`;
  return text === "" ? "(no output)" : text;
}

function contentOf(parts: readonly Part[]): string | JsonObject[] {
  if (parts.every((part) => part.type === "text")) {
    return parts.map((part) => part.text).join("\n\n");
  }
  return parts.map((part) => {
    switch (part.type) {
      case "text":
        return { type: "text", text: part.text };
      case "image":
        return { type: "image_url", image_url: { url: part.url } };
      case "document":
        return {
          type: "file",
          file: { filename: part.title ?? "document.pdf", file_data: part.url },
        };
    }
  });
}

function toolOf({ name, description, schema, strict }: Tool): JsonObject {
  return {
    type: "function",
    function: {
      name,
      ...(description === undefined ? {} : { description }),
      parameters: withoutMeta(schema),
      ...(strict === undefined ? {} : { strict }),
    },
  };
}

function choiceOf(choice: NonNullable<Conversation["toolChoice"]>): JsonObject | string {
  return typeof choice === "string"
    ? choice
    : { type: "function", function: { name: choice.name } };
}

/** Some upstreams misbehave over `$schema`, and none needs it. */
function withoutMeta(schema: JsonObject): JsonObject {
  const { $schema: _, ...rest } = schema;
  return rest;
}
