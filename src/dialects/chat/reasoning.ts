import { invalid } from "../../refusal.ts";
import type { AppliedReasoning, ParsedRequest } from "../dialect.ts";
import { isObject, type JsonObject } from "../json.ts";
import type { Reasoning } from "../reasoning.ts";

const EFFORTS = ["low", "high", "max"];

/**
 * Fits a body's `thinking` and `reasoning_effort` to how its route reasons.
 *
 * Fields that the route cannot use are dropped and named; a field that contradicts the route is an error. Never are
 * both sent: the service rejects that with 400.
 */
export function applyReasoning(request: ParsedRequest, reasoning: Reasoning): AppliedReasoning {
  const thinking = request.body.thinking ?? undefined;
  const effort = request.body.reasoning_effort ?? undefined;
  switch (reasoning) {
    case "effort":
      if (thinking !== undefined) {
        throw invalid(
          "thinking",
          `thinking is not accepted by '${request.model}': it always reasons. Use reasoning_effort ` +
            "(low, high or max).",
        );
      }
      if (effort !== undefined && !EFFORTS.includes(String(effort))) {
        throw invalid(
          "reasoning_effort",
          `reasoning_effort must be "low", "high" or "max" for '${request.model}': got ` +
            `${JSON.stringify(effort).slice(0, 60)}.`,
        );
      }
      return { request: patch(request, { reasoning_effort: effort ?? "max" }), dropped: [] };
    case "thinking":
      if (thinking !== undefined && modeOf(thinking) === undefined) {
        throw invalid("thinking", 'thinking must be {"type":"enabled"} or {"type":"disabled"}.');
      }
      return without(request, ["reasoning_effort"]);
    case "always":
      return modeOf(thinking) === "enabled"
        ? without(request, ["reasoning_effort"])
        : without(request, ["thinking", "reasoning_effort"]);
    case "none":
      return without(request, ["thinking", "reasoning_effort"]);
  }
}

function modeOf(thinking: unknown): "enabled" | "disabled" | undefined {
  const type = isObject(thinking) ? thinking.type : undefined;
  return type === "enabled" || type === "disabled" ? type : undefined;
}

function without(request: ParsedRequest, fields: readonly string[]): AppliedReasoning {
  const dropped = fields.filter((field) => (request.body[field] ?? undefined) !== undefined);
  if (dropped.length === 0) return { request, dropped };
  return {
    request: patch(request, Object.fromEntries(dropped.map((name) => [name, undefined]))),
    dropped,
  };
}

function patch(request: ParsedRequest, fields: JsonObject): ParsedRequest {
  const body = { ...request.body, ...fields };
  for (const [key, value] of Object.entries(fields)) if (value === undefined) delete body[key];
  return { ...request, body };
}
