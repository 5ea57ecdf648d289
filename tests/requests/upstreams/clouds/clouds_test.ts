/** The clouds: where requests go, what is in them, how they are signed, and how streams come back; from each dialect in front. */

import { crc32 } from "node:zlib";
import aws4 from "aws4";
import type { SettingsInput } from "../../../../src/settings/config/mod.ts";
import { assert, assertEquals, assertMatch } from "../../../assert.ts";
import { checkGenerateRequest } from "../../../fake/generate.ts";
import { startGateway } from "../../../fake/gateway.ts";
import { fakeUpstream, type Received } from "../../../fake/upstream.ts";

const MODEL = "anthropic.claude-x-v1:0";
const encoder = new TextEncoder();

/** A reply with thinking, text and a call. */
const CONTENT = [
  { type: "thinking", thinking: "Let me think.", signature: "c2lnbmVk" },
  { type: "text", text: "It rains." },
  { type: "tool_use", id: "toolu_1", name: "weather", input: { city: "Bonn" } },
];
const USAGE = { input_tokens: 20, output_tokens: 30 };
const MESSAGE = {
  id: "msg_1",
  type: "message",
  role: "assistant",
  model: "claude-x",
  content: CONTENT,
  stop_reason: "tool_use",
  stop_sequence: null,
  usage: USAGE,
};
const EVENTS = [
  { type: "message_start", message: { ...MESSAGE, content: [], stop_reason: null } },
  ...CONTENT.flatMap((block, index) => [
    { type: "content_block_start", index, content_block: emptied(block) },
    ...deltasOf(block).map((delta) => ({ type: "content_block_delta", index, delta })),
    { type: "content_block_stop", index },
  ]),
  { type: "message_delta", delta: { stop_reason: "tool_use", stop_sequence: null }, usage: USAGE },
  { type: "message_stop" },
];

function emptied(block: typeof CONTENT[number]) {
  if (block.type === "thinking") return { type: "thinking", thinking: "", signature: "" };
  return block.type === "text" ? { type: "text", text: "" } : { ...block, input: {} };
}

function deltasOf(block: typeof CONTENT[number]) {
  if (block.type === "text") return [{ type: "text_delta", text: block.text }];
  if (block.type === "tool_use") {
    return [{ type: "input_json_delta", partial_json: JSON.stringify(block.input) }];
  }
  return [
    { type: "thinking_delta", thinking: block.thinking },
    { type: "signature_delta", signature: block.signature },
  ];
}

/** A frame of AWS's event streams, written out by hand: lengths, checksum, headers, payload, checksum. */
function frame(headers: Record<string, string>, payload: string): Uint8Array {
  const named = Object.entries(headers).map(([name, value]) => {
    const [one, other] = [encoder.encode(name), encoder.encode(value)];
    const length = new Uint8Array([7, other.length >> 8, other.length & 255]);
    return new Uint8Array([one.length, ...one, ...length, ...other]);
  });
  const head = new Uint8Array(named.flatMap((one) => [...one]));
  const body = encoder.encode(payload);
  const bytes = new Uint8Array(16 + head.length + body.length);
  const view = new DataView(bytes.buffer);
  view.setUint32(0, bytes.length);
  view.setUint32(4, head.length);
  view.setUint32(8, crc32(bytes.subarray(0, 8)));
  bytes.set(head, 12);
  bytes.set(body, 12 + head.length);
  view.setUint32(bytes.length - 4, crc32(bytes.subarray(0, -4)));
  return bytes;
}

function framed(event: unknown): Uint8Array {
  const bytes = btoa(JSON.stringify(event));
  const headers = {
    ":event-type": "chunk",
    ":content-type": "application/json",
    ":message-type": "event",
  };
  return frame(headers, JSON.stringify({ bytes, p: "abcd" }));
}

function framesReply(pieces: readonly Uint8Array[]): Response {
  const body = ReadableStream.from(pieces as Uint8Array<ArrayBuffer>[]);
  return new Response(body, { headers: { "content-type": "application/vnd.amazon.eventstream" } });
}

