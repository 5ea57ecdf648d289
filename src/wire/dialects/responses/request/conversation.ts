import { invalid } from "../../../../ground/refusal.ts";
import { cacheKeyOf } from "../../cache_key.ts";
import type { ParsedRequest } from "../../dialect.ts";
import { entryOf, isObject, items, type JsonObject, type JsonValue, text } from "../../json.ts";
import { joinInstructions, type MarkedText, markOf } from "../../neutral/cache_marks.ts";
import { type Conversation, tierOf, type Tool } from "../../neutral/conversation.ts";
import { readFormat } from "../../neutral/output_format.ts";
import { inputSchema } from "../../neutral/schemas.ts";
import { readUserIds, RequestFields } from "../../request_fields.ts";
import { addedBySummary, addedByTools } from "./added_tokens.ts";
import { isCompaction, summarized } from "./compaction.ts";
import { INPUT_SCHEMA } from "../../neutral/custom_input.ts";
import { grammarWords } from "../../neutral/custom_tools.ts";
import { isInstruction, kindOf, SETTING_KINDS } from "../items.ts";
import {
  allowedTools,
  chosenTool,
  hasTools,
  type OfferedTool,
  offerOf,
  toolLists,
  ToolNames,
} from "./tools.ts";
import { piecesOf } from "./parts.ts";
import { turnsOf } from "./turns.ts";

/**
 * A responses request in neutral form.
 *
 * @throws {Refusal} `request_invalid` for what must not be dropped silently: a hosted tool that is forced or the only one,
 *   content parts that cannot be translated.
 */
export function toConversation(request: ParsedRequest): Conversation {
  const { session, opened } = request;
  const body = new RequestFields(request.body);
  const isSummary = isCompaction(request);
  const offer = offerOf(request.body);
  const names = new ToolNames(request.body, offer);
  const input = body.textOrList(
    "input",
    (item) => `input.${kindOf(item) ?? ""}`,
    (content) => ({ type: "message", role: "user", content }),
  );
  for (const item of input) item.ignore("type", "id", "status", "created_by"); // they say nothing to a model
  const kinds = input.map((item) => kindOf(item.object) ?? "");
  const all = input.filter((_, at) => !SETTING_KINDS.has(kinds[at]!));
  const lead = all.findIndex((item) => !isInstruction(item));
  const leading = all.slice(0, lead < 0 ? all.length : lead);
  const turns = turnsOf(all.slice(leading.length), { names, opened });
  const instructions = joinInstructions([
    [{ text: body.text("instructions") ?? "" }],
    ...leading.flatMap((item) => instructionOf(item).map((one) => [one])),
  ]);
  if (turns.length === 0 && (isSummary || instructions.instructions === "")) {
    const found = [...new Set(kinds)].slice(0, 6).join(", ");
    throw invalid("input", `input holds no content that this model's upstream supports: ${found}.`);
  }
  if (!isSummary) checkHosted(request.body, offer.hosted, offer.tools.length);
  const tools = isSummary ? [] : allowedTools(request.body, offer.tools);
  const updates = input.filter((_, at) => kinds[at] === "configuration_update");
  const texts = [body, ...updates].map(textSettingsOf);
  const format = texts.map((one) => one.format).findLast((one) => one !== undefined);
  const verbosity = texts.map((one) => one.verbosity).findLast((one) => one !== undefined);
  ignoreSettings(body);
  input.forEach((item, at) => ignoreUpdate(item, at === input.length - 1));
  ignoreTools(body, input, isSummary ? undefined : offer.hosted);
  return {
    ...instructions,
    ...markOf(request.body),
    turns: isSummary ? summarized(turns) : turns,
    tools: toolsOf(tools, names),
    toolChoice: isSummary ? undefined : choiceOf(request.body.tool_choice, tools, names),
    parallelTools: body.boolean("parallel_tool_calls"),
    temperature: body.number("temperature"),
    topP: body.number("top_p"),
    topK: undefined,
    // nothing else begins like a summary, which has no tools: no cache is worth writing
    cacheKey: session === undefined || isSummary ? undefined : cacheKeyOf(session),
    ...readUserIds(body),
    stop: [],
    format: isSummary ? undefined : format ?? undefined,
    reasoning: request.reasoning ?? {},
    verbosity: isSummary ? undefined : verbosity,
    logprobs: isSummary || request.logprobs === undefined ? undefined : request.logprobs - 1,
    serviceTier: tierOf(request.body),
    dropped: body.dropped,
    addedTokens: isSummary ? addedBySummary(turns) : addedByTools(tools, names),
  };
}

function instructionOf(item: RequestFields): MarkedText[] {
  item.ignore("role", "phase");
  return piecesOf(item);
}

/** Settings of the reply's text, of a request or an update of it. Format null is plain text. */
function textSettingsOf(fields: RequestFields) {
  const settings = fields.inner("text", "text");
  const format = settings?.inner("format", "text.format");
  return {
    format: format && (readFormat(format.get("type"), format) ?? null),
    verbosity: settings?.text("verbosity"),
  };
}

/** What replies include where a request wants it. */
const INCLUDED = ["reasoning.encrypted_content", "message.output_text.logprobs"];

