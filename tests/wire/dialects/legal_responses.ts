import { assert, assertEquals } from "../../assert.ts";
import { eventsOf } from "./legal_streams.ts";

// deno-lint-ignore no-explicit-any -- wire objects
type Wire = any;

/** Fields that every response object has, whatever its state, with what their values may be. */
const FIELDS: Readonly<Record<string, (value: Wire) => boolean>> = {
  id: isText,
  object: (value) => value === "response",
  created_at: Number.isInteger,
  completed_at: orNull(Number.isInteger),
  status: (value) => ["in_progress", "completed", "incomplete", "failed"].includes(value),
  incomplete_details: orNull(({ reason }) =>
    reason === "max_output_tokens" || reason === "content_filter"
  ),
  model: (value) => typeof value === "string",
  previous_response_id: orNull(isText),
  instructions: orNull((value) => typeof value === "string"),
  output: Array.isArray,
  error: orNull(({ code, message }) => isText(code) && isText(message)),
  tools: (value) => value.every(isTool),
  tool_choice: (value) => typeof value === "string" || isText(value.type),
  truncation: (value) => value === "auto" || value === "disabled",
  parallel_tool_calls: isBoolean,
  text: (value) => isText(value.format.type) && value.verbosity !== null,
  top_p: isNumber,
  presence_penalty: isNumber,
  frequency_penalty: isNumber,
  top_logprobs: Number.isInteger,
  temperature: isNumber,
  reasoning: orNull((value) => "effort" in value && "summary" in value),
  usage: orNull(isUsage),
  max_output_tokens: orNull(Number.isInteger),
  max_tool_calls: orNull(Number.isInteger),
  store: isBoolean,
  background: isBoolean,
  service_tier: isText,
  metadata: (value) => typeof value === "object" && value !== null,
  safety_identifier: orNull(isText),
  prompt_cache_key: orNull(isText),
};

function isText(value: Wire): boolean {
  return typeof value === "string" && value !== "";
}

function isNumber(value: Wire): boolean {
  return typeof value === "number";
}

function isBoolean(value: Wire): boolean {
  return typeof value === "boolean";
}

function orNull(is: (value: Wire) => boolean): (value: Wire) => boolean {
  return (value) => value === null || is(value);
}

function isTool(tool: Wire): boolean {
  const fields = ["name", "description", "parameters", "strict"];
  return isText(tool.type) && (tool.type !== "function" || fields.every((field) => field in tool));
}

function isUsage(usage: Wire): boolean {
  const { input_tokens: input, output_tokens: output, total_tokens: total } = usage;
  return [input, output].every((count) => Number.isInteger(count) && count >= 0) &&
    total === input + output && Number.isInteger(usage.input_tokens_details.cached_tokens) &&
    Number.isInteger(usage.output_tokens_details.reasoning_tokens);
}

/** Holds a response object against the fields that clients' schemas demand. */
export function checkResponseObject(response: Wire): void {
  for (const [field, is] of Object.entries(FIELDS)) {
    assert(field in response, `a response has '${field}'`);
    assert(is(response[field]), `${field}: ${JSON.stringify(response[field])}`);
  }
  assertEquals(Object.keys(response).filter((field) => !(field in FIELDS)), [], "no other fields");
  for (const item of response.output) checkItem(item);
}

/** The fields of each kind of item; those in brackets may be left out, and none is null. */
const ITEMS: Readonly<Record<string, { prefix: string; fields: string }>> = {
  message: { prefix: "msg_", fields: "status role content" },
  reasoning: { prefix: "rs_", fields: "summary [encrypted_content] [status]" },
  function_call: { prefix: "fc_", fields: "status call_id name arguments [namespace]" },
  custom_tool_call: { prefix: "ctc_", fields: "status call_id name input [namespace]" },
  tool_search_call: { prefix: "tsc_", fields: "status call_id execution arguments" },
  image_generation_call: { prefix: "ig_", fields: "status result [output_format]" },
  compaction: { prefix: "cmp_", fields: "encrypted_content" },
};

/** Calls by the name of their events. */
const CALL_EVENTS: Readonly<Record<string, string>> = {
  "response.function_call_arguments": "function_call",
  "response.custom_tool_call_input": "custom_tool_call",
};