const KEYS = { accessKeyId: "AKIDEXAMPLE1", secretAccessKey: "wJalrXUtnFEMI/K7MDENG" };

/** Checks a signature with another implementation than the one that signs. */
function checkSignature(
  request: Received,
  { url, service, session }: { url: string; service: string; session?: string },
): void {
  const { hostname, port, pathname } = new URL(url);
  const authorization = request.headers.get("authorization")!;
  const [, id, date, region, , names] =
    /^AWS4-HMAC-SHA256 Credential=([^/]+)\/(\d+)\/([^/]+)\/([^/]+)\/aws4_request, SignedHeaders=([^,]+), /
      .exec(authorization)!;
  assertEquals([id, region], [KEYS.accessKeyId, "eu-central-1"]);
  assert(names!.includes("host") && names!.includes("x-amz-date"), names);
  const at = request.headers.get("x-amz-date")!;
  assert(at.startsWith(date!));
  const signed = names!.split(";").map((name) => [name, request.headers.get(name)!]);
  const again = aws4.sign({
    service,
    region: "eu-central-1",
    method: "POST",
    host: `${hostname}:${port}`,
    path: pathname,
    body: request.raw,
    headers: Object.fromEntries(signed),
    extraHeadersToIgnore: { "content-length": true, "content-type": true },
  }, { ...KEYS, ...(session !== undefined && { sessionToken: session }) });
  assertEquals(again.headers.Authorization, authorization);
}

/** A request in each dialect, and what its reply has. */
const FRONTS = {
  chat: {
    path: "/v1/chat/completions",
    body: {
      messages: [{ role: "user", content: "Weather?" }],
      tools: [{ type: "function", function: { name: "weather", parameters: { type: "object" } } }],
      reasoning_effort: "low",
    },
  },
  messages: {
    path: "/v1/messages",
    body: {
      max_tokens: 2_000,
      messages: [{ role: "user", content: "Weather?" }],
      tools: [{ name: "weather", input_schema: { type: "object" } }],
      thinking: { type: "enabled", budget_tokens: 1_024 },
    },
  },
  responses: {
    path: "/v1/responses",
    body: {
      input: "Weather?",
      tools: [{ type: "function", name: "weather", parameters: { type: "object" } }],
      reasoning: { effort: "low", summary: "auto" },
    },
  },
} as const;

/** Starts a gateway with one route to one upstream. */
function gatewayTo(upstream: NonNullable<SettingsInput["upstreams"]>[string]) {
  const targets = [{ upstream: "cloud", model: MODEL }];
  return startGateway({
    settings: {
      upstreams: { cloud: upstream },
      routes: { house: { targets, context: 100_000, maxOutput: 4_000, reasoning: "effort" } },
    },
  });
}

/** Asks in each dialect, whole and streamed; nothing of the reply may be lost. */
async function askAll(
  gateway: Awaited<ReturnType<typeof gatewayTo>>,
  each: (stream: boolean) => Promise<void> | void,
  model = "house",
): Promise<void> {
  for (const { path, body } of Object.values(FRONTS)) {
    for (const stream of [false, true]) {
      const response = await gateway.post(path, { model, stream, ...body });
      const said = await response.text();
      assertEquals(response.status, 200, said);
      const pieces = ["Let me think.", "It rains.", "weather", "Bonn"];
      for (const piece of pieces) {
        assert(said.includes(piece), `${path} ${stream} ${piece}: ${said}`);
      }
      await each(stream);
    }
  }
}

