/**
 * The bare upstream: answers at once in any dialect, whole, or in chat and messages as a stream of as many texts as
 * `max_tokens` says; with a pace (milliseconds) a stream waits between its events, with a delay every reply before it begins.
 */

const encoder = new TextEncoder();
const decoder = new TextDecoder();
const [port = "0", pace = "0", delay = "0"] = Deno.args;

const message = "hello ".repeat(50);
const chatUsage = { prompt_tokens: 10, completion_tokens: 50, total_tokens: 60 };
const messagesUsage = { input_tokens: 10, output_tokens: 50 };
const chatHead = { id: "chatcmpl-1", created: 1, model: "m" };
const messagesHead = { id: "msg_1", type: "message", role: "assistant", model: "m" };

const WHOLE = {
  chat: encoder.encode(JSON.stringify({
    ...chatHead,
    object: "chat.completion",
    choices: [{
      index: 0,
      message: { role: "assistant", content: message },
      finish_reason: "stop",
    }],
    usage: chatUsage,
  })),
  messages: encoder.encode(JSON.stringify({
    ...messagesHead,
    content: [{ type: "text", text: message }],
    stop_reason: "end_turn",
    stop_sequence: null,
    usage: messagesUsage,
  })),
  responses: encoder.encode(JSON.stringify({
    id: "resp_1",
    object: "response",
    created_at: 1,
    model: "m",
    status: "completed",
    output: [{
      id: "msg_1",
      type: "message",
      role: "assistant",
      status: "completed",
      content: [{ type: "output_text", text: message, annotations: [] }],
    }],
    usage: { ...messagesUsage, total_tokens: 60 },
  })),
};

function chatEvents(texts: number): string[] {
  const event = (delta: unknown, finish: string | null = null) =>
    `data: ${
      JSON.stringify({
        ...chatHead,
        object: "chat.completion.chunk",
        choices: [{ index: 0, delta, finish_reason: finish }],
      })
    }\n\n`;
  return [
    event({ role: "assistant", content: "" }),
    ...Array.from({ length: texts }, (_, index) => event({ content: `word${index} ` })),
    event({}, "stop"),
    `data: ${JSON.stringify({ choices: [], usage: chatUsage })}\n\n`,
    "data: [DONE]\n\n",
  ];
}

function messagesEvents(texts: number): string[] {
  const event = (type: string, fields: Record<string, unknown> = {}) =>
    `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`;
  return [
    event("message_start", {
      message: { ...messagesHead, content: [], usage: { ...messagesUsage, output_tokens: 0 } },
    }),
    event("content_block_start", { index: 0, content_block: { type: "text", text: "" } }),
    ...Array.from(
      { length: texts },
      (_, index) =>
        event("content_block_delta", {
          index: 0,
          delta: { type: "text_delta", text: `word${index} ` },
        }),
    ),
    event("content_block_stop", { index: 0 }),
    event("message_delta", {
      delta: { stop_reason: "end_turn", stop_sequence: null },
      usage: messagesUsage,
    }),
    event("message_stop"),
  ];
}

const EVENTS = { chat: chatEvents, messages: messagesEvents };
const made = new Map<string, Uint8Array[]>();

function eventsOf(dialect: "chat" | "messages", texts: number): Uint8Array[] {
  const key = `${dialect} ${texts}`;
  const known = made.get(key) ?? EVENTS[dialect](texts).map((text) => encoder.encode(text));
  made.set(key, known);
  return known;
}

Deno.serve({ hostname: "127.0.0.1", port: Number(port), onListen() {} }, async (request) => {
  const bytes = await request.bytes();
  if (delay !== "0") await new Promise((resolve) => setTimeout(resolve, Number(delay)));
  // of a large body only the end is read, where the benchmarks put what matters
  const body = decoder.decode(bytes.length > 1_048_576 ? bytes.subarray(-1_000) : bytes);
  const dialect = request.url.includes("/messages") ? "messages" : "chat";
  if (!body.includes('"stream":true')) {
    if (request.url.includes("/responses")) {
      return new Response(WHOLE.responses, { headers: { "content-type": "application/json" } });
    }
    return new Response(WHOLE[dialect], { headers: { "content-type": "application/json" } });
  }
  const events = eventsOf(dialect, Number(/"max_tokens":(\d+)/.exec(body)?.[1] ?? "50"));
  let at = 0;
  const stream = new ReadableStream<Uint8Array>({
    async pull(controller) {
      const next = events[at++];
      if (next === undefined) return controller.close();
      if (pace !== "0" && at > 3) {
        await new Promise((resolve) => setTimeout(resolve, Number(pace)));
      }
      controller.enqueue(next);
    },
    cancel() {
      at = events.length;
    },
  }, { highWaterMark: 0 });
  return new Response(stream, { headers: { "content-type": "text/event-stream" } });
});
