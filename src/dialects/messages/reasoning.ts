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
      const { thinking: _, ...rest } = body;
      return {
        asked: { ...asked, body: rest },
        ignored: thinking === undefined || off ? [] : ["thinking"],
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
