/** Efforts in every form, on routes with every set of efforts: never refused, mapped as documented, changes named. */

import fc from "fast-check";
import {
  DIALECTS,
  type Effort,
  EFFORTS,
  fitEffort,
  type JsonObject,
  nearestEffort,
  type RouteReasoning,
} from "../../../src/wire/dialects/mod.ts";
import { assert, assertEquals } from "../../assert.ts";
import {
  chatToChat,
  chatToMessages,
  messagesToChat,
  messagesToMessages,
  parseChat,
  parseMessages,
} from "./ends.ts";

const rank = (effort: Effort) => EFFORTS.indexOf(effort);
const someEfforts = fc.subarray([...EFFORTS], { minLength: 1 });
const K3: RouteReasoning = {
  reasoning: "effort",
  efforts: ["low", "high", "max"],
  defaultEffort: "max",
};
const OPTIONS = { model: "m", upstream: "up", permittedOutput: 500, shaping: {} };
const HI = { model: "m", messages: [{ role: "user", content: "Hi" }] };

Deno.test("the nearest effort: one that the route knows, never further than another; the least for none (property)", () => {
  fc.assert(fc.property(fc.constantFrom(...EFFORTS), someEfforts, (asked, efforts) => {
    const shuffled = efforts.toReversed();
    const nearest = nearestEffort(asked, shuffled)!;
    assert(efforts.includes(nearest));
    assertEquals(nearestEffort(asked, efforts), nearest, "the order of the list means nothing");
    if (efforts.includes(asked)) return assertEquals(nearest, asked);
    if (asked === "none" || asked === "minimal") {
      return assertEquals(rank(nearest), Math.min(...efforts.map(rank)));
    }
    const distance = (one: Effort) => Math.abs(rank(one) - rank(asked));
    for (const other of efforts) {
      assert(distance(nearest) <= distance(other));
      if (distance(nearest) === distance(other)) assert(rank(nearest) >= rank(other));
    }
  }));
});

Deno.test("svc-k3's efforts are those of its service", () => {
  const mapped = EFFORTS.map((effort) => nearestEffort(effort, K3.efforts));
  assertEquals(mapped, ["low", "low", "low", "high", "high", "max", "max"]);
});

/** Anything that a client might write where an effort belongs. */
const anything = fc.oneof(
  fc.constantFrom<unknown>(...EFFORTS),
  fc.constantFrom<unknown>("ultra", "HIGH", "", " high", 3, true, {}, [], ["low"], Infinity),
  fc.string(),
);

/** What an effort becomes, in the words of the documentation. */
function expected(value: unknown, route: RouteReasoning) {
  const { effort, adjusted } = fitEffort(value, route);
  return { effort, adjusted };
}

/** One form in which a client says how much to reason, with what it stands for. */
interface Form {
  readonly body: JsonObject;
  readonly means: unknown;
  /** Whether it says so in other words than an effort. */
  readonly isOtherWords: boolean;
}

const form = (body: unknown, means: unknown, isOtherWords = false): Form => ({
  body: body as JsonObject,
  means,
  isOtherWords,
});
const budget = fc.integer({ min: 0, max: 200_000 });
const budgetMeans = (tokens: number) =>
  tokens < 4_096 ? "low" : tokens < 16_384 ? "medium" : "high";

const chatForm = fc.oneof(
  anything.map((value) => form({ reasoning_effort: value }, value)),
  anything.map((value) => form({ reasoning: { effort: value } }, value)),
  anything.map((value) =>
    form({ reasoning_effort: value, reasoning: { effort: "high", max_tokens: 9 } }, value)
  ),
  budget.map((tokens) => form({ reasoning: { max_tokens: tokens } }, budgetMeans(tokens), true)),
  fc.constant(form({ reasoning: { enabled: false } }, "none", true)),
  fc.constant(form({ reasoning: { enabled: true } }, undefined)),
  budget.map((tokens) =>
    form({ thinking: { type: "enabled", budget_tokens: tokens } }, budgetMeans(tokens), true)
  ),
  fc.constant(form({ thinking: { type: "disabled" } }, "none", true)),
  fc.constant(form({ thinking: { type: "adaptive" } }, undefined)),
  fc.constant(form({}, undefined)),
);

const messagesForm = fc.oneof(
  anything.map((value) => form({ output_config: { effort: value } }, value)),
  fc.tuple(anything, budget).map(([value, tokens]) =>
    form({
      output_config: { effort: value },
      thinking: { type: "enabled", budget_tokens: tokens },
    }, value)
  ),
  budget.map((tokens) =>
    form({ thinking: { type: "enabled", budget_tokens: tokens } }, budgetMeans(tokens), true)
  ),
  fc.constant(form({ thinking: { type: "disabled" } }, "none", true)),
  fc.constantFrom("adaptive", "between_tools", "enabled", "sometimes").map((type) =>
    form({ thinking: { type } }, undefined)
  ),
  fc.constant(form({}, undefined)),
);

