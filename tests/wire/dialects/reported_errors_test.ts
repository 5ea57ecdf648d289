/** An error with status 200 is the same error in every envelope: dialect, form, whole or as the first event of a stream. */

import fc from "fast-check";
import { BACKS, DIALECTS, type JsonObject, ReportedError } from "../../../src/wire/dialects/mod.ts";
import {
  exactStatus,
  reportedError,
  statusOfError,
} from "../../../src/wire/dialects/upstream_error.ts";
import { assert, assertEquals, assertThrows } from "../../assert.ts";

const STATUSES = fc.constantFrom(400, 401, 413, 429, 500, 503);

/** The same error as services write it; the status is told where the form has a place for it. */
const FORMS: Readonly<Record<string, (message: string, code: number) => JsonObject>> = {
  object: (message, code) => ({ error: { message, code } }),
  "code as a text": (message, code) => ({ error: { message, code: `${code}`, type: null } }),
  "the body itself": (message, code) => ({ message, code }),
  "old vLLM": (message, code) => ({ object: "error", message, type: "X", param: null, code }),
  "error: true": (message, code) => ({ error: true, message, code }),
  "RFC 9457": (detail, status) => ({ type: "about:blank", title: "X", status, detail }),
  "success: false": (message, code) => ({ success: false, message, code }),
  "status: error": (msg, code) => ({ status: "error", msg, code }),
  "Cloudflare": (message, code) => ({ success: false, code, errors: [{ message }], result: null }),
  "Baidu": (message, code) => ({ error_code: code, error_msg: message, id: "as-1" }),
  "AWS": (message, code) => ({ Message: message, code }),
  "OAuth": (message, code) => ({ errorCode: code, error_description: message }),
  "Google": (message, code) => ({ error: { code, message, status: "X", details: [] } }),
  "MiniMax": (message, code) => ({
    choices: null,
    base_resp: { status_code: code, status_msg: message },
  }),
};

Deno.test("an error that a reply with status 200 reports is the same in every dialect and form, whole and streamed", () => {
  fc.assert(fc.property(
    fc.constantFrom(...Object.values(FORMS)),
    fc.string({ minLength: 1 }),
    STATUSES,
    (form, message, code) => {
      for (const back of Object.values(BACKS)) {
        const whole = () => back.readReply(form(message, code), {});
        const first = () => back.reader({}).read(JSON.stringify(form(message, code)));
        for (const read of [whole, first]) {
          const { said, ownStatus } = assertThrows(read, ReportedError);
          assertEquals([said?.message, ownStatus], [message, code]);
        }
      }
    },
  ));
});

Deno.test("an error whose fields are all empty reports nothing", () => {
  const empty = fc.constantFrom<"" | null | 0 | false | undefined>("", null, 0, false, undefined);
  const object = fc.record({ message: empty, type: empty, code: empty, param: empty }, {
    requiredKeys: [],
  });
  fc.assert(fc.property(fc.oneof(empty, object), (error) => {
    assert(reportedError({ error, choices: [] }) === undefined);
    const choices = [{ message: { role: "assistant", content: "Hi" }, finish_reason: "stop" }];
    const { events } = DIALECTS.chat.back.readReply({ choices, error }, {});
    assertEquals(events.map(({ type }) => type), ["text", "finish"]);
  }));
});

/** Errors without a status, and the one that is known of them. */
const WITHOUT_STATUS: readonly (readonly [JsonObject, number | undefined])[] = [
  [{ success: false, message: "No" }, undefined],
  [{ detail: "No" }, undefined],
  [{ detail: [{ loc: ["body", "x"], msg: "No" }] }, undefined],
  [{ status: "error", msg: "No" }, undefined],
  [{ status: "failed", message: "No" }, undefined],
  ...([[1000, 1000], [1002, 429], [1008, 402], [1027, 400], [2049, 401]] as const)
    .map(([code, status]): readonly [JsonObject, number | undefined] => [
      {
        choices: [{ message: { role: "assistant", content: "" }, finish_reason: "stop" }],
        base_resp: { status_code: code, status_msg: "No" },
      },
      code === status ? undefined : status,
    ]),
];

