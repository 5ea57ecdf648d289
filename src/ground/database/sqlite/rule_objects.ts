import { render } from "../../sql/mod.ts";
import { columnsOf, type RuleObject } from "../rule_objects.ts";

/** The statement that creates what a rule is made of. */
export function createStatement(object: RuleObject): string {
  return render(definition(object), "sqlite");
}

function definition(object: RuleObject): string {
  if ("query" in object) return `create view ${object.view} as\n  ${object.query}`;
  if ("view" in object) {
    const columns = columnsOf(object).map((column) => `null as ${column}`);
    return `create view ${object.view} as select ${columns.join(", ")} where false`;
  }
  const { trigger, event, on, when } = object;
  const columns = "columns" in object && object.columns !== undefined
    ? ` of ${object.columns.join(", ")}`
    : "";
  const statements = "refuses" in object
    ? [`select raise(abort, '${object.refuses}')`]
    : object.statements;
  const condition = render(when ?? "", "sqlite");
  return `create trigger ${trigger} ${event}${columns} on ${on}${
    condition === "" ? "" : `\n    when ${condition}`
  } begin
    ${statements.map((statement) => `${statement};`).join("\n    ")}
  end`;
}