for (const session of [undefined, "SESSION/token+1="]) {
  Deno.test(`Claude in Bedrock by invoke, signed${session ? " with a session" : ""}: each dialect, whole and streamed`, async () => {
    await using cloud = fakeUpstream(({ path }) =>
      path.endsWith("/invoke") ? Response.json(MESSAGE) : framesReply(EVENTS.map(framed))
    );
    await using gateway = await gatewayTo({
      provider: "bedrock-anthropic",
      region: "eu-central-1",
      url: cloud.url,
      credentials: { kind: "aws", ...KEYS, ...(session && { sessionToken: session }) },
    });
    await askAll(gateway, (stream) => {
      const request = cloud.received.at(-1)!;
      const method = stream ? "invoke-with-response-stream" : "invoke";
      const path = `/v1/model/${encodeURIComponent(MODEL)}/${method}`;
      assertEquals(request.path, path);
      const { anthropic_version: version, model, stream: asked, max_tokens: max } = request.body;
      assertEquals([version, model, asked], ["bedrock-2023-05-31", undefined, undefined]);
      assert(max > 0);
      assertEquals(request.headers.get("anthropic-version"), null);
      const url = `${new URL(cloud.url).origin}${path}`;
      checkSignature(request, { url, service: "bedrock", ...(session && { session }) });
    });
  });
}

Deno.test("Claude in Bedrock: beta features go into the body, also of one with documents, and the signature covers them", async () => {
  await using cloud = fakeUpstream(() => Response.json(MESSAGE));
  await using gateway = await gatewayTo({
    provider: "bedrock-anthropic",
    region: "eu-central-1",
    url: cloud.url,
    credentials: { kind: "aws", ...KEYS },
  });
  const data = btoa("%PDF-1.4 ".repeat(40_000));
  for (
    const content of ["Hi", [{
      type: "document",
      source: { type: "base64", media_type: "application/pdf", data },
    }]]
  ) {
    const response = await gateway.post("/v1/messages", {
      model: "house",
      max_tokens: 100,
      messages: [{ role: "user", content }],
    }, { headers: { "anthropic-beta": "one-2025-01-01, two-2025-02-02" } });
    assertEquals(response.status, 200, await response.text());
    const request = cloud.received.at(-1)!;
    assertEquals(request.body.anthropic_beta, ["one-2025-01-01", "two-2025-02-02"]);
    assertEquals(request.headers.get("anthropic-beta"), null);
    const url = `${new URL(cloud.url).origin}${request.path}`;
    checkSignature(request, { url, service: "bedrock" });
  }
});

Deno.test("frames of Bedrock are read however they are cut; a damaged one and an exception end the reply", async () => {
  const whole = new Uint8Array(EVENTS.flatMap((event) => [...framed(event)]));
  const damaged = whole.slice();
  damaged[whole.length >> 1]! ^= 1;
  const throttled = frame({
    ":exception-type": "throttlingException",
    ":content-type": "application/json",
    ":message-type": "exception",
  }, JSON.stringify({ message: "Too many tokens" }));
  let pieces: Uint8Array[] = [];
  await using cloud = fakeUpstream(() => framesReply(pieces));
  await using gateway = await gatewayTo({
    provider: "bedrock-anthropic",
    region: "eu-central-1",
    url: cloud.url,
    key: "bedrock-key-1",
  });
  const ask = async () => {
    const body = { model: "house", stream: true, ...FRONTS.messages.body };
    return await (await gateway.post("/v1/messages", body)).text();
  };
  pieces = [whole];
  const said = await ask();
  assertMatch(said, /message_stop/);
  assertEquals(cloud.received.at(-1)!.headers.get("authorization"), "Bearer bedrock-key-1");
  const ids = (text: string) => text.replaceAll(/"id":"msg_[^"]*"/g, "");
  for (const size of [1, 2, 3, 7, 11, 12, 13, 16, 17, 100, 1_000]) {
    pieces = Array.from(
      { length: Math.ceil(whole.length / size) },
      (_, at) => whole.subarray(at * size, (at + 1) * size),
    );
    assertEquals(ids(await ask()), ids(said), `pieces of ${size} bytes`);
  }
  pieces = [damaged];
  const cut = await ask();
  assert(cut.includes("Let me think.") && !cut.includes("message_stop"), cut);
  pieces = [whole.subarray(0, whole.length / 2)];
  assert(!(await ask()).includes("message_stop"));
  pieces = [framed(EVENTS[0]), ...EVENTS.slice(1, 5).map(framed), throttled];
  assertMatch(await ask(), /event: error/);
});

