/** `X-Sluice-Tags`, and what clients say of tool, session and user. */

import fc from "fast-check";
import { clientTags } from "../../../src/wire/dialects/mod.ts";
import { Refusal } from "../../../src/ground/refusal.ts";
import { parseTags, requestTags } from "../../../src/requests/relay/request_tags.ts";
import { assert, assertEquals, assertStringIncludes, assertThrows } from "../../assert.ts";

const headers = (fields: Readonly<Record<string, string>>) => (name: string) =>
  fields[name] ?? null;

const name = fc.stringMatching(/^[a-z0-9_.-]{1,32}$/);
const value = fc.stringMatching(/^[!-+\--~]([ -+\--~]{0,62}[!-+\--~])?$/);
const space = fc.constantFrom("", " ", "  ");

Deno.test("parseTags() reads back what was written, whatever spaces are around it", () => {
  fc.assert(
    fc.property(
      fc.uniqueArray(fc.tuple(name, value, space), {
        minLength: 1,
        maxLength: 8,
        selector: ([one]) => one,
      }),
      (tags) => {
        const text = tags.map(([one, is, gap]) => `${gap}${one}${gap}=${gap}${is}${gap}`).join(",");
        assertEquals(parseTags(text), Object.fromEntries(tags.map(([one, is]) => [one, is])));
      },
    ),
  );
});

Deno.test("parseTags() reads any text as valid tags, or rejects it with 400 and what is right", () => {
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.string({ unit: "binary" })), (text) => {
      try {
        const tags = Object.entries(parseTags(text) ?? {});
        assert(tags.length <= 8);
        for (const [one, is] of tags) {
          assert(/^[a-z0-9_.-]{1,32}$/.test(one) && /^[ -~]{1,64}$/.test(is), text);
        }
      } catch (error) {
        assert(error instanceof Refusal && error.status === 400, String(error));
        assert(/Send |limit is/.test(error.message), error.message);
      }
    }),
  );
});

for (
  const [text, message] of [
    ["project", "'project': it has no value"],
    ["Project=a", "Invalid tag name 'Project'"],
    ["=a", "Invalid tag name ''"],
    [`${"n".repeat(33)}=a`, "Invalid tag name"],
    ["project=", "Invalid value of tag 'project'"],
    [`project=${"v".repeat(65)}`, "Invalid value of tag 'project'"],
    ["project=caf\u00e9", "printable ASCII"],
    ["a=1,a=2", "Tag 'a' is given twice"],
    ["a=1,", "'': it has no value"],
    ["a=1,b=1,c=1,d=1,e=1,f=1,g=1,h=1,i=1", "Too many tags: the limit is 8"],
    [":reason=x", "Invalid tag name ':reason'"],
  ] as const
) {
  Deno.test(`parseTags() rejects ${text.slice(0, 20)}: ${message}`, () => {
    assertStringIncludes(assertThrows(() => parseTags(text), Refusal).message, message);
  });
}

Deno.test("names of an object's own members are tags like others", () => {
  assertEquals(Object.entries(parseTags("__proto__=a,constructor=b") ?? {}), [
    ["__proto__", "a"],
    ["constructor", "b"],
  ]);
});

const SESSION = "0b1c1a3e-7c5f-4d8e-9d61-6d3a3ad1a111";

for (
  const [what, fields, body, expected] of [
    [
      "Claude Code",
      {
        "user-agent": "claude-cli/2.1.329 (external, sdk-cli)",
        "x-app": "cli",
        "x-claude-code-session-id": SESSION,
      },
      {
        metadata: {
          user_id: JSON.stringify({ device_id: "d1", account_uuid: "", session_id: "s" }),
        },
      },
      { tool: "claude-code", session: SESSION, user: "d1" },
    ],
    [
      "older Claude Code",
      { "x-app": "cli" },
      { metadata: { user_id: `user_${"a".repeat(64)}_account__session_${SESSION}` } },
      { tool: "cli", session: SESSION, user: "a".repeat(64) },
    ],
    [
      "Codex",
      { "user-agent": "codex_exec/0.169.0 (Linux)", "session-id": SESSION },
      { prompt_cache_key: "other" },
      { tool: "codex", session: SESSION },
    ],
    ["an OpenAI SDK", { "user-agent": "OpenAI/JS 7.55.0" }, {
      user: "old",
      safety_identifier: "user-7",
      prompt_cache_key: "cache",
    }, { session: "cache", user: "user-7" }],
    ["a long user", {}, { user: "u".repeat(100) }, { user: "u".repeat(64) }],
    ["a text that turns around", {}, { user: "ad\u202emin" }, { user: "ad\\u202emin" }],
    ["nothing", { "user-agent": "curl/8", "x-app": "cli" }, { user: 7, metadata: {} }, undefined],
  ] as const
) {
  Deno.test(`clientTags() of ${what}`, () => {
    assertEquals(clientTags(headers(fields), body), expected);
  });
}

Deno.test("clientTags() of any body are short texts without controls, whatever is in it", () => {
  const anything = fc.jsonValue();
  const text = fc.string({ unit: "binary", maxLength: 200 });
  fc.assert(
    fc.property(
      fc.record({
        metadata: fc.oneof(anything, fc.record({ user_id: fc.oneof(text, fc.json()) })),
        user: fc.oneof(anything, text),
        safety_identifier: fc.oneof(anything, text),
        prompt_cache_key: fc.oneof(anything, text),
      }, { requiredKeys: [] }),
      (body) => {
        for (const is of Object.values(clientTags(headers({}), body as never) ?? {})) {
          assert(is.length >= 1 && is.length <= 64 && is.isWellFormed(), is);
          // deno-lint-ignore no-control-regex -- what must not be there
          assert(!/[\u0000-\u001f\u007f]/.test(is), is);
        }
      },
    ),
  );
});

Deno.test("requestTags(): a tag of the header goes before what clients say, which a setting switches off", () => {
  const header = headers({ "x-sluice-tags": "user=ada,env=ci", "user-agent": "codex/1" });
  const body = { user: "bob" };
  assertEquals(requestTags(header, body, { fromClients: true }), {
    tool: "codex",
    user: "ada",
    env: "ci",
  });
  assertEquals(requestTags(header, body, { fromClients: false }), { user: "ada", env: "ci" });
  assertEquals(requestTags(headers({}), body, { fromClients: false }), undefined);
  assertEquals(requestTags(headers({ "x-sluice-tags": "" }), body, { fromClients: true }), {
    user: "bob",
  });
  assertEquals(requestTags(headers({ "x-sluice-tags": "env=ci" }), {}, { fromClients: true }), {
    env: "ci",
  });
  assertEquals(
    requestTags(headers({ "x-sluice-tags": " " }), {}, { fromClients: true }),
    undefined,
  );
});
