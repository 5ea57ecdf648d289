import { type JsonObject, objects, text } from "../json.ts";

/** A tool as the client knows it. */
export interface ClientTool {
  /** `function`: arguments are JSON; `custom`: free text; `tool_search`: the client's own search for tools. */
  readonly kind: "function" | "custom" | "tool_search";
  readonly name: string;
  readonly namespace: string | undefined;
}

/**
 * Every tool that a request offers, in `tools`, in its items `additional_tools` and in those that a search found, by the name
 * under which upstreams are offered it: one that is legal and unique for each, the same for the same request.
 */
export function toolTable(body: JsonObject): ReadonlyMap<string, ClientTool> {
  const table = new Map<string, ClientTool>();
  const add = ({ type, name }: JsonObject, namespace: string | undefined) => {
    const own = type === "tool_search" ? type : text(name) ?? "";
    if (type !== "function" && type !== "custom" && type !== "tool_search") return;
    table.set(namespace === undefined ? own : `${namespace}__${own}`, {
      kind: type,
      name: own,
      namespace,
    });
  };
  for (const tool of objects(body.tools)) {
    if (tool.type === "namespace") {
      for (const inner of objects(tool.tools)) add(inner, text(tool.name));
    } else add(tool, undefined);
  }
  return table;
}