Deno.test("Claude in Vertex by rawPredict: each dialect, whole and streamed", async () => {
  await using tokens = fakeUpstream(() =>
    Response.json({ access_token: "ya29.token", expires_in: 3_600 })
  );
  await using cloud = fakeUpstream(({ path }) => {
    if (path.endsWith(":rawPredict")) return Response.json(MESSAGE);
    const events = EVENTS.map((one) => `event: ${one.type}\ndata: ${JSON.stringify(one)}\n\n`);
    return new Response(events.join(""), { headers: { "content-type": "text/event-stream" } });
  });
  await using gateway = await gatewayTo({
    provider: "vertex-anthropic",
    project: "p",
    region: "europe-west1",
    url: `${cloud.url}/projects/p/locations/europe-west1`,
    credentials: { kind: "google", tokenUrl: tokens.url, environment: {} },
  });
  await askAll(gateway, (stream) => {
    const request = cloud.received.at(-1)!;
    const method = stream ? "streamRawPredict" : "rawPredict";
    const model = encodeURIComponent(MODEL);
    const path =
      `/v1/projects/p/locations/europe-west1/publishers/anthropic/models/${model}:${method}`;
    assertEquals(request.path, path);
    assertEquals(request.body.anthropic_version, "vertex-2023-10-16");
    assertEquals(request.body.model, undefined);
    assertEquals(request.headers.get("authorization"), "Bearer ya29.token");
    assertEquals(request.headers.get("x-api-key"), null);
  });
  assertEquals(tokens.received.length, 1, "one token for all");
});

/** The same reply as of generateContent. */
const GENERATED = {
  candidates: [{
    content: {
      role: "model",
      parts: [
        { text: "Let me think.", thought: true },
        { text: "It rains." },
        {
          functionCall: { id: "toolu_1", name: "weather", args: { city: "Bonn" } },
          thoughtSignature: "c2lnbmVk",
        },
      ],
    },
    finishReason: "STOP",
  }],
  usageMetadata: {
    promptTokenCount: 20,
    thoughtsTokenCount: 10,
    candidatesTokenCount: 20,
    totalTokenCount: 50,
  },
};

Deno.test("Gemini by generateContent, with a key or in Vertex: each dialect, whole and streamed", async () => {
  await using tokens = fakeUpstream(() =>
    Response.json({ access_token: "ya29.token", expires_in: 3_600 })
  );
  await using cloud = fakeUpstream(({ path, body }) => {
    checkGenerateRequest(body);
    const isStream = path.endsWith(":streamGenerateContent");
    return isStream ? events([GENERATED]) : Response.json(GENERATED);
  });
  const vertex = "/v1/projects/p/locations/global/publishers/google";
  const rows = [
    [{ provider: "gemini", url: cloud.url, key: "k-gemini" }, "/v1", [
      "x-goog-api-key",
      "k-gemini",
    ]],
    [
      {
        provider: "vertex-gemini",
        project: "p",
        region: "global",
        url: `${cloud.url}${vertex.slice("/v1".length)}`,
        credentials: { kind: "google", tokenUrl: tokens.url, environment: {} },
      },
      vertex,
      ["authorization", "Bearer ya29.token"],
    ],
  ] as const;
  for (const [upstream, base, [header, value]] of rows) {
    await using gateway = await gatewayTo(upstream);
    await askAll(gateway, (stream) => {
      const { path, headers, body } = cloud.received.at(-1)!;
      const method = stream ? "streamGenerateContent" : "generateContent";
      assertEquals(path, `${base}/models/${encodeURIComponent(MODEL)}:${method}`);
      assertEquals(headers.get(header), value);
      const others = ["authorization", "x-api-key", "x-goog-api-key"].filter((one) =>
        one !== header
      );
      assertEquals(others.filter((one) => headers.has(one)), []);
      assertEquals([body.model, body.stream], [undefined, undefined]);
    });
  }
  assertEquals(tokens.received.length, 1, "one token for all");
});

