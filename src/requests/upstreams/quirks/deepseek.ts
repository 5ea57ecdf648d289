import { isObject, type JsonObject, text } from "../../../wire/dialects/mod.ts";
import type { Adjust } from "./adjust.ts";

/**
 * A forced tool and thinking do not go together; the tool is what an agent relies on. Thinking is on unless it is switched off, which is noted
 * where the client asked for it. `deepseek-reasoner` always thinks, so that its choice is left free.
 *
 * Sources: api-docs.deepseek.com (thinking mode); `Thinking mode does not support this tool_choice`: deepseek-ai/DeepSeek-V3#1376.
 */
export const withoutThinkingOfForced: Adjust = (body, note) => {
  const { tool_choice: choice, thinking, reasoning_effort: effort, ...rest } = body;
  const isOff = isObject(thinking) && thinking.type === "disabled";
  if (isOff || choice !== "required" && !isObject(choice)) return body;
  if (/reasoner/.test(text(body.model) ?? "")) {
    note("tool_choice=auto");
    return { ...body, tool_choice: "auto" } satisfies JsonObject;
  }
  if ((thinking ?? effort ?? undefined) !== undefined) note("thinking=disabled");
  return { ...rest, tool_choice: choice!, thinking: { type: "disabled" } };
};
