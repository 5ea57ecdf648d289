import { Buffer } from "node:buffer";
import { type JsonObject, type JsonValue, objects } from "../json.ts";
import {
  type CacheMark,
  lastMark,
  limitMarks,
  type MarkedText,
  splitInstructions,
  writeMark,
} from "../neutral/cache_marks.ts";
import { type Conversation, parseArgs, type Part, type Turn } from "../neutral/conversation.ts";
import { describedSchema, JSON_INSTRUCTION } from "../neutral/output_format.ts";
import { legalId } from "../neutral/call_ids.ts";
import { legalName, MAX_CHARS_OF_MESSAGES } from "../neutral/tool_names.ts";
import { foldSystemMessages } from "../neutral/fold_system_messages.ts";
import { pairResults, withUniqueIds } from "../neutral/tool_results.ts";
import { ownSeals, type SealTarget } from "../neutral/sealed_reasoning.ts";
import { sealedBlock } from "./read_reply.ts";
import { SIGNATURE } from "./writer.ts";

/** Writes a conversation's fields in the messages dialect. */
export function writeConversation(
  conversation: Conversation,
  options: SealTarget,
): JsonObject {
  const { turns, tools, toolChoice, parallelTools, stop, format } = conversation;
  const more = format?.type === "json_object" ? [JSON_INSTRUCTION] : [];
  const system = splitInstructions(conversation, more);
  const { temperature, topP, topK } = conversation;
  const user = conversation.safetyId ?? conversation.user;
  const choice = choiceOf(toolChoice);
  const sequences = stop.filter(isSequence);
  const body: JsonObject = {
    ...(system.length === 0 ? {} : { system: systemOf(system) }),
    messages: messagesOf(
      withUniqueIds(pairResults(foldSystemMessages(turns)), (ids) => ids.map(legalId)),
      options,
    ),
    ...writeMark(conversation.cached),
    ...(tools.length === 0 ? {} : {
      tools: tools.map(({ name, description, schema, strict, cached }) => ({
        name: nameOf(name),
        ...(description === undefined ? {} : { description }),
        input_schema: { type: "object", ...schema },
        ...(strict === undefined ? {} : { strict }),
        ...writeMark(cached),
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
  const blocks = objects(body.messages).flatMap(({ content }) => objects(content));
  limitMarks(body, [...objects(body.tools), ...objects(body.system), ...blocks]);
  return body;
}

/** One text, or a block for each piece that a prompt cache is to keep. */
function systemOf(pieces: readonly MarkedText[]): JsonValue {
  if (pieces.length === 1 && pieces[0]!.cached === undefined) return pieces[0]!.text;
  return pieces.map(({ text, cached }) => ({ type: "text", text, ...writeMark(cached) }));
}

/** The service rejects stop sequences of white space only. */
export function isSequence(stop: string): boolean {
  return stop.trim() !== "";
}

function choiceOf(choice: Conversation["toolChoice"]): JsonObject | undefined {
  if (choice === undefined) return undefined;
  if (choice === "required") return { type: "any" };
  return typeof choice === "string"
    ? { type: choice }
    : { type: "tool", name: nameOf(choice.name) };
}

function nameOf(tool: string): string {
  return legalName(tool, MAX_CHARS_OF_MESSAGES);
}

/** Consecutive turns of one side become one message, tool results first. */
function messagesOf(turns: readonly Turn[], options: SealTarget): JsonObject[] {
  const messages: { role: "user" | "assistant"; results: JsonObject[]; blocks: JsonObject[] }[] =
    [];
  for (const turn of turns) {
    const role = turn.role === "assistant" ? "assistant" : "user";
    const results = turn.role === "tool" ? [resultOf(turn)] : [];
    const blocks = turn.role === "assistant"
      ? markedEnd(assistantBlocks(turn, options), turn.cached)
      : turn.role === "user"
      ? turn.parts.flatMap(blockOf)
      : [];
    // what says nothing is no message, and separates none
    if (results.length + blocks.length === 0) continue;
    let last = messages.at(-1);
    if (last?.role !== role) messages.push(last = { role, results: [], blocks: [] });
    last.results.push(...results);
    for (const block of blocks) last.blocks.push(block); // may be many
  }
  return messages.map(({ role, results, blocks }) => ({ role, content: [...results, ...blocks] }));
}

function assistantBlocks(
  turn: Turn & { role: "assistant" },
  options: SealTarget,
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
      name: nameOf(name),
      // arguments that a model once wrote may be invalid JSON
      input: parseArgs(args) ?? { _raw: args },
    })),
  ];
}

/** Reasoning takes no mark. */
function markedEnd(blocks: JsonObject[], mark: CacheMark | undefined): JsonObject[] {
  const last = blocks.at(-1);
  if (last?.type === "text" || last?.type === "tool_use") Object.assign(last, writeMark(mark));
  return blocks;
}

function resultOf({ callId, parts, failed, cached }: Turn & { role: "tool" }): JsonObject {
  return {
    type: "tool_result",
    tool_use_id: callId,
    content: parts.flatMap((part) => blockOf({ ...part, cached: undefined })),
    ...(failed ? { is_error: true } : {}),
    ...writeMark(cached ?? lastMark(parts).cached),
  };
}

function blockOf(part: Part): JsonObject[] {
  const mark = writeMark(part.cached);
  switch (part.type) {
    case "text":
      return part.text.trim() === "" ? [] : [{ type: "text", text: part.text, ...mark }];
    case "image":
      return [{ type: "image", source: sourceOf(part.url), ...mark }];
    case "document":
      return [{
        type: "document",
        source: documentSource(part.url),
        ...(part.title === undefined ? {} : { title: part.title }),
        ...mark,
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
