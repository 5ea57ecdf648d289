/** Calls of custom tools, which targets may answer by calls of the functions that stand for them. */

import { isObject, type JsonObject, objects, text } from "../json.ts";
import { CustomInput } from "../neutral/custom_input.ts";
import type { WrittenCall } from "./calls.ts";

const NONE: ReadonlySet<string> = new Set();

/** The names of the custom tools that a request offers; those that a function has, too, are not told apart. */
export function customTools({ tools }: JsonObject): ReadonlySet<string> {
  if (tools === undefined) return NONE;
  const names = (kind: "custom" | "function") =>
    objects(tools).flatMap(({ [kind]: own }) => isObject(own) ? text(own.name) ?? [] : []);
  const functions = new Set(names("function"));
  return new Set(names("custom").filter((name) => !functions.has(name)));
}

/** Writes pieces of calls of custom tools; those of functions are left to others. */
export class CustomCalls {
  readonly #names: ReadonlySet<string>;
  readonly #inputs = new Map<number, CustomInput>();

  /** @param names Of the custom tools. */
  constructor(names: ReadonlySet<string>) {
    this.#names = names;
  }

  /** The pieces of a custom tool's call for a piece of a function's; undefined for a function's own. */
  pieces({ index, opening, args }: WrittenCall): JsonObject[] | undefined {
    const pieces: JsonObject[] = [];
    if (opening !== undefined && this.#names.has(opening.name)) {
      this.#inputs.set(index, new CustomInput());
      const custom = { name: opening.name, input: "" };
      pieces.push({ index, id: opening.id, type: "custom", custom });
    }
    const input = this.#inputs.get(index);
    if (input === undefined) return undefined;
    return [...pieces, ...piece(index, input.add(args))];
  }

  /** What is left of the inputs when the reply ends. */
  end(): JsonObject[] {
    return [...this.#inputs].flatMap(([index, input]) => piece(index, input.end()));
  }

  /** Whether a call is of a custom tool. */
  has(index: number): boolean {
    return this.#inputs.has(index);
  }
}

function piece(index: number, input: string): JsonObject[] {
  return input === "" ? [] : [{ index, custom: { input } }];
}

/** A whole call of the function that stands for a custom tool, as a call of the tool. */
export function customCall(id: string, name: string, args: string): JsonObject {
  const input = new CustomInput();
  return { id, type: "custom", custom: { name, input: input.add(args) + input.end() } };
}
