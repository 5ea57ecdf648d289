import type { JsonObject } from "../json.ts";

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
export function toolTable(_body: JsonObject): ReadonlyMap<string, ClientTool> {
  throw new Error("not written yet");
}
