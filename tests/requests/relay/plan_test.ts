/** Plans in memory: which targets can serve a request, what they are sent, what is dropped. */

import { chatToChat, chatToMessages, parseChat, parseMessages } from "../../wire/dialects/ends.ts";
import { Refusal } from "../../../src/ground/refusal.ts";
import { Plan, planTargets } from "../../../src/requests/relay/plan.ts";
import type { Upstream } from "../../../src/requests/upstreams/mod.ts";
import { assert, assertEquals, assertThrows } from "../../assert.ts";

/** An upstream as far as plans look at it. */
function upstream(
  dialect: "chat" | "messages" | "responses",
  more: Partial<Upstream> = {},
): Upstream {
  const health = { singleChoiceModels: new Set<string>() };
  const adjust: Upstream["adjust"] = (body) => body;
  return { dialect, shaping: {}, adjust, health, ...more } as unknown as Upstream;
}

function plan(
  body: Record<string, unknown>,
  upstreams: Readonly<Record<string, Upstream>>,
  { id = "m", priced = [] }: { id?: string; priced?: readonly string[] } = {},
) {
  const request = parseChat({ model: "m", messages: [{ role: "user", content: "Hi" }], ...body });
  const targets = Object.keys(upstreams).map((name) => ({
    upstream: name,
    model: `${name}-model`,
  }));
  const plans = planTargets({ of: ({ upstream }) => upstreams[upstream]! }, { id, targets }, {
    dialect: "chat",
    request,
    permittedOutput: 100,
    priced,
  });
  return { request, plans };
}

const names = (plans: readonly { target: { upstream: string } }[]) =>
  plans.map(({ target }) => target.upstream);

Deno.test("targets that cannot serve a request have no plan; the order of the others stays", () => {
  const upstreams = { a: upstream("messages"), b: upstream("chat"), c: upstream("chat") };
  assertEquals(names(plan({}, upstreams).plans), ["a", "b", "c"]);
  assertEquals(names(plan({ functions: [{ name: "f" }] }, upstreams).plans), ["b", "c"]);
});

Deno.test("no target can serve it: why the first cannot", () => {
  const upstreams = { a: upstream("messages"), b: upstream("messages") };
  const refusal = assertThrows(() => plan({ functions: [{ name: "f" }] }, upstreams), Refusal);
  assertEquals([refusal.reason, refusal.param], ["request_invalid", "functions"]);
});

Deno.test("the same dialect is carried, another one translated, with the target's model and limit", () => {
  const { request, plans: [a, b] } = plan({ seed: 1 }, {
    a: upstream("messages"),
    b: upstream("chat"),
  });
  assertEquals([a!.bridge, b!.bridge], [chatToMessages, chatToChat]);
  const translated = a!.write(request, 50);
  assertEquals([translated.body.model, translated.body.max_tokens], ["a-model", 50]);
  assertEquals(translated.dropped, ["seed"]);
  const carried = b!.write(request, 50);
  assertEquals([carried.body.model, carried.body.seed, carried.dropped], ["b-model", 1, []]);
});

Deno.test("an upstream's quirks are part of the plan", () => {
  const adjust: Upstream["adjust"] = (body) => ({ ...body, quirk: true });
  const { request, plans: [a] } = plan({}, { a: upstream("chat", { adjust }) });
  assertEquals(a!.write(request, 50).body.quirk, true);
});

Deno.test("written again unchanged it is the same object; another limit or request writes anew", () => {
  const { request, plans: [a] } = plan({}, { a: upstream("messages") });
  const written = a!.write(request, 50);
  assert(a!.write(request, 50) === written);
  const more = a!.write(request, 51);
  assertEquals(more.body.max_tokens, 51);
  assert(a!.write({ ...request }, 51) !== more);
});

