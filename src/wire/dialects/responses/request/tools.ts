import { isObject, type JsonObject, type JsonValue, objects, text } from "../../json.ts";
import { markedName } from "../../neutral/tool_names.ts";
import { inputItems, kindOf } from "../items.ts";

/** A tool as the client knows it. */
export interface ClientTool {
  /** `function`: arguments are JSON; `custom`: free text; `tool_search`: the client's own search for tools. */
  readonly kind: "function" | "custom" | "tool_search";
  readonly name: string;
  readonly namespace: string | undefined;
}

/** A tool that a request offers. */
export interface OfferedTool extends ClientTool {
  /** As the client defines it. */
  readonly definition: JsonObject;
  /** What its namespace is about. */
  readonly namespaceDescription: string | undefined;
}

/** What a request offers. */
export interface Offer {
  /** Tools that the client runs, each once. */
  readonly tools: readonly OfferedTool[];
  /** Kinds of tools that run on the server, each once. */
  readonly hosted: readonly string[];
}

/** The name of the client's search for tools, which has none of its own. */
const TOOL_SEARCH = "tool_search";

/** The lists of tools in a request: in `tools`, in items `additional_tools`, and those that a search found. */
export function toolLists(body: JsonObject): readonly (JsonValue | undefined)[] {
  const lists = inputItems(body).filter((item) => hasTools(kindOf(item)));
  return [body.tools, ...lists.map(({ tools }) => tools)];
}

/** Whether items of a kind offer tools. */
export function hasTools(kind: string | undefined): boolean {
  return kind === "additional_tools" || kind === "tool_search_output";
}

/** The tools that a request offers, in the order in which it names them. */
export function offerOf(body: JsonObject): Offer {
  const tools = new Map<string, OfferedTool>();
  const hosted = new Set<string>();
  const add = (definition: JsonObject, space?: JsonObject) => {
    const kind = kindOfTool(definition);
    const name = kind === "tool_search" ? TOOL_SEARCH : text(definition.name);
    if (kind === undefined || name === undefined) {
      hosted.add(text(definition.type) ?? "");
      return;
    }
    const namespace = space === undefined ? undefined : text(space.name) || undefined;
    const namespaceDescription = space === undefined ? undefined : text(space.description);
    const tool = { kind, name, namespace, definition, namespaceDescription };
    const key = keyOf(tool);
    if (!tools.has(key)) tools.set(key, tool);
  };
  for (const list of toolLists(body)) {
    for (const tool of objects(list)) {
      if (tool.type !== "namespace") add(tool);
      else for (const inner of objects(tool.tools)) add(inner, tool);
    }
  }
  return { tools: [...tools.values()], hosted: [...hosted] };
}

/** Undefined for a tool that runs on the server. A search for tools does so unless it says otherwise. */
function kindOfTool({ type, execution }: JsonObject): ClientTool["kind"] | undefined {
  if (type === "function" || type === "custom") return type;
  return type === "tool_search" && execution === "client" ? type : undefined;
}

/**
 * Every tool that a request offers, in `tools`, in its items `additional_tools` and in those that a search found, and those
 * that only its history calls, by the name under which upstreams are offered it: one that is legal and unique for each, the
 * same for the same request.
 */
export function toolTable(body: JsonObject): ReadonlyMap<string, ClientTool> {
  return new ToolNames(body).table;
}

/** What every upstream accepts. */
const LEGAL = /^[A-Za-z0-9_-]{1,64}$/;

/** The names of a request's tools at upstreams, in both directions. */
export class ToolNames {
  readonly #table = new Map<string, ClientTool>();
  readonly #names = new Map<string, string>();

  constructor(body: JsonObject, offer: Offer = offerOf(body)) {
    // a tool keeps its own name, whatever a namespace and a name would be joined to
    const isPlain = ({ name, namespace }: ClientTool) =>
      namespace === undefined && LEGAL.test(name);
    for (const tool of offer.tools) if (isPlain(tool)) this.#add(tool);
    for (const tool of offer.tools) this.#add(tool);
    for (const item of inputItems(body)) {
      const tool = calledTool(item);
      if (tool !== undefined) this.#add(tool);
    }
  }

  /** The tools by their names at upstreams. */
  get table(): ReadonlyMap<string, ClientTool> {
    return this.#table;
  }

  /** A tool's name at upstreams; its own for one that the request does not have. */
  of(tool: ClientTool): string {
    return this.#names.get(keyOf(tool)) ?? tool.name;
  }

  #add({ kind, name, namespace }: ClientTool): void {
    const tool = { kind, name, namespace };
    const key = keyOf(tool);
    if (this.#names.has(key)) return;
    const joined = namespace === undefined ? name : `${namespace}__${name}`;
    let own = LEGAL.test(joined) ? joined : markedName(joined, key);
    for (let count = 1; this.#table.has(own); count++) {
      own = markedName(joined, `${count}${key}`);
    }
    this.#table.set(own, tool);
    this.#names.set(key, own);
  }
}

/** Text that no two tools have in common. */
function keyOf({ kind, name, namespace }: ClientTool): string {
  return JSON.stringify([kind, namespace ?? null, name]);
}

/** The tool that an item calls; undefined for other items, and for tools that ran on the server. */
export function calledTool(item: JsonObject): ClientTool | undefined {
  const name = text(item.name);
  const namespace = text(item.namespace) || undefined;
  switch (kindOf(item)) {
    case "function_call":
      return name === undefined ? undefined : { kind: "function", name, namespace };
    case "custom_tool_call":
      return name === undefined ? undefined : { kind: "custom", name, namespace };
    case "tool_search_call":
      return text(item.call_id)
        ? { kind: "tool_search", name: TOOL_SEARCH, namespace: undefined }
        : undefined;
    default:
      return undefined;
  }
}

/** The tools that a request's `tool_choice` allows: all of them unless it is a choice among some. */
export function allowedTools(body: JsonObject, tools: readonly OfferedTool[]): OfferedTool[] {
  const { tool_choice: choice } = body;
  if (!isObject(choice) || choice.type !== "allowed_tools") return [...tools];
  const allowed = new Set(
    objects(choice.tools).map(({ type, name, namespace }) =>
      JSON.stringify([text(type) ?? null, text(namespace) || null, text(name) ?? null])
    ),
  );
  const has = (type: string, namespace: string | null, name: string | null) =>
    allowed.has(JSON.stringify([type, namespace, name]));
  return tools.filter(({ kind, name, namespace = null }) =>
    has(kind, namespace, name) || has(kind, null, name) || // the namespace may be left out
    kind === "tool_search" && has(kind, null, null) ||
    namespace !== null && has("namespace", null, namespace)
  );
}

/** The one tool that `tool_choice` names, if the request offers it. */
export function chosenTool(
  choice: JsonObject,
  tools: readonly OfferedTool[],
): OfferedTool | undefined {
  const { type, name, namespace } = choice;
  const space = text(namespace) || undefined;
  const named = tools.filter((tool) =>
    tool.kind === type && (tool.kind === "tool_search" || tool.name === name) &&
    (space === undefined || tool.namespace === space)
  );
  return named.find((tool) => tool.namespace === space) ?? named[0];
}
