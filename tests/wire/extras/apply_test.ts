/** What a route does not allow never goes on, wherever it stands; what is the caller's own is left alone. */

import type { DialectName, JsonObject, ParsedRequest } from "../../../src/wire/dialects/mod.ts";
import { type AllowedExtras, applyExtras, NO_EXTRAS } from "../../../src/wire/extras/mod.ts";
import { Refusal } from "../../../src/ground/refusal.ts";
import { assert, assertEquals, assertStringIncludes, assertThrows } from "../../assert.ts";
import { Random, testSeed } from "../../fake/random.ts";
import { sized } from "../../tier.ts";

function apply(dialect: DialectName, body: JsonObject, allow: Partial<AllowedExtras> = {}) {
  const request = { body } as unknown as ParsedRequest;
  const applied = applyExtras(dialect, request, { id: "m", allow: { ...NO_EXTRAS, ...allow } });
  return { ...applied, body: applied.request.body };
}

const FUNCTION = { type: "function", function: { name: "f" } };
const SEARCH = { type: "web_search_20250305", name: "web_search" };
const OWN_TOOL = { name: "f", input_schema: { type: "object" } };

const LEFT_OUT: readonly [DialectName, JsonObject, string][] = [
  ["chat", { service_tier: "priority" }, "service_tier"],
  ["chat", { service_tier: "flex" }, "service_tier"],
  ["chat", { web_search_options: {} }, "web_search_options"],
  ["chat", { audio: { voice: "x", format: "mp3" } }, "audio"],
  ["chat", { plugins: [{ id: "web" }] }, "plugins"],
  ["chat", { search_parameters: { mode: "on" } }, "search_parameters"],
  ["chat", { best_of: 8 }, "best_of"],
  ["chat", { models: ["dear"] }, "models"],
  ["chat", { user_config: { model_list: [] } }, "user_config"],
  ["chat", { context_window_fallbacks: [{ m: ["dear"] }] }, "context_window_fallbacks"],
  ["messages", { router_settings_override: { fallbacks: [] } }, "router_settings_override"],
  ["responses", { custom_llm_provider: "dear" }, "custom_llm_provider"],
  ["chat", { enable_enhancement: true }, "enable_enhancement"],
  ["chat", { use_beam_search: true }, "use_beam_search"],
  ["chat", { tools: [FUNCTION, { type: "web_search" }] }, "tools.web_search"],
  ["messages", { speed: "fast" }, "speed"],
  ["messages", { inference_geo: "us" }, "inference_geo"],
  ["messages", { fallbacks: "default" }, "fallbacks"],
  ["messages", { mcp_servers: [{ type: "url", url: "https://x.example" }] }, "mcp_servers"],
  ["messages", { tools: [OWN_TOOL, SEARCH] }, "tools.web_search_20250305"],
  ["responses", { service_tier: "fast" }, "service_tier"],
  ["chat", { speed: "fast" }, "speed"],
  ["responses", { inference_geo: "us" }, "inference_geo"],
  ["responses", { web_search_options: {} }, "web_search_options"],
  ["chat", { mcp_servers: [{ url: "https://x.example" }] }, "mcp_servers"],
  ["chat", { extra_body: { service_tier: "priority" } }, "extra_body"],
  ["chat", { data_sources: [{ type: "azure_search" }] }, "data_sources"],
  [
    "chat",
    { tools: [FUNCTION, { type: "function", function: { name: "g" }, googleSearch: {} }] },
    "tools.function",
  ],
  [
    "messages",
    { tools: [OWN_TOOL, { type: "", name: "x", codeExecution: {} }] },
    "tools.codeExecution",
  ],
  ["responses", { moderation: { model: "m" } }, "moderation"],
  ["responses", { multi_agent: { enabled: true, max_concurrent_subagents: 99 } }, "multi_agent"],
  // for services that ignore the case of names, these are the same fields
  ["chat", { Model: "dear" }, "Model"],
  ["chat", { N: 8 }, "N"],
  ["chat", { Service_Tier: "priority" }, "Service_Tier"],
  ["chat", { MODELS: ["dear"] }, "MODELS"],
  ["chat", { "\u017fervice_tier": "priority" }, "\u017fervice_tier"],
  ["chat", { "web_\u017fearch": true }, "web_\u017fearch"],
  ["chat", { provideroptions: { order: ["dear"] } }, "provideroptions"],
  ["messages", { Speed: "fast" }, "Speed"],
  ["messages", { MAX_TOKENS: 100_000 }, "MAX_TOKENS"],
  ["responses", { Tools: [{ type: "web_search" }] }, "Tools"],
  ["responses", { Prompt: { id: "pmpt_1" } }, "Prompt"],
  [
    "chat",
    { tools: [FUNCTION, { type: "function", function: { name: "g" }, googlesearch: {} }] },
    "tools.function",
  ],
  [
    "responses",
    { tools: [{ type: "custom", name: "f" }, { type: "image_generation" }] },
    "tools.image_generation",
  ],
];

