/** Efforts of responses requests on every kind of route: never refused, fitted, and named where they change. */

import fc from "fast-check";
import {
  DIALECTS,
  EFFORTS,
  fitEffort,
  type JsonObject,
  type RouteReasoning,
} from "../../../src/wire/dialects/mod.ts";
import { assertEquals } from "../../assert.ts";
import { parseResponses, responsesToChat, responsesToMessages } from "./ends.ts";

const OPTIONS = { model: "m", upstream: "up", permittedOutput: 50_000, shaping: {} };
const { front } = DIALECTS.responses;

const K3: RouteReasoning = {
  reasoning: "effort",
  efforts: ["low", "high", "max"],
  defaultEffort: "max",
};
const route = (reasoning: RouteReasoning["reasoning"]): RouteReasoning =>
  reasoning === "effort" ? K3 : { reasoning, efforts: [] };

function apply(body: JsonObject, served: RouteReasoning) {
  const parsed = parseResponses({ model: "m", input: "Hi", ...body });
  const { request, dropped, adjusted } = front.applyReasoning(parsed, served);
  const chat = responsesToChat.request(request, OPTIONS);
  const messages = responsesToMessages.request(request, OPTIONS);
  return {
    request,
    dropped,
    adjusted,
    reasoning: request.body.reasoning,
    chat: { effort: chat.body.reasoning_effort, thinking: chat.body.thinking },
    messages: { config: messages.body.output_config, thinking: messages.body.thinking },
    translationDrops: chat.dropped,
  };
}

/** What becomes of an effort on each kind of route. */
const ROWS: readonly {
  kind: RouteReasoning["reasoning"];
  reasoning: JsonObject[string];
  body: unknown;
  chat?: { effort?: string; thinking?: string };
  dropped?: string[];
  adjusted?: string[];
}[] = [
  { kind: "effort", reasoning: undefined, body: { effort: "max" }, chat: { effort: "max" } },
  { kind: "effort", reasoning: null, body: { effort: "max" }, chat: { effort: "max" } },
  {
    kind: "effort",
    reasoning: { effort: "high", summary: "auto" },
    body: { effort: "high", summary: "auto" },
    chat: { effort: "high" },
  },
  {
    kind: "effort",
    reasoning: { effort: "minimal" },
    body: { effort: "low" },
    chat: { effort: "low" },
    adjusted: ["reasoning_effort=low"],
  },
  {
    kind: "effort",
    reasoning: { effort: "ultra" },
    body: { effort: "max" },
    chat: { effort: "max" },
    adjusted: ["reasoning_effort=max"],
  },
  { kind: "thinking", reasoning: undefined, body: undefined },
  { kind: "thinking", reasoning: { summary: "auto" }, body: { summary: "auto" } },
  {
    kind: "thinking",
    reasoning: { effort: "none" },
    body: { effort: "none" },
    chat: { thinking: "disabled" },
    adjusted: ["thinking=disabled"],
  },
  {
    kind: "thinking",
    reasoning: { effort: "high", summary: "auto" },
    body: { summary: "auto" },
    chat: { thinking: "enabled" },
    adjusted: ["thinking=enabled"],
  },
  {
    kind: "thinking",
    reasoning: { effort: "ultra" },
    body: undefined,
    dropped: ["reasoning.effort"],
  },
  { kind: "always", reasoning: undefined, body: undefined },
  {
    kind: "always",
    reasoning: { effort: "high", summary: "auto" },
    body: { summary: "auto" },
    dropped: ["reasoning.effort"],
  },
  { kind: "none", reasoning: undefined, body: undefined },
  { kind: "none", reasoning: { effort: null, summary: null }, body: undefined },
  { kind: "none", reasoning: { effort: "none" }, body: undefined },
  { kind: "none", reasoning: { effort: "high" }, body: undefined, dropped: ["reasoning"] },
  { kind: "none", reasoning: { summary: "auto" }, body: undefined, dropped: ["reasoning"] },
];

