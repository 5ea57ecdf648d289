import { alternatives } from "../../../ground/issue_words.ts";
import { invalid } from "../../../ground/refusal.ts";
import { type AppliedReasoning, fitted, type ParsedRequest } from "../dialect.ts";
import { isObject, type JsonObject } from "../json.ts";
import { budgetEffort, fitEffort, type RouteReasoning } from "../reasoning.ts";

/** Every field of the dialect and of its relatives that is about reasoning. */
const FIELDS = ["thinking", "reasoning_effort", "reasoning"];
/** Fields of the object `reasoning` that say how much to reason. Others, such as `exclude`, are about the reply. */
const AMOUNTS = ["effort", "max_tokens", "enabled"];

/**
 * Fits a body's `thinking`, `reasoning_effort` and `reasoning` to how its route reasons.
 *
 * Fields that the route cannot use are dropped and named. Efforts in any form become the one field `reasoning_effort`:
 * the service rejects several at once with 400.
 *
 * @throws {Refusal} `request_invalid` for a `thinking` that contradicts the route.
 */
export function applyReasoning(request: ParsedRequest, route: RouteReasoning): AppliedReasoning {
  const { body } = request;
  const thinking = body.thinking ?? undefined;
  switch (route.reasoning) {
    case "effort":
      if (thinking !== undefined && route.rejectsThinking) {
        throw invalid(
          "thinking",
          `thinking is not accepted by '${request.model}': it always reasons. Use reasoning_effort ` +
            `(${alternatives(route.efforts)}).`,
        );
      }
      return applyEffort(request, route);
    case "thinking": {
      if (thinking !== undefined && modeOf(thinking) === undefined) {
        throw invalid("thinking", 'thinking must be {"type":"enabled"} or {"type":"disabled"}.');
      }
      const applied = withoutAmounts(request, ["reasoning_effort"]);
      const { value } = askedEffort(body);
      if (thinking !== undefined || value !== "none") return applied;
      const disabled = patch(applied.request, { thinking: { type: "disabled" } });
      return fitted(disabled, { adjusted: ["thinking=disabled"] });
    }
    case "always":
      return withoutAmounts(
        request,
        modeOf(thinking) === "enabled" ? ["reasoning_effort"] : ["thinking", "reasoning_effort"],
      );
    case "none":
      return without(request, FIELDS);
  }
}

/** An effort as a body has it, in whichever form. */
interface AskedEffort {
  readonly value: unknown;
  /** Where it stands. */
  readonly field?: string;
  /** Whether it was said in other words, so that the effort is a change. */
  readonly isOtherWords?: boolean;
}

/** The dialect's own field wins, then the more exact one. */
function askedEffort({ reasoning_effort: effort, reasoning, thinking }: JsonObject): AskedEffort {
  if ((effort ?? undefined) !== undefined) return { value: effort, field: "reasoning_effort" };
  if (isObject(reasoning)) {
    const { effort, max_tokens: tokens, enabled } = reasoning;
    if ((effort ?? undefined) !== undefined) return { value: effort, field: "reasoning.effort" };
    if (typeof tokens === "number") return budget(tokens, "reasoning.max_tokens");
    if (enabled === false) return { value: "none", field: "reasoning.enabled", isOtherWords: true };
  } else if ((reasoning ?? undefined) !== undefined) {
    return { value: reasoning, field: "reasoning" };
  }
  if (!isObject(thinking)) return { value: undefined };
  if (modeOf(thinking) === "disabled") {
    return { value: "none", field: "thinking", isOtherWords: true };
  }
  const { budget_tokens: tokens } = thinking;
  return typeof tokens === "number" ? budget(tokens, "thinking") : { value: undefined };
}

function budget(tokens: number, field: string): AskedEffort {
  return { value: budgetEffort(tokens), field, isOtherWords: true };
}

function applyEffort(request: ParsedRequest, route: RouteReasoning): AppliedReasoning {
  const { value, field, isOtherWords = false } = askedEffort(request.body);
  const { effort, adjusted } = fitEffort(value, route);
  const others = withoutAmounts(request, ["thinking", "reasoning_effort"]);
  return {
    request: patch(others.request, { reasoning_effort: effort }),
    // a mere switch to what the route does anyway is not missed
    dropped: others.dropped.filter((name) =>
      name !== field && !(name === "reasoning.enabled" && isOn(request.body)) &&
      !(name === "thinking" && field === undefined)
    ),
    adjusted: isOtherWords && effort !== undefined ? [`reasoning_effort=${effort}`] : adjusted,
  };
}

function isOn({ reasoning }: JsonObject): boolean {
  return isObject(reasoning) && reasoning.enabled === true;
}

function modeOf(thinking: unknown): "enabled" | "disabled" | undefined {
  const type = isObject(thinking) ? thinking.type : undefined;
  return type === "enabled" || type === "disabled" ? type : undefined;
}

/** Without fields, and without what `reasoning` says of how much to reason. */
function withoutAmounts(request: ParsedRequest, fields: readonly string[]): AppliedReasoning {
  const applied = without(request, fields);
  const { reasoning } = request.body;
  if (!isObject(reasoning)) {
    return (reasoning ?? undefined) === undefined
      ? applied
      : without(request, [...fields, "reasoning"]);
  }
  const amounts = AMOUNTS.filter((name) => (reasoning[name] ?? undefined) !== undefined);
  if (amounts.length === 0) return applied;
  const rest = Object.entries(reasoning).filter(([name]) => !AMOUNTS.includes(name));
  const left = rest.length === 0 ? undefined : Object.fromEntries(rest);
  const dropped = [...applied.dropped, ...amounts.map((name) => `reasoning.${name}`)];
  return fitted(patch(applied.request, { reasoning: left }), { dropped });
}

function without(request: ParsedRequest, fields: readonly string[]): AppliedReasoning {
  const dropped = fields.filter((field) => (request.body[field] ?? undefined) !== undefined);
  if (dropped.length === 0) return fitted(request);
  const removed = Object.fromEntries(dropped.map((name) => [name, undefined]));
  return fitted(patch(request, removed), { dropped });
}

function patch(request: ParsedRequest, fields: JsonObject): ParsedRequest {
  const body = { ...request.body, ...fields };
  for (const [key, value] of Object.entries(fields)) if (value === undefined) delete body[key];
  return { ...request, body };
}