function checkItem(item: Wire): void {
  const kind = ITEMS[item.type];
  assert(kind !== undefined, `unknown item ${item.type}`);
  assert(item.id.startsWith(kind.prefix) && item.id.length <= 64, item.id);
  const names = kind.fields.split(" ");
  const known = ["id", "type", ...names.map((name) => name.replace(/[[\]]/g, ""))];
  for (const name of ["id", "type", ...names.filter((name) => !name.startsWith("["))]) {
    assert(name in item, `${item.type} has '${name}'`);
  }
  for (const [name, value] of Object.entries(item)) {
    assert(known.includes(name), `${item.type} has no '${name}'`);
    const isNothingYet = name === "result" && item.status === "in_progress";
    assert(isNothingYet || (value ?? undefined) !== undefined, `${name} is left out, not null`);
  }
  if ("call_id" in item) assert(/^[A-Za-z0-9_-]{1,64}$/.test(item.call_id), item.call_id);
}

/** A response as a client rebuilds it. */
export interface RebuiltResponse {
  /** The last event's response. */
  readonly response: Wire;
  /** The number of items that no event ended. */
  readonly unended: number;
  /** The deltas, by kind of event. */
  readonly deltas: { readonly type: string; readonly delta: string }[];
}

/** An item that events have begun and not ended. */
interface Open {
  readonly item: Wire;
  /** The part that is being written, and how its events name it. */
  part: { readonly index: number; text: string; isDone: boolean } | undefined;
  /** Parts that are complete. */
  readonly parts: Wire[];
  /** A call's arguments or input. */
  args: string;
  isArgsDone: boolean;
  annotations: number;
}

/** Holds a responses stream against the rules that clients rely on; returns what it rebuilds to. */
export function checkResponsesStream(text: string): RebuiltResponse {
  assert(text.startsWith("event: response.created\n"), "nothing comes before the first event");
  assert(text.endsWith("\n\ndata: [DONE]\n\n"), "the end mark is last");
  const events = eventsOf(text);
  assertEquals(events.filter(({ data }) => data === "[DONE]").length, 1);
  const deltas: RebuiltResponse["deltas"] = [];
  const ended: Wire[] = [];
  const added: Wire[] = [];
  let open: Open | undefined;
  let first: Wire;
  let last: Wire;

  for (const [at, { event, data }] of events.slice(0, -1).entries()) {
    assertEquals(event, data.type, "the event line names the type");
    assertEquals(data.sequence_number, at, "numbers have no gaps");
    assertEquals(last, undefined, "nothing follows the last event");
    assertEquals(at === 0, data.type === "response.created");
    if (at === 1) assert(/^response\.(in_progress|failed)$/.test(data.type), data.type);
    if (data.response !== undefined) {
      checkResponseObject(data.response);
      first ??= data.response;
      assertEquals(data.response.id, first.id, "the id stays");
    }
    if ("output_index" in data && data.type !== "response.output_item.added") {
      assertEquals(data.output_index, added.length - 1, "events belong to the last item");
      assert(open !== undefined, `${data.type} outside of an item`);
    }
    if ("item_id" in data) assertEquals(data.item_id, open!.item.id);
    switch (data.type) {
      case "response.created":
      case "response.in_progress":
        assert(at < 2);
        assertEquals([data.response.status, data.response.output], ["in_progress", []]);
        assertEquals(data.response.usage, null);
        break;
      case "response.output_item.added":
        checkItem(data.item);
        assertEquals(data.output_index, added.length, "indices are dense");
        assert(open === undefined || "call_id" in open.item, "items do not overlap");
        assert(added.every(({ id }) => id !== data.item.id), "ids are unique");
        if ("status" in data.item) assertEquals(data.item.status, "in_progress");
        for (const field of ["content", "summary", "arguments", "input"]) {
          const value = data.item[field];
          if (value !== undefined) assertEquals(Object.keys(value), [], `${field} is empty`);
        }
        added.push(data.item);
        open = {
          item: data.item,
          part: undefined,
          parts: [],
          args: "",
          isArgsDone: false,
          annotations: 0,
        };
        break;
      case "response.content_part.added":
      case "response.reasoning_summary_part.added": {
        const isContent = data.type === "response.content_part.added";
        assertEquals(open!.item.type, isContent ? "message" : "reasoning");
        assertEquals(open!.part, undefined, "parts do not overlap");
        const index = isContent ? data.content_index : data.summary_index;
        assertEquals(index, open!.parts.length);
        const isRefusal = isContent && data.part.type === "refusal";
        const type = isRefusal ? "refusal" : isContent ? "output_text" : "summary_text";
        assertEquals(data.part.type, type);
        assertEquals(data.part.text ?? data.part.refusal, "");
        open!.part = { index, text: "", isDone: false };
        break;
      }
      case "response.output_text.annotation.added":
        assertEquals(data.content_index, open!.part!.index);
        assertEquals(data.annotation_index, open!.annotations++);
        assertEquals(data.annotation.type, "url_citation");
        break;
      case "response.refusal.delta":
      case "response.output_text.delta":
      case "response.reasoning_summary_text.delta":
        assertEquals(data.content_index ?? data.summary_index, open!.part!.index);
        assert(!open!.part!.isDone && data.delta !== "");
        open!.part!.text += data.delta;
        deltas.push(data);
        break;
      case "response.refusal.done":
      case "response.output_text.done":
      case "response.reasoning_summary_text.done":
        assertEquals(data.content_index ?? data.summary_index, open!.part!.index);
        assertEquals(
          data.text ?? data.refusal,
          open!.part!.text,
          "the whole text is what the deltas said",
        );
        open!.part!.isDone = true;
        break;
      case "response.content_part.done":
      case "response.reasoning_summary_part.done":
        assert(open!.part!.isDone, "a text is done before its part");
        assertEquals(data.content_index ?? data.summary_index, open!.part!.index);
        assertEquals(data.part.text ?? data.part.refusal, open!.part!.text);
        assertEquals(data.part.annotations?.length ?? 0, open!.annotations);
        open!.parts.push(data.part);
        open!.part = undefined;
        break;
      case "response.function_call_arguments.delta":
      case "response.custom_tool_call_input.delta":
        assertEquals(CALL_EVENTS[data.type.replace(/\.delta$/, "")], open!.item.type);
        assert(!open!.isArgsDone && data.delta !== "");
        open!.args += data.delta;
        deltas.push(data);
        break;
      case "response.function_call_arguments.done":
      case "response.custom_tool_call_input.done":
        if ("arguments" in data) assertEquals(data.name, open!.item.name);
        assertEquals(CALL_EVENTS[data.type.replace(/\.done$/, "")], open!.item.type);
        assertEquals(data.arguments ?? data.input, open!.args);
        open!.isArgsDone = true;
        break;
      case "response.image_generation_call.completed":
        assertEquals(open!.item.type, "image_generation_call");
        break;
      case "response.output_item.done":
        checkItem(data.item);
        checkEnded(data.item, open!);
        ended[data.output_index] = data.item;
        open = undefined;
        break;
      case "response.completed":
      case "response.incomplete":
      case "response.failed":
        assertEquals(data.type, `response.${data.response.status}`);
        last = data.response;
        break;
      default:
        throw new Error(`unknown event ${data.type}`);
    }
  }
  assert(last !== undefined, "a stream says how it ended");
  checkEnd(last, { added, ended });
  return { response: last, unended: added.length - Object.keys(ended).length, deltas };
}

