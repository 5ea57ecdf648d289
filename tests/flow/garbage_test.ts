import { assert } from "../assert.ts";
import { scriptArgs, startCommand } from "../fake/command.ts";
import { WIDE_TIERS } from "../fake/gateway.ts";
import { tempDir } from "../fake/temp.ts";
import { chunk, completion, eventStream, fakeUpstream, sse } from "../fake/upstream.ts";
import { sized } from "../tier.ts";

/**
 * Bytes of a request that may outlive it until the next full collection; it makes some 60,000. Deno 2.9
 * keeps 4,000 of them, and 2.4 8,000 to 10,500 (fewer of many requests), mostly in lists of its own, such as the one of
 * running timers.
 */
const KEPT_BYTES = Deno.version.deno.startsWith("2.4") ? 13_000 : 10_000;
const REQUESTS = sized(100, 400);
/** Streams that are open at once, and what their requests say. */
const STREAMS = sized(30, 60);
const HELD = "hold on";

/** A stream that goes on until its client leaves. */
function heldStream(begin: string): Response {
  const body = new ReadableStream<Uint8Array>({
    start: (controller) => controller.enqueue(new TextEncoder().encode(begin)),
  });
  return new Response(body, { headers: { "content-type": "text/event-stream" } });
}

Deno.test("what a request leaves is collected quickly", async (t) => {
  await using upstream = fakeUpstream(({ body }) =>
    JSON.stringify(body ?? null).includes(HELD)
      ? heldStream(sse(chunk({ content: "a" })))
      : body?.stream
      ? eventStream(
        sse(chunk({ role: "assistant", content: "a" })),
        sse(chunk({ content: "b" }), chunk({}, "stop")),
        sse(
          JSON.stringify({
            choices: [],
            usage: { prompt_tokens: 5, completion_tokens: 2, total_tokens: 7 },
          }),
          "[DONE]",
        ),
      )
      : completion("hello")
  );
  await using dir = await tempDir();
  await Deno.writeTextFile(`${dir.path}/sluice.jsonc`, JSON.stringify({ tiers: WIDE_TIERS }));
  await using gateway = startCommand([dir.path, upstream.url], {
    directory: dir.path,
    programArgs: scriptArgs("weighed_gateway.ts", ["--v8-flags=--expose-gc"]),
  });
  const [, url, key] = await gateway.waitFor(/ready (\S+) (\S+)\n/);

  /** Four at a time, so that requests overlap as they do. */
  const ask = async (stream: boolean) => {
    const one = async () => {
      for (let at = 0; at < REQUESTS / 4; at++) {
        const reply = await fetch(`${url}/v1/chat/completions`, {
          method: "POST",
          headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
          body: JSON.stringify({
            model: "svc-k2",
            stream,
            messages: [{ role: "user", content: "hello" }],
          }),
        });
        await reply.text();
        assert(reply.ok);
      }
    };
    await Promise.all([one(), one(), one(), one()]);
  };
  let weighed = 0;
  const weigh = async () => {
    gateway.signal("SIGUSR2");
    const [, young, all, buffers] = await gateway.waitFor(
      new RegExp(`(?:weight .*\\n[^]*){${weighed++}}weight (\\d+) (\\d+) (\\d+)\\n`),
    );
    return { kept: Number(young) - Number(all), held: Number(all) + Number(buffers) };
  };

  for (const stream of [false, true]) {
    await t.step(stream ? "streamed" : "not streamed", async () => {
      await ask(stream); // compiled code and pools grow at first
      await ask(stream);
      await weigh();
      await ask(stream);
      const kept = (await weigh()).kept / REQUESTS;
      assert(kept < KEPT_BYTES, `${Math.round(kept)} bytes of each request are kept`);
    });
  }

  const name = "an open stream does not keep its request";
  // Deno 2.4 holds what was sent to an upstream until the reply ends
  await t.step({
    name,
    ignore: Deno.version.deno.startsWith("2.4"),
    fn: async () => {
      const open = async (bytes: number) => {
        const leave = new AbortController();
        const reply = await fetch(`${url}/v1/chat/completions`, {
          method: "POST",
          headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
          body: JSON.stringify({
            model: "svc-k2",
            stream: true,
            messages: [{
              role: "user",
              content: `${HELD} ${crypto.randomUUID()} ${"word ".repeat(bytes / 5)}`,
            }],
          }),
          signal: leave.signal,
        });
        await reply.body!.getReader().read();
        return leave;
      };
      const opened: AbortController[] = [];
      const heldBy = async (bytes: number) => {
        const before = (await weigh()).held;
        for (let at = 0; at < STREAMS; at++) opened.push(await open(bytes));
        return ((await weigh()).held - before) / STREAMS;
      };
      await heldBy(100); // tables grow at first
      const small = await heldBy(100);
      // of small requests, what else the process keeps weighs as much: many of them tell
      for (const bytes of sized([100_000], [12_000, 100_000])) {
        const more = await heldBy(bytes) - small;
        assert(more < bytes / 2, `${Math.round(more)} bytes of a request of ${bytes} are kept`);
      }
      for (const leave of opened) leave.abort();
    },
  });
});
