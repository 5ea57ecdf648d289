import type { JsonObject } from "../../../src/wire/dialects/mod.ts";

/** An item of a reply, and the pieces in which its text comes. */
export type Said =
  | { readonly reasoning: readonly string[]; readonly sealed?: string; readonly raw?: boolean }
  | { readonly text: readonly string[] }
  | { readonly refusal: readonly string[] }
  | { readonly name: string; readonly args: readonly string[]; readonly custom?: boolean };

export const USAGE = {
  input_tokens: 100,
  input_tokens_details: { cached_tokens: 60 },
  output_tokens: 20,
  output_tokens_details: { reasoning_tokens: 8 },
  total_tokens: 120,
};

/** An item's id: as long as most upstreams make them. */
export function idOf(prefix: string, at: number): string {
  return `${prefix}_${String(at).padStart(24, "a1")}`;
}

/** The items of a reply, whole. */
export function itemsOf(said: readonly Said[]): JsonObject[] {
  return said.map((one, at): JsonObject => {
    if ("reasoning" in one) {
      const text = one.reasoning.join("");
      return {
        id: idOf("rs", at),
        type: "reasoning",
        summary: one.raw || text === "" ? [] : [{ type: "summary_text", text }],
        ...(one.raw ? { content: [{ type: "reasoning_text", text }] } : {}),
        ...(one.sealed === undefined ? {} : { encrypted_content: one.sealed }),
      };
    }
    if ("name" in one) {
      const whole = one.args.join("");
      return {
        id: idOf(one.custom ? "ctc" : "fc", at),
        type: one.custom ? "custom_tool_call" : "function_call",
        status: "completed",
        call_id: `call_${at}`,
        name: one.name,
        ...(one.custom ? { input: whole } : { arguments: whole }),
      };
    }
    const part = "text" in one
      ? { type: "output_text", text: one.text.join(""), annotations: [] }
      : { type: "refusal", refusal: one.refusal.join("") };
    return {
      id: idOf("msg", at),
      type: "message",
      status: "completed",
      role: "assistant",
      content: [part],
    };
  });
}

/** A whole response. */
export function responseOf(said: readonly Said[], more: JsonObject = {}): JsonObject {
  return {
    id: "resp_theirs",
    object: "response",
    created_at: 7,
    status: "completed",
    error: null,
    incomplete_details: null,
    model: "theirs",
    output: itemsOf(said),
    store: false,
    usage: USAGE,
    ...more,
  };
}

/** All the events of a stream, as OpenAI sends them. */
export function eventsFor(said: readonly Said[], more: JsonObject = {}): JsonObject[] {
  const events: JsonObject[] = [];
  const whole = responseOf(said, more);
  const begun = { ...whole, status: "in_progress", output: [], usage: null };
  events.push({ type: "response.created", response: begun });
  events.push({ type: "response.in_progress", response: begun });
  said.forEach((one, at) => {
    const item = itemsOf(said)[at]!;
    const [id, output_index] = [item.id!, at];
    const place = { item_id: id, output_index };
    const empty: JsonObject = {};
    for (const key of ["content", "summary"]) if (item[key] !== undefined) empty[key] = [];
    for (const key of ["arguments", "input"]) if (item[key] !== undefined) empty[key] = "";
    const { encrypted_content: _, ...shown } = item;
    events.push({ type: "response.output_item.added", output_index, item: { ...shown, ...empty } });
    const stream = (kind: string, pieces: readonly string[], field: string, index: JsonObject) => {
      for (const delta of pieces) events.push({ type: `${kind}.delta`, ...place, ...index, delta });
      events.push({ type: `${kind}.done`, ...place, ...index, [field]: pieces.join("") });
    };
    const inPart = (
      name: string,
      list: "content" | "summary",
      kind: string,
      pieces: readonly string[],
    ) => {
      const [part] = item[list] as JsonObject[];
      const field = part!.refusal === undefined ? "text" : "refusal";
      const index = { [`${list}_index`]: 0 };
      events.push({ type: `${name}.added`, ...place, ...index, part: { ...part, [field]: "" } });
      stream(kind, pieces, field, index);
      events.push({ type: `${name}.done`, ...place, ...index, part: part! });
    };
    const [content, summary] = ["response.content_part", "response.reasoning_summary_part"];
    if ("reasoning" in one && one.reasoning.join("") !== "") {
      if (one.raw) inPart(content!, "content", "response.reasoning_text", one.reasoning);
      else inPart(summary!, "summary", "response.reasoning_summary_text", one.reasoning);
    }
    if ("text" in one) inPart(content!, "content", "response.output_text", one.text);
    if ("refusal" in one) inPart(content!, "content", "response.refusal", one.refusal);
    if ("name" in one) {
      stream(
        one.custom ? "response.custom_tool_call_input" : "response.function_call_arguments",
        one.args,
        one.custom ? "input" : "arguments",
        {},
      );
    }
    events.push({ type: "response.output_item.done", output_index, item });
  });
  events.push({ type: `response.${whole.status}`, response: whole });
  return events.map((event, sequence_number) => ({ ...event, sequence_number }));
}

/** Events as bytes of a stream. */
export function linesOf(events: readonly JsonObject[]): string {
  return events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join("");
}
