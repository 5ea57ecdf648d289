/** Wrong base URLs: what the 404 says, and that what it says works. */

import fc from "fast-check";
import OpenAI from "openai";
import { describeWrongPath } from "../../../src/doors/http/wrong_path.ts";
import {
  assert,
  assertEquals,
  assertMatch,
  assertRejects,
  assertStringIncludes,
} from "../../assert.ts";
import { startGateway } from "../../fake/gateway.ts";
import { assertGrowsLinearly } from "../../growth.ts";
import { PROOF } from "../../tier.ts";

const BASE = "https://gateway.example";
const says = (method: string, path: string) => describeWrongPath({ method, path, base: BASE });

const ADVICE: readonly [method: string, path: string, meant: string, base: string][] = [
  ["POST", "/messages", "POST /v1/messages", `${BASE}/v1`],
  ["POST", "/v1/v1/messages", "POST /v1/messages", BASE],
  ["POST", "/v1/messages/v1/messages", "POST /v1/messages", BASE],
  ["POST", "/anthropic/v1/messages", "POST /v1/messages", BASE],
  ["POST", "/v1/messages/messages", "POST /v1/messages", `${BASE}/v1`],
  ["POST", "/v1/chat/completions/v1/messages", "POST /v1/messages", BASE],
  ["POST", "//v1/messages", "POST /v1/messages", BASE],
  ["POST", "/v1/messages/", "POST /v1/messages", BASE],
  ["POST", "/messages/count_tokens", "POST /v1/messages/count_tokens", `${BASE}/v1`],
  ["POST", "/v1/v1/messages/count_tokens", "POST /v1/messages/count_tokens", BASE],
  ["POST", "/chat/completions", "POST /v1/chat/completions", `${BASE}/v1`],
  ["POST", "/v1/v1/chat/completions", "POST /v1/chat/completions", `${BASE}/v1`],
  ["POST", "/v1/chat/completions/chat/completions", "POST /v1/chat/completions", `${BASE}/v1`],
  ["POST", "/openai/chat/completions", "POST /v1/chat/completions", `${BASE}/v1`],
  ["POST", "/responses", "POST /v1/responses", `${BASE}/v1`],
  ["POST", "/v1/v1/responses", "POST /v1/responses", `${BASE}/v1`],
  ["POST", "/responses/compact", "POST /v1/responses/compact", `${BASE}/v1`],
  ["GET", "/models", "GET /v1/models", `${BASE}/v1`],
  ["GET", "/api/v1/models", "GET /v1/models", `${BASE}/v1`],
  ["GET", "/v1/v1/models", "GET /v1/models", `${BASE}/v1`],
];

for (const [method, path, meant, base] of ADVICE) {
  Deno.test(`${method} ${path}: did you mean ${meant}`, () => {
    const text = says(method, path);
    assertStringIncludes(text, `${method} ${path}`);
    assertStringIncludes(text, `did you mean ${meant}? Set the base URL to ${base}.`);
  });
}

Deno.test("a wrong method at a right path: the method, and no base URL", () => {
  assertEquals(
    says("GET", "/v1/messages"),
    "Unknown endpoint: GET /v1/messages; did you mean POST /v1/messages?",
  );
});

const STORED: readonly [method: string, path: string, remedy: RegExp][] = [
  [
    "GET",
    "/v1/responses/resp_1",
    /Responses are not stored: keep the one that POST \/v1\/responses/,
  ],
  ["DELETE", "/v1/responses/resp_1", /Responses are not stored/],
  ["GET", "/responses/resp_1", /Responses are not stored/],
  ["GET", "/v1/responses/resp_1/", /Responses are not stored/],
  ["GET", "/v1/responses/resp_1/input_items", /Prompts are not stored: keep the input/],
  ["POST", "/v1/responses/resp_1/cancel", /close the connection/],
  ["POST", "/v1/responses/input_tokens", /POST \/v1\/messages\/count_tokens counts/],
  ["POST", "/v1/conversations", /Conversations are not stored: send the whole input/],
  ["GET", "/v1/conversations/conv_1/items", /Conversations are not stored/],
  ["GET", "/v1/responses/resp_1/other", /GET \/openapi\.json/],
];

for (const [method, path, remedy] of STORED) {
  Deno.test(`${method} ${path}: what to do instead`, () => {
    const text = says(method, path);
    assert(text.startsWith(`Unknown endpoint: ${method} ${path}. `), text);
    assertMatch(text, remedy);
  });
}

Deno.test("the OpenAI SDK gets an error that says so where it needs a stored response", async () => {
  await using gateway = await startGateway();
  const client = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: gateway.key, maxRetries: 3 });
  const { id } = await client.responses.create({ model: "svc-k2", input: "Hello" });
  for (
    const [call, message] of [
      [() => client.responses.retrieve(id), /Responses are not stored/],
      [() => client.responses.delete(id), /Responses are not stored/],
      [() => client.responses.cancel(id), /close the connection/],
      [() => client.responses.inputItems.list(id), /Prompts are not stored/],
    ] as const
  ) {
    const error = await assertRejects(async () => void await call(), OpenAI.NotFoundError);
    assertMatch(error.message, message);
    assertEquals([error.status, error.code, error.type], [
      404,
      "not_found",
      "invalid_request_error",
    ]);
    assertEquals(error.headers?.get("x-should-retry"), "false");
  }
});

const UNITS = ["/", "/v1", "/messages", "/responses", "/conversations/items"];

Deno.test("any path gets one short line (property)", () => {
  fc.assert(fc.property(fc.webPath(), fc.constantFrom("GET", "POST", "PATCH"), (path, method) => {
    const text = says(method, path);
    assert(text.startsWith(`Unknown endpoint: ${method} `) && text.length < 600);
  }));
  for (const unit of UNITS) assert(says("POST", unit.repeat(100_000)).length < 600);
});

Deno.test("long paths are read in time that grows with their length at most", PROOF, () => {
  for (const unit of UNITS) {
    assertGrowsLinearly(1_000_000, (times) => {
      const path = unit.repeat(times);
      return () => void says("POST", path);
    });
  }
});

Deno.test("404s of wrong base URLs: shape, retry header, and an address that works", async () => {
  await using gateway = await startGateway();
  const body = { model: "svc-k2", max_tokens: 9, messages: [{ role: "user", content: "Hi" }] };
  for (
    const [wrong, appended] of [
      ["/messages", "/messages"],
      ["/v1/v1/messages?beta=true", "/v1/messages"],
      ["/v1/messages/v1/messages", "/v1/messages"],
      ["/v1/v1/chat/completions", "/chat/completions"],
      ["/chat/completions", "/chat/completions"],
    ] as const
  ) {
    const reply = await gateway.post(wrong, body);
    const { error, type } = await reply.json();
    assertEquals([reply.status, reply.headers.get("x-should-retry")], [404, "false"]);
    assertEquals(type, wrong.startsWith("/v1/messages/") ? "error" : undefined);
    const [, base] = /Set the base URL to (\S+)\.$/.exec(error.message) ?? [];
    const right = await fetch(`${base}${appended}`, {
      method: "POST",
      headers: { "x-api-key": gateway.key, "content-type": "application/json" },
      body: JSON.stringify(body),
    });
    assertEquals(right.status, 200);
    await right.body?.cancel();
  }
});

Deno.test("publicUrl is the address that is named", async () => {
  await using gateway = await startGateway({ settings: { publicUrl: "https://llm.example/" } });
  const { error } = await (await gateway.post("/messages", {})).json();
  assertStringIncludes(error.message, "Set the base URL to https://llm.example/v1.");
});
