/** A response repeats its request: each field that the SDK's types have in both is what was asked for, or what was sent instead. */

import {
  bridgeBetween,
  DIALECT_NAMES,
  DIALECTS,
  type JsonObject,
} from "../../../src/wire/dialects/mod.ts";
import { assertEquals } from "../../assert.ts";
import { readRequestTypes } from "../extras/sdk_types.ts";
import { contextOf, SEALER } from "./ends.ts";
import { plainReply } from "./reply_forms.ts";

/** Values that are no field's default. */
const ASKED: JsonObject = {
  instructions: "Be brief.",
  max_output_tokens: 77,
  max_tool_calls: 3,
  metadata: { a: "b" },
  model: "m",
  parallel_tool_calls: false,
  prompt_cache_key: "key",
  reasoning: { effort: "high", summary: "detailed" },
  safety_identifier: "who",
  temperature: 0.3,
  text: {
    format: { type: "json_schema", name: "n", description: "d", schema: { a: 1 }, strict: true },
    verbosity: "low",
  },
  tool_choice: { type: "function", name: "f" },
  tools: [{ type: "function", name: "f", description: "d", parameters: { a: 1 }, strict: true }],
  top_logprobs: 4,
  top_p: 0.4,
  truncation: "auto",
  service_tier: "flex",
};

/** Fields that are not repeated, and why. */
const OTHERS: Readonly<Record<string, string>> = {
  access_programs: "it has a price of its own, so that only carried requests have it",
  image: "settings of images that are made there: only carried requests have them",
  background: "it is rejected: nothing is stored",
  conversation: "it is rejected: nothing is stored",
  previous_response_id: "it is rejected, but on a connection that keeps responses",
  prompt: "it is rejected: nothing is stored",
  moderation: "it has a price of its own, so that only carried requests have it",
  prompt_cache_options: "schemas of Open Responses have none: it goes on with carried requests",
  prompt_cache_retention: "schemas of Open Responses have none: it goes on with carried requests",
  user: "schemas of Open Responses have none: it goes on",
};

const { responses } = await readRequestTypes();

Deno.test("every field that a response repeats has a value in this test, or a reason", () => {
  const known = [...Object.keys(ASKED), ...Object.keys(OTHERS)].toSorted();
  assertEquals(responses.repeated.toSorted(), known);
});

for (const upstream of DIALECT_NAMES) {
  Deno.test(`a response of a ${upstream} upstream repeats what was asked for`, () => {
    const { front } = DIALECTS.responses;
    const route = { reasoning: "effort", efforts: ["low", "high"] } as const;
    const parsed = front.parse({ input: "Hi", ...structuredClone(ASKED) }, () => null, SEALER);
    const { request } = front.applyReasoning(parsed, route);
    const sampling = { temperature: 0.3, top_p: 0.4, service_tier: "flex" };
    const bridge = bridgeBetween("responses", upstream);
    const { body } = bridge.reply(
      plainReply(upstream),
      contextOf(request, { written: { sampling } }),
    );
    for (const [field, asked] of Object.entries(ASKED)) assertEquals(body[field], asked, field);
    const other = { temperature: 1 };
    const adjusted = bridge.reply(
      plainReply(upstream),
      contextOf(request, { written: { sampling: other } }),
    ).body;
    assertEquals([adjusted.temperature, adjusted.top_p, adjusted.service_tier], [1, 1, "default"]);
  });
}
