import { invalid } from "../../../ground/refusal.ts";
import type { WriteConversationOptions, WriteOptions } from "../dialect.ts";
import { upstreamIds } from "../neutral/call_ids.ts";
import type { Concept, Conversation, Part, Tool, Turn } from "../neutral/conversation.ts";
import { lastMark, type MarkedText, splitInstructions, writeMark } from "../neutral/cache_marks.ts";
import { foldSystemMessages } from "../neutral/fold_system_messages.ts";
import { ownSeals } from "../neutral/sealed_reasoning.ts";
import { writeSchema } from "../neutral/output_format.ts";
import { withoutMeta } from "../neutral/schemas.ts";
import { pairResults, resultText, withIds } from "../neutral/tool_results.ts";
import { withoutDocuments } from "../neutral/without_documents.ts";
import type { JsonObject } from "../json.ts";
import { legalName } from "../neutral/tool_names.ts";
import { extrasIn } from "./extra_content.ts";

/** Writes a conversation's fields in the chat dialect. */
export function writeConversation(
  conversation: Conversation,
  { shaping, fields, ...target }: WriteConversationOptions,
): {
  readonly body: JsonObject;
  readonly dropped: readonly Concept[];
  readonly takesMarks: boolean;
} {
  const { topK: takesTopK = false, withoutFiles = false, cacheMarks: marks = false } = shaping;
  const { signedReasoning: signed = false } = shaping;
  const { instructions, tools, toolChoice, parallelTools, stop, format } = conversation;
  const { temperature, topP, topK, user, safetyId, verbosity, logprobs, serviceTier } =
    conversation;
  const turns = withoutFiles ? withoutDocuments(conversation.turns) : conversation.turns;
  checkDocuments(turns, fields);
  const system = marks ? textOf(splitInstructions(conversation)) : instructions;
  const body: JsonObject = {
    messages: [
      ...(instructions === "" ? [] : [{ role: "system", content: system }]),
      ...messagesOf(
        withIds(pairResults(foldSystemMessages(turns)), (ids) => upstreamIds(ids, "chat")),
        { ...target, marks, signed },
      ),
    ],
    ...(marks ? writeMark(conversation.cached) : {}),
  };
  if (tools.length > 0) {
    body.tools = tools.map((tool) => ({
      ...toolOf(tool),
      ...(marks ? writeMark(tool.cached) : {}),
    }));
    if (toolChoice !== undefined) body.tool_choice = choiceOf(toolChoice);
    if (parallelTools !== undefined) body.parallel_tool_calls = parallelTools;
  }
  if (temperature !== undefined) body.temperature = temperature;
  if (topP !== undefined) body.top_p = topP;
  if (topK !== undefined && takesTopK) body.top_k = topK;
  if (stop.length > 0) body.stop = [...stop];
  if (user !== undefined) body.user = user;
  if (safetyId !== undefined) body.safety_identifier = safetyId;
  if (verbosity !== undefined) body.verbosity = verbosity;
  if (logprobs !== undefined) {
    body.logprobs = true;
    if (logprobs > 0) body.top_logprobs = logprobs;
  }
  if (serviceTier !== undefined) body.service_tier = serviceTier;
  if (format?.type === "json_object") body.response_format = { type: "json_object" };
  else if (format !== undefined) {
    body.response_format = { type: "json_schema", json_schema: writeSchema(format) };
  }
  const dropped: Concept[] = [];
  if (topK !== undefined && !takesTopK) dropped.push("topK");
  if (turns !== conversation.turns) dropped.push("documents");
  if (signed && turns.some((turn) => turn.role === "assistant" && turn.reasoning !== "")) {
    dropped.push("earlierReasoning");
  }
  return { body, dropped, takesMarks: marks };
}

/** @throws {Refusal} `request_invalid` for a document that the dialect has no place for. */
function checkDocuments(turns: readonly Turn[], fields: WriteConversationOptions["fields"]): void {
  const isRemote = (part: Part) => part.type === "document" && /^\s*https?:/i.test(part.url);
  if (!turns.some((turn) => "parts" in turn && turn.parts.some(isRemote))) return;
  throw invalid(
    fields.messages,
    "A document by URL is not supported by this model's upstream: send the file as base64.",
  );
}

