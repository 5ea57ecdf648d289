import { assert, assertEquals } from "../../assert.ts";
import { startGateway } from "../../fake/gateway.ts";
import { completion, fakeUpstream } from "../../fake/upstream.ts";

/** A request as a real client sent it, with its texts shortened. */
interface Recorded {
  readonly client: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Readonly<Record<string, unknown>>;
}

const directory = new URL("./bodies/", import.meta.url);
const recorded: [string, Recorded][] = [];
for (const { name } of Deno.readDirSync(directory)) {
  recorded.push([name, JSON.parse(await Deno.readTextFile(new URL(name, directory)))]);
}

/** What an upstream answers to either dialect's request, not streamed. */
const ANSWERS = {
  chat: () => completion("ok"),
  messages: () =>
    Response.json({
      id: "m",
      type: "message",
      role: "assistant",
      model: "x",
      content: [{ type: "text", text: "ok" }],
      stop_reason: "end_turn",
      stop_sequence: null,
      usage: { input_tokens: 1, output_tokens: 1 },
    }),
};

/** The same request with fields that nobody knows, at every level. */
function withUnknown(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withUnknown);
  if (typeof value !== "object" || value === null) return value;
  const grown = Object.fromEntries(
    Object.entries(value).map((
      [key, inner],
    ) => [key, OPEN.has(key) ? withUnknown(inner) : inner]),
  );
  return { ...grown, x_unknown: { deep: [null, 1.5, "é\u2028", { "": false }] } };
}

const OPEN = new Set(["messages", "content", "tools", "system", "source", "function"]);

/** Fields that are ours to set, as `docs/dialects.md` lists them. */
const OURS = {
  chat: [
    "model",
    "max_tokens",
    "max_completion_tokens",
    "temperature",
    "top_p",
    "stream_options",
    "reasoning_effort",
  ],
  messages: ["model", "max_tokens", "temperature", "output_config"],
};

const without = (body: Readonly<Record<string, unknown>>, fields: readonly string[]) =>
  Object.fromEntries(Object.entries(body).filter(([name]) => !fields.includes(name)));

for (const [name, { path, headers, body }] of recorded) {
  const own = path.startsWith("/v1/messages") ? "messages" : "chat";

  // Proves P14.
  Deno.test(`${name}: carried to a ${own} upstream as the object that it was`, async () => {
    await using upstream = fakeUpstream(ANSWERS[own]);
    await using gateway = await startGateway({
      settings: {
        upstream: { url: upstream.url, dialect: own },
        routes: { "svc-k3": { allow: { cache: { "1h": 2 } } } },
      },
    });
    for (const sent of [body, withUnknown(body) as typeof body]) {
      const whole = { ...sent, stream: false };
      const reply = await gateway.post(path, whole, { headers: { ...headers } });
      assertEquals([reply.status, reply.headers.get("x-sluice-ignored")], [200, null]);
      await reply.body?.cancel();
      const got = upstream.received.at(-1)!;
      assertEquals(without(got.body, OURS[own]), without(whole, OURS[own]));
      if (own === "messages") {
        const asked = (whole as { output_config?: Record<string, unknown> }).output_config;
        const { thinking } = whole as { thinking?: { budget_tokens?: number } };
        const effort = thinking?.budget_tokens === undefined ? "max" : "low"; // svc-k3's default, or the budget's
        assertEquals(got.body.output_config, { effort, ...asked });
      }
      assertEquals(got.headers.get("anthropic-beta"), headers["anthropic-beta"] ?? null);
    }
  });

  const other = own === "chat" ? "messages" : "chat";
  Deno.test(`${name}: translated for a ${other} upstream`, async () => {
    await using upstream = fakeUpstream(ANSWERS[other]);
    await using gateway = await startGateway({
      settings: { upstream: { url: upstream.url, dialect: other } },
    });
    const reply = await gateway.post(path, { ...body, stream: false }, {
      headers: { ...headers },
    });
    const text = await reply.text();
    assertEquals(reply.status, 200, text);
    const got = upstream.received.at(-1)!;
    assert(!got.raw.includes("device_id"), "who the user is stays here");
    assert(!got.raw.includes("x-anthropic-billing-header"), "nor is the bill's name sent");
    const tools = (sent: unknown) => (Array.isArray(sent) ? sent.length : 0);
    assertEquals(tools(got.body.tools), tools(body.tools));
  });
}