/** Takes as read what is no part of the conversation: others read it, the reply repeats it, or the gateway sets it itself. */
function ignoreSettings(body: RequestFields): void {
  body.ignore("model", "max_output_tokens", "max_tool_calls", "stream", "include", "store");
  body.ignore("background", "metadata", "prompt_cache_key", "top_logprobs", "service_tier");
  body.inner("reasoning", "reasoning")?.ignore("effort", "summary");
  body.inner("stream_options", "stream_options")?.ignore("include_obfuscation");
  const { truncation, include } = body.object;
  if (truncation === "disabled") body.ignore("truncation"); // nothing is ever left out
  for (const one of items(include)) {
    if (!INCLUDED.includes(text(one) ?? "")) body.miss(`include.${text(one) ?? ""}`);
  }
}

/** The same of an item that is no turn of the conversation. */
function ignoreUpdate(item: RequestFields, isLast: boolean): void {
  switch (kindOf(item.object)) {
    case "compaction_trigger":
      return item.drop(isLast ? undefined : "input.compaction_trigger");
    case "additional_tools":
      return item.ignore("role", "tools");
    case "configuration_update":
      item.inner("reasoning", "input.configuration_update.reasoning")?.ignore("effort");
  }
}

/** Fields of each kind of tool that the client runs. */
const TOOLS: Readonly<Record<string, readonly string[]>> = {
  function: ["name", "description", "parameters", "strict"],
  custom: ["name", "description", "format"],
  namespace: ["name", "description", "tools"],
  tool_search: ["description", "parameters", "execution"],
};

/**
 * The same of tools, which are read with the offer.
 *
 * @param hosted Kinds of tools that run on the server; undefined where tools are not offered.
 */
function ignoreTools(
  body: RequestFields,
  input: readonly RequestFields[],
  hosted: readonly string[] | undefined,
): void {
  const isOffered = hosted !== undefined;
  const isAny = toolLists(body.object).some((list) => items(list).length > 0);
  if (!isOffered || isAny || body.object.tool_choice !== "required") body.ignore("tool_choice");
  if (!isOffered) return body.ignore("tools");
  for (const type of hosted) body.miss(type === "" ? "tools" : `tools.${type}`);
  const ignore = (fields: RequestFields) => {
    for (const tool of fields.list("tools", () => "tools")) {
      const { type } = tool;
      const read = entryOf(TOOLS, type);
      if (read === undefined) tool.drop(); // it runs on the server
      else tool.ignore(...read);
      if (type === "namespace") ignore(tool);
    }
  };
  const lists = input.filter(({ object }) => hasTools(kindOf(object)));
  for (const fields of [body, ...lists]) ignore(fields);
}

/** A tool that runs on the server may be listed beside others, and is left out then; nothing may depend on it. */
function checkHosted(
  { tool_choice: choice }: JsonObject,
  hosted: readonly string[],
  toolCount: number,
): void {
  if (isObject(choice) && !["function", "custom", "allowed_tools"].includes(text(choice.type)!)) {
    if (choice.type === "tool_search" && !hosted.includes("tool_search")) return;
    throw runsOnServer("tool_choice", text(choice.type) ?? "");
  }
  const [first] = hosted;
  if (first !== undefined && toolCount === 0 && choice !== "none") {
    throw runsOnServer("tools", first);
  }
}

function runsOnServer(param: string, type: string) {
  return invalid(
    param,
    `The tool '${type}' runs on the server, which is not supported by this model's upstream. ` +
      "Leave it out, or offer a function that does the same.",
  );
}

function toolsOf(tools: readonly OfferedTool[], names: ToolNames): Tool[] {
  const described = new Set<string>();
  return tools.map((tool): Tool => {
    const { definition, namespace, namespaceDescription } = tool;
    // what a namespace is about is said once, with its first tool
    const isFirst = namespace !== undefined && !described.has(namespace);
    if (isFirst) described.add(namespace);
    const about = isFirst && namespaceDescription
      ? `Tools whose names begin with ${namespace}: ${namespaceDescription}`
      : undefined;
    const texts = [text(definition.description), grammarWords(grammarOf(definition.format)), about];
    const said = texts.filter((one) => one !== undefined && one !== "");
    return {
      name: names.of(tool),
      description: said.length === 0 ? text(definition.description) : said.join("\n\n"),
      schema: tool.kind === "custom" ? INPUT_SCHEMA : inputSchema(definition.parameters),
      strict: tool.kind === "function" && typeof definition.strict === "boolean"
        ? definition.strict
        : undefined,
    };
  });
}

function grammarOf(format: JsonValue | undefined): JsonObject | undefined {
  return isObject(format) && format.type === "grammar" ? format : undefined;
}

function choiceOf(
  choice: JsonValue | undefined,
  tools: readonly OfferedTool[],
  names: ToolNames,
): Conversation["toolChoice"] {
  if (choice === "auto" || choice === "none" || choice === "required") return choice;
  if (!isObject(choice)) return undefined;
  if (choice.type === "allowed_tools") {
    if (tools.length === 0) {
      throw invalid("tool_choice", "tool_choice allows no tool that is in tools.");
    }
    return choice.mode === "required" ? "required" : "auto";
  }
  const tool = chosenTool(choice, tools);
  return tool === undefined ? undefined : { name: names.of(tool) };
}
