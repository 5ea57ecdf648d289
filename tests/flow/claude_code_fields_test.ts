/** What coding tools send besides the conversation, towards chat upstreams: private things stay here. */

import { assert, assertEquals, assertMatch, assertStringIncludes } from "../assert.ts";
import { startGateway } from "../fake/gateway.ts";
import { completion, fakeUpstream } from "../fake/upstream.ts";

const UUID = "7b9d3f1c-2a4e-4c6b-8d10-0123456789ab";
const USER = "user_5f2a9c_account_11111111-2222-3333-4444-555555555555_session_";
const asJson = (session: unknown) =>
  JSON.stringify({ device_id: "device-7", account_uuid: "account-7", session_id: session });
const MESSAGES = {
  model: "svc-k2",
  max_tokens: 50,
  messages: [{ role: "user", content: "Hi" }],
};

async function withUpstream(
  quirks: "moonshot" | "openai" | "openrouter" | "vllm" | "none",
  run: (
    send: (body: object, headers?: Record<string, string>) => Promise<{
      status: number;
      sent: { raw: string; body: Record<string, unknown> } | undefined;
      text: string;
      ignored: string | null;
    }>,
  ) => Promise<void>,
) {
  await using upstream = fakeUpstream(() => completion("ok"));
  await using gateway = await startGateway({
    settings: { upstream: { url: upstream.url, quirks } },
  });
  await run(async (body, headers = {}) => {
    upstream.received.length = 0;
    const reply = await gateway.post("/v1/messages", { ...MESSAGES, ...body }, { headers });
    const text = await reply.text();
    const ignored = reply.headers.get("x-sluice-ignored");
    return { status: reply.status, sent: upstream.received[0], text, ignored };
  });
}

for (const quirks of ["moonshot", "openai", "openrouter"] as const) {
  Deno.test(`${quirks}: a session becomes a key of the prompt cache, and nothing of the user is sent`, async () => {
    await withUpstream(quirks, async (send) => {
      const keyOf = async (userId: unknown, headers?: Record<string, string>) => {
        const metadata = userId === undefined ? undefined : { user_id: userId };
        const { status, sent, ignored } = await send({ metadata, tags: ["team-7"] }, headers);
        assertEquals(status, 200);
        assertEquals(ignored?.includes("tags"), true);
        for (
          const secret of [
            UUID,
            "user_5f2a9c",
            "11111111",
            "device-7",
            "account-7",
            "team-7",
            "ada",
          ]
        ) {
          assert(!sent!.raw.includes(secret), `${secret} was sent`);
        }
        return sent!.body.prompt_cache_key;
      };
      const key = await keyOf(USER + UUID);
      assertMatch(String(key), /^sluice-[0-9a-f]{32}$/);
      assertEquals(await keyOf(asJson(UUID)), key, "both forms mean the same session");
      assertEquals(await keyOf(undefined, { "x-claude-code-session-id": UUID }), key);
      assertEquals(await keyOf("ada@example.com", { "x-claude-code-session-id": UUID }), key);
      assert(await keyOf(USER + UUID.replace("7", "8")) !== key);
      for (
        const none of [
          undefined,
          "ada@example.com",
          USER,
          "{}",
          "{",
          asJson(7),
          asJson(""),
          asJson("with space"),
          asJson("x".repeat(200)),
          `${USER}${UUID} ada`,
          `{"session_id":"${"x".repeat(3_000)}"}`,
        ]
      ) assertEquals(await keyOf(none), undefined, String(none));
    });
  });
}

Deno.test("other chat upstreams get no key, and chat clients' keys go through", async () => {
  for (const quirks of ["vllm", "none"] as const) {
    await withUpstream(quirks, async (send) => {
      const { sent } = await send({ metadata: { user_id: USER + UUID } });
      assertEquals(sent!.body.prompt_cache_key, undefined);
    });
  }
  await using upstream = fakeUpstream(() => completion("ok"));
  await using gateway = await startGateway({
    settings: {
      upstreams: { a: { url: upstream.url }, b: { url: upstream.url, quirks: "moonshot" } },
      routes: Object.fromEntries(
        ["a", "b"].map((name) => [name, { targets: [{ upstream: name, model: "m" }] }]),
      ),
    },
  });
  for (const model of ["a", "b"]) {
    await (await gateway.chat("Hi", { model, prompt_cache_key: "mine" })).body?.cancel();
    assertEquals(upstream.received.at(-1)!.body.prompt_cache_key, "mine");
  }
});

const SERVER_TOOLS = [
  { type: "web_search_20250305", name: "web_search", max_uses: 8 },
  { type: "web_fetch_20260209", name: "web_fetch" },
  { type: "code_execution_20260120", name: "code_execution" },
  { type: "bash_20250124", name: "bash" },
  { type: "text_editor_20250728", name: "str_replace_based_edit_tool" },
  { type: "memory_20250818", name: "memory" },
  { type: "tool_search_tool_regex_20251119", name: "tool_search_tool_regex" },
  { type: "computer_toolset_20260801" },
];

/** Tools that cost more than tokens: left out beside others, so that a coding tool goes on working. */
const PRICED = ["web_search", "web_fetch", "code_execution"];

Deno.test("server-side tools and safeguards on a chat upstream: 400 naming them, nothing is sent", async () => {
  await withUpstream("none", async (send) => {
    for (const tool of SERVER_TOOLS) {
      const custom = { name: "f", input_schema: { type: "object" } };
      const isPriced = PRICED.includes(tool.name ?? "");
      if (isPriced) {
        const beside = await send({ tools: [custom, tool] });
        assertEquals([beside.status, beside.ignored], [200, `tools.${tool.type}`]);
      }
      const { status, sent, text } = await send({ tools: isPriced ? [tool] : [custom, tool] });
      assertEquals([status, sent], [400, undefined]);
      const { error, type } = JSON.parse(text);
      assertEquals([type, error.type], ["error", "invalid_request_error"]);
      assertStringIncludes(error.message, tool.type);
      assertStringIncludes(error.message, tool.name ?? tool.type);
    }
    for (const safeguards of [[{ type: "dangerous_tool_use" }], [], {}, false]) {
      const { status, sent, text } = await send({ safeguards });
      assertEquals([status, sent], [400, undefined]);
      assertStringIncludes(JSON.parse(text).error.message, "safeguards");
    }
    assertEquals((await send({ safeguards: null })).status, 200);
  });
});

Deno.test("billing blocks are not sent to a chat upstream, and the prompt's beginning stays the same", async () => {
  await withUpstream("none", async (send) => {
    const bill = (hex: string) =>
      `x-anthropic-billing-header: cc_version=2.1.329.${hex}; cc_entrypoint=cli;`;
    const block = (text: string) => ({ type: "text", text });
    const systems = ["a1f", "0b2"].flatMap((hex) => [
      [block(bill(hex)), block("You are a tool.")],
      [block(`${bill(hex)}\n\nYou are a tool.`)],
      `${bill(hex)}\nYou are a tool.`,
    ]);
    const raws = new Set<string>();
    for (const system of systems) raws.add((await send({ system })).sent!.raw);
    assertEquals(raws.size, 1);
    assert(![...raws][0]!.includes("billing"));
  });
});
