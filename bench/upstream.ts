/** The bare upstream: answers at once, whole or as a stream of `chunks` events. */

const encoder = new TextEncoder();
const [port = "0", chunks = "50"] = Deno.args;

const whole = encoder.encode(JSON.stringify({
  id: "chatcmpl-1",
  object: "chat.completion",
  created: 1,
  model: "m",
  choices: [{
    index: 0,
    message: { role: "assistant", content: "hello ".repeat(50) },
    finish_reason: "stop",
  }],
  usage: { prompt_tokens: 10, completion_tokens: 50, total_tokens: 60 },
}));

const event = (delta: unknown, finish: string | null = null) =>
  `data: ${
    JSON.stringify({
      id: "chatcmpl-1",
      object: "chat.completion.chunk",
      created: 1,
      model: "m",
      choices: [{ index: 0, delta, finish_reason: finish }],
    })
  }\n\n`;
const usage =
  'data: {"choices":[],"usage":{"prompt_tokens":10,"completion_tokens":50,"total_tokens":60}}\n\n';
const events = [
  event({ role: "assistant", content: "" }),
  ...Array.from({ length: Number(chunks) }, (_, index) => event({ content: `word${index} ` })),
  event({}, "stop"),
  usage,
  "data: [DONE]\n\n",
].map((text) => encoder.encode(text));

Deno.serve({ hostname: "127.0.0.1", port: Number(port), onListen() {} }, async (request) => {
  const body = await request.text();
  if (!body.includes('"stream":true')) {
    return new Response(whole, { headers: { "content-type": "application/json" } });
  }
  let at = 0;
  const stream = new ReadableStream<Uint8Array>({
    pull(controller) {
      const next = events[at++];
      if (next === undefined) controller.close();
      else controller.enqueue(next);
    },
  }, { highWaterMark: 0 });
  return new Response(stream, { headers: { "content-type": "text/event-stream" } });
});