Deno.test("several choices: all at once, or one by one where a target returns one at a time", () => {
  const single = { singleChoice: true };
  const { request, plans: [chat, messages, quirk, known] } = plan({ n: 3 }, {
    chat: upstream("chat"),
    messages: upstream("messages"),
    quirk: upstream("chat", { shaping: single }),
    known: upstream("chat"),
  });
  known!.upstream.health.singleChoiceModels.add("known-model");
  const choices = [chat, messages, quirk, known].map((one) => one!.variant(request).choices);
  assertEquals(choices, [3, 1, 1, 1]);
  assertEquals(quirk!.write(quirk!.variant(request), 9).body.n, 1);
  assertEquals(chat!.single(request).body.n, 1);
});

Deno.test("one choice is requested as it is, in each dialect", () => {
  const { request, plans: [chat] } = plan({}, { chat: upstream("chat") });
  assert(chat!.single(request) === request);
  const messages = parseMessages({
    model: "m",
    max_tokens: 9,
    messages: [{ role: "user", content: "Hi" }],
  });
  const target = { upstream: "a", model: "m" };
  const other = new Plan("messages", target, upstream("messages"), { shaping: {} });
  assert(other.variant(messages) === messages);
});

Deno.test("a target that cannot be sent what is charged for has no plan; if none can, that is why", () => {
  const upstreams = { a: upstream("messages"), b: upstream("chat") };
  const priced = ["logprobs", "seed"];
  assertEquals(names(plan({ seed: 1 }, upstreams, { priced }).plans), ["b"]);
  assertEquals(names(plan({}, upstreams, { priced }).plans), ["a", "b"]);
  assertEquals(names(plan({ seed: 1 }, upstreams).plans), ["a", "b"]);
  const alone = { a: upstream("messages") };
  const refusal = assertThrows(() => plan({ seed: 1 }, alone, { priced }), Refusal);
  assertEquals([refusal.reason, refusal.param], ["request_invalid", "seed"]);
});

Deno.test("a fault of the gateway's own is none of a target; no targets make no plans", () => {
  const adjust = () => {
    throw new TypeError("a fault of the gateway");
  };
  const upstreams = { a: upstream("chat", { adjust }), b: upstream("chat") };
  assertThrows(() => plan({}, upstreams), TypeError, "a fault of the gateway");
  assertEquals(plan({}, {}).plans, []);
});

Deno.test("the numbers of a built-in model are its service's, those of others their makers'", () => {
  const temperature = (id: string) => {
    const { request, plans: [a] } = plan({}, { a: upstream("messages") }, { id });
    return a!.write(request, 50).body.temperature;
  };
  assertEquals([temperature("svc-k2"), temperature("m")], [0.6, undefined]);
});

Deno.test("what is sealed is for an upstream, in OpenAI's dialect for one of its keys; without seals the key changes nothing", () => {
  const [one, two] = [{ id: "k1" }, { id: "k2" }];
  const { request, plans } = plan({}, { chat: upstream("chat"), responses: upstream("responses") });
  const sources = plans.map((each) => [each.sourceWith(one), each.sourceWith(undefined)]);
  assertEquals(sources, [["chat", "chat"], ["responses k1", "responses"]]);
  const plain = plans[1]!;
  assert(plain.write(request, 50, one) === plain.write(request, 50, two));
  const sealed = { ...request, opened: new Map([["sealed", {}]]) };
  const written = plain.write(sealed, 50, one);
  assert(plain.write(sealed, 50, one) === written);
  assert(plain.write(sealed, 50, two) !== written);
});

Deno.test("what a target is sent of the sampling is known, where it is of its kind", () => {
  const rows: readonly (readonly [sent: Record<string, unknown>, known: object])[] = [
    [{ temperature: 0, top_p: 0.5, service_tier: "flex" }, {
      temperature: 0,
      top_p: 0.5,
      service_tier: "flex",
    }],
    [{ temperature: "0", top_p: null, service_tier: 7 }, {}],
    [{ temperature: undefined, top_p: undefined, service_tier: "auto" }, {}],
  ];
  for (const [sent, known] of rows) {
    const adjust = (body: object) => ({ ...body, ...sent });
    const { request, plans: [a] } = plan({}, {
      a: upstream("chat", { adjust } as Partial<Upstream>),
    });
    assertEquals(a!.write(request, 50).sampling, known as never);
  }
});
