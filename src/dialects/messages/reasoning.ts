import type { AppliedReasoning, ParsedRequest } from "../dialect.ts";
import { isObject, text } from "../json.ts";
import type { Reasoning } from "../reasoning.ts";

/**
 * Fits what a messages body says of reasoning to how its route reasons. Nothing is an error: coding tools send
 * `thinking` to every model.
 */
export function applyReasoning(request: ParsedRequest, reasoning: Reasoning): AppliedReasoning {
  const { body } = request;
  const thinking = isObject(body.thinking) ? text(body.thinking.type) : undefined;
  const off = thinking === "disabled";
  const config = isObject(body.output_config) ? body.output_config : {};
  const effort = EFFORTS[text(config.effort) ?? ""];
  switch (reasoning) {
    case "effort":
      return { request: { ...request, reasoning: { effort: effort ?? "max" } }, dropped: [] };
    case "thinking":
      return thinking === undefined
        ? { request, dropped: [] }
        : { request: { ...request, reasoning: { enabled: !off } }, dropped: [] };
    case "always":
      return { request, dropped: off ? ["thinking"] : [] };
    case "none": {
      const { thinking: _, output_config: __, ...rest } = body;
      const { effort: ___, ...others } = config;
      return {
        request: {
          ...request,
          body: Object.keys(others).length === 0 ? rest : { ...rest, output_config: others },
        },
        dropped: [
          ...(thinking === undefined || off ? [] : ["thinking"]),
          ...(config.effort === undefined ? [] : ["output_config.effort"]),
        ],
      };
    }
  }
}

/** Efforts of the messages dialect, and the ones that the service knows for them. */
const EFFORTS: Readonly<Record<string, string>> = {
  low: "low",
  medium: "high",
  high: "high",
  xhigh: "max",
  max: "max",
};
