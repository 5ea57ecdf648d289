import { invalid } from "../../../ground/refusal.ts";
import { cacheKeyOf } from "../cache_key.ts";
import type { ParsedRequest } from "../dialect.ts";
import { isObject, type JsonObject, type JsonValue, text } from "../json.ts";
import { joinInstructions, markOf } from "../neutral/cache_marks.ts";
import { type Conversation, tierOf, type Tool, type Turn } from "../neutral/conversation.ts";
import { readFormat } from "../neutral/output_format.ts";
import { addedBySummary, addedByTools } from "./added_tokens.ts";
import { isCompaction, summarized } from "./compaction.ts";
import { INPUT_SCHEMA } from "../neutral/custom_input.ts";
import { grammarWords } from "../neutral/custom_tools.ts";
import { droppedFields, userIds } from "./dropped.ts";
import { inputItems, isInstruction, kindOf, SETTING_KINDS } from "./items.ts";
import { allowedTools, chosenTool, type OfferedTool, offerOf, ToolNames } from "./tools.ts";
import { markedTexts } from "./parts.ts";
import { turnsOf } from "./turns.ts";

/**
 * A responses request in neutral form.
 *
 * @throws {Refusal} `request_invalid` for what must not be dropped silently: a hosted tool that is forced or the only one,
 *   content parts that cannot be translated.
 */
export function toConversation(request: ParsedRequest): Conversation {
  const { body, session, opened } = request;
  const isSummary = isCompaction(request);
  const offer = offerOf(body);
  const names = new ToolNames(body, offer);
  const all = inputItems(body).filter((item) => !SETTING_KINDS.has(kindOf(item) ?? ""));
  const lead = all.findIndex((item) => !isInstruction(item));
  const leading = all.slice(0, lead < 0 ? all.length : lead);
  const turns = turnsOf(all.slice(leading.length), { names, opened });
  const wanted = isSummary ? undefined : lastText(body, "format");
  const format = isObject(wanted) ? wanted : undefined;
  const instructions = joinInstructions([
    [{ text: text(body.instructions) ?? "" }],
    ...leading.flatMap(({ content }) => markedTexts(content).map((one) => [one])),
  ]);
  checkContent(body, { turns, isSummary, hasInstructions: instructions.instructions !== "" });
  if (!isSummary) checkHosted(body, offer.hosted, offer.tools.length);
  const tools = isSummary ? [] : allowedTools(body, offer.tools);
  return {
    ...instructions,
    ...markOf(body),
    turns: isSummary ? summarized(turns) : turns,
    tools: toolsOf(tools, names),
    toolChoice: isSummary ? undefined : choiceOf(body.tool_choice, tools, names),
    parallelTools: typeof body.parallel_tool_calls === "boolean"
      ? body.parallel_tool_calls
      : undefined,
    temperature: typeof body.temperature === "number" ? body.temperature : undefined,
    topP: typeof body.top_p === "number" ? body.top_p : undefined,
    topK: undefined,
    // nothing else begins like a summary, which has no tools: no cache is worth writing
    cacheKey: session === undefined || isSummary ? undefined : cacheKeyOf(session),
    ...userIds(body),
    stop: [],
    format: format && readFormat(format.type, format),
    reasoning: request.reasoning ?? {},
    verbosity: isSummary ? undefined : text(lastText(body, "verbosity")),
    logprobs: isSummary || request.logprobs === undefined ? undefined : request.logprobs - 1,
    serviceTier: tierOf(body),
    dropped: droppedFields(request, offer.hosted),
    addedTokens: isSummary ? addedBySummary(turns) : addedByTools(tools, names),
  };
}

/** A setting of the reply's text: the last update of it, else the request's own. */
function lastText(body: JsonObject, setting: "format" | "verbosity"): JsonValue | undefined {
  const texts = [body, ...inputItems(body).filter((one) => kindOf(one) === "configuration_update")]
    .map((one) => one.text);
  return texts.map((one) => isObject(one) ? one[setting] ?? undefined : undefined)
    .findLast((one) => one !== undefined);
}

interface Content {
  readonly turns: readonly Turn[];
  readonly hasInstructions: boolean;
  readonly isSummary: boolean;
}

function checkContent(body: JsonObject, { turns, hasInstructions, isSummary }: Content): void {
  if (turns.length > 0 || hasInstructions && !isSummary) return;
  const kinds = [...new Set(inputItems(body).map((item) => kindOf(item) ?? ""))].slice(0, 6);
  throw invalid(
    "input",
    `input holds no content that this model's upstream supports: ${kinds.join(", ")}.`,
  );
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
      schema: tool.kind === "custom"
        ? INPUT_SCHEMA
        : isObject(definition.parameters)
        ? definition.parameters
        : { type: "object", properties: {} },
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
