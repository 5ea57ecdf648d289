/** Every field and every kind of tool and part of the SDKs' requests has a treatment; a new one of a new version has none yet. */

import { DIALECT_NAMES, type DialectName } from "../../../src/wire/dialects/mod.ts";
import { hostedTool, REQUEST_FIELDS } from "../../../src/wire/extras/mod.ts";
import { CACHE_FIELDS, KEPT_IDS } from "../../../src/wire/extras/request_fields.ts";
import { assertEquals } from "../../assert.ts";
import * as nested from "./nested_fields.ts";
import { readRequestTypes } from "./sdk_types.ts";

/** Kinds of tools that run at the upstream, by the name that a route prices them with; all others are the caller's own, or free. */
const HOSTED: Readonly<Record<DialectName, Readonly<Record<string, string>>>> = {
  chat: {},
  messages: {
    advisor_20260301: "advisor",
    code_execution_20250522: "code_interpreter",
    code_execution_20250825: "code_interpreter",
    code_execution_20260120: "code_interpreter",
    code_execution_20260521: "code_interpreter",
    mcp_toolset: "mcp",
    web_fetch_20250910: "web_fetch",
    web_fetch_20260209: "web_fetch",
    web_fetch_20260309: "web_fetch",
    web_fetch_20260318: "web_fetch",
    web_search_20250305: "web_search",
    web_search_20260209: "web_search",
    web_search_20260318: "web_search",
  },
  responses: {
    code_interpreter: "code_interpreter",
    file_search: "file_search",
    image_generation: "image_generation",
    mcp: "mcp",
    programmatic_tool_calling: "programmatic_tool_calling",
    web_search: "web_search",
    web_search_2025_08_26: "web_search",
    web_search_preview: "web_search",
    web_search_preview_2025_03_11: "web_search",
  },
};

/** Kinds of tools that the caller runs, or that cost nothing but their tokens. */
const OWN: Readonly<Record<DialectName, string>> = {
  chat: "custom function",
  messages:
    "bash_20241022 bash_20250124 browser_toolset_20260801 computer_20241022 computer_20250124 computer_20251124 " +
    "computer_toolset_20260801 custom memory_20250818 text_editor_20241022 text_editor_20250124 text_editor_20250429 " +
    "text_editor_20250728 tool_search_tool_bm25 tool_search_tool_bm25_20251119 tool_search_tool_regex " +
    "tool_search_tool_regex_20251119",
  responses:
    "apply_patch computer computer_use_preview custom function local_shell namespace shell tool_search",
};

/** Kinds of parts, blocks and items: their text counts, and what they name of the operator's is rejected. */
const PARTS: Readonly<Record<DialectName, string>> = {
  chat: "file image_url input_audio text",
  messages:
    "advisor_tool_result bash_code_execution_tool_result code_execution_tool_result compaction container_upload document " +
    "fallback image mcp_tool_listing mcp_tool_result mcp_tool_use redacted_thinking search_result server_tool_use text " +
    "text_editor_code_execution_tool_result thinking tool_addition tool_removal tool_result tool_search_tool_result " +
    "tool_use web_fetch_tool_result web_search_tool_result",
  responses:
    "additional_tools apply_patch_call apply_patch_call_output code_interpreter_call compaction compaction_trigger " +
    "computer_call computer_call_output configuration_update custom_tool_call custom_tool_call_output file_search_call " +
    "function_call function_call_output image_generation_call input_file input_image input_text item_reference " +
    "local_shell_call local_shell_call_output mcp_approval_request mcp_approval_response mcp_call mcp_list_tools message " +
    "program program_output reasoning shell_call shell_call_output tool_search_call tool_search_output web_search_call",
};

const types = await readRequestTypes();

Deno.test("every field below a request's own is counted, priced, rejected or harmless", () => {
  const found = new Set(Object.values(types).flatMap((one) => one.nested));
  const known = Object.values(nested).flatMap((names) => names.split(" "));
  assertEquals([...found].toSorted(), known.toSorted());
});

Deno.test("the gateway looks for what is kept and for lifetimes where the SDKs have them", () => {
  assertEquals(nested.KEPT.split(" "), [...KEPT_IDS]);
  assertEquals(nested.CACHE.split(" "), [...CACHE_FIELDS]);
});

for (const dialect of DIALECT_NAMES) {
  Deno.test(`every field of the SDK's request has a treatment: ${dialect}`, () => {
    const known = REQUEST_FIELDS[dialect];
    const { fields, betaFields } = types[dialect];
    assertEquals([...fields, ...betaFields].filter((one) => !Object.hasOwn(known, one)), []);
  });

  Deno.test(`every kind of tool of the SDK is the caller's, or has a name that a route prices: ${dialect}`, () => {
    const expected: Record<string, string | undefined> = { ...HOSTED[dialect] };
    for (const kind of OWN[dialect].split(" ")) expected[kind] = undefined;
    const found = types[dialect].tools.map((type) => [type, hostedTool(dialect, { type })]);
    assertEquals(Object.fromEntries(found), expected);
  });

  Deno.test(`every kind of part of the SDK is known: ${dialect}`, () => {
    assertEquals(types[dialect].parts.join(" "), PARTS[dialect]);
  });
}
