import { DIALECTS } from "../../../src/wire/dialects/mod.ts";
import { type Reason, REASONS, Refusal } from "../../../src/ground/refusal.ts";
import { assert, assertEquals } from "../../assert.ts";
import { checkResponsesStream } from "./legal_responses.ts";

const { front } = DIALECTS.responses;

/** How each reason is called: before a stream (code, type), at its end, and where Codex is refused (undefined: by the status). */
const WORDS: Readonly<
  Record<Reason, [code: string, type: string, failed: string, codex?: string]>
> = {
  key_invalid: ["invalid_api_key", "invalid_request_error", "invalid_prompt", "invalid_prompt"],
  credits_short: [
    "insufficient_credits",
    "insufficient_quota",
    "insufficient_quota",
    "invalid_prompt",
  ],
  budget_spent: [
    "insufficient_credits",
    "invalid_request_error",
    "insufficient_quota",
    "invalid_prompt",
  ],
  permission_denied: [
    "permission_denied",
    "invalid_request_error",
    "invalid_prompt",
    "invalid_prompt",
  ],
  rate_exceeded: [
    "rate_limit_exceeded",
    "rate_limit_error",
    "rate_limit_exceeded",
    "invalid_prompt",
  ],
  request_invalid: ["invalid_request", "invalid_request_error", "invalid_prompt", "invalid_prompt"],
  image_too_large: [
    "encoded_image_too_large",
    "invalid_request_error",
    "invalid_prompt",
    "invalid_prompt",
  ],
  context_exceeded: [
    "context_length_exceeded",
    "invalid_request_error",
    "context_length_exceeded",
    "context_length_exceeded",
  ],
  model_unknown: ["model_not_found", "invalid_request_error", "invalid_prompt", "invalid_prompt"],
  path_unknown: ["not_found", "invalid_request_error", "invalid_prompt", "invalid_prompt"],
  upstream_unavailable: ["upstream_unavailable", "api_error", "server_error"],
  gateway_unavailable: ["service_unavailable", "api_error", "server_error"],
  internal: ["internal_error", "api_error", "server_error"],
};

const CODEX = { originator: "codex_cli_rs", accept: "text/event-stream" };

function streamed(refusal: Refusal, headers: Readonly<Record<string, string>>): string | undefined {
  const header = (name: string) => headers[name] ?? null;
  return front.streamedRefusal!(refusal, { header, requestId: "req_1", model: "svc-k2" });
}

for (const [name, [code, type, failed, codex]] of Object.entries(WORDS)) {
  const reason = name as Reason;

  Deno.test(`responses: '${reason}' has the shapes that clients act on`, () => {
    const refusal = new Refusal(reason, "Because.", { param: "input" });
    assertEquals(front.errorBody(refusal, "req_1"), {
      error: { message: "Because.", type, code, param: "input" },
    });
    const { response } = checkResponsesStream(front.errorEvent(refusal, "req_1"));
    assertEquals([response.id, response.error], ["resp_1", { code: failed, message: "Because." }]);

    const text = streamed(refusal, CODEX);
    assertEquals(text === undefined, REASONS[reason].status >= 500, "5xx stays a status");
    if (text === undefined) return;
    const refused = checkResponsesStream(text).response;
    assertEquals(refused.error, { code: codex, message: "Because." });
    assertEquals([refused.model, refused.output], ["svc-k2", []]);
    assert(Math.abs(refused.created_at - Date.now() / 1_000) < 60);
  });
}

Deno.test("only Codex that streams gets a refusal as a stream", () => {
  const refusal = new Refusal("credits_short", "Out of credits.");
  const cases: [Record<string, string>, boolean][] = [
    [CODEX, true],
    [{ ...CODEX, originator: "CODEX-tui" }, true],
    [{ ...CODEX, accept: "application/json, Text/Event-Stream" }, true],
    [{ ...CODEX, originator: "my-codex" }, false],
    [{ accept: CODEX.accept }, false],
    [{ originator: CODEX.originator }, false],
    [{ ...CODEX, accept: "application/json" }, false],
  ];
  for (const [headers, isStreamed] of cases) {
    assertEquals(streamed(refusal, headers) !== undefined, isStreamed, JSON.stringify(headers));
  }
});

Deno.test("a rate limit says when to try again, once", () => {
  const messageOf = (message: string, retryAfterMs?: number) => {
    const refusal = new Refusal("rate_exceeded", message, { retryAfterMs });
    return checkResponsesStream(streamed(refusal, CODEX)!).response.error.message;
  };
  assertEquals(messageOf("Limit reached.", 1_200), "Limit reached. Please try again in 2 s.");
  assertEquals(messageOf("Busy. Please try again.", 400), "Busy. Please try again in 1 s.");
  assertEquals(messageOf("Please try again.", 400), "Please try again in 1 s.");
  assertEquals(messageOf("Please try again in 9 s.", 400), "Please try again in 9 s.");
  assertEquals(messageOf("Limit reached."), "Limit reached.");
});
