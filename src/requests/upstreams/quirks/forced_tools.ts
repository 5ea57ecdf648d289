import { isObject, type JsonObject, text } from "../../../wire/dialects/mod.ts";
import type { Adjust, NoteChange } from "./adjust.ts";

/** How a service thinks whose models take no forced tool while they do. */
interface Thinking {
  /** Models that always think, by their names: their choice of tools is left free. */
  readonly always: RegExp;
  /** Fields that ask for thinking. */
  readonly fields: readonly string[];
  /** Whether a request has switched it off. */
  isOff(body: JsonObject): boolean;
  /** What switches it off. */
  readonly off: JsonObject;
}

/** Thinking is on unless it is switched off, which is noted where the client asked for it: the tool is what an agent relies on. */
function withoutThinking({ always, fields, isOff, off }: Thinking): Adjust {
  return (body: JsonObject, note: NoteChange) => {
    const { tool_choice: choice } = body;
    if (isOff(body) || choice !== "required" && !isObject(choice)) return body;
    if (always.test(text(body.model) ?? "")) {
      note("tool_choice=auto");
      return { ...body, tool_choice: "auto" };
    }
    if (fields.some((name) => (body[name] ?? undefined) !== undefined)) note("thinking=disabled");
    const rest = Object.entries(body).filter(([name]) => !fields.includes(name));
    return { ...Object.fromEntries(rest), ...off };
  };
}

/**
 * DeepSeek's rule. `deepseek-reasoner` always thinks.
 *
 * Sources: api-docs.deepseek.com (thinking mode); `Thinking mode does not support this tool_choice`: deepseek-ai/DeepSeek-V3#1376.
 */
export const withoutThinkingOfDeepSeek = withoutThinking({
  always: /reasoner/,
  fields: ["thinking", "reasoning_effort"],
  isOff: ({ thinking }) => isObject(thinking) && thinking.type === "disabled",
  off: { thinking: { type: "disabled" } },
});

/**
 * The rule of Alibaba's DashScope. QwQ, QvQ and models with `thinking` in their name always think.
 *
 * Source: `The tool_choice parameter does not support being set to required or object in thinking mode`: cloudwego/eino#994.
 */
export const withoutThinkingOfDashScope = withoutThinking({
  always: /thinking|qwq|qvq/i,
  fields: ["enable_thinking", "thinking_budget", "reasoning_effort"],
  isOff: ({ enable_thinking: enabled }) => enabled === false,
  off: { enable_thinking: false },
});
