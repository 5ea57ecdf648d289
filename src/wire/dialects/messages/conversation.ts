import { invalid } from "../../../ground/refusal.ts";
import { cacheKeyOf } from "../cache_key.ts";
import type { ParsedRequest } from "../dialect.ts";
import { isObject, items, objects, text } from "../json.ts";
import { joinInstructions, lastMark, markLast, markOf } from "../neutral/cache_marks.ts";
import type { Conversation, Part, Tool, ToolCall, Turn } from "../neutral/conversation.ts";
import { RequestFields } from "../request_fields.ts";
import { imageUrl } from "./parse.ts";
import { sealedIn, sealedText } from "./seals.ts";
import type { OutputFormat } from "../neutral/output_format.ts";
import { inputSchema } from "../neutral/schemas.ts";

/**
 * A messages request in neutral form.
 *
 * @throws {Refusal} `request_invalid` for what must not be dropped silently: `safeguards`, server tools, file ids.
 */
export function toConversation(request: ParsedRequest): Conversation {
  const { session, opened, reasoning = {} } = request;
  const body = new RequestFields(request.body);
  if ((body.object.safeguards ?? undefined) !== undefined) {
    // The client repeats the request without it and then checks by itself; nothing must pass unchecked.
    throw invalid(
      "safeguards",
      "safeguards is not supported by this model's upstream. Repeat the request without it.",
    );
  }
  body.ignore("model", "max_tokens", "stream"); // the gateway sets them itself
  const config = body.inner("output_config", "output_config");
  if (reasoning.effort !== undefined) config?.ignore("effort");
  const thinking = body.inner("thinking", "thinking");
  thinking?.ignore("type", ...(reasoning.isBudget ? ["budget_tokens"] : []));
  // under its new name or its old one
  const formats = [
    config?.inner("format", "output_config.format"),
    body.inner("output_format", "output_format"),
  ].map(formatOf);
  const tools = body.list("tools", () => "tools").map(toolOf);
  const choice = tools.length === 0 ? undefined : body.inner("tool_choice", "tool_choice");
  const isSerial = choice?.boolean("disable_parallel_tool_use");
  const turns = body.list("messages", () => "messages").flatMap((message) =>
    turnsOf(message, opened)
  );
  if (turns.length === 0) {
    const blocks = objects(request.body.messages).flatMap(({ content }) => objects(content));
    throw invalid(
      "messages",
      `messages hold no content that this model's upstream supports: ${
        [...new Set(blocks.map(({ type }) => text(type)))].join(", ")
      }.`,
    );
  }
  return {
    ...instructionsOf(body),
    ...markOf(body.object),
    turns,
    tools: tools.filter(({ name }) => name !== "DeferredToolPlaceholder"),
    toolChoice: choiceOf(choice),
    parallelTools: isSerial ? false : undefined,
    temperature: body.number("temperature"),
    topP: body.number("top_p"),
    topK: body.number("top_k"),
    cacheKey: session === undefined ? undefined : cacheKeyOf(session),
    user: undefined, // `metadata.user_id` may hold private data
    stop: items(body.get("stop_sequences")).filter((one) => typeof one === "string"),
    format: formats.find((one) => one !== undefined),
    reasoning,
    dropped: body.dropped,
  };
}

/** One text, without the billing line of a coding tool: it differs in each request and would invalidate prompt caches. */
function instructionsOf(body: RequestFields) {
  return joinInstructions(
    body.textOrList("system", () => "system").map((block) => {
      block.ignore("type");
      return [{ text: withoutBillingLine(block.text("text") ?? ""), ...markOf(block.object) }];
    }),
  );
}

function withoutBillingLine(text: string): string {
  return text.replace(/^x-anthropic-billing-header:.*\n*/, "");
}

function turnsOf(message: RequestFields, opened: ParsedRequest["opened"]): Turn[] {
  const role = message.text("role");
  const blocks = message.textOrList("content");
  if (role === "assistant") return assistantTurn(blocks, opened);
  if (role === "system") {
    const texts = blocks.map((block) => {
      if (block.type !== "text") drop(block);
      return withoutBillingLine(block.text("text") ?? "");
    });
    const joined = texts.filter((one) => one !== "").join("\n");
    const { cached } = lastMark(blocks.map(({ object }) => markOf(object)));
    return joined === "" ? [] : [{ role, text: joined, cached }];
  }
  const isResult = ({ type }: RequestFields) => type === "tool_result";
  const results = blocks.filter(isResult).map((block): Turn => ({
    role: "tool",
    callId: block.text("tool_use_id") ?? "",
    parts: block.textOrList("content").flatMap(partOf),
    failed: block.boolean("is_error") ?? false,
    ...markOf(block.object),
  }));
  const parts = blocks.filter((block) => !isResult(block)).flatMap(partOf);
  return [...results, ...(parts.length === 0 ? [] : [{ role: "user", parts } as const])];
}

