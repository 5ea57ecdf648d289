/** An error with status 200 is the same error in every envelope: dialect, form, whole or as the first event of a stream. */

import fc from "fast-check";
import { DIALECTS, type JsonObject, ReportedError } from "../../../src/wire/dialects/mod.ts";
import { reportedError } from "../../../src/wire/dialects/upstream_error.ts";
import { assert, assertEquals, assertThrows } from "../../assert.ts";

const STATUSES = fc.constantFrom(400, 401, 413, 429, 500, 503);

/** The same error as services write it; the status is told where the form has a place for it. */
const FORMS: Readonly<Record<string, (message: string, code: number) => JsonObject>> = {
  object: (message, code) => ({ error: { message, code } }),
  "code as a text": (message, code) => ({ error: { message, code: `${code}`, type: null } }),
  "the body itself": (message, code) => ({ message, code }),
  "old vLLM": (message, code) => ({ object: "error", message, type: "X", param: null, code }),
  "error: true": (message, code) => ({ error: true, message, code }),
};

Deno.test("an error that a reply with status 200 reports is the same in every dialect and form, whole and streamed", () => {
  fc.assert(fc.property(
    fc.constantFrom(...Object.values(FORMS)),
    fc.string({ minLength: 1 }),
    STATUSES,
    (form, message, code) => {
      for (const { back } of Object.values(DIALECTS)) {
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
