import { type AppliedReasoning, fitted, type ParsedRequest } from "../dialect.ts";
import { isObject, type JsonObject, text } from "../json.ts";
import { budgetEffort, fitEffort, type RouteReasoning } from "../reasoning.ts";

/**
 * Fits what a messages body says of reasoning to how its route reasons. Nothing is an error: coding tools send
 * `thinking` to every model.
 */
export function applyReasoning(request: ParsedRequest, route: RouteReasoning): AppliedReasoning {
  const { body } = request;
  const thinking = isObject(body.thinking) ? text(body.thinking.type) : undefined;
  const off = thinking === "disabled";
  const config = isObject(body.output_config) ? body.output_config : {};
  switch (route.reasoning) {
    case "effort":
      return applyEffort(request, config, route);
    case "thinking":
      return fitted(
        thinking === undefined ? request : { ...request, reasoning: { enabled: !off } },
      );
    case "always": {
      if (!off) return fitted(request);
      const { thinking: _, ...rest } = body;
      return fitted({ ...request, body: rest }, { dropped: ["thinking"] });
    }
    case "none": {
      const { thinking: whole, ...rest } = body;
      const dropped = [
        ...((whole ?? undefined) === undefined ? [] : ["thinking"]),
        ...((config.effort ?? undefined) === undefined ? [] : ["output_config.effort"]),
      ];
      const left = withConfig(rest, { ...config, effort: undefined });
      return fitted({ ...request, body: left }, { dropped });
    }
  }
}

/** The dialect's own field is `output_config.effort`; where it is missing, `thinking` says how much. */
function applyEffort(
  request: ParsedRequest,
  config: JsonObject,
  route: RouteReasoning,
): AppliedReasoning {
  const { body } = request;
  const isSaid = (config.effort ?? undefined) !== undefined;
  const implied = isSaid ? undefined : thinkingEffort(body.thinking);
  const { effort, adjusted } = fitEffort(config.effort ?? implied, route);
  const isBudget = implied !== undefined && implied !== "none";
  return {
    request: {
      ...request,
      body: withConfig(body, { ...config, effort }),
      reasoning: { ...(effort === undefined ? {} : { effort }), isBudget },
    },
    dropped: [],
    adjusted: implied === undefined || effort === undefined
      ? adjusted
      : [`reasoning_effort=${effort}`],
  };
}

/** The effort that `thinking` stands for; undefined where it leaves that to the model. */
function thinkingEffort(thinking: unknown) {
  if (!isObject(thinking)) return undefined;
  if (thinking.type === "disabled") return "none";
  const { budget_tokens: tokens } = thinking;
  return typeof tokens === "number" ? budgetEffort(tokens) : undefined;
}

/** A body with another `output_config`, or without one that would be empty. */
function withConfig(body: JsonObject, config: JsonObject): JsonObject {
  const { output_config: _, ...rest } = body;
  const said = Object.entries(config).filter(([, value]) => value !== undefined);
  return said.length === 0 ? rest : { ...rest, output_config: Object.fromEntries(said) };
}