/** The upstream and its model: what they want back is returned to them alone. */
interface Target extends Pick<WriteOptions, "upstream" | "model"> {
  /** Whether it takes marks for prompt caches. */
  readonly marks: boolean;
  /** Whether it takes no reasoning but what it has signed, which is not text here. */
  readonly signed: boolean;
}

function messagesOf(turns: readonly Turn[], target: Target): JsonObject[] {
  const messages: JsonObject[] = [];
  /** Parts that tool messages cannot hold; they follow in a user message. */
  const attached: Part[] = [];
  turns.forEach((turn, at) => {
    if (turn.role === "user") {
      messages.push({ role: "user", content: contentOf(turn.parts, target) });
    }
    if (turn.role === "assistant" && !isImageAlone(turn)) {
      messages.push(assistantOf(turn, target));
    }
    if (turn.role !== "tool") return;
    const text = toolText(turn, attached);
    const mark = target.marks ? turn.cached ?? lastMark(turn.parts).cached : undefined;
    const content = textOf([{ text, cached: mark }]);
    messages.push({ role: "tool", tool_call_id: turn.callId, content });
    if (turns[at + 1]?.role === "tool" || attached.length === 0) return;
    messages.push({ role: "user", content: contentOf(attached.splice(0), target) });
  });
  return messages;
}

type AssistantTurn = Turn & { role: "assistant" };

/** Whether nothing is left of a turn without the images that its model made. */
function isImageAlone({ images, text, refusal, reasoning, calls }: AssistantTurn): boolean {
  return images !== undefined && calls.length === 0 && !text && !refusal && !reasoning;
}
type ToolTurn = Turn & { role: "tool" };

function assistantOf(turn: AssistantTurn, target: Target): JsonObject {
  const { reasoning, text, refusal, calls, cached } = turn;
  const extras = extrasIn(ownSeals(turn, target));
  return {
    role: "assistant",
    content: text === ""
      ? calls.length > 0 ? null : ""
      : textOf([{ text, cached: target.marks ? cached : undefined }]),
    ...(refusal === undefined ? {} : { refusal }),
    ...(reasoning === "" || target.signed ? {} : { reasoning_content: reasoning }),
    ...extras.message,
    ...(calls.length === 0 ? {} : {
      tool_calls: calls.map(({ id, name, args }, number) => ({
        ...extras.calls.get(number),
        id,
        type: "function",
        function: { name: legalName(name), arguments: args },
      })),
    }),
  };
}

function toolText({ parts, failed }: ToolTurn, attached: Part[]): string {
  const text = resultText(parts, attached);
  if (failed) return text === "" ? "Error" : `Error: ${text}`;
  return text === "" ? "(no output)" : text;
}

/** A plain text, or parts where a prompt cache is to keep some. */
function textOf(pieces: readonly MarkedText[]): string | JsonObject[] {
  if (pieces.every(({ cached }) => cached === undefined)) {
    return pieces.map(({ text }) => text).join("");
  }
  return pieces.map(({ text, cached }) => ({ type: "text", text, ...writeMark(cached) }));
}

function contentOf(parts: readonly Part[], { marks }: Target): string | JsonObject[] {
  // where marks count, texts are not joined: a mark moves on with the next turn, and what it was on must stay what it was
  const isPlain = !marks || parts.length < 2 && parts[0]?.cached === undefined;
  if (isPlain && parts.every((part) => part.type === "text")) {
    return parts.map((part) => part.text).join("\n\n");
  }
  return parts.map((part) => {
    const mark = marks ? writeMark(part.cached) : {};
    switch (part.type) {
      case "text":
        return { type: "text", text: part.text, ...mark };
      case "image":
        return {
          ...mark,
          type: "image_url",
          image_url: {
            url: part.url,
            ...(part.detail === undefined ? {} : { detail: part.detail }),
          },
        };
      case "document":
        return {
          ...mark,
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
      name: legalName(name),
      ...(description === undefined ? {} : { description }),
      parameters: withoutMeta(schema),
      ...(strict === undefined ? {} : { strict }),
    },
  };
}

function choiceOf(choice: NonNullable<Conversation["toolChoice"]>): JsonObject | string {
  return typeof choice === "string"
    ? choice
    : { type: "function", function: { name: legalName(choice.name) } };
}