for (const [dialect, body, name] of LEFT_OUT) {
  Deno.test(`${dialect}: ${JSON.stringify(body)} is left out and named`, () => {
    const { dropped, body: sent, used } = apply(dialect, { model: "m", ...body });
    assertEquals(dropped, [name]);
    assertEquals([used.factor, used.tools], [1, {}]);
    const [field = ""] = Object.keys(body);
    if (field !== "tools") assertEquals(Object.hasOwn(sent, name), false);
    else assertEquals((sent.tools as unknown[]).length, 1);
  });
}

const LEFT_OUT_INSIDE: readonly [DialectName, JsonObject, JsonObject, string][] = [
  [
    "chat",
    { tools: [{ ...FUNCTION, Type: "web_search" }] },
    { tools: [FUNCTION] },
    "tools[0].Type",
  ],
  [
    "messages",
    { tools: [{ ...OWN_TOOL, TYPE: "web_search_20250305" }] },
    { tools: [OWN_TOOL] },
    "tools[0].TYPE",
  ],
  [
    "chat",
    { stream_options: { include_usage: true, Include_Usage: false } },
    { stream_options: { include_usage: true } },
    "stream_options.Include_Usage",
  ],
  [
    "messages",
    { system: [{ type: "text", text: "a", Cache_Control: { type: "ephemeral", ttl: "1h" } }] },
    { system: [{ type: "text", text: "a" }] },
    "system[0].Cache_Control",
  ],
  [
    "messages",
    { cache_control: { type: "ephemeral", TTL: "1h" } },
    { cache_control: { type: "ephemeral" } },
    "cache_control.TTL",
  ],
  [
    "responses",
    { input: [{ content: [{ type: "input_file", File_ID: "file_other" }] }] },
    { input: [{ content: [{ type: "input_file" }] }] },
    "input[0].content[0].File_ID",
  ],
];

for (const [dialect, body, left, name] of LEFT_OUT_INSIDE) {
  Deno.test(`${dialect}: ${name} is left out, as services may ignore the case of names`, () => {
    const { dropped, body: sent } = apply(dialect, body);
    assertEquals([dropped, sent], [[name], left]);
  });
}

Deno.test("names in another case of what is the caller's own stay", () => {
  const body = {
    model: "m",
    Chat_Template_Kwargs: { Enabled: true },
    metadata: { Type: "x", TTL: "1h" },
    tools: [{ type: "function", function: { name: "f", parameters: { Type: "object" } } }],
    messages: [{ role: "user", content: [{ type: "text", Text: "x" }] }],
  };
  const { dropped, body: sent } = apply("chat", body);
  assertEquals([dropped, sent], [[], body]);
});

Deno.test("only a service tier lowers the price, as upstreams ignore a speed that they do not know", () => {
  const allow = { tiers: { flex: 0.5, fast: 6 }, regions: { us: 0.9 } };
  const factor = (dialect: DialectName, body: JsonObject) =>
    apply(dialect, body, allow).used.factor;
  for (const dialect of ["chat", "messages", "responses"] as const) {
    assertEquals(factor(dialect, { service_tier: "flex" }), 0.5);
    assertEquals(factor(dialect, { speed: "flex" }), 1);
    assertEquals(factor(dialect, { speed: "fast" }), 6);
    assertEquals(factor(dialect, { inference_geo: "us" }), dialect === "messages" ? 0.9 : 1);
  }
});

Deno.test("calls are reserved by the limits that a dialect's upstreams know, and by no others", () => {
  const allow = { tools: { web_search: 10 } };
  const calls = (dialect: DialectName, body: JsonObject) =>
    apply(dialect, body, allow).used.maxCalls;
  const search = { type: "web_search" };
  assertEquals(calls("responses", { tools: [search], max_tool_calls: 2 }), 2);
  assertEquals(calls("messages", { tools: [{ ...SEARCH, max_uses: 3 }] }), 3);
  assertEquals(calls("messages", { tools: [{ ...SEARCH, max_uses: 2.5 }] }), 3);
  assertEquals(calls("messages", { tools: [SEARCH], max_tool_calls: 1 }), 10);
  assertEquals(calls("chat", { tools: [search], max_tool_calls: 1 }), 10);
  assertEquals(calls("chat", { tools: [{ ...search, max_uses: 1 }] }), 10);
  assertEquals(calls("responses", { tools: [{ ...search, max_uses: 1 }] }), 10);
});

