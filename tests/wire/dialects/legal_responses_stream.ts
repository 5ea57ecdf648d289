import { assert, assertEquals } from "../../assert.ts";
import { eventsOf, type Rebuilt } from "./legal_streams.ts";

// deno-lint-ignore no-explicit-any -- wire events
type Item = any;

/** What a responses stream rebuilds to. */
export interface RebuiltResponse extends Rebuilt {
  readonly status: string;
  readonly output: Item[];
  // deno-lint-ignore no-explicit-any -- the wire's object
  readonly response: any;
}

const ENDS = ["response.completed", "response.incomplete", "response.failed"];

/**
 * Holds a responses stream against the rules that clients rely on: numbers without gaps, one beginning, items and parts that
 * are begun before their deltas, one id for each item, and an end that repeats the whole.
 *
 * @param options.repeats Whether the end of each item has to repeat its deltas.
 */
export function checkResponsesStream(
  text: string,
  { repeats = true }: { readonly repeats?: boolean } = {},
): RebuiltResponse {
  const events = eventsOf(text).filter(({ data }) => data !== "[DONE]");
  const items: Item[] = [];
  const done = new Set<number>();
  let end: Item;
  let id: string | undefined;
  events.forEach(({ event, data }, at) => {
    assertEquals(event, data.type, "the event line names the type");
    assertEquals(data.sequence_number, at, "numbers are dense");
    assertEquals(end, undefined, `${data.type} after the end`);
    assertEquals(at === 0, data.type === "response.created", "one response.created, first");
    if (data.response !== undefined) {
      id ??= data.response.id;
      assertEquals(data.response.id, id, "one id");
    }
    if (ENDS.includes(data.type)) {
      end = data;
      return;
    }
    const item = items[data.output_index];
    const list = data.summary_index === undefined ? item?.content : item?.summary;
    const part = list?.[data.summary_index ?? data.content_index];
    if (data.item_id !== undefined) assertEquals(data.item_id, item?.id, "one id for each item");
    if (data.type !== "response.output_item.added" && item !== undefined) {
      assert(!done.has(data.output_index), `${data.type} after its item's end`);
    }
    switch (data.type) {
      case "response.created":
      case "response.in_progress":
        break;
      case "response.output_item.added":
        assertEquals(data.output_index, items.length, "places are dense");
        assert(typeof data.item.id === "string" && data.item.id !== "");
        if (data.item.type === "function_call") {
          assert(data.item.name !== "" && data.item.call_id.length <= 64);
        }
        items.push(structuredClone(data.item));
        break;
      case "response.output_item.done":
        assertEquals([data.item.id, data.item.type], [item.id, item.type]);
        done.add(data.output_index);
        if (repeats) assertEquals(textsOf(data.item), textsOf(item), "the end repeats the deltas");
        items[data.output_index] = data.item;
        break;
      case "response.content_part.added":
        assertEquals(data.content_index, item.content?.length ?? 0);
        (item.content ??= []).push({ ...data.part });
        break;
      case "response.reasoning_summary_part.added":
        assertEquals(data.summary_index, item.summary.length);
        item.summary.push({ ...data.part });
        break;
      case "response.output_text.delta":
      case "response.reasoning_text.delta":
      case "response.reasoning_summary_text.delta":
        part.text += data.delta;
        break;
      case "response.refusal.delta":
        part.refusal += data.delta;
        break;
      case "response.function_call_arguments.delta":
        item.arguments += data.delta;
        break;
      case "response.custom_tool_call_input.delta":
        item.input += data.delta;
        break;
      default:
        assert(
          /^response\.(content_part|reasoning_summary_part|output_text|refusal|reasoning_text|reasoning_summary_text|function_call_arguments|custom_tool_call_input)\.done$/
            .test(data.type) ||
            /^response\.(output_text\.annotation|web_search_call|image_generation_call)\./.test(
              data.type,
            ),
          `unknown event ${data.type}`,
        );
    }
  });
  assert(end !== undefined, "a stream ends with a whole response");
  const { response } = end;
  const failed = response.status === "failed";
  assertEquals(end.type, `response.${response.status}`);
  assertEquals(response.output.map(({ id }: Item) => id), items.map(({ id }) => id));
  if (!failed) {
    items.forEach((item, at) => {
      if (done.has(at)) return;
      assert(/_call$/.test(item.type) && response.status === "incomplete", "each item has its end");
      items[at] = { ...item, status: "incomplete" }; // clients run a call that is done
    });
    assertEquals<unknown>(response.output, items, "the whole response repeats its items");
    assert(Number.isInteger(response.usage.output_tokens));
  } else assert(typeof response.error.code === "string");
  return {
    blocks: items.flatMap(blockOf),
    stopReason: failed ? null : stopReason(response, items),
    failed,
    status: response.status,
    output: response.output,
    response,
  };
}

function textsOf(item: Item): string[] {
  return [...item.content ?? [], ...item.summary ?? []].map((part: Item) =>
    part.text ?? part.refusal
  ).concat(item.arguments ?? item.input ?? []);
}

function blockOf(item: Item): Rebuilt["blocks"] {
  switch (item.type) {
    case "message":
      return [{ type: "text", text: textsOf(item).join("") }];
    case "reasoning":
      return [{ type: "thinking", text: textsOf(item).join("") }];
    case "function_call":
      return [{ type: "tool_use", id: item.call_id, name: item.name, text: item.arguments }];
    case "custom_tool_call":
      return [{ type: "tool_use", id: item.call_id, name: item.name, text: item.input }];
    default:
      return [];
  }
}

function stopReason(response: Item, items: readonly Item[]): string {
  if (response.status === "incomplete") return response.incomplete_details.reason;
  return items.some(({ type }) => /_call$/.test(type)) ? "tools" : "stop";
}
