import type { Asked, Reasoned } from "../bridge.ts";
import { isObject, text } from "../json.ts";
import type { Effort, Reasoning } from "../reasoning.ts";

/**
 * What a messages body asks of reasoning, held against how its route reasons. Nothing fails here:
 * coding tools send `thinking` to every model.
 */
export function reasonMessages(asked: Asked, reasoning: Reasoning): Reasoned {
  const { body } = asked;
  const thinking = isObject(body.thinking) ? text(body.thinking.type) : undefined;
  const off = thinking === "disabled";
  const config = isObject(body.output_config) ? body.output_config : {};
  const effort = EFFORTS[text(config.effort) ?? ""];
  switch (reasoning) {
    case "effort":
      return { asked: { ...asked, reasoning: { effort: effort ?? "max" } }, ignored: [] };
    case "thinking":
      return thinking === undefined
        ? { asked, ignored: [] }
        : { asked: { ...asked, reasoning: { thinking: !off } }, ignored: [] };
    case "always":
      return { asked, ignored: off ? ["thinking"] : [] };
    case "none": {
      const { thinking: _, output_config: __, ...rest } = body;
      const { effort: ___, ...others } = config;
      return {
        asked: {
          ...asked,
          body: Object.keys(others).length === 0 ? rest : { ...rest, output_config: others },
        },
        ignored: [
          ...(thinking === undefined || off ? [] : ["thinking"]),
          ...(config.effort === undefined ? [] : ["output_config.effort"]),
        ],
      };
    }
  }
}

/** Efforts of the messages dialect as those that the service knows. */
const EFFORTS: Readonly<Record<string, Effort>> = {
  low: "low",
  medium: "high",
  high: "high",
  xhigh: "max",
  max: "max",
};