Deno.test("Azure: a key goes into api-key, a token of Entra into authorization", async () => {
  const reply = {
    id: "c",
    object: "chat.completion",
    created: 1,
    model: "d",
    choices: [{ index: 0, message: { role: "assistant", content: "Hi." }, finish_reason: "stop" }],
    usage: { prompt_tokens: 9, completion_tokens: 2, total_tokens: 11 },
  };
  await using tokens = fakeUpstream(() => new Response());
  await using entra = entraServer();
  await using cloud = fakeUpstream(() => Response.json(reply));
  for (
    const [own, header] of [
      [{ key: "azure-key-1" }, ["api-key", "azure-key-1"]],
      [{
        credentials: {
          kind: "azure",
          tenant: "t",
          client: "c",
          secret: "s3cret-1",
          tokenUrl: entra.url,
        },
      }, ["authorization", "Bearer entra-1"]],
    ] as const
  ) {
    await using gateway = await gatewayTo({
      provider: "azure",
      resource: "acme",
      url: cloud.url,
      ...own,
    });
    const response = await gateway.post("/v1/chat/completions", {
      model: "house",
      messages: [{ role: "user", content: "Hi" }],
    });
    assertEquals(response.status, 200, await response.text());
    const request = cloud.received.at(-1)!;
    assertEquals(request.path, "/v1/chat/completions");
    assertEquals(request.headers.get(header[0]), header[1]);
    assertEquals(request.headers.has(header[0] === "api-key" ? "authorization" : "api-key"), false);
    assertEquals(request.body.model, MODEL);
  }
  assertEquals(tokens.received.length, 0);
  assertEquals(entra.forms, [{
    grant_type: "client_credentials",
    client_id: "c",
    scope: "https://cognitiveservices.azure.com/.default",
    client_secret: "s3cret-1",
  }]);
});

/** An application of Entra ID. */
const CLIENT = { tenant: "t", client: "c", secret: "s3cret-1" } as const;
/** As `az account get-access-token` prints a token of it. */
const PRINTED = {
  kind: "command",
  command: ["echo", "eyJhbGciOiJSUzI1NiJ9.eyJhdWQiOiJjb2duaXRpdmUifQ.c2lnbmF0dXJl"],
  ttlMs: 60_000,
} satisfies NonNullable<SettingsInput["upstreams"]>[string]["credentials"];

/** A token endpoint whose tokens say what they are for. */
function tokensByScope() {
  return entraServer(({ scope, client_id: client, client_secret: secret }) =>
    client === CLIENT.client && secret === CLIENT.secret ? `token:${scope}` : "rejected"
  );
}

/** A token endpoint that takes forms. */
function entraServer(tokenFor: (form: Record<string, string>) => string = () => "entra-1") {
  const forms: Record<string, string>[] = [];
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, async (request) => {
    const form = Object.fromEntries(new URLSearchParams(await request.text()));
    forms.push(form);
    return Response.json({
      access_token: tokenFor(form),
      expires_in: 3_600,
      token_type: "Bearer",
    });
  });
  return {
    url: `http://127.0.0.1:${server.addr.port}/t/oauth2/v2.0/token`,
    forms,
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
}

