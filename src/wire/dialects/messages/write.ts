import { Buffer } from "node:buffer";
import type { JsonObject, JsonValue } from "../json.ts";
import { type Conversation, parseArgs, type Part, type Turn } from "../neutral/conversation.ts";
import { JSON_INSTRUCTION, type JsonSchemaFormat } from "../neutral/output_format.ts";
import { legalId } from "../neutral/call_ids.ts";
import { foldSystemMessages } from "../neutral/fold_system_messages.ts";
import { pairResults, withIds } from "../neutral/tool_results.ts";
import { ownSeals } from "../neutral/sealed_reasoning.ts";
import { sealedBlock } from "./read_reply.ts";
import { SIGNATURE } from "./writer.ts";

/** How a conversation is written for one upstream. */
export interface MessagesOptions {
  /** The upstream verifies signatures: reasoning that it did not sign is dropped. */
  readonly signed: boolean;
  /** The upstream's name, and the model's there: what they signed is returned to them alone. */
  readonly upstream: string;
  readonly model: string;
}

/** Writes a conversation's fields in the messages dialect. */
export function writeConversation(
  conversation: Conversation,
  options: MessagesOptions,
): JsonObject {
  const { turns, tools, toolChoice, parallelTools, stop, format } = conversation;
  const instructions = [
    conversation.instructions,
    ...(format?.type === "json_object" ? [JSON_INSTRUCTION] : []),
  ].filter((one) => one !== "").join("\n\n");
  const { temperature, topP, topK } = conversation;
  const user = conversation.safetyId ?? conversation.user;
  const choice = choiceOf(toolChoice);
  const sequences = stop.filter(isSequence);
  return {
    ...(instructions === "" ? {} : { system: instructions }),
    messages: messagesOf(withOwnIds(pairResults(foldSystemMessages(turns))), options),
    ...(tools.length === 0 ? {} : {
      tools: tools.map(({ name, description, schema, strict }) => ({
        name,
        ...(description === undefined ? {} : { description }),
        input_schema: { type: "object", ...schema },
        ...(strict === undefined ? {} : { strict }),
      })),
      ...(choice === undefined && parallelTools !== false ? {} : {
        tool_choice: {
          ...(choice ?? { type: "auto" }),
          ...(parallelTools === false && choice?.type !== "none"
            ? { disable_parallel_tool_use: true }
            : {}),
        },
      }),
    }),
    ...(temperature === undefined ? {} : { temperature: Math.min(1, temperature) }),
    ...(topP === undefined ? {} : { top_p: topP }),
    ...(topK === undefined ? {} : { top_k: topK }),
    ...(sequences.length === 0 ? {} : { stop_sequences: sequences }),
    ...(format?.type === "json_schema"
      ? { output_config: { format: { type: "json_schema", schema: describedSchema(format) } } }
      : {}),
    ...(user === undefined ? {} : { metadata: { user_id: user } }),
  };
}

/** A schema with what it is about: there is no other place for that. */
function describedSchema({ schema, description }: JsonSchemaFormat): JsonObject {
  return description === undefined ? schema : { ...schema, description };
}

/** The service rejects stop sequences of white space only. */
export function isSequence(stop: string): boolean {
  return stop.trim() !== "";
}

function choiceOf(choice: Conversation["toolChoice"]): JsonObject | undefined {
  if (choice === undefined) return undefined;
  if (choice === "required") return { type: "any" };
  return typeof choice === "string" ? { type: choice } : { type: "tool", name: choice.name };
}

/** Consecutive turns of one side become one message, tool results first. */
function messagesOf(turns: readonly Turn[], options: MessagesOptions): JsonObject[] {
  const messages: { role: "user" | "assistant"; results: JsonObject[]; blocks: JsonObject[] }[] =
    [];
  for (const turn of turns) {
    const role = turn.role === "assistant" ? "assistant" : "user";
    let last = messages.at(-1);
    if (last?.role !== role) messages.push(last = { role, results: [], blocks: [] });
    if (turn.role === "assistant") last.blocks.push(...assistantBlocks(turn, options));
    else if (turn.role === "user") last.blocks.push(...turn.parts.flatMap(blockOf));
    else if (turn.role === "tool") last.results.push(resultOf(turn));
  }
  return messages.map(({ role, results, blocks }) => ({ role, content: [...results, ...blocks] }))
    .filter(({ content }) => content.length > 0);
}

function assistantBlocks(
  turn: Turn & { role: "assistant" },
  options: MessagesOptions,
): JsonObject[] {
  const { reasoning, text, refusal = "", calls } = turn;
  const own = ownSeals(turn, options);
  return [
    ...own.map(sealedBlock),
    ...(reasoning === "" || own.length > 0 || options.signed
      ? []
      : [{ type: "thinking", thinking: reasoning, signature: SIGNATURE }]),
    ...[text, refusal].filter((one) => one.trim() !== "").map((text) => ({ type: "text", text })),
    ...calls.map(({ id, name, args }) => ({
      type: "tool_use",
      id,
      name,
      // arguments that a model once wrote may be invalid JSON
      input: parseArgs(args) ?? { _raw: args },
    })),
  ];
}

function resultOf({ callId, parts, failed }: Turn & { role: "tool" }): JsonObject {
  return {
    type: "tool_result",
    tool_use_id: callId,
    content: parts.flatMap(blockOf),
    ...(failed ? { is_error: true } : {}),
  };
}

function blockOf(part: Part): JsonObject[] {
  switch (part.type) {
    case "text":
      return part.text.trim() === "" ? [] : [{ type: "text", text: part.text }];
    case "image":
      return [{ type: "image", source: sourceOf(part.url) }];
    case "document":
      return [{
        type: "document",
        source: documentSource(part.url),
        ...(part.title === undefined ? {} : { title: part.title }),
      }];
  }
}

/** PDFs are sent as base64, texts as they are. Anything but a URL is taken for the base64 of a PDF. */
function documentSource(url: string): JsonValue {
  if (!/^\s*(data:|https?:)/i.test(url)) {
    return { type: "base64", media_type: "application/pdf", data: url };
  }
  const [, data] = /^\s*data:text\/[^,]*;base64,([\s\S]*)$/i.exec(url) ?? [];
  return data === undefined
    ? sourceOf(url)
    : { type: "text", media_type: "text/plain", data: Buffer.from(data, "base64").toString() };
}

function sourceOf(url: string): JsonValue {
  const [, type, data] = /^\s*data:([^;,]*)[^,]*;base64,([\s\S]*)$/i.exec(url) ?? [];
  return data === undefined
    ? { type: "url", url }
    : { type: "base64", media_type: type!.toLowerCase(), data };
}

/**
 * Gives calls ids that are valid in this dialect and unique in the whole conversation: other dialects may number them
 * again in each reply. The same history gets the same ids, so that prompt caches hold.
 */
function withOwnIds(paired: readonly Turn[]): Turn[] {
  const used = new Set<string>();
  const counts = new Map<string, number>();
  const own = (id: string) => {
    const legal = legalId(id);
    let unique = legal;
    let count = counts.get(legal) ?? 1;
    while (used.has(unique)) unique = `${legal}_${++count}`;
    counts.set(legal, count);
    used.add(unique);
    return unique;
  };
  return withIds(paired, (ids) => ids.map(own));
}
