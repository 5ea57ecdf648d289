/** Plans in memory: which targets can serve a request, what they are sent, what is dropped. */

import { chatToChat, chatToMessages, parseChat } from "../../wire/dialects/ends.ts";
import { Refusal } from "../../../src/ground/refusal.ts";
import { planTargets } from "../../../src/requests/relay/plan.ts";
import type { Upstream } from "../../../src/requests/upstreams/mod.ts";
import { assert, assertEquals, assertThrows } from "../../assert.ts";

/** An upstream as far as plans look at it. */
function upstream(dialect: "chat" | "messages", more: Partial<Upstream> = {}): Upstream {
  const health = { singleChoiceModels: new Set<string>() };
  const adjust: Upstream["adjust"] = (body) => body;
  return { dialect, shaping: {}, adjust, health, ...more } as unknown as Upstream;
}

function plan(body: Record<string, unknown>, upstreams: Readonly<Record<string, Upstream>>) {
  const request = parseChat({ model: "m", messages: [{ role: "user", content: "Hi" }], ...body });
  const targets = Object.keys(upstreams).map((name) => ({
    upstream: name,
    model: `${name}-model`,
  }));
  const plans = planTargets({ of: ({ upstream }) => upstreams[upstream]! }, { id: "m", targets }, {
    dialect: "chat",
    request,
    permittedOutput: 100,
    priced: [],
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
  assertEquals(a!.write(request, 51).body.max_tokens, 51);
  assert(a!.write({ ...request }, 51) !== written);
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
