import { createHash } from "node:crypto";
import type { JsonObject } from "../../json.ts";
import { shortId, upstreamIds } from "../../neutral/call_ids.ts";
import type { Conversation, Part, Tool, Turn } from "../../neutral/conversation.ts";
import { pairResults, withUniqueIds } from "../../neutral/tool_results.ts";
import { legalName } from "../../neutral/tool_names.ts";
import { hasUnsealed, ownSeals, type SealTarget } from "../../neutral/sealed_reasoning.ts";
import { writeSchema } from "../../neutral/output_format.ts";
import { withoutMeta } from "../../neutral/schemas.ts";

/** Writes a conversation's fields in the responses dialect. */
export function writeConversation(
  conversation: Conversation,
  options: SealTarget,
): { readonly body: JsonObject; readonly dropsReasoning: boolean } {
  const { instructions, tools, toolChoice, parallelTools, format } = conversation;
  const { temperature, topP, user, safetyId, verbosity, serviceTier } = conversation;
  // items are a flat list, in which an ID is all that a result names
  const turns = withUniqueIds(
    pairResults(conversation.turns),
    (ids) => upstreamIds(ids, "responses").map(shortId),
    shortId,
  );
  const items = turns.flatMap((turn) => itemsOf(turn, options));
  const body: JsonObject = items.length === 0
    ? { input: [message("developer", instructions)] } // there is nothing without an input
    : { ...(instructions === "" ? {} : { instructions }), input: items };
  if (tools.length > 0) {
    body.tools = tools.map(toolOf);
    if (toolChoice !== undefined) body.tool_choice = choiceOf(toolChoice);
    if (parallelTools !== undefined) body.parallel_tool_calls = parallelTools;
  }
  if (temperature !== undefined) body.temperature = temperature;
  if (topP !== undefined) body.top_p = topP;
  if (user !== undefined) body.user = user;
  if (safetyId !== undefined) body.safety_identifier = safetyId;
  if (serviceTier !== undefined) body.service_tier = serviceTier;
  if (format !== undefined || verbosity !== undefined) {
    body.text = {
      ...(format?.type === "json_schema"
        ? { format: { type: "json_schema", ...writeSchema(format) } }
        : format === undefined
        ? {}
        : { format }),
      ...(verbosity === undefined ? {} : { verbosity }),
    };
  }
  return { body, dropsReasoning: options.signed && hasUnsealed(turns, options) };
}

type AssistantTurn = Turn & { role: "assistant" };

function itemsOf(turn: Turn, options: SealTarget): JsonObject[] {
  switch (turn.role) {
    case "user":
      return turn.parts.length === 0 ? [] : [message("user", contentOf(turn.parts))];
    case "system":
      return [message("developer", turn.text)];
    case "tool":
      return [{
        type: "function_call_output",
        call_id: turn.callId,
        output: outputOf(turn.parts, turn.failed),
      }];
    case "assistant":
      return [
        ...reasoningItems(turn, options),
        ...(turn.text === "" ? [] : [message("assistant", turn.text)]),
        ...(turn.refusal === undefined
          ? []
          : [message("assistant", [{ type: "refusal", refusal: turn.refusal }])]),
        ...turn.calls.map(({ id, name, args }) => ({
          type: "function_call",
          call_id: id,
          name: legalName(name),
          arguments: args,
        })),
      ];
  }
}

/** In the short form, which asks for no ids and no status. */
function message(role: string, content: string | JsonObject[]): JsonObject {
  return { type: "message", role, content };
}

/** As the upstream sealed it; else as text, where the upstream takes reasoning that it did not write. */
function reasoningItems(turn: AssistantTurn, options: SealTarget): JsonObject[] {
  const own = ownSeals(turn, options);
  if (own.length > 0) {
    return own.map(({ text, seal }) => ({
      type: "reasoning",
      summary: text === "" ? [] : [{ type: "summary_text", text }],
      encrypted_content: seal,
    }));
  }
  const { reasoning } = turn;
  if (reasoning === "" || options.signed) return [];
  return [{
    type: "reasoning",
    id: `rs_${createHash("sha256").update(reasoning).digest("hex").slice(0, 24)}`,
    summary: [],
    content: [{ type: "reasoning_text", text: reasoning }],
  }];
}

function contentOf(parts: readonly Part[]): string | JsonObject[] {
  const [first] = parts;
  return parts.length === 1 && first!.type === "text" ? first!.text : parts.map(partOf);
}

function partOf(part: Part): JsonObject {
  switch (part.type) {
    case "text":
      return { type: "input_text", text: part.text };
    case "image":
      return { type: "input_image", image_url: part.url, detail: part.detail ?? "auto" };
    case "document":
      return { type: "input_file", ...documentOf(part.title ?? "document.pdf", part.url) };
  }
}

/** Anything but a URL is taken for the base64 of a PDF. */
function documentOf(filename: string, url: string): JsonObject {
  if (/^\s*https?:/i.test(url)) return { file_url: url };
  const isData = /^\s*data:/i.test(url);
  return { filename, file_data: isData ? url : `data:application/pdf;base64,${url}` };
}

function outputOf(parts: readonly Part[], failed: boolean): string | JsonObject[] {
  const text = parts.flatMap((part) => part.type === "text" && part.text !== "" ? [part.text] : [])
    .join("\n");
  const said = failed ? (text === "" ? "Error" : `Error: ${text}`) : text;
  const others = parts.filter(({ type }) => type !== "text");
  if (others.length === 0) return said === "" ? "(no output)" : said;
  return [...(said === "" ? [] : [{ type: "input_text", text: said }]), ...others.map(partOf)];
}

/** A tool is strict only if the client says so: without the field, this dialect's upstreams take it for strict. */
function toolOf({ name, description, schema, strict = false }: Tool): JsonObject {
  return {
    type: "function",
    name: legalName(name),
    ...(description === undefined ? {} : { description }),
    parameters: withoutMeta(schema),
    strict,
  };
}

function choiceOf(choice: NonNullable<Conversation["toolChoice"]>): JsonObject | string {
  return typeof choice === "string" ? choice : { type: "function", name: legalName(choice.name) };
}