const route = fc.record({
  reasoning: fc.constant("effort" as const),
  efforts: someEfforts,
  hasDefault: fc.boolean(),
}).map(({ hasDefault, ...rest }): RouteReasoning => ({
  ...rest,
  ...(hasDefault ? { defaultEffort: nearestEffort("max", rest.efforts) } : {}),
}));

Deno.test("chat: an effort in any form is sent as the nearest one, and a change is named (property)", () => {
  fc.assert(fc.property(chatForm, route, ({ body, means, isOtherWords }, route) => {
    const parsed = parseChat({ ...HI, ...body });
    const { request, adjusted } = DIALECTS.chat.front.applyReasoning(parsed, route);
    const { effort, adjusted: named } = expected(means, route);
    assertEquals(
      adjusted,
      isOtherWords && effort !== undefined ? [`reasoning_effort=${effort}`] : named,
    );
    const sent = chatToChat.request(request, OPTIONS).body;
    assertEquals(
      [sent.reasoning_effort, sent.thinking, sent.reasoning],
      [effort, undefined, undefined],
    );
    const { output_config: config, thinking } = chatToMessages.request(request, OPTIONS).body;
    if (effort === "none") assertEquals([config, thinking], [undefined, { type: "disabled" }]);
    else {
      const known = effort === "minimal" ? "low" : effort;
      assertEquals(config, known === undefined ? undefined : { effort: known });
    }
  }));
});

Deno.test("messages: an effort in any form is sent as the nearest one, and a change is named (property)", () => {
  fc.assert(fc.property(messagesForm, route, ({ body, means, isOtherWords }, route) => {
    const parsed = parseMessages({ ...HI, max_tokens: 9, ...body });
    const { request, adjusted } = DIALECTS.messages.front.applyReasoning(parsed, route);
    const { effort, adjusted: named } = expected(means, route);
    assertEquals(
      adjusted,
      isOtherWords && effort !== undefined ? [`reasoning_effort=${effort}`] : named,
    );
    assertEquals(messagesToChat.request(request, OPTIONS).body.reasoning_effort, effort);
    const { output_config: config } = messagesToMessages.request(request, OPTIONS).body;
    assertEquals(config, effort === undefined ? undefined : { effort });
  }));
});

Deno.test("routes without efforts: every form is dropped and named, none is refused", () => {
  const forms: readonly [JsonObject, string][] = [
    [{ reasoning_effort: "ultra" }, "reasoning_effort"],
    [{ reasoning: { effort: "low" } }, "reasoning"],
    [{ reasoning: "low" }, "reasoning"],
    [{ thinking: { type: "enabled", budget_tokens: 5_000 } }, "thinking"],
  ];
  for (const [body, name] of forms) {
    const { request, dropped } = DIALECTS.chat.front.applyReasoning(
      parseChat({ ...HI, ...body }),
      { reasoning: "none", efforts: [] },
    );
    assertEquals([dropped, Object.keys(request.body).toSorted()], [[name], ["messages", "model"]]);
  }
  const ofMessages: readonly [JsonObject, string][] = [
    [{ thinking: { type: "enabled", budget_tokens: 5_000 } }, "thinking"],
    [{ thinking: { type: "disabled" } }, "thinking"],
    [{ thinking: { budget_tokens: 5_000 } }, "thinking"],
    [{ output_config: { effort: "ultra" } }, "output_config.effort"],
  ];
  for (const [body, name] of ofMessages) {
    const { request, dropped } = DIALECTS.messages.front.applyReasoning(
      parseMessages({ ...HI, max_tokens: 9, ...body }),
      { reasoning: "none", efforts: [] },
    );
    const left = Object.keys(request.body).toSorted();
    assertEquals([dropped, left], [[name], ["max_tokens", "messages", "model"]]);
  }
  for (const reasoning of ["always", "thinking"] as const) {
    const { request, dropped } = DIALECTS.chat.front.applyReasoning(
      parseChat({ ...HI, reasoning_effort: "low", reasoning: { effort: "low", exclude: true } }),
      { reasoning, efforts: [] },
    );
    assertEquals(dropped, ["reasoning_effort", "reasoning.effort"]);
    assertEquals([request.body.reasoning_effort, request.body.reasoning], [undefined, {
      exclude: true,
    }]);
  }
});

Deno.test("an effort of none switches reasoning off where it can be switched", () => {
  const { request, adjusted, dropped } = DIALECTS.chat.front.applyReasoning(
    parseChat({ ...HI, reasoning_effort: "none" }),
    { reasoning: "thinking", efforts: [] },
  );
  assertEquals([request.body.thinking, request.body.reasoning_effort], [
    { type: "disabled" },
    undefined,
  ]);
  assertEquals([adjusted, dropped], [["thinking=disabled"], []]);
});
