import { invalid } from "../../../../ground/refusal.ts";
import { type HeaderLookup, logprobsOf, type ParsedRequest } from "../../dialect.ts";
import { isObject, items, type JsonObject, type JsonValue, text } from "../../json.ts";
import type { Sealer } from "../../sealer.ts";
import { validate } from "../../validation.ts";
import { COMPACT_PATH, isCompaction, SUMMARY_TOKENS } from "./compaction.ts";
import { mediaOf } from "./images.ts";
import { kindOf, OUTPUT_KINDS } from "../items.ts";
import { compactRequest, itemSchema, partSchema, responsesRequest, toolSchema } from "./schema.ts";
import { openSeals } from "./seals.ts";
import { sessionOf } from "./session.ts";
import { chosenTool, offerOf } from "./tools.ts";

/** @throws {Refusal} `request_invalid` naming the first field at fault. */
export function parseResponses(
  body: unknown,
  header: HeaderLookup,
  sealer: Sealer,
): ParsedRequest {
  rejectStored(body);
  validate(responsesRequest, body);
  return parsed(body as JsonObject, { header, sealer, stream: body.stream ?? false });
}

/** The same for a request to the endpoint that compacts a conversation. Its reply is never streamed. */
export function parseCompact(
  body: unknown,
  header: HeaderLookup,
  sealer: Sealer,
): ParsedRequest {
  rejectStored(body);
  validate(compactRequest, body);
  const options = { header, sealer, stream: false, endpoint: COMPACT_PATH };
  return parsed(body as JsonObject, options);
}

interface ParseOptions {
  readonly header: HeaderLookup;
  readonly sealer: Sealer;
  readonly stream: boolean;
  readonly endpoint?: string;
}

function parsed(
  body: JsonObject,
  { header, sealer, stream, endpoint }: ParseOptions,
): ParsedRequest {
  checkTools(body.tools, ["tools"]);
  checkItems(body);
  const isSummary = isCompaction({ body, endpoint });
  const { tools } = offerOf(body);
  checkChoice(body, tools);
  const asked = typeof body.max_output_tokens === "number" ? body.max_output_tokens : undefined;
  return {
    body,
    model: text(body.model)!,
    stream,
    maxOutput: asked ?? (isSummary ? SUMMARY_TOKENS : undefined),
    offersTools: !isSummary && tools.length > 0,
    choices: 1,
    logprobs: logprobsOf(body, items(body.include).includes("message.output_text.logprobs")),
    session: sessionOf(body, header),
    endpoint,
    opened: openSeals(body, sealer),
    ...mediaOf(body),
  };
}

/** Fields that refer to what a service keeps, and what to do instead. */
const STORED: Readonly<Record<string, string>> = {
  previous_response_id: "conversations are not stored. Send the whole conversation as input.",
  conversation: "conversations are not stored. Send the whole conversation as input.",
  prompt: "prompt templates are not stored. Send the prompt's text as instructions or input.",
};

/** Rejects what only a service that keeps conversations can do. */
function rejectStored(body: unknown): void {
  if (!isObject(body)) return;
  for (const [field, remedy] of Object.entries(STORED)) {
    if ((body[field] ?? undefined) !== undefined) throw invalid(field, `${field}: ${remedy}`);
  }
  if (body.background === true) {
    throw invalid(
      "background",
      "background: responses are not stored. Leave it out, and set stream to true for long replies.",
    );
  }
}