const OTHERS_FILES: readonly [DialectName, JsonObject, string][] = [
  ...(["chat", "messages", "responses"] as const).flatMap((
    dialect,
  ): [DialectName, JsonObject, string][] => [
    [dialect, { vector_store_ids: ["vs_other"] }, "vector_store_ids"],
    [dialect, { file_ids: [["f"]] }, "file_ids"],
    [dialect, { container: "cntr_other" }, "container"],
    [dialect, { conversation: { id: "conv_1" } }, "conversation"],
    [dialect, { cached_content: "x" }, "cached_content"],
  ]),
  ["messages", { container: { id: "", skills: [{ skill_id: "x" }] } }, "container"],
  ["chat", { modalities: "audio" }, "modalities"],
];

const REJECTED: readonly [DialectName, JsonObject, string][] = [
  ["chat", { modalities: ["text", "audio"] }, "modalities"],
  ["chat", { tools: [{ type: "builtin_function", function: { name: "$web_search" } }] }, "tools"],
  ["chat", { messages: [{ content: [{ type: "file", file: { file_id: "f" } }] }] }, "file_id"],
  ["messages", { container: "container_1" }, "container"],
  ["messages", { container: { skills: [{ skill_id: "x" }] } }, "container"],
  ["messages", { thread: { type: "create" } }, "thread"],
  ["messages", { tools: [SEARCH] }, "tools"],
  [
    "messages",
    { tools: [OWN_TOOL, SEARCH], tool_choice: { type: "tool", name: "web_search" } },
    "tools",
  ],
  [
    "messages",
    { messages: [{ content: [{ type: "document", source: { type: "file", file_id: "f" } }] }] },
    "file_id",
  ],
  [
    "messages",
    { messages: [{ content: [{ type: "container_upload", file_id: "f" }] }] },
    "file_id",
  ],
  ["responses", { conversation: "conv_1" }, "conversation"],
  ["responses", { prompt: { id: "pmpt_1" } }, "prompt"],
  ["responses", { tools: [{ type: "web_search" }] }, "tools"],
  [
    "responses",
    { tools: [{ type: "function", name: "f" }, { type: "mcp" }], tool_choice: { type: "mcp" } },
    "tools",
  ],
  ["responses", { input: [{ content: [{ type: "input_image", file_id: "f" }] }] }, "file_id"],
  ["responses", { input: [{ type: "code_interpreter_call", container_id: "c" }] }, "container_id"],
  [
    "responses",
    { input: [{ output: [{ type: "input_file", file_id: "f" }], type: "function_call_output" }] },
    "file_id",
  ],
];

for (const [dialect, body, param] of [...REJECTED, ...OTHERS_FILES]) {
  Deno.test(`${dialect}: ${JSON.stringify(body)} is rejected`, () => {
    const refusal = assertThrows(() => apply(dialect, { model: "m", ...body }), Refusal);
    assertEquals(refusal.status, 400);
    assert(refusal.param?.endsWith(param), `${refusal.param}`);
    assert(refusal.message.includes("'m'"), refusal.message);
  });
}

Deno.test("resources are rejected in tools that the route allows, unless it lists their IDs", () => {
  const allow = { tools: { file_search: 1, code_interpreter: 2 } };
  const searching = (id: string) => ({ tools: [{ type: "file_search", vector_store_ids: [id] }] });
  assertThrows(() => apply("responses", searching("vs_other"), allow), Refusal);
  const listed = { ...allow, resources: ["vs_own"] };
  assertThrows(() => apply("responses", searching("vs_other"), listed), Refusal);
  assertEquals(apply("responses", searching("vs_own"), listed).used.tools, { file_search: 1 });
  const running = { tools: [{ type: "code_interpreter", container: "cntr_other" }] };
  assertThrows(() => apply("responses", running, allow), Refusal);
  const files = {
    tools: [{ type: "code_interpreter", container: { type: "auto", file_ids: ["f"] } }],
  };
  assertThrows(() => apply("responses", files, allow), Refusal);
});

Deno.test("what a route allows goes on, and is told in figures", () => {
  const { body, dropped, used } = apply("messages", {
    service_tier: "auto",
    speed: "fast",
    inference_geo: "us",
    tools: [SEARCH, { ...OWN_TOOL, cache_control: { type: "ephemeral", ttl: "1h" } }],
  }, {
    tiers: { fast: 6 },
    regions: { us: 1.5 },
    tools: { web_search: 10 },
    cache: { "1h": 2 },
    cacheWrites: 1.25,
  });
  assertEquals([dropped, used], [[], {
    factor: 9,
    asked: { speed: 6, inference_geo: 1.5 },
    writeFactor: 2,
    writes: { usual: 1.25, hour: 2 },
    tools: { web_search: 10 },
    maxCalls: 10,
  }]);
  assertEquals([body.speed, body.inference_geo], ["fast", "us"]);
});

