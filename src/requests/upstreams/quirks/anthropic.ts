/** Rules of Anthropic's service for fields that are right alone and refused together, or at the end of a conversation. */

import {
  isObject,
  type JsonObject,
  type JsonValue,
  objects,
  text,
} from "../../../wire/dialects/mod.ts";
import type { Adjust } from "./adjust.ts";
import { outputSchema, toolSchema, unionsOf } from "./anthropic_schema.ts";

/** What a request without thinking must not have either. */
function withoutThinking(body: JsonObject): JsonObject {
  const { thinking: _, ...rest } = body;
  return rest;
}

function thinks({ thinking }: JsonObject): boolean {
  return isObject(thinking) && (thinking.type === "enabled" || thinking.type === "adaptive");
}

/** A tool is forced, or thinking is on: the tool is what an agent relies on. */
export const withoutForcedThinking: Adjust = (body, note) => {
  const choice = isObject(body.tool_choice) ? body.tool_choice.type : undefined;
  if (!thinks(body) || choice !== "any" && choice !== "tool") return body;
  note("thinking=disabled");
  return withoutThinking(body);
};

/**
 * With thinking `enabled`, the turn whose tools were called must begin with its thinking, which a client of another dialect, or of another
 * model before, does not have; and so must a prefill, which is the beginning of a turn.
 */
export const withThinkingInTurn: Adjust = (body, note) => {
  if (!isObject(body.thinking) || body.thinking.type !== "enabled") return body;
  const messages = objects(body.messages);
  const begun = messages.slice(messages.findLastIndex(isAsked) + 1);
  const lacks = begun.some((message) =>
    message.role === "assistant" && (message === messages.at(-1) ||
      objects(message.content).some(({ type }) => type === "tool_use")) &&
    !/^(redacted_)?thinking$/.test(text(objects(message.content)[0]?.type) ?? "")
  );
  if (!lacks) return body;
  note("thinking=disabled");
  return withoutThinking(body);
};

/** Whether a message begins a turn: a user's, with anything but results of tools. */
function isAsked({ role, content }: JsonObject): boolean {
  return role === "user" &&
    (typeof content === "string" || objects(content).some(({ type }) => type !== "tool_result"));
}

/** With thinking, sampling is the model's own; without, `top_p` is not taken beside `temperature`. */
export const withOneSampling: Adjust = (body, note) => {
  const { temperature, top_p: topP, top_k: topK } = body;
  const has = (value: unknown) => value !== undefined && value !== null;
  const { temperature: _, top_p: __, top_k: ___, ...rest } = body;
  if (thinks(body)) {
    const isAllowed = !has(topK) && (!has(temperature) || temperature === 1) &&
      (!has(topP) || Number(topP) >= 0.95);
    if (isAllowed) return body;
    note("temperature=default");
    return rest;
  }
  if (!has(temperature) || !has(topP)) return body;
  if (topP !== 1) note("top_p=default");
  return { ...rest, temperature: temperature!, ...(has(topK) ? { top_k: topK! } : {}) };
};

/**
 * Texts of nothing but white space are refused wherever they are, and so are messages without content but the last one of the
 * assistant's. Source: api.anthropic.com says "text content blocks must be non-empty", and "must contain non-whitespace text".
 */
export const withoutEmptyTexts: Adjust = (body) => {
  const given = objects(body.messages);
  const messages = given.flatMap((message) => {
    const content = saying(message.content);
    if (content === message.content) return [message];
    return content === undefined ? [] : [{ ...message, content }];
  });
  const system = saying(body.system);
  const isSame = system === body.system && messages.length === given.length &&
    messages.every((message, at) => message === given[at]);
  if (isSame || messages.length === 0) return body;
  const { system: _, ...rest } = body;
  return { ...rest, ...(system === undefined ? {} : { system }), messages };
};

/** Content without empty texts, also in results of tools; undefined where nothing is left. */
function saying(content: JsonObject[string] | undefined): JsonObject[string] | undefined {
  if (typeof content === "string") return content.trim() === "" ? undefined : content;
  if (!Array.isArray(content)) return content;
  const blocks = content.flatMap((block): JsonValue[] => {
    if (!isObject(block)) return [block];
    if (block.type === "text") return (text(block.text) ?? "x").trim() === "" ? [] : [block];
    if (block.type !== "tool_result" || !Array.isArray(block.content)) return [block];
    const own = saying(block.content);
    if (own === block.content) return [block];
    const { content: _, ...rest } = block;
    return [own === undefined ? rest : { ...rest, content: own }];
  });
  const isSame = blocks.length === content.length && blocks.every((one, at) => one === content[at]);
  return blocks.length === 0 ? undefined : isSame ? content : blocks;
}

/** A prefill cannot end in white space. */
export const withTrimmedPrefill: Adjust = (body) => {
  const messages = objects(body.messages);
  const last = messages.at(-1);
  if (last?.role !== "assistant") return body;
  const content = trimmed(last.content);
  if (content === last.content) return body;
  const before = messages.slice(0, -1);
  return { ...body, messages: content === undefined ? before : [...before, { ...last, content }] };
};

/** Undefined where nothing is left. */
function trimmed(content: JsonObject[string] | undefined): JsonObject[string] | undefined {
  if (typeof content === "string") {
    return content.trimEnd() === content ? content : content.trimEnd() || undefined;
  }
  if (!Array.isArray(content)) return content;
  const textOf = (block: unknown) =>
    isObject(block) && block.type === "text" ? text(block.text) : undefined;
  const last = content.findLastIndex((block) => (textOf(block) ?? "x").trim() !== "");
  const block = content[last];
  const said = textOf(block);
  const isEnd = said === undefined || said.trimEnd() === said;
  if (isEnd && last === content.length - 1) return content;
  if (block === undefined) return undefined;
  const end = isEnd ? block : { ...block as JsonObject, text: said.trimEnd() };
  return [...content.slice(0, last), end];
}

/** Schemas in the subset of JSON Schema that the service takes. */
export const withTakenSchemas: Adjust = (body, note) => {
  const tools = Array.isArray(body.tools)
    ? body.tools.map((tool) => {
      if (!isObject(tool) || !isObject(tool.input_schema)) return tool;
      for (const word of unionsOf(tool.input_schema)) note(`tools.input_schema.${word}`);
      const schema = toolSchema(tool.input_schema);
      // what is strict is bound by the rules of outputs
      const taken = tool.strict === true ? outputSchema(schema) : schema;
      if (taken !== schema && JSON.stringify(taken) !== JSON.stringify(schema)) {
        note("tools.input_schema");
      }
      return { ...tool, input_schema: taken };
    })
    : undefined;
  const config = body.output_config;
  const format = isObject(config) && isObject(config.format) ? config.format : undefined;
  const withTools = tools === undefined ? body : { ...body, tools };
  if (format === undefined || !isObject(format.schema)) return withTools;
  const schema = outputSchema(format.schema);
  if (JSON.stringify(schema) !== JSON.stringify(format.schema)) note("output_config.format.schema");
  return {
    ...withTools,
    output_config: { ...config as JsonObject, format: { ...format, schema } },
  };
};
