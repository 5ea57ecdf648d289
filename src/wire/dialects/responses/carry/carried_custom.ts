/** Calls of custom tools that an upstream answered by calls of functions of their names. */

import { isObject, type JsonObject, text } from "../../json.ts";
import { CustomInput } from "../../neutral/custom_input.ts";
import { typeOf } from "../items.ts";
import { offerOf } from "../request/tools.ts";
import { isWhole } from "./carried_item.ts";

/** The call of an item that has begun. */
interface Call {
  readonly id: string | undefined;
  readonly index: unknown;
  readonly input: CustomInput;
}

/** Makes calls of custom tools out of an upstream's calls of functions, in events and in whole responses. */
export class CarriedCustom {
  /** Names that only custom tools have. */
  readonly #names: ReadonlySet<string>;
  readonly #calls: Call[] = [];

  /** @param body The request, which is not kept. */
  constructor(body: JsonObject) {
    const { tools } = offerOf(body);
    const named = (kind: string) =>
      tools.filter((tool) => tool.kind === kind).map(({ name }) => name);
    const functions = new Set(named("function"));
    this.#names = new Set(named("custom").filter((name) => !functions.has(name)));
  }

  /** An output item as the client expects it. */
  item(item: JsonObject): JsonObject {
    if (!this.#isCustom(item)) return item;
    const { arguments: args, ...rest } = item;
    const input = new CustomInput();
    const written = isObject(args) ? JSON.stringify(args) : text(args) ?? "";
    const isHalf = /^\s*\{/.test(written) && !isWhole(written); // its input does not show it
    return {
      ...rest,
      ...(isHalf ? { status: "incomplete" } : {}),
      type: "custom_tool_call",
      input: input.add(written) + input.end(),
    };
  }

  /** A stream's event likewise. Call it once for each. */
  event<Event extends JsonObject & { type: string }>(event: Event): Event {
    if (this.#names.size === 0) return event;
    const { type, item } = event;
    if (type.startsWith("response.output_item.") && isObject(item) && this.#isCustom(item)) {
      if (type === "response.output_item.added") {
        const id = text(item.id) || undefined;
        this.#calls.push({ id, index: event.output_index, input: new CustomInput() });
      }
      return { ...event, item: this.item(item) };
    }
    const [, end] = /^response\.function_call_arguments\.(delta|done)$/.exec(type) ?? [];
    const call = end === undefined ? undefined : this.#callOf(event);
    if (call === undefined) return event;
    const { arguments: args, name: _, ...rest } = event;
    const renamed = { ...rest, type: `response.custom_tool_call_input.${end}` };
    if (end === "delta") {
      return { ...renamed, delta: call.input.add(text(event.delta) ?? "") } as unknown as Event;
    }
    const whole = new CustomInput();
    return { ...renamed, input: whole.add(text(args) ?? "") + whole.end() } as unknown as Event;
  }

  /** The items of a whole response likewise. */
  output(output: readonly JsonObject[]): JsonObject[] {
    return output.map((item) => this.item(item));
  }

  #isCustom(item: JsonObject): boolean {
    return typeOf(item) === "function_call" && this.#names.has(text(item.name) ?? "");
  }

  #callOf({ item_id: id, output_index: index }: JsonObject): Call | undefined {
    return this.#calls.find((call) => call.id !== undefined && call.id === id) ??
      this.#calls.find((call) => call.index !== undefined && call.index === index);
  }
}