const CALL = { name: "weather", arguments: '{"city":"Bonn"}' };
/** The same reply in each dialect, whole and streamed. */
const REPLIES: Readonly<Record<string, (stream: boolean) => Response>> = {
  messages: (stream) => stream ? events(EVENTS) : Response.json(MESSAGE),
  chat: (stream) => {
    const said = {
      role: "assistant",
      reasoning_content: "Let me think.",
      content: "It rains.",
      tool_calls: [{ index: 0, id: "call_1", type: "function", function: CALL }],
    };
    const of = { id: "c", object: "chat.completion", created: 1, model: "d" };
    const usage = { prompt_tokens: 20, completion_tokens: 30, total_tokens: 50 };
    const choice = { index: 0, finish_reason: "tool_calls" };
    return stream
      ? events([
        // Azure begins with filter results only
        { ...of, choices: [], prompt_filter_results: [] },
        { ...of, choices: [{ index: 0, delta: said, finish_reason: null }] },
        { ...of, choices: [{ ...choice, delta: {} }] },
        { ...of, choices: [], usage },
      ], "data: [DONE]\n\n")
      : Response.json({ ...of, choices: [{ ...choice, message: said }], usage });
  },
  responses: (stream) => {
    const output = [
      { type: "reasoning", id: "rs_1", summary: [{ type: "summary_text", text: "Let me think." }] },
      {
        type: "message",
        id: "msg_1",
        status: "completed",
        role: "assistant",
        content: [{ type: "output_text", text: "It rains.", annotations: [] }],
      },
      { type: "function_call", id: "fc_1", call_id: "call_1", status: "completed", ...CALL },
    ];
    const usage = { input_tokens: 20, output_tokens: 30, total_tokens: 50 };
    const response = {
      id: "r",
      object: "response",
      status: "completed",
      model: "d",
      output,
      usage,
    };
    return stream
      ? events([
        { type: "response.created", response: { ...response, status: "in_progress", output: [] } },
        ...output.flatMap((item, at) => [
          { type: "response.output_item.added", output_index: at, item },
          { type: "response.output_item.done", output_index: at, item },
        ]),
        { type: "response.completed", response },
      ])
      : Response.json(response);
  },
};

function events(all: readonly Readonly<Record<string, unknown>>[], end = ""): Response {
  const lines = all.map((one) =>
    `${one.type === undefined ? "" : `event: ${one.type}\n`}data: ${JSON.stringify(one)}\n\n`
  );
  return new Response(lines.join("") + end, { headers: { "content-type": "text/event-stream" } });
}

/** The clouds whose dialect is carried as it is: where requests go, and what proves who sends them. */
const ROWS: Readonly<
  Record<string, {
    readonly upstream: Partial<NonNullable<SettingsInput["upstreams"]>[string]>;
    /** Below the base, of the upstream's own. */
    readonly path?: string;
    readonly dialect: "chat" | "messages" | "responses";
    readonly proof: readonly [header: string, value: RegExp];
    /** The service of AWS that a signature is for. */
    readonly service?: string;
  }>
