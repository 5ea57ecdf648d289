import { chunk, eventStream, type FakeUpstream, fakeUpstream, sse } from "../../fake/upstream.ts";

/** What a tool that is driven shall end with. */
export const DONE = "ROUND-DONE";
/** What the model writes into the file: more than 1,024 tokens hold, less than the 6,000 characters that Cline takes. */
export const CONTENT = Array.from(
  { length: 120 },
  (_, at) => `Line ${at + 1} of the file that was asked for.\n`,
)
  .join("");

const CHARACTERS_PER_TOKEN = 3;
const MARK = /ROUND write to <?([^\s<>"\\]+)/;

/** The prompt that makes the model write a file. */
export function promptFor(path: string): string {
  return `ROUND write to <${path}> please, with your tool for writing files.`;
}

// deno-lint-ignore no-explicit-any -- bodies as tools send them
type Json = any;

interface Call {
  readonly name: string;
  readonly input: Record<string, unknown>;
}

interface Planned {
  readonly text: string;
  readonly call: Call | undefined;
}

/**
 * An upstream of both dialects that writes one file by the tools on offer and then says {@linkcode DONE}. Like a model,
 * it stops at the output limit that it is sent: a call that was cut is no JSON.
 *
 * @param options `cuts`: whether it stops at the limit.
 */
export function roundUpstream({ cuts }: { readonly cuts: boolean }): FakeUpstream {
  return fakeUpstream(({ path, body: received }) => {
    const body = cuts
      ? received
      : { ...received, max_tokens: undefined, max_completion_tokens: undefined };
    if (path === "/v1/chat/completions") return chatReply(body, planFor(body));
    if (path === "/v1/messages") return messagesReply(body, planFor(body));
    return Response.json({ error: { message: "no such endpoint" } }, { status: 404 });
  });
}

function planFor(body: Json): Planned {
  const tools: Json[] = (body.tools ?? []).map((tool: Json) => ({
    name: tool.function?.name ?? tool.name,
    schema: tool.function?.parameters ?? tool.input_schema ?? {},
  }));
  const last = body.messages.findLast(({ role }: Json) => role !== "system");
  const [, path] = last.role === "user" ? MARK.exec(JSON.stringify(ownContent(last))) ?? [] : [];
  const tool = tools.find(({ name }) => /^(write|write_?file|editor)$/i.test(name)) ??
    tools.find(({ name }) => name === "exec_command") ??
    (tools.length === 1 ? tools[0] : undefined);
  if (path === undefined || tool === undefined) return { text: DONE, call: undefined };
  return { text: "", call: { name: tool.name, input: inputFor(tool.schema, path) } };
}

/** A message without the results of tools in it. */
function ownContent({ content }: Json): Json {
  return Array.isArray(content) ? content.filter(({ type }) => type !== "tool_result") : content;
}

function inputFor({ properties = {}, required = [] }: Json, path: string): Record<string, unknown> {
  const fields: [string, unknown][] = Object.entries<Json>(properties).flatMap(([name, schema]) => {
    if (/path|^file$|filename/i.test(name)) return [[name, path]];
    if (name === "cmd") return [[name, `cat > '${path}' <<'END'\n${CONTENT}END\n`]];
    if (/content|file_?text|new_?text|^text$|^body$/i.test(name)) return [[name, CONTENT]];
    if (!required.includes(name)) return [];
    return [[name, schema.enum?.includes("create") ? "create" : schema.enum?.[0] ?? "x"]];
  });
  return Object.fromEntries(fields);
}

/** Cuts at the output limit, as a model does. */
function cut(text: string, maxTokens: number | undefined): { text: string; isCut: boolean } {
  const room = (maxTokens ?? Infinity) * CHARACTERS_PER_TOKEN;
  return { text: text.slice(0, room), isCut: text.length > room };
}

function chatReply(body: Json, { text, call }: Planned): Response {
  const limit = body.max_completion_tokens ?? body.max_tokens;
  const args = cut(call === undefined ? text : JSON.stringify(call.input), limit);
  const finish = args.isCut ? "length" : call === undefined ? "stop" : "tool_calls";
  const usage = { prompt_tokens: 50, completion_tokens: 900, total_tokens: 950 };
  const message = call === undefined ? { role: "assistant", content: args.text } : {
    role: "assistant",
    content: null,
    tool_calls: [{
      id: "call_1",
      type: "function",
      function: { name: call.name, arguments: args.text },
    }],
  };
  if (body.stream !== true) {
    return Response.json({
      id: "upstream-id",
      object: "chat.completion",
      created: 1,
      model: body.model,
      choices: [{ index: 0, message, finish_reason: finish }],
      usage,
    });
  }
  const delta = call === undefined
    ? { content: args.text }
    : { tool_calls: message.tool_calls!.map((one) => ({ index: 0, ...one })) };
  return eventStream(sse(
    chunk({ role: "assistant", content: "" }),
    chunk(delta),
    chunk({}, finish),
    JSON.stringify({
      id: "upstream-id",
      object: "chat.completion.chunk",
      created: 1,
      model: "m",
      choices: [],
      usage,
    }),
    "[DONE]",
  ));
}

function messagesReply(body: Json, { text, call }: Planned): Response {
  const args = cut(call === undefined ? text : JSON.stringify(call.input), body.max_tokens);
  const stop = args.isCut ? "max_tokens" : call === undefined ? "end_turn" : "tool_use";
  const head = { id: "msg_1", type: "message", role: "assistant", model: body.model };
  const use = { type: "tool_use", id: "toolu_1", name: call?.name };
  if (body.stream !== true) {
    const block = call === undefined
      ? { type: "text", text: args.text }
      : { ...use, input: args.isCut ? {} : call.input };
    return Response.json({
      ...head,
      content: [block],
      stop_reason: stop,
      stop_sequence: null,
      usage: { input_tokens: 50, output_tokens: 900 },
    });
  }
  const [start, delta] = call === undefined
    ? [{ type: "text", text: "" }, { type: "text_delta", text: args.text }]
    : [{ ...use, input: {} }, { type: "input_json_delta", partial_json: args.text }];
  const events = [
    {
      type: "message_start",
      message: {
        ...head,
        content: [],
        stop_reason: null,
        stop_sequence: null,
        usage: { input_tokens: 50, output_tokens: 0 },
      },
    },
    { type: "content_block_start", index: 0, content_block: start },
    { type: "content_block_delta", index: 0, delta },
    { type: "content_block_stop", index: 0 },
    {
      type: "message_delta",
      delta: { stop_reason: stop, stop_sequence: null },
      usage: { output_tokens: 900 },
    },
    { type: "message_stop" },
  ];
  return eventStream(
    events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join(""),
  );
}