/** Checks items beyond the schema: kinds, parts, and that each result has its call. */
function checkItems(body: JsonObject): void {
  const callIds = new Set<string>();
  items(body.input).forEach((item, at) => {
    // an integer beyond 2^53 is kept as an object, too
    if (!isObject(item)) throw invalid(`input[${at}]`, `input[${at}] must be an object.`);
    const kind = kindOf(item);
    if (kind === undefined) {
      throw invalid(`input[${at}].type`, `input[${at}].type is required.`);
    }
    if (kind === "item_reference") throw unusableReference(item, at, items(body.input));
    const known = itemSchema(kind);
    if (known !== undefined) validate(known, item, ["input", at]);
    checkParts(item.content, ["input", at, "content"]);
    checkParts(item.output, ["input", at, "output"]);
    checkTools(item.tools, ["input", at, "tools"]);
    const callId = text(item.call_id) ?? "";
    if (OUTPUT_KINDS.has(kind)) checkOutput({ kind, callId, at }, callIds);
    else if (callId !== "" && !kind.endsWith("_output")) callIds.add(callId);
  });
}

/** A reference that was not replaced by its item. */
function unusableReference({ id }: JsonObject, at: number, input: readonly JsonValue[]) {
  const name = (text(id) ?? "").slice(0, MAX_ID_CHARS);
  const isThere = input.slice(0, at).some((one) => isObject(one) && one.id === id);
  return invalid(
    `input[${at}].id`,
    isThere
      ? `Item '${name}' is in the input twice: leave out one of them.`
      : `Item '${name}' is not known or has expired: resend the item, or set store: false ` +
        "(AI SDK: providerOptions.openai.store = false).",
  );
}

/** Characters of an id that are quoted. */
const MAX_ID_CHARS = 64;

function checkOutput(
  { kind, callId, at }: { kind: string; callId: string; at: number },
  callIds: ReadonlySet<string>,
): void {
  if (callId === "" && kind === "tool_search_output" || callIds.has(callId)) return;
  const param = `input[${at}].call_id`;
  throw invalid(
    param,
    `${param}: no call '${
      callId.slice(0, MAX_ID_CHARS)
    }' comes before it in input. Send the item of the call, too.`,
  );
}

function checkParts(parts: JsonValue | undefined, at: readonly PropertyKey[]): void {
  items(parts).forEach((part, index) => {
    if (!isObject(part)) return;
    const path = [...at, index];
    const known = partSchema(text(part.type) ?? "");
    if (known === undefined) return;
    validate(known, part, path);
    const param = () => `${at[0] as string}[${at[1] as number}].${at[2] as string}[${index}]`;
    if ((part.file_id ?? undefined) !== undefined) {
      throw invalid(
        `${param()}.file_id`,
        `${param()}.file_id: files are not stored. Send the ${
          part.type === "input_image" ? "image as image_url" : "file as file_data"
        }, a base64 data URL.`,
      );
    }
    if (
      part.type === "input_file" && text(part.file_data) === undefined &&
      text(part.file_url) === undefined
    ) {
      throw invalid(`${param()}.file_data`, `${param()}.file_data is required.`);
    }
  });
}

/** Checks a list of tools by their kinds, and the lists inside it. */
function checkTools(tools: JsonValue | undefined, at: readonly PropertyKey[]): void {
  items(tools).forEach((tool, index) => {
    if (!isObject(tool)) return;
    const known = toolSchema(text(tool.type) ?? "");
    if (known === undefined) return;
    validate(known, tool, [...at, index]);
    if (tool.type !== "namespace") return;
    items(tool.tools).forEach((inner, innerIndex) => {
      const schema = isObject(inner) ? toolSchema(text(inner.type) ?? "") : undefined;
      if (schema !== undefined) validate(schema, inner, [...at, index, "tools", innerIndex]);
    });
  });
}

function checkChoice(
  { tool_choice: choice }: JsonObject,
  tools: Parameters<typeof chosenTool>[1],
): void {
  if (!isObject(choice) || choice.type !== "function" && choice.type !== "custom") return;
  const name = text(choice.name);
  if (!name) throw invalid("tool_choice.name", "tool_choice.name is required.");
  if (chosenTool(choice, tools) === undefined) {
    throw invalid("tool_choice", `tool_choice names the tool '${name}', which is not in tools.`);
  }
}