function checkEnded(item: Wire, { item: begun, part, parts, args, isArgsDone }: Open): void {
  assertEquals(part, undefined, "parts are done before their item");
  for (const field of ["id", "type", "call_id", "name", "namespace", "role"]) {
    assertEquals(item[field], begun[field], `${field} stays`);
  }
  if (item.type === "message") assertEquals(item.content, parts);
  if (item.type === "reasoning") assertEquals(item.summary, parts);
  if (item.type === "function_call" || item.type === "custom_tool_call") {
    assert(isArgsDone, "arguments are done before their call");
    assertEquals(item.arguments ?? item.input, args);
    assertEquals(item.status, "completed", "a call is done only when it can be run");
  }
  if (item.type === "tool_search_call") assertEquals(item.status, "completed");
}

function checkEnd(last: Wire, { added, ended }: { added: Wire[]; ended: Wire[] }): void {
  assertEquals(last.output.length, added.length);
  for (const [index, item] of last.output.entries()) {
    if (ended[index] !== undefined) assertEquals(item, ended[index]);
    else {
      assertEquals([item.id, item.status], [added[index].id, "incomplete"]);
      assert(last.status !== "completed", "a complete response has whole items");
    }
  }
  const calls = last.output.filter((item: Wire) => "call_id" in item);
  assertEquals(new Set(calls.map((item: Wire) => item.call_id)).size, calls.length);
  assertEquals(last.status === "failed", last.error !== null);
  assertEquals(last.status === "incomplete", last.incomplete_details !== null);
  assertEquals(last.status === "completed", last.completed_at !== null);
  assertEquals(last.status === "failed", last.usage === null);
  if (last.status === "completed") {
    for (const item of last.output) assertEquals(item.status ?? "completed", "completed");
  }
}
