/**
 * What both dialects can say, in neither's words. A translation goes through it: one dialect is read
 * into it, the other is written from it.
 */

import { parseJson } from "../json/mod.ts";
import { isObject, type JsonObject } from "./json.ts";

/** A piece of what a user says or a tool answers. */
export type Part =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "image"; readonly url: string }
  | { readonly type: "document"; readonly title: string | undefined; readonly url: string };

/** A call of a tool. */
export interface ToolCall {
  readonly id: string;
  readonly name: string;
  /** JSON text, as the model wrote it. */
  readonly args: string;
}

/** One turn of a conversation. */
export type Turn =
  | { readonly role: "user"; readonly parts: readonly Part[] }
  /** An instruction in the middle of the conversation. */
  | { readonly role: "system"; readonly text: string }
  | {
    readonly role: "assistant";
    readonly reasoning: string;
    readonly text: string;
    readonly calls: readonly ToolCall[];
  }
  | {
    readonly role: "tool";
    readonly callId: string;
    readonly parts: readonly Part[];
    readonly failed: boolean;
  };

/** A tool on offer. */
export interface Tool {
  readonly name: string;
  readonly description: string | undefined;
  readonly schema: JsonObject;
  readonly strict: boolean | undefined;
}

/** A whole request. */
export interface Conversation {
  readonly instructions: string;
  readonly turns: readonly Turn[];
  readonly tools: readonly Tool[];
  readonly toolChoice: "auto" | "none" | "required" | { readonly name: string } | undefined;
  readonly parallelTools: boolean | undefined;
  readonly temperature: number | undefined;
  readonly topP: number | undefined;
  readonly topK: number | undefined;
  readonly stop: readonly string[];
  /** Who asks, as the caller names them to their provider. */
  readonly user: string | undefined;
  /** JSON Schema that the answer must satisfy. */
  readonly schema: JsonObject | undefined;
  /** Fields of the request that have no place here. */
  readonly ignored: readonly string[];
}

/** Why an answer ended. */
export type Finish = "stop" | "length" | "tools" | "refused";

/** What happens while an answer comes in. */
export type AnswerEvent =
  | { readonly type: "reasoning"; readonly text: string }
  | { readonly type: "text"; readonly text: string }
  /** A piece of a tool call; `key` tells calls apart, id and name come with its first pieces. */
  | {
    readonly type: "call";
    readonly key: string;
    readonly id: string | undefined;
    readonly name: string | undefined;
    readonly args: string;
  }
  | { readonly type: "finish"; readonly finish: Finish; readonly stopped: string | undefined };

/** JSON text of a call's arguments as an object; undefined when it is not one. */
export function parseArgs(args: string): JsonObject | undefined {
  if (args.trim() === "") return {};
  try {
    const value = parseJson(args);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** An id that is too long to be one says something. */
function longId(id: string | undefined): string {
  return id !== undefined && id.length > 64 ? id : "";
}

/** Adds what an event says to a count; answers whether it says anything. */
export function countEvent(
  counter: { add(said: string): void },
  event: AnswerEvent,
): boolean {
  const said = event.type === "call"
    ? `${longId(event.id)}${event.name ?? ""}${event.args}`
    : event.type === "text" || event.type === "reasoning"
    ? event.text
    : "";
  counter.add(said);
  return said !== "";
}
