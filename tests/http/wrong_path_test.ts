/** Wrong base URLs: what the 404 says, and that what it says works. */

import fc from "fast-check";
import { describeWrongPath } from "../../src/http/wrong_path.ts";
import { assert, assertEquals, assertStringIncludes } from "../assert.ts";
import { startGateway } from "../fake/gateway.ts";

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

Deno.test("any path gets one short line (property)", () => {
  fc.assert(fc.property(fc.webPath(), fc.constantFrom("GET", "POST", "PATCH"), (path, method) => {
    const text = says(method, path);
    assert(text.startsWith(`Unknown endpoint: ${method} `) && text.length < 600);
  }));
  const startedTick = performance.now();
  for (const unit of ["/", "/v1", "/messages"]) {
    assert(says("POST", unit.repeat(1_000_000)).length < 600);
  }
  assert(performance.now() - startedTick < 1_000);
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
