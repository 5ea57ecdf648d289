import { type JsonObject, text } from "./json.ts";

/** Of replies that cannot have any. */
export const NO_CALLS: ReadonlyMap<string, number> = new Map();

/** Calls of tools that the client does not run. */
const CALL =
  /^(?!function_|custom_tool_|tool_search_|computer_|local_shell_|apply_patch_)(\w+)_call$/;
/** Calls that are told apart; no reply has more. */
const MAX_CALLS = 1_024;

/** Counts calls of tools that run at an upstream, by the kind of tool. */
export class HostedCalls {
  #calls: Map<string, number> | undefined;
  readonly #seen = new Set<string>();

  get calls(): ReadonlyMap<string, number> {
    return this.#calls ?? NO_CALLS;
  }

  /**
   * Counts an item of a response that is a call of such a tool, such as `web_search_call`; once, however often it comes.
   *
   * @param place Where it stands, for one without an ID.
   */
  item({ type, id }: JsonObject, place: unknown): void {
    const kind = CALL.exec(text(type) ?? "")?.[1];
    if (kind === undefined) return;
    const key = text(id) || `#${place}`;
    if (this.#seen.has(key) || this.#seen.size >= MAX_CALLS) return;
    this.#seen.add(key);
    this.#add(kind);
  }

  /** Counts a block of a message that is one: `server_tool_use`. */
  block({ type, name }: JsonObject): void {
    if (type === "server_tool_use") this.#add(text(name) ?? "");
    else if (type === "mcp_tool_use") this.#add("mcp");
  }

  #add(kind: string): void {
    this.#calls ??= new Map();
    this.#calls.set(kind, (this.#calls.get(kind) ?? 0) + 1);
  }
}