> = {
  "azure": {
    upstream: { provider: "azure", resource: "r", key: "k-azure" },
    dialect: "chat",
    proof: ["api-key", /^k-azure$/],
  },
  "azure-responses": {
    upstream: { provider: "azure", resource: "r", key: "k-azure", dialect: "responses" },
    dialect: "responses",
    proof: ["api-key", /^k-azure$/],
  },
  "azure-by-deployment": {
    upstream: { path: "/deployments/{model}/chat/completions", key: "k-azure", quirks: "azure" },
    path: `/deployments/${encodeURIComponent(MODEL)}/chat/completions`,
    dialect: "chat",
    proof: ["api-key", /^k-azure$/],
  },
  "azure-anthropic": {
    upstream: { provider: "azure-anthropic", resource: "r", key: "k-foundry" },
    dialect: "messages",
    proof: ["x-api-key", /^k-foundry$/],
  },
  "azure-by-entra": {
    upstream: { provider: "azure", resource: "r", credentials: { kind: "azure", ...CLIENT } },
    dialect: "chat",
    proof: ["authorization", /^Bearer token:https:\/\/cognitiveservices\.azure\.com\/\.default$/],
  },
  "azure-anthropic-by-entra": {
    upstream: {
      provider: "azure-anthropic",
      resource: "r",
      credentials: { kind: "azure", ...CLIENT },
    },
    dialect: "messages",
    proof: ["authorization", /^Bearer token:https:\/\/ai\.azure\.com\/\.default$/],
  },
  "azure-by-program": {
    upstream: { provider: "azure", resource: "r", credentials: PRINTED },
    dialect: "chat",
    proof: ["authorization", /^Bearer eyJ/],
  },
  "azure-anthropic-by-program": {
    upstream: { provider: "azure-anthropic", resource: "r", credentials: PRINTED },
    dialect: "messages",
    proof: ["authorization", /^Bearer eyJ/],
  },
  "bedrock-signed": {
    upstream: {
      provider: "bedrock",
      region: "eu-central-1",
      credentials: { kind: "aws", ...KEYS },
    },
    dialect: "chat",
    proof: ["authorization", /^AWS4-HMAC-SHA256 /],
    service: "bedrock",
  },
  "bedrock": {
    upstream: { provider: "bedrock", region: "eu-central-1", key: "k-bedrock" },
    dialect: "chat",
    proof: ["authorization", /^Bearer k-bedrock$/],
  },
  "bedrock-responses": {
    upstream: {
      provider: "bedrock",
      region: "eu-central-1",
      dialect: "responses",
      credentials: { kind: "aws", ...KEYS },
    },
    dialect: "responses",
    proof: ["authorization", /^AWS4-HMAC-SHA256 /],
    service: "bedrock",
  },
  "bedrock-mantle-signed": {
    upstream: {
      provider: "bedrock-mantle",
      region: "eu-central-1",
      credentials: { kind: "aws", ...KEYS },
    },
    dialect: "chat",
    proof: ["authorization", /^AWS4-HMAC-SHA256 /],
    service: "bedrock-mantle",
  },
  "bedrock-mantle": {
    upstream: { provider: "bedrock-mantle", region: "eu-central-1", key: "k-mantle" },
    dialect: "chat",
    proof: ["authorization", /^Bearer k-mantle$/],
  },
  "bedrock-mantle-responses": {
    upstream: {
      provider: "bedrock-mantle",
      region: "eu-central-1",
      dialect: "responses",
      credentials: { kind: "aws", ...KEYS },
    },
    dialect: "responses",
    proof: ["authorization", /^AWS4-HMAC-SHA256 /],
    service: "bedrock-mantle",
  },
  "bedrock-mantle-anthropic": {
    upstream: {
      provider: "bedrock-mantle-anthropic",
      region: "eu-central-1",
      credentials: { kind: "aws", ...KEYS },
    },
    dialect: "messages",
    proof: ["authorization", /^AWS4-HMAC-SHA256 /],
    service: "bedrock-mantle",
  },
  "vertex": {
    upstream: {
      provider: "vertex",
      project: "p",
      region: "europe-west1",
      credentials: { kind: "command", command: ["echo", "ya29.token"], ttlMs: 60_000 },
    },
    dialect: "chat",
    proof: ["authorization", /^Bearer ya29\.token$/],
  },
  "gemini-chat": {
    upstream: { provider: "google", key: "k-gemini" },
    dialect: "chat",
    proof: ["authorization", /^Bearer k-gemini$/],
  },
};