for (const { kind, reasoning, body, chat = {}, dropped = [], adjusted = [] } of ROWS) {
  Deno.test(`responses reasoning: ${JSON.stringify(reasoning)} on a route of kind ${kind}`, () => {
    const applied = apply(reasoning === undefined ? {} : { reasoning }, route(kind));
    assertEquals<unknown>(applied.reasoning, body);
    assertEquals<unknown>(applied.chat, {
      effort: chat.effort,
      thinking: chat.thinking === undefined ? undefined : { type: chat.thinking },
    });
    assertEquals([applied.dropped, applied.adjusted], [dropped, adjusted]);
    assertEquals(applied.translationDrops, []);
    // the reply repeats what the client sent
    const { sentReasoning, body: own } = applied.request;
    const echoed = sentReasoning === undefined ? own.reasoning ?? null : sentReasoning;
    assertEquals(echoed, reasoning ?? null);
  });
}

Deno.test("responses reasoning: messages upstreams get efforts and switches in their words", () => {
  assertEquals(apply({ reasoning: { effort: "high" } }, K3).messages.config, { effort: "high" });
  const off = apply({ reasoning: { effort: "none" } }, route("thinking"));
  assertEquals(off.messages.thinking, { type: "disabled" });
});

Deno.test("responses reasoning: the last update of the effort is in force, and each is fitted for upstreams that know them", () => {
  const update = (effort: string): JsonObject => ({
    type: "configuration_update",
    reasoning: { effort },
  });
  const input = [
    update("minimal"),
    { role: "user", content: "Hi" },
    update("xhigh"),
    { type: "configuration_update", text: { format: { type: "text" } } },
  ];
  const { request, chat, adjusted } = apply({ input, reasoning: { effort: "low" } }, K3);
  assertEquals([chat.effort, adjusted], ["max", ["reasoning_effort=max"]]);
  assertEquals(request.body.reasoning, { effort: "low" });
  assertEquals(request.body.input, [update("low"), input[1]!, update("max"), input[3]!]);
  assertEquals(input[0], update("minimal"), "the body as it came stays as it was");
  const always = apply({ input }, route("always"));
  assertEquals(always.dropped, ["reasoning.effort"]);
  assertEquals(always.translationDrops, []);
});

Deno.test("responses reasoning: the last update of the format is in force", () => {
  const format = { type: "json_schema", name: "n", schema: { type: "object" } };
  const update = { type: "configuration_update", text: { format } };
  const asked = (input: JsonObject[], text?: JsonObject) =>
    responsesToChat.request(
      parseResponses({ model: "m", input, ...(text === undefined ? {} : { text }) }),
      OPTIONS,
    ).body.response_format !== undefined;
  const hi = { role: "user", content: "Hi" };
  assertEquals(asked([hi, update]), true);
  const plain = { type: "configuration_update", text: { format: { type: "text" } } };
  assertEquals(asked([hi, update, plain]), false);
  assertEquals(asked([hi, plain], { format }), false);
});

const anything = fc.oneof(
  fc.constantFrom<unknown>(...EFFORTS, "ultra", "HIGH", "", 3, true, null, {}, ["low"]),
  fc.string(),
);

Deno.test("responses reasoning: no effort is refused, on any route (property)", () => {
  const kinds = fc.constantFrom<RouteReasoning["reasoning"]>(
    "none",
    "thinking",
    "always",
    "effort",
  );
  const efforts = fc.subarray([...EFFORTS], { minLength: 1 });
  fc.assert(fc.property(anything, anything, kinds, efforts, (first, last, reasoning, known) => {
    const served: RouteReasoning = { reasoning, efforts: reasoning === "effort" ? known : [] };
    const body = {
      reasoning: { effort: first },
      input: [
        { type: "configuration_update", reasoning: { effort: last } },
        { role: "user", content: "Hi" },
      ],
    } as JsonObject;
    const { chat, adjusted } = apply(body, served);
    if (reasoning !== "effort") return;
    const fitted = fitEffort(last ?? first, served);
    assertEquals<unknown>([chat.effort, adjusted], [fitted.effort, fitted.adjusted]);
  }));
});