/** Leaves a block out. Only the gateway's own are not missed. */
function drop(block: RequestFields): void {
  const isOwn = block.type === "redacted_thinking" && sealedText(block.object) !== undefined;
  block.drop(isOwn ? undefined : `messages.${block.type}`);
}

/** Returns no turn if none of the blocks can be translated. */
function assistantTurn(blocks: readonly RequestFields[], opened: ParsedRequest["opened"]): Turn[] {
  const sealed = sealedIn(blocks.map(({ object }) => object), opened);
  const said: Record<string, string[]> = { thinking: [], compaction: [], text: [] };
  const calls: ToolCall[] = [];
  for (const block of blocks) {
    switch (block.type) {
      case "thinking":
        block.ignore("signature"); // for the upstream that wrote it
        said.thinking!.push(block.text("thinking") ?? "");
        break;
      case "compaction": // the summary of earlier messages, where the upstream compacted the conversation
        said.compaction!.push(block.text("content") ?? "");
        break;
      case "text":
        said.text!.push(block.text("text") ?? "");
        break;
      case "tool_use": {
        const args = JSON.stringify(block.get("input") ?? {});
        calls.push({ id: block.text("id") ?? "", name: block.text("name") ?? "", args });
        break;
      }
      default:
        drop(block);
    }
  }
  const turn = {
    role: "assistant",
    ...(sealed.length === 0 ? {} : { sealed }),
    reasoning: said.thinking!.join("\n"),
    text: said.compaction!.join("\n\n") + said.text!.join(""),
    calls,
    ...lastMark(blocks.map(({ object }) => markOf(object))),
  } as const;
  const isEmpty = turn.text === "" && turn.reasoning === "" && calls.length === 0;
  return isEmpty && sealed.length === 0 ? [] : [turn];
}

function partOf(block: RequestFields): Part[] {
  return markLast(plainPartOf(block), markOf(block.object));
}

function plainPartOf(block: RequestFields): Part[] {
  switch (block.type) {
    case "text":
      return [{ type: "text", text: block.text("text") ?? "" }];
    case "image":
      return [{ type: "image", url: urlOf(block.inner("source")) ?? "" }];
    case "document":
      return documentOf(block);
    case "search_result": {
      const head = linesOf(block.text("title"), block.text("source"));
      return [...head, ...block.list("content").flatMap(partOf)];
    }
    case "tool_reference":
      return [{ type: "text", text: `Tool ${block.text("tool_name") ?? ""} is now available.` }];
    default:
      drop(block);
      return [];
  }
}

function documentOf(block: RequestFields): Part[] {
  const source = block.inner("source");
  const title = block.text("title");
  const context = block.text("context");
  const head = linesOf(title, context);
  if (source?.type === "text") {
    source.ignore("media_type");
    return [...head, { type: "text", text: source.text("data") ?? "" }];
  }
  if (source?.type === "content") return [...head, ...source.textOrList("content").flatMap(partOf)];
  const url = urlOf(source);
  if (url === undefined) {
    throw invalid(
      "messages",
      "A document's source must be of type base64, text, content or url for this model's upstream.",
    );
  }
  return source?.type === "url" // a title stands only beside what is sent with it
    ? [...head, { type: "document", title: undefined, url }]
    : [...linesOf(context), { type: "document", title, url }];
}

/** What a source holds as a URL; undefined for a kind that is none. */
function urlOf(source: RequestFields | undefined): string | undefined {
  source?.ignore("type", ...(source.type === "url" ? ["url"] : ["media_type", "data"]));
  return source && imageUrl(source.object);
}

/** Texts that describe a document, one per line; nothing when there are none. */
function linesOf(...texts: readonly (string | undefined)[]): Part[] {
  const lines = texts.filter((one) => one !== undefined && one !== "");
  return lines.length === 0 ? [] : [{ type: "text", text: lines.join("\n") }];
}

function toolOf(tool: RequestFields): Tool {
  const type = tool.text("type");
  const name = tool.text("name");
  if (type !== undefined && type !== "custom") {
    throw invalid(
      "tools",
      `The tool '${
        name ?? type
      }' (${type}) runs on the server, which is not supported by this model's upstream.`,
    );
  }
  return {
    name: name ?? "",
    description: tool.text("description"),
    schema: inputSchema(tool.get("input_schema")),
    strict: tool.boolean("strict"),
    ...markOf(tool.object),
  };
}

function choiceOf(choice: RequestFields | undefined): Conversation["toolChoice"] {
  const name = choice?.text("name") ?? "";
  switch (choice?.type) {
    case "auto":
    case "none":
      return choice.type;
    case "any":
      return "required";
    case "tool":
      return { name };
    default:
      return undefined;
  }
}

/** The dialect's schemas have no name, and are always satisfied. */
function formatOf(format: RequestFields | undefined): OutputFormat | undefined {
  format?.ignore("type");
  const schema = format?.get("schema");
  if (!isObject(schema)) return undefined;
  return { type: "json_schema", schema, name: undefined, description: undefined, strict: true };
}