Deno.test("clouds that carry a dialect: each from each dialect, whole and streamed, with thinking and a call", async () => {
  const of = (path: string) => path.split("/")[2]!;
  await using cloud = fakeUpstream(({ path, body }) =>
    REPLIES[ROWS[of(path)]!.dialect]!(body.stream === true)
  );
  const names = Object.keys(ROWS);
  await using tokens = tokensByScope();
  await using gateway = await startGateway({
    settings: {
      upstreams: Object.fromEntries(
        names.map((name) => {
          const { upstream: { credentials, ...upstream } } = ROWS[name]!;
          const url = `${cloud.url}/${name}`;
          const tokenUrl = credentials?.kind === "azure" ? tokens.url : undefined;
          return [name, {
            ...upstream,
            url,
            ...(credentials && { credentials: { ...credentials, ...(tokenUrl && { tokenUrl }) } }),
          }];
        }),
      ) as NonNullable<SettingsInput["upstreams"]>,
      routes: Object.fromEntries(names.map((name) => [name, {
        targets: [{ upstream: name, model: MODEL }],
        context: 100_000,
        maxOutput: 4_000,
        reasoning: "effort" as const,
      }])),
    },
  });
  const ends = { chat: "/chat/completions", messages: "/messages", responses: "/responses" };
  for (
    const [name, { dialect, path = ends[dialect], proof: [header, value], service }] of Object
      .entries(ROWS)
  ) {
    await askAll(gateway, () => {
      const { headers, path: at, body } = cloud.received.at(-1)!;
      assertEquals(at, `/v1/${name}${path}`);
      assertMatch(headers.get(header)!, value);
      if (service !== undefined) {
        checkSignature(cloud.received.at(-1)!, { url: `${cloud.url}/${name}${path}`, service });
      }
      assertEquals(body.model, MODEL);
      const others = ["authorization", "api-key", "x-api-key"].filter((one) => one !== header);
      assertEquals(others.filter((one) => headers.has(one)), [], name);
    }, name);
  }
});

Deno.test("beta features in a body, as clouds have them, are no way past what the upstream takes", async () => {
  const asked = ["one-2025-01-01", "four", "bad\r\nname", 7];
  const ask = async (upstream: Parameters<typeof gatewayTo>[0], headers = {}) => {
    await using gateway = await gatewayTo({ ...upstream, dialect: "messages" });
    const { path, body } = FRONTS.messages;
    const more = { anthropic_beta: asked, anthropic_version: "other" };
    const response = await gateway.post(path, { model: "house", ...body, ...more }, { headers });
    assertEquals(response.status, 200, await response.text());
    return cloud.received.at(-1)!;
  };
  await using cloud = fakeUpstream(() => Response.json(MESSAGE));
  const { url } = cloud;
  const plain = await ask({ url });
  assertEquals(plain.headers.get("anthropic-beta"), "one-2025-01-01,four");
  assertEquals(plain.body.anthropic_beta, undefined);
  const own = { "anthropic-beta": "two" };
  const both = await ask({ url, betas: ["one-*", "two"] }, own);
  assertEquals(both.headers.get("anthropic-beta"), "two,one-2025-01-01");
  const bedrock = { url, provider: "bedrock-anthropic", region: "eu-central-1", key: "k-123456" };
  const inBody = await ask({ ...bedrock, betas: ["one-*", "two"] }, own);
  assertEquals(inBody.raw.match(/anthropic_(?:beta|version)/g)?.length, 2);
  assertEquals([inBody.body.anthropic_beta, inBody.body.anthropic_version], [
    ["two", "one-2025-01-01"],
    "bedrock-2023-05-31",
  ]);
  const none = await ask({ ...bedrock, betas: [] });
  assertEquals(none.body.anthropic_beta, undefined);
});

Deno.test("beta features that clients ask for go on as far as the upstream takes them", async () => {
  await using cloud = fakeUpstream(() => Response.json(MESSAGE));
  const sent = async (betas: string[] | undefined) => {
    await using gateway = await gatewayTo({
      url: cloud.url,
      dialect: "messages",
      ...(betas && { betas }),
    });
    const { path, body } = FRONTS.messages;
    const headers = { "anthropic-beta": "one-2025-01-01, two-2025-02-02,three" };
    const response = await gateway.post(path, { model: "house", ...body }, { headers });
    assertEquals(response.status, 200, await response.text());
    return cloud.received.at(-1)!.headers.get("anthropic-beta");
  };
  assertEquals(await sent(undefined), "one-2025-01-01, two-2025-02-02,three");
  assertEquals(await sent(["one-*", "three"]), "one-2025-01-01,three");
  assertEquals(await sent([]), null);
});
