import { createHash } from "node:crypto";
import { type JsonObject, objects, text } from "../../../wire/dialects/mod.ts";
import type { Adjust } from "./adjust.ts";

const LEGAL = /^[A-Za-z0-9]{9}$/;
const ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

/**
 * IDs of calls have nine letters and digits. Those that another service or the gateway wrote are replaced, a call's and its
 * result's alike, by the same one each time, so that prompts stay the same.
 *
 * Source: `Tool call id was … but must be a-z, A-Z, 0-9, with a length of 9`, as in langchain-ai/langchain#24668.
 */
export const withNineCharIds: Adjust = (body) => {
  const messages = objects(body.messages);
  const given = messages.flatMap((message) => [
    ...(message.tool_call_id === undefined ? [] : [message.tool_call_id]),
    ...objects(message.tool_calls).map(({ id }) => id),
  ]);
  if (given.every((id) => LEGAL.test(text(id) ?? ""))) return body;
  return {
    ...body,
    messages: messages.map((message): JsonObject => ({
      ...message,
      ...(message.tool_call_id !== undefined && { tool_call_id: taken(message.tool_call_id) }),
      ...(Array.isArray(message.tool_calls) && {
        tool_calls: objects(message.tool_calls).map((call) => ({ ...call, id: taken(call.id) })),
      }),
    })),
  };
};

function taken(id: unknown): string {
  const own = text(id) ?? "";
  if (LEGAL.test(own)) return own;
  const bytes = createHash("sha256").update(own).digest().subarray(0, 9);
  return Array.from(bytes, (byte) => ALPHABET[byte % ALPHABET.length]).join("");
}
