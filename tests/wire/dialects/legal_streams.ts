import { assert, assertEquals } from "../../assert.ts";

// deno-lint-ignore no-explicit-any -- wire events of either dialect
type Event = any;

/** The events of a stream's text. */
export function eventsOf(text: string): { event: string | undefined; data: Event }[] {
  return text.split("\n\n").filter((one) => one !== "" && !one.startsWith(":")).map((one) => {
    // lines end at line feeds only: U+2028 may stand in JSON as it is
    const field = (name: string) =>
      one.split("\n").find((line) => line.startsWith(`${name}: `))?.slice(name.length + 2);
    const [event, data] = [field("event"), field("data")!];
    return { event, data: data === "[DONE]" ? data : JSON.parse(data) };
  });
}

/** A message as a client rebuilds it. */
export interface Rebuilt {
  readonly blocks: { type: string; text: string; id?: string; name?: string }[];
  readonly stopReason: string | null;
  readonly failed: boolean;
}

/** Holds a messages stream against the rules that clients rely on; answers what it rebuilds to. */
export function checkMessagesStream(text: string): Rebuilt {
  const events = eventsOf(text);
  const blocks: Rebuilt["blocks"] = [];
  let [started, stopped, failed] = [false, false, false];
  let open: number | undefined;
  let stopReason: string | null = null;
  for (const { event, data } of events) {
    assertEquals(event, data.type, "the event line names the type");
    assert(!stopped && !failed, `${data.type} after the end`);
    if (data.type === "ping") continue;
    if (data.type === "error") {
      failed = true;
      continue;
    }
    assertEquals(started, data.type !== "message_start", "one message_start, first");
    switch (data.type) {
      case "message_start":
        started = true;
        assertEquals([data.message.content, data.message.stop_reason], [[], null]);
        assert(Number.isInteger(data.message.usage.input_tokens));
        assertEquals(data.message.usage.output_tokens, 0);
        break;
      case "content_block_start":
        assertEquals(open, undefined, "blocks do not overlap");
        assertEquals(data.index, blocks.length, "indices are dense");
        open = data.index;
        blocks.push({ ...data.content_block, text: "" });
        if (data.content_block.type === "tool_use") {
          assert(data.content_block.id !== "" && data.content_block.name !== "");
          assertEquals(data.content_block.input, {});
        }
        break;
      case "content_block_delta": {
        assertEquals(data.index, open, "deltas go into the open block");
        const block = blocks.at(-1)!;
        const kinds: Record<string, string> = {
          text_delta: "text",
          thinking_delta: "thinking",
          signature_delta: "thinking",
          input_json_delta: "tool_use",
        };
        assertEquals(kinds[data.delta.type], block.type, "a delta fits its block");
        block.text += data.delta.text ?? data.delta.thinking ?? data.delta.partial_json ?? "";
        break;
      }
      case "content_block_stop":
        assertEquals(data.index, open);
        open = undefined;
        break;
      case "message_delta":
        assertEquals(open, undefined, "blocks are closed before the end");
        assert(Number.isInteger(data.usage.output_tokens));
        stopReason = data.delta.stop_reason;
        assert(typeof stopReason === "string");
        break;
      case "message_stop":
        assert(stopReason !== null, "message_delta before message_stop");
        stopped = true;
        break;
      default:
        throw new Error(`unknown event ${data.type}`);
    }
  }
  assert(stopped || failed, "a stream ends with message_stop or an error");
  return { blocks, stopReason, failed };
}

/** Holds a chat stream against the rules that clients rely on; answers what it rebuilds to. */
export function checkChatStream(text: string): Rebuilt {
  const events = eventsOf(text);
  const calls: Rebuilt["blocks"] = [];
  const said = { thinking: "", text: "" };
  let finish: string | null = null;
  let [role, done, failed] = [false, false, false];
  for (const { data } of events) {
    assert(!done && !failed, "nothing after the end");
    if (data === "[DONE]") {
      done = true;
      continue;
    }
    if (data.error !== undefined) {
      failed = true;
      continue;
    }
    const [choice] = data.choices;
    if (choice === undefined) {
      assert(data.usage !== undefined && finish !== null, "the usage comes after the finish");
      continue;
    }
    assertEquals(finish, null, "nothing is said after the finish");
    if (!role) assertEquals(choice.delta.role, "assistant", "the role comes first");
    else assertEquals(choice.delta.role, undefined, "the role comes once");
    role = true;
    said.thinking += choice.delta.reasoning_content ?? "";
    said.text += choice.delta.content ?? "";
    for (const call of choice.delta.tool_calls ?? []) {
      if (call.index === calls.length) {
        assert(
          typeof call.id === "string" && call.type === "function" && call.function.name !== "",
        );
        calls.push({
          type: "tool_use",
          id: call.id,
          name: call.function.name,
          text: call.function.arguments,
        });
      } else {
        assertEquals([call.id, call.type, call.function.name], [undefined, undefined, undefined]);
        calls[call.index]!.text += call.function.arguments;
      }
    }
    finish = choice.finish_reason;
  }
  assert(done !== failed, "a stream ends with [DONE] or an error");
  if (done) assert(finish !== null);
  const blocks = [
    { type: "thinking", text: said.thinking },
    { type: "text", text: said.text },
    ...calls,
  ].filter((block) => block.type === "tool_use" || block.text !== "");
  return { blocks, stopReason: finish, failed };
}
