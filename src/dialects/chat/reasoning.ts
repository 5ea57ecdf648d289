import { invalid } from "../../refusal.ts";
import type { Asked, Reasoned } from "../bridge.ts";
import { isObject, type JsonObject } from "../json.ts";
import type { Reasoning } from "../reasoning.ts";

const EFFORTS = ["low", "high", "max"];

/**
 * Holds a body's `thinking` and `reasoning_effort` against how its route reasons.
 *
 * What the route cannot use is left out and named; what contradicts the route's own rule is
 * refused. Never both fields go on: the service answers 400 to that.
 */
export function reasonChat(asked: Asked, reasoning: Reasoning): Reasoned {
  const thinking = asked.body.thinking ?? undefined;
  const effort = asked.body.reasoning_effort ?? undefined;
  switch (reasoning) {
    case "effort":
      if (thinking !== undefined) {
        throw invalid(
          "thinking",
          `thinking is not accepted by '${asked.model}': it always reasons. Use reasoning_effort ` +
            "(low, high or max).",
        );
      }
      if (effort !== undefined && !EFFORTS.includes(String(effort))) {
        throw invalid(
          "reasoning_effort",
          `reasoning_effort must be "low", "high" or "max" for '${asked.model}': got ` +
            `${JSON.stringify(effort).slice(0, 60)}.`,
        );
      }
      return { asked: patch(asked, { reasoning_effort: effort ?? "max" }), ignored: [] };
    case "thinking":
      if (thinking !== undefined && modeOf(thinking) === undefined) {
        throw invalid("thinking", 'thinking must be {"type":"enabled"} or {"type":"disabled"}.');
      }
      return without(asked, ["reasoning_effort"]);
    case "always":
      return modeOf(thinking) === "enabled"
        ? without(asked, ["reasoning_effort"])
        : without(asked, ["thinking", "reasoning_effort"]);
    case "none":
      return without(asked, ["thinking", "reasoning_effort"]);
  }
}

function modeOf(thinking: unknown): "enabled" | "disabled" | undefined {
  const type = isObject(thinking) ? thinking.type : undefined;
  return type === "enabled" || type === "disabled" ? type : undefined;
}

function without(asked: Asked, fields: readonly string[]): Reasoned {
  const ignored = fields.filter((field) => (asked.body[field] ?? undefined) !== undefined);
  if (ignored.length === 0) return { asked, ignored };
  return {
    asked: patch(asked, Object.fromEntries(ignored.map((name) => [name, undefined]))),
    ignored,
  };
}

function patch(asked: Asked, fields: JsonObject): Asked {
  const body = { ...asked.body, ...fields };
  for (const [key, value] of Object.entries(fields)) if (value === undefined) delete body[key];
  return { ...asked, body };
}