Deno.test("a tool that joins in the middle of a conversation has a price, or is rejected", () => {
  const joining = (definition: JsonObject) => ({
    messages: [{
      role: "user",
      content: [{
        type: "tool_addition",
        tool_changes: [{ tool: { type: "tool_definition", definition } }],
      }],
    }],
  });
  const error = assertThrows(() => apply("messages", joining(SEARCH)), Refusal);
  assertStringIncludes(
    error.message,
    "messages[0].content[0].tool_changes[0].tool.definition: the model",
  );
  const allowed = apply("messages", joining(SEARCH), { tools: { web_search: 10 } });
  assertEquals([allowed.dropped, allowed.used.tools], [[], { web_search: 10 }]);
  const own = apply("messages", joining(OWN_TOOL));
  assertEquals([own.dropped, own.used.tools], [[], {}]);
});

Deno.test("a cache lives as long as usual unless the route allows more", () => {
  const marked = (ttl?: string) => ({
    system: [{
      type: "text",
      text: "x",
      cache_control: { type: "ephemeral", ...(ttl && { ttl }) },
    }],
  });
  const long = apply("messages", marked("1h"), { cacheWrites: 1.25 });
  assertEquals(long.dropped, ["cache_control.ttl"]);
  assertEquals(long.body, marked());
  assertEquals(long.used.writeFactor, 1.25);
  for (const ttl of [undefined, "5m"]) {
    const { body, dropped } = apply("messages", marked(ttl));
    assertEquals([body, dropped], [marked(ttl), []]);
  }
  // writes cost the usual lifetime's factor, whether the client marks something or not
  for (const body of [{}, marked(), marked("1h")]) {
    assertEquals(apply("messages", body, { cache: { "5m": 1.25 } }).used.writeFactor, 1.25);
  }
  const options = apply("chat", { prompt_cache_options: { mode: "implicit", ttl: "12h" } });
  assertEquals(options.dropped, ["prompt_cache_options.ttl"]);
  assertEquals(options.body, { prompt_cache_options: { mode: "implicit" } });
});

Deno.test("what the caller's own tools say and get is left alone", () => {
  const bodies: readonly [DialectName, JsonObject][] = [
    ["chat", {
      tools: [{
        type: "function",
        function: { name: "f", parameters: { properties: { file_id: { type: "string" } } } },
      }],
      messages: [{
        role: "assistant",
        tool_calls: [{ function: { arguments: '{"file_id":"x"}' } }],
      }],
    }],
    ["messages", {
      tools: [{ name: "f", input_schema: { properties: { container: { type: "string" } } } }],
      messages: [{
        role: "assistant",
        content: [{
          type: "tool_use",
          id: "t",
          name: "f",
          input: { file_id: "x", container: "y" },
        }],
      }],
    }],
    ["responses", {
      metadata: { file_id: "mine" },
      input: [{
        type: "message",
        content: [{ type: "output_text", annotations: [{ type: "file_citation", file_id: "x" }] }],
      }],
    }],
  ];
  for (const [dialect, body] of bodies) {
    const applied = apply(dialect, body);
    assertEquals([applied.dropped, applied.body === body], [[], true], dialect);
  }
});

Deno.test("however deep and beside whatever: nothing that costs more goes on (property)", () => {
  const random = new Random(testSeed());
  const noise = (depth: number): JsonObject => ({
    [random.pick(["text", "content", "x", "note"])]: depth === 0 ? "word" : [noise(depth - 1)],
  });
  const nested = (value: JsonObject, depth: number): JsonObject =>
    depth === 0 ? value : {
      [random.pick(["content", "output", "source", "x"])]: [noise(1), nested(value, depth - 1)],
    };
  for (let round = 0; round < sized(300, 20_000); round++) {
    const dialect = random.pick(["chat", "messages", "responses"] as const);
    const field = dialect === "responses" ? "input" : "messages";
    const bad = random.pick<JsonObject>([
      { file_id: "f" },
      { container_id: "c" },
      { vector_store_ids: ["v"] },
      { source: { type: "file", file_id: "f" } },
    ]);
    const body = { [field]: [nested(bad, random.integer(0, 5))] };
    assertThrows(() => apply(dialect, body), Refusal);
    const marker = random.pick(["cache_control", "prompt_cache_breakpoint"]);
    const marked = { [field]: [nested({ [marker]: { ttl: "24h" } }, random.integer(0, 5))] };
    assertEquals(JSON.stringify(apply(dialect, marked).body).includes("24h"), false);
  }
});
