/** Replies whose upstream names no content type, and fingerprints of those that name no configuration. */

import { assert, assertEquals, assertMatch } from "../assert.ts";
import { startGateway } from "../fake/gateway.ts";
import { chunk, completion, fakeUpstream, rawServer, readRequest, sse } from "../fake/upstream.ts";

const encoder = new TextEncoder();

/** An upstream that answers with these bytes under these headers. */
function rawUpstream(headers: readonly string[], body: string) {
  return rawServer(async (connection) => {
    await readRequest(connection);
    const head = ["HTTP/1.1 200 OK", ...headers, `content-length: ${body.length}`, "\r\n"];
    await connection.write(encoder.encode(head.join("\r\n") + body));
    connection.close();
  });
}

const EVENTS = sse(chunk({ role: "assistant", content: "Hello" }), chunk({}, "stop"), "[DONE]");
const WHOLE = await completion("Hello").text();

const CASES: readonly {
  why: string;
  stream: boolean;
  headers: readonly string[];
  body: string;
  status: number;
}[] = [
  { why: "a stream without a type", stream: true, headers: [], body: EVENTS, status: 200 },
  { why: "an empty type", stream: true, headers: ["content-type:"], body: EVENTS, status: 200 },
  { why: "a whole reply without a type", stream: false, headers: [], body: WHOLE, status: 200 },
  {
    why: "a whole reply, where a stream was asked for",
    stream: true,
    headers: [],
    body: WHOLE,
    status: 200,
  },
  {
    why: "a stream, where a whole reply was asked for",
    stream: false,
    headers: [],
    body: EVENTS,
    status: 200,
  },
  { why: "a page without a type", stream: true, headers: [], body: "<html>\n\n<p>x", status: 503 },
  {
    why: "a long line without a type",
    stream: true,
    headers: [],
    body: "x".repeat(2_000_000),
    status: 503,
  },
  {
    why: "an encoding that is the name of what all objects have",
    stream: true,
    headers: ["content-encoding: constructor"],
    body: EVENTS,
    status: 503,
  },
  { why: "no bytes and no type", stream: true, headers: [], body: "", status: 503 },
  {
    why: "a wrong type",
    stream: true,
    headers: ["content-type: text/plain"],
    body: EVENTS,
    status: 200,
  },
];

for (const { why, stream, headers, body, status } of CASES) {
  Deno.test(`${why}: ${status}`, async () => {
    await using upstream = rawUpstream(headers, body);
    await using gateway = await startGateway({ settings: { upstream: { url: upstream.url } } });
    for (const path of ["/v1/chat/completions", "/v1/messages"]) {
      const reply = await gateway.post(path, {
        model: "svc-k2",
        max_tokens: 50,
        stream,
        messages: [{ role: "user", content: "Hi" }],
      });
      const text = await reply.text();
      assertEquals(reply.status, status, text);
      if (status === 200) assert(text.includes("Hello"));
    }
  });
}

/** Every fingerprint of a reply, whole or streamed. */
async function fingerprints(reply: Response): Promise<unknown[]> {
  assertEquals(reply.status, 200);
  const text = await reply.text();
  const bodies = text.startsWith("{")
    ? [JSON.parse(text)]
    : text.split("\n").filter((line) => line.startsWith("data: {"))
      .map((line) => JSON.parse(line.slice("data: ".length)));
  assert(bodies.length > 0);
  return bodies.map(({ system_fingerprint: own }) => own);
}

const message = (stream: boolean): Response =>
  stream
    ? new Response(
      [
        { type: "message_start", message: { usage: { input_tokens: 1, output_tokens: 1 } } },
        { type: "content_block_start", index: 0, content_block: { type: "text", text: "Hi" } },
        { type: "content_block_stop", index: 0 },
        { type: "message_delta", delta: { stop_reason: "end_turn" }, usage: { output_tokens: 1 } },
        { type: "message_stop" },
      ].map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join(""),
      { headers: { "content-type": "text/event-stream" } },
    )
    : Response.json({
      type: "message",
      role: "assistant",
      content: [{ type: "text", text: "Hi" }],
      stop_reason: "end_turn",
      usage: { input_tokens: 1, output_tokens: 1 },
    });

Deno.test("a chat reply has a fingerprint in the reply and in each chunk, the same for the same target", async () => {
  const events = (fingerprint: unknown) =>
    new Response(
      sse(
        chunk({ role: "assistant", content: "a" }, null, { system_fingerprint: fingerprint }),
        chunk({ content: "b" }, null),
        chunk({}, "stop", { system_fingerprint: "" }),
        "[DONE]",
      ),
      { headers: { "content-type": "text/event-stream" } },
    );
  let given: unknown;
  await using chat = fakeUpstream(({ body }) =>
    body.stream ? events(given) : completion("ok", { system_fingerprint: given })
  );
  await using messages = fakeUpstream(({ body }) => message(body.stream));
  const target = (upstream: string, model = "m") => ({ targets: [{ upstream, model }] });
  await using gateway = await startGateway({
    settings: {
      upstreams: {
        chat: { url: chat.url },
        messages: { url: messages.url, dialect: "messages" },
      },
      routes: {
        a: target("chat"),
        b: target("messages"),
        c: target("chat", "other"),
        d: target("simulator"),
      },
    },
  });
  const bodies = [{}, { stream: true }, { stream: true, stream_options: { include_usage: true } }, {
    stream: true,
    n: 2,
    stream_options: { include_usage: true },
  }, { n: 2 }];
  const seen: Record<string, Set<unknown>> = {};
  for (const model of ["a", "b", "c", "d"]) {
    for (const body of bodies) {
      for (given of [undefined, null, "", 7]) {
        const found = await fingerprints(await gateway.chat("Hi", { model, ...body }));
        for (const one of found) {
          assertMatch(String(one), /^fp_[0-9a-f]{10}$/);
          (seen[model] ??= new Set()).add(one);
        }
      }
    }
  }
  assertEquals(Object.values(seen).map(({ size }) => size), [1, 1, 1, 1]);
  assertEquals(new Set(Object.values(seen).flatMap((one) => [...one])).size, 4);

  given = "fp_theirs";
  for (const body of bodies.slice(0, 3)) {
    const found = await fingerprints(await gateway.chat("Hi", { model: "a", ...body }));
    assertEquals(new Set(found), new Set(["fp_theirs"]));
  }
});
