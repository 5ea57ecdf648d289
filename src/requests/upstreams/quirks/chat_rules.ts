/** Rules of services that speak the chat dialect, for requests of every client. */

import {
  type JsonObject,
  MAX_ID_CHARS,
  objects,
  shortId,
  text,
} from "../../../wire/dialects/mod.ts";
import type { Adjust } from "./adjust.ts";

/** The role `developer` is OpenAI's own; others take `system` only, which says the same. */
export const withoutDeveloper: Adjust = (body) => {
  if (!objects(body.messages).some(({ role }) => role === "developer")) return body;
  const messages = objects(body.messages).map((message) =>
    message.role === "developer" ? { ...message, role: "system" } : message
  );
  return { ...body, messages };
};

const isLong = (id: unknown) => typeof id === "string" && id.length > MAX_ID_CHARS;

/** The same in the responses dialect, whose items have ids of their own, which need not be told. */
export const withShortItemIds: Adjust = (body) => {
  const given = objects(body.input);
  if (!given.some(({ id, call_id: callId }) => isLong(id) || isLong(callId))) return body;
  const input = given.map((item): JsonObject => {
    const { id, ...rest } = item;
    // reasoning is found, and references are made, by it
    const isNeeded = !isLong(id) || item.type === "reasoning" || item.type === "item_reference";
    const own = isNeeded ? item : rest;
    return isLong(own.call_id) ? { ...own, call_id: shortId(text(own.call_id)!) } : own;
  });
  return { ...body, input };
};

/** Longer ids of calls are shortened, a call's and its result's alike. */
export const withShortIds: Adjust = (body) => {
  const messages = objects(body.messages);
  const hasLong = messages.some((message) =>
    isLong(message.tool_call_id) || objects(message.tool_calls).some(({ id }) => isLong(id))
  );
  if (!hasLong) return body;
  return {
    ...body,
    messages: messages.map((message): JsonObject => {
      if (isLong(message.tool_call_id)) {
        return { ...message, tool_call_id: shortId(text(message.tool_call_id)!) };
      }
      const calls = objects(message.tool_calls);
      if (!calls.some(({ id }) => isLong(id))) return message;
      return {
        ...message,
        tool_calls: calls.map((call) =>
          isLong(call.id) ? { ...call, id: shortId(text(call.id)!) } : call
        ),
      };
    }),
  };
};

/** Stop sequences that OpenAI's service takes. */
const MAX_STOPS = 4;

/** The first stop sequences, as many as are taken. */
export const withFewStops: Adjust = (body, note) => {
  if (!Array.isArray(body.stop) || body.stop.length <= MAX_STOPS) return body;
  note(`stop=${MAX_STOPS} of ${body.stop.length}`);
  return { ...body, stop: body.stop.slice(0, MAX_STOPS) };
};

const TOOL_FIELDS: readonly string[] = ["tools", "tool_choice", "parallel_tool_calls"];

/** No tools are offered by an empty list or by none, and none can be chosen then; a stored prompt may have some. */
export const withoutEmptyTools: Adjust = (body) => {
  const { tools = null, prompt } = body;
  const isNone = tools === null || Array.isArray(tools) && tools.length === 0;
  if (!isNone || prompt !== undefined || !TOOL_FIELDS.some((name) => name in body)) return body;
  return Object.fromEntries(Object.entries(body).filter(([name]) => !TOOL_FIELDS.includes(name)));
};
