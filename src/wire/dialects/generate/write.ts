import { invalid } from "../../../ground/refusal.ts";
import type { WriteConversationOptions } from "../dialect.ts";
import type { JsonObject } from "../json.ts";
import { upstreamIds } from "../neutral/call_ids.ts";
import { type Conversation, parseArgs, type Part, type Turn } from "../neutral/conversation.ts";
import { foldSystemMessages } from "../neutral/fold_system_messages.ts";
import { ownSeals } from "../neutral/sealed_reasoning.ts";
import { signatureIn } from "../neutral/thought_signatures.ts";
import { withoutMeta } from "../neutral/schemas.ts";
import { legalName } from "../neutral/tool_names.ts";
import { pairResults, resultText, withUniqueIds } from "../neutral/tool_results.ts";
import { withoutDocuments } from "../neutral/without_documents.ts";
import { reasonsByLevel } from "./models.ts";

/**
 * Stands for the signature of a call that another model made, or whose client has not kept it: models that check signatures reject a call
 * without one (ai.google.dev, thought signatures).
 */
const UNSIGNED = "skip_thought_signature_validator";

/** Writes the turns of a conversation. Results of calls are one content, directly after the calls. */
export function contentsOf(
  conversation: Conversation,
  options: WriteConversationOptions,
): JsonObject[] {
  const { withoutFiles = false } = options.shaping;
  const kept = withoutFiles ? withoutDocuments(conversation.turns) : conversation.turns;
  const paired = pairResults(foldSystemMessages(kept));
  const turns = withUniqueIds(paired, (ids) => upstreamIds(ids, "chat"));
  const write = (part: Part) => partOf(part, options.fields.messages);
  const contents: JsonObject[] = [];
  /** Names of the last calls, in the order of their results, which have to name them. */
  let names: readonly string[] = [];
  const results: JsonObject[] = [];
  /** Images and documents of results, which follow them: not every model takes them within one. */
  const attached: Part[] = [];
  const endResults = () =>
    push(contents, "user", [...results.splice(0), ...attached.splice(0).flatMap(write)]);
  for (const turn of turns) {
    if (turn.role === "tool") {
      const name = legalName(names[results.length] ?? "");
      const response = { [turn.failed ? "error" : "output"]: resultText(turn.parts, attached) };
      results.push({ functionResponse: { id: turn.callId, name, response } });
      continue;
    }
    endResults();
    if (turn.role === "assistant") {
      names = turn.calls.map(({ name }) => name);
      push(contents, "model", modelParts(turn, options));
    } else if (turn.role === "user") push(contents, "user", turn.parts.flatMap(write));
  }
  endResults();
  return contents;
}

/** The service rejects a content without parts. */
function push(contents: JsonObject[], role: "user" | "model", parts: JsonObject[]): void {
  if (parts.length > 0) contents.push({ role, parts });
}

function modelParts(
  turn: Turn & { role: "assistant" },
  options: WriteConversationOptions,
): JsonObject[] {
  const signatures = new Map(
    ownSeals(turn, options).flatMap(({ seal }) => {
      const own = signatureIn(seal);
      return own === undefined ? [] : [[own.call, own.signature]];
    }),
  );
  const signed = (call: number | undefined) => {
    const isUnsigned = call === 0 && reasonsByLevel(options.model); // of several at once, the first has one
    const thoughtSignature = signatures.get(call) ?? (isUnsigned ? UNSIGNED : undefined);
    return thoughtSignature === undefined ? {} : { thoughtSignature };
  };
  const text = turn.text + (turn.refusal ?? "");
  return [
    ...(turn.images ?? []).flatMap((url) =>
      partOf({ type: "image", url }, options.fields.messages)
    ),
    ...(text === "" && !signatures.has(undefined) ? [] : [{ text, ...signed(undefined) }]),
    ...turn.calls.map(({ id, name, args }, at) => ({
      // arguments that a model once wrote may be invalid JSON
      functionCall: { id, name: legalName(name), args: parseArgs(args) ?? { _raw: args } },
      ...signed(at),
    })),
  ];
}

/**
 * A part, after the title of a document: there is no other place for that.
 *
 * @param param The field that holds it, for the error.
 */
function partOf(part: Part, param: string): JsonObject[] {
  if (part.type === "text") return part.text === "" ? [] : [{ text: part.text }];
  const title = part.type === "document" && part.title ? [{ text: part.title }] : [];
  return [...title, dataOf(part, param)];
}

function dataOf(part: Exclude<Part, { type: "text" }>, param: string): JsonObject {
  const { url } = part;
  const [, type, data] = /^\s*data:([^;,]*)[^,]*;base64,([\s\S]*)$/i.exec(url) ?? [];
  if (data !== undefined) return { inlineData: { mimeType: type!.toLowerCase(), data } };
  const isDocument = part.type === "document";
  if (!/^\s*(data:|https?:)/i.test(url) && isDocument) { // the base64 of a PDF
    return { inlineData: { mimeType: "application/pdf", data: url } };
  }
  if (/^\s*data:/i.test(url)) {
    throw invalid(param, "A data URL must be in base64 to be sent to this model's upstream.");
  }
  const mimeType = isDocument ? "application/pdf" : imageType(url);
  return { fileData: { mimeType, fileUri: url.trim() } };
}

/** The type of an image by the ending of its address. */
function imageType(url: string): string {
  const [, ending = "jpeg"] = /\.(png|webp|heic|heif|gif)(?:[?#]|$)/i.exec(url) ?? [];
  return `image/${ending.toLowerCase()}`;
}

/** Tools, and which of them the model is to call. */
export function toolsOf({ tools, toolChoice }: Conversation): JsonObject {
  const functionDeclarations = tools.map(({ name, description, schema }) => ({
    name: legalName(name),
    ...(description === undefined ? {} : { description }),
    parametersJsonSchema: { type: "object", ...withoutMeta(schema) },
  }));
  return {
    tools: [{ functionDeclarations }],
    ...(toolChoice === undefined
      ? {}
      : { toolConfig: { functionCallingConfig: callingOf(toolChoice) } }),
  };
}

const MODES = { auto: "AUTO", none: "NONE", required: "ANY" } as const;

function callingOf(choice: NonNullable<Conversation["toolChoice"]>): JsonObject {
  return typeof choice === "string"
    ? { mode: MODES[choice] }
    : { mode: MODES.required, allowedFunctionNames: [legalName(choice.name)] };
}
