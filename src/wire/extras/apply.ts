import {
  type DialectName,
  isObject,
  items,
  type JsonObject,
  type JsonValue,
  type ParsedRequest,
  text,
} from "../dialects/mod.ts";
import { invalid, type Refusal } from "../../ground/refusal.ts";
import { type AllowedExtras, NO_EXTRAS, type UsedExtras } from "./allowed.ts";
import {
  CACHE_FIELDS,
  isDisguised,
  isDisguisedInside,
  KEPT_IDS,
  OPAQUE_FIELDS,
  PLAIN_VALUES,
  REQUEST_FIELDS,
  treatmentOf,
  USUAL_LIFETIMES,
} from "./request_fields.ts";
import { hostedTool, nameOf } from "./tools.ts";

/** The route that a request is for. */
export interface ExtrasRoute {
  readonly id: string;
  /** Undefined for nothing that costs more. */
  readonly allow?: AllowedExtras | undefined;
}

/** A request with nothing in it that its route does not allow. */
export interface AppliedExtras<Request> {
  readonly request: Request;
  /** Names of what was left out. */
  readonly dropped: readonly string[];
  readonly used: UsedExtras;
  /** Names of the fields that change the price of all tokens: a target that cannot be sent one must not be charged by it. */
  readonly priced: readonly string[];
}

/**
 * Takes out of a request what may cost more than its tokens and its route does not allow. What is asked for beside other things is
 * left out and named; what is the point of a request, and what refers to things that are kept for the operator, is rejected.
 *
 * @throws {Refusal} `request_invalid`, naming the field.
 */
export function applyExtras<Request extends Pick<ParsedRequest, "body">>(
  dialect: DialectName,
  request: Request,
  route: ExtrasRoute,
): AppliedExtras<Request> {
  const { body, ...rest } = new Extras(dialect, route).apply(request.body);
  return { request: body === request.body ? request : { ...request, body }, ...rest };
}

/** Calls of a hosted tool that credits are reserved for where a request sets no limit; models call one a few times in a reply. */
const USUAL_CALLS = 10;
/** Higher limits are none. */
const MAX_CALLS = 1_000;

class Extras {
  readonly #dialect: DialectName;
  readonly #route: Required<ExtrasRoute> & { readonly allow: AllowedExtras };
  readonly #dropped = new Set<string>();
  readonly #tools: Record<string, number> = {};
  #maxCalls = 0;
  /** Names and kinds of tools that were left out, and how the first of them is called. */
  readonly #without = new Set<string>();
  #label = "";
  #hasTools = false;
  readonly #asked: Record<string, number> = {};
  readonly #priced: string[] = [];
  #writeFactor: number;

  constructor(dialect: DialectName, route: ExtrasRoute) {
    this.#dialect = dialect;
    this.#route = { id: route.id, allow: route.allow ?? NO_EXTRAS };
    // upstreams write caches without a mark of the client's, too
    this.#writeFactor = Math.max(this.#route.allow.cacheWrites, this.#factorOf(undefined));
  }

