/** What is permitted and counted of a request before it is sent: by the room that its input leaves, by what is added to it, by its route. */

import { assert, assertEquals } from "../../assert.ts";
import { customer } from "../../fake/customer.ts";
import { startGateway, type TestGateway } from "../../fake/gateway.ts";
import { completion, fakeUpstream } from "../../fake/upstream.ts";

const LONG = `${"word ".repeat(1_740)}[[tokens 500]]`;

const ask = (gateway: TestGateway, body: object, path = "/v1/chat/completions", key?: string) =>
  gateway.post(path, {
    max_tokens: 500,
    messages: [{ role: "user", content: "Hi" }],
    ...body,
  }, key === undefined ? {} : { key });

Deno.test("an upstream may count less than the gateway, so that a long input leaves it some room; the simulator counts the same", async () => {
  await using upstream = fakeUpstream(() => completion("ok"));
  await using gateway = await startGateway({
    settings: {
      upstreams: { one: { url: upstream.url } },
      routes: { near: { targets: [{ upstream: "one", model: "m" }], context: 2_000 } },
    },
  });
  const messages = [{ role: "user", content: LONG }];
  const reply = await ask(gateway, { model: "near", messages });
  assertEquals([reply.status, (await reply.json()).choices.length], [200, 1]);
  assertEquals(upstream.received[0]!.body.max_tokens, 125, "a sixteenth of the context");
  await using simulated = await startGateway({
    settings: { routes: { near: { context: 2_000 } } },
  });
  const { usage, error } = await (await ask(simulated, { model: "near", messages })).json();
  assertEquals(error, undefined);
  assert(usage.prompt_tokens + usage.completion_tokens <= 2_000, JSON.stringify(usage));
});

Deno.test("what a target is sent besides the client's fields counts as input, by the target that is sent most", async () => {
  await using upstream = fakeUpstream(() => completion("ok"));
  const routeTo = (...upstreams: string[]) => ({
    targets: upstreams.map((upstream) => ({ upstream, model: "m" })),
    context: 100_000,
    minimum: 1,
    prices: { input: 1_000_000, cached: 1_000_000, output: 0 },
  });
  await using gateway = await startGateway({
    settings: {
      upstreams: {
        chat: { url: upstream.url },
        messages: { url: upstream.url, dialect: "messages" },
      },
      routes: {
        carried: routeTo("chat"),
        translated: routeTo("messages"),
        both: routeTo("chat", "messages"),
      },
    },
  });
  const { keys: [key] } = await customer(gateway, 1);
  const tools = [{ type: "custom", custom: { name: "f", description: "Does something." } }];
  const least = async (model: string) => {
    const { error } = await (await ask(gateway, { model, tools }, undefined, key!)).json();
    return Number(/costs at least (\d+) credits/.exec(error.message)?.[1]);
  };
  const [carried, translated, both] = [
    await least("carried"),
    await least("translated"),
    await least("both"),
  ];
  assert(carried > 1 && translated > carried, `${carried} ${translated}`);
  assertEquals(both, translated);
});

Deno.test("numbers that the service of a built-in model refuses are refused, those beyond a limit that is capped are not (table)", async () => {
  await using gateway = await startGateway();
  const [chat, messages] = ["/v1/chat/completions", "/v1/messages"];
  const stops = (count: number) => Array.from({ length: count }, (_, at) => `stop ${at}`);
  for (
    const [path, body, param] of [
      [chat, { max_tokens: 128_000 }, undefined],
      [chat, { max_tokens: 128_001 }, "max_tokens"],
      [chat, { max_tokens: undefined, max_completion_tokens: 128_001 }, "max_completion_tokens"],
      [messages, { max_tokens: 128_001 }, undefined],
      [chat, { stop: stops(4) }, undefined],
      [chat, { stop: stops(5) }, "stop"],
      [chat, { stop: "one of more than four letters" }, undefined],
      [messages, { stop_sequences: stops(5) }, "stop_sequences"],
    ] as const
  ) {
    const reply = await ask(gateway, { model: "svc-k3", ...body }, path);
    const { error } = await reply.json();
    const said = error?.message.split(" ")[0];
    const what = JSON.stringify(body);
    assertEquals([reply.status, said], [param === undefined ? 200 : 400, param], what);
  }
});
