import { type DialectName, entryOf, isObject, type JsonObject, text } from "../dialects/mod.ts";
import { readAs } from "./request_fields.ts";

/** Kinds of tools that the caller runs itself, or that cost nothing but their tokens. */
const FREE: Readonly<Record<DialectName, RegExp>> = {
  chat: /^(?:|function|custom)$/,
  messages:
    /^(?:|custom|(?:bash|text_editor|computer|memory|browser_toolset|computer_toolset)_\d+|tool_search_tool_\w+)$/,
  responses:
    /^(?:function|custom|namespace|tool_search|computer|computer_use_preview|local_shell|apply_patch)$/,
};

/** Fields by which vendors have a tool of their own run, whatever its type says. */
const HIDDEN: ReadonlyMap<string, string> = new Map(
  ("browser_search codeExecution code_execution code_interpreter computerUse enterpriseWebSearch file_search googleMaps " +
    "googleSearch googleSearchRetrieval google_maps google_search google_search_retrieval retrieval urlContext " +
    "url_context webSearch web_search").split(" ").map((name) => [readAs(name), name]),
);

/** Other names of the same. */
const SAME: Readonly<Record<string, string>> = {
  bash_code_execution: "code_interpreter",
  code_execution: "code_interpreter",
  text_editor_code_execution: "code_interpreter",
  mcp_toolset: "mcp",
};

/**
 * The name of a tool that runs at the upstream, the same for all of its versions; undefined for one that the caller runs, or
 * that costs nothing but its tokens.
 */
export function hostedTool(dialect: DialectName, tool: JsonObject): string | undefined {
  const type = text(tool.type) ?? "";
  for (const key in tool) {
    const hidden = HIDDEN.get(readAs(key));
    if (hidden !== undefined) return hidden;
  }
  if (FREE[dialect].test(type)) return undefined;
  if (type === "shell" && !isInContainer(tool)) return undefined;
  if (type === "builtin_function" && isObject(tool.function)) {
    return (text(tool.function.name) ?? type).replace(/^\$/, "");
  }
  return nameOf(type);
}

/** The name of a kind of tool without its version. */
export function nameOf(type: string): string {
  const name = type.replace(/_(?:preview\w*|\d{8}|\d{4}_\d{2}_\d{2})$/, "");
  return entryOf(SAME, name) ?? name;
}

function isInContainer({ environment }: JsonObject): boolean {
  return isObject(environment) && /^container/.test(text(environment.type) ?? "");
}