Deno.test("an error that only its envelope tells is one, whole and as the first event of a stream", () => {
  for (const [body, status] of WITHOUT_STATUS) {
    const whole = () => DIALECTS.chat.back.readReply({ ...body }, {});
    const first = () => DIALECTS.chat.back.reader({}).read(JSON.stringify(body));
    for (const read of [whole, first]) {
      const { said, ownStatus } = assertThrows(read, ReportedError);
      assert(/No$/.test(said?.message ?? ""), JSON.stringify(body));
      assertEquals(ownStatus, status);
    }
  }
});

Deno.test("a reply that says anything is no error, whatever stands beside it", () => {
  const beside = fc.record({
    success: fc.constantFrom(false, true),
    message: fc.constant("No"),
    msg: fc.constant("No"),
    detail: fc.constant("No"),
    status: fc.constantFrom("error", "failed", 500, 200),
    code: fc.constantFrom(500, "x", 200),
    base_resp: fc.constantFrom(0, 1000, 1027).map((code) => ({
      status_code: code,
      status_msg: "No",
    })),
  }, { requiredKeys: [] });
  const message = { role: "assistant", content: null };
  const replies = fc.constantFrom<JsonObject>(
    { choices: [{ message: { ...message, content: "Hi" } }] },
    { choices: [{ message: { ...message, reasoning_content: "Hm" } }] },
    { choices: [{ message: { ...message, tool_calls: [{}] } }] },
    { choices: [{ delta: { content: "Hi" } }] },
    { choices: [{ delta: {}, finish_reason: "stop" }] },
    { content: [{ type: "text", text: "Hi" }] },
    { output: [{ type: "message", content: [] }] },
    { data: [{ embedding: [1] }] },
  );
  fc.assert(fc.property(replies, beside, (reply, more) => {
    assertEquals(reportedError({ ...more, ...reply }), undefined);
  }));
  // what wraps success
  for (const code of [0, 200, "200", "0", "ok", "success"]) {
    assertEquals(reportedError({ code, message: "success", msg: "ok" }), undefined);
  }
});

/** What is no fault of the request, in the words of services. */
const FACTS:
  readonly (readonly [status: number, error: { message: string; code?: string; type?: string }])[] =
    [
      [403, { message: "API key not valid. Please pass a valid API key." }], // Gemini
      [403, { message: "API Key not found. Please pass a valid API key." }],
      [403, { message: "API key expired. Please renew the API key." }],
      [403, {
        message:
          "Incorrect API key provided: xa***. You can obtain an API key from https://console.x.ai.",
      }],
      [403, { message: "User location is not supported for the API use." }],
      [402, { message: "Your credit balance is too low to access the Anthropic API." }],
      [402, {
        message: "Access denied, please make sure your account is in good standing.",
        code: "Arrearage",
      }],
      [402, { message: "Insufficient account balance" }],
      [429, { message: "Rate limit reached", code: "rate_limit_exceeded" }],
      [429, {
        message: "Too many tokens, please wait before trying again.",
        type: "ThrottlingException",
      }],
    ];

Deno.test("what is no fault of the request is none with a status that blames the request, or without one (property)", () => {
  fc.assert(fc.property(
    fc.constantFrom(...FACTS),
    fc.constantFrom(400, 413, 422, undefined),
    fc.constantFrom("invalid_request_error", "error", undefined),
    ([status, { message, code, type }], own, kind) => {
      const error = { message, code, type: type ?? kind };
      assertEquals(exactStatus(error, own), status);
      assertEquals(statusOfError({ ...error, code: code ?? (own && `${own}`) }), status);
      // a request may quote it, and a status of its own stays
      const quoted = { message: `Invalid tool: "${message}"`, code: undefined, type: kind };
      assertEquals(exactStatus(quoted, own), own);
      for (const other of [401, 403, 404, 500, 503]) assertEquals(exactStatus(error, other), other);
    },
  ));
});