  apply(body: JsonObject): { body: JsonObject } & Omit<AppliedExtras<unknown>, "request"> {
    let sent = body;
    for (const field in body) {
      const value = body[field];
      if (value === undefined || value === null) continue;
      const kept = this.#field(field, value);
      if (kept === value) continue;
      if (sent === body) sent = { ...body };
      if (kept === undefined) delete sent[field];
      else sent[field] = kept;
    }
    this.#checkPoint(body);
    return {
      body: sent,
      dropped: [...this.#dropped],
      priced: this.#priced,
      used: {
        factor: Object.values(this.#asked).reduce((all, one) => all * one, 1),
        asked: this.#asked,
        writeFactor: this.#writeFactor,
        // nobody pays for a longer lifetime than was asked for
        writes: {
          usual: this.#factorOf(undefined),
          hour: Math.min(this.#factorOf("1h"), this.#writeFactor),
        },
        tools: this.#tools,
        maxCalls: Math.min(this.#maxCalls, this.#limitIn("responses", body.max_tool_calls)),
      },
    };
  }

  /** A field's value as it goes on; undefined for one that is left out. */
  #field(field: string, value: JsonValue): JsonValue | undefined {
    const { tiers, regions, fields } = this.#route.allow;
    switch (treatmentOf(this.#dialect, field)) {
      case "tier":
        return this.#atFactor(field, value, tiers);
      case "region":
        return this.#atFactor(field, value, regions);
      case "cache":
        return this.#lifetime(field, value);
      case "tools":
        return this.#clean(this.#withoutHosted(value), field);
      case "hosted":
        return this.#hosted(field, value);
      case "priced":
        if (fields.includes(field)) return value;
        if (field === "modalities") return this.#modalities(value);
        return this.#drop(field);
      case "kept":
        return this.#keptField(field, value);
      case "harmless":
        return value;
      case undefined:
        if (isDisguised(this.#dialect, field)) return this.#drop(field);
    }
    return OPAQUE_FIELDS.has(field) ? value : this.#clean(value, field);
  }

  #drop(name: string): undefined {
    this.#dropped.add(name);
    return undefined;
  }

  #atFactor(
    field: string,
    value: JsonValue,
    factors: Readonly<Record<string, number>>,
  ): JsonValue | undefined {
    const name = text(value) ?? "";
    if (PLAIN_VALUES[field]?.includes(name)) return value;
    if (!Object.hasOwn(factors, name)) return this.#drop(field);
    // upstreams may not know another dialect's field, and the names of cheap tiers in that of the speed: nothing would be cheaper
    const mayLower = field !== "speed" && Object.hasOwn(REQUEST_FIELDS[this.#dialect], field);
    const factor = mayLower ? factors[name]! : Math.max(1, factors[name]!);
    if (factor !== 1) this.#priced.push(field);
    this.#asked[field] = factor;
    return value;
  }

  /** What writes to a cache of this lifetime cost, as a factor of the input price; undefined for the provider's usual lifetime. */
  #factorOf(ttl: string | undefined): number {
    const { cache, cacheWrites } = this.#route.allow;
    const usual = USUAL_LIFETIMES.find((one) => Object.hasOwn(cache, one));
    return cache[ttl ?? usual ?? ""] ?? cacheWrites;
  }

  /** What says how long a prompt cache lives. */
  #lifetime(field: string, given: JsonValue): JsonValue {
    const value = this.#clean(given, field);
    if (!isObject(value)) return value;
    const { cache } = this.#route.allow;
    const ttl = text(value.ttl);
    if (ttl === undefined || Object.hasOwn(cache, ttl) || USUAL_LIFETIMES.includes(ttl)) {
      this.#writeFactor = Math.max(this.#writeFactor, this.#factorOf(ttl));
      return value;
    }
    this.#drop(`${field}.ttl`);
    const { ttl: _, ...rest } = value;
    return rest;
  }

  /** A field that has a tool run at the upstream by itself. */
  #hosted(field: string, value: JsonValue): JsonValue | undefined {
    if (Array.isArray(value) && value.length === 0) return value;
    const name = field === "mcp_servers" ? "mcp" : "web_search";
    const price = this.#priceOf(name);
    if (price === undefined) return this.#drop(field);
    this.#offer(name, price, {});
    return this.#clean(value, field);
  }

  #priceOf(tool: string): number | undefined {
    const { tools } = this.#route.allow;
    return Object.hasOwn(tools, tool) ? tools[tool] : undefined;
  }

  #modalities(value: JsonValue): JsonValue {
    const others = Array.isArray(value) ? value.filter((one) => one !== "text") : [value];
    if (others.length === 0 || value === "text") return value;
    throw invalid(
      "modalities",
      `modalities: the model '${this.#route.id}' replies with text only: got ${
        JSON.stringify(value).slice(0, 100)
      }.`,
    );
  }

  #keptField(field: string, value: JsonValue): JsonValue {
    if (Array.isArray(value)) this.#checkIds(value, field);
    else {this.#checkKept(
        isObject(value) ? text(value.id) || JSON.stringify(value) : String(value),
        field,
      );}
    return value;
  }

  /** @throws {Refusal} `request_invalid` for an ID that the route does not list. */
  #checkKept(id: string, param: string): void {
    if (id === "" || this.#route.allow.resources.includes(id)) return;
    throw invalid(
      param,
      `${param} refers to something that is kept with the provider of the model '${this.#route.id}', which only an ` +
        "operator can allow (routes.ID.allow.resources). Send its contents instead.",
    );
  }

  /** A list of tools without those that run at the upstream, unless the route has a price for them. */
  #withoutHosted(list: JsonValue): JsonValue {
    if (!Array.isArray(list)) return list;
    const kept = list.filter((tool) => !isObject(tool) || this.#isOffered(tool));
    return kept.length === list.length ? list : kept;
  }

  #isOffered(tool: JsonObject): boolean {
    const name = hostedTool(this.#dialect, tool);
    const price = name === undefined ? 0 : this.#priceOf(name);
    if (price === undefined) {
      this.#drop(`tools.${text(tool.type) || name}`);
      this.#without.add(name!);
      const own = text(tool.name);
      this.#label ||= [...new Set([text(tool.type) || name, own ?? name])].join(", ");
      if (own !== undefined) this.#without.add(own);
      return false;
    }
    if (name !== undefined) this.#offer(name, price, tool);
    this.#hasTools = true;
    return true;
  }

  /** @throws {Refusal} `request_invalid` for a tool that runs at the upstream, unless the route has a price for it. */
  #checkJoining(tool: JsonObject, param: string): void {
    const name = hostedTool(this.#dialect, tool);
    if (name === undefined) return;
    const price = this.#priceOf(name);
    if (price === undefined) throw this.#notOffered(param, text(tool.type) || name);
    this.#offer(name, price, tool);
  }

  #offer(name: string, price: number, { max_uses: maxUses }: JsonObject): void {
    this.#tools[name] = price;
    this.#maxCalls += this.#limitIn("messages", maxUses, USUAL_CALLS);
  }

  /** A limit of calls that upstreams of its dialect keep; others may not know it. */
  #limitIn(dialect: DialectName, value: JsonValue | undefined, otherwise = Infinity): number {
    const isKept = dialect === this.#dialect && typeof value === "number" && value >= 1;
    return isKept ? Math.min(Math.ceil(value), MAX_CALLS) : otherwise;
  }

  #notOffered(param: string, tool: string): Refusal {
    return invalid(
      param,
      `${param}: the model '${this.#route.id}' does not offer the tool ${tool}, which runs at its provider and costs more than tokens. ` +
        "Leave it out, or ask an operator to allow it (routes.ID.allow.tools).",
    );
  }

  /** @throws {Refusal} `request_invalid` if a tool that was left out was the point of the request. */
  #checkPoint(body: JsonObject): void {
    if (this.#without.size === 0) return;
    const { tool_choice: choice } = body;
    const chosen = isObject(choice) ? [text(choice.name), nameOf(text(choice.type) ?? "")] : [];
    const isChosen = chosen.some((name) => name !== undefined && this.#without.has(name));
    if (this.#hasTools && !isChosen) return;
    throw this.#notOffered("tools", this.#label);
  }

  /**
   * What is deeper in a request: lifetimes of caches, IDs of what is kept, tools in items. Returns the same value if nothing
   * changed.
   */
  #clean(value: JsonValue, path: string): JsonValue {
    if (typeof value !== "object" || value === null) return value;
    if (Array.isArray(value)) {
      let list: JsonValue[] = value;
      for (let at = 0; at < value.length; at++) {
        const one = value[at]!;
        if (typeof one !== "object") continue;
        const cleaned = this.#clean(one, `${path}[${at}]`);
        if (cleaned === one) continue;
        if (list === value) list = [...value];
        list[at] = cleaned;
      }
      return list;
    }
    if (!isObject(value)) return value;
    return this.#cleanObject(value, path);
  }

  #cleanObject(value: JsonObject, path: string): JsonObject {
    let sent = value;
    const isCall = /tool_use$/.test(text(value.type) ?? "");
    for (const key in value) {
      const one = value[key];
      if (isDisguisedInside(key)) {
        if (sent === value) sent = { ...value };
        delete sent[key];
        this.#drop(`${path}.${key}`);
        continue;
      }
      if (KEPT_IDS.has(key) && one !== undefined && one !== null && !this.#isMade(key, value)) {
        this.#checkIds(one, `${path}.${key}`);
      }
      if (typeof one !== "object" || one === null) continue;
      if (OPAQUE_FIELDS.has(key) || isCall && key === "input") continue;
      // a tool that joins in the middle of a conversation
      if (key === "definition" && isObject(one)) this.#checkJoining(one, `${path}.${key}`);
      const isTools = key === "tools" && Array.isArray(one);
      const cleaned = CACHE_FIELDS.has(key)
        ? this.#lifetime(key, one)
        : this.#clean(isTools ? this.#withoutHosted(one) : one, `${path}.${key}`);
      if (cleaned === one) continue;
      if (sent === value) sent = { ...value };
      sent[key] = cleaned;
    }
    return sent;
  }

  /** Whether an ID is of a container in which a tool of the route ran earlier: an item of its reply names it. */
  #isMade(key: string, { type }: JsonObject): boolean {
    return key === "container_id" && type === "code_interpreter_call" &&
      this.#priceOf("code_interpreter") !== undefined;
  }

  #checkIds(value: JsonValue, param: string): void {
    if (typeof value === "string") this.#checkKept(value, param);
    else for (const one of items(value)) this.#checkIds(one, param);
  }
}

/** Whether a request asks for tools that run at the upstream. */
export function hasHostedTools({ tools }: UsedExtras): boolean {
  for (const _ in tools) return true;
  return false;
}
