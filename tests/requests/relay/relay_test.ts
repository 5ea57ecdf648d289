/** What is permitted and counted of a request before it is sent: by the room that its input leaves, by what is added to it, by its route. */

import { Refusal } from "../../../src/ground/refusal.ts";
import type { LifecycleParts } from "../../../src/requests/relay/lifecycle.ts";
import { relay } from "../../../src/requests/relay/relay.ts";
import type { RelayParts, RelayRequest } from "../../../src/requests/relay/request.ts";
import type { JsonObject } from "../../../src/wire/dialects/mod.ts";
import { assert, assertEquals, assertRejects } from "../../assert.ts";
import { customer } from "../../fake/customer.ts";
import { startGateway, type TestGateway } from "../../fake/gateway.ts";
import { completion, fakeUpstream } from "../../fake/upstream.ts";
import { SEALER } from "../../wire/dialects/ends.ts";

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

/** What admission is asked for by a request of the responses dialect, whose pictures cost nine times what text does. */
async function admissionOf(body: JsonObject) {
  type Asked = Parameters<LifecycleParts["admission"]["admit"]>[0];
  const asked: Asked[] = [];
  const route = {
    id: "m",
    context: 100_000,
    maxInput: 100_000,
    maxOutput: 1_000,
    minimum: 0,
    images: "remote",
    reasoning: "none",
    efforts: [],
    prices: { input: 1_000_000, cached: 1_000_000, output: 0 },
    units: { imageInput: 9_000_000 },
    targets: [{ upstream: "up", model: "m" }],
    allow: {
      tiers: {},
      regions: {},
      tools: { web_search: 0 },
      cache: {},
      cacheWrites: 1,
      resources: [],
      fields: [],
    },
  };
  const upstream = {
    dialect: "responses",
    shaping: {},
    adjust: (one: JsonObject) => one,
    health: { singleChoiceModels: new Set() },
  };
  const parts = {
    catalog: () => ({ resolve: () => route }),
    now: () => 0,
    sealing: { of: () => SEALER },
    settings: { tags: { fromClients: false }, defaultMaxOutput: 100 },
    images: { check() {} },
    estimates: { ratio: () => 1, factor: () => 1 },
    upstreams: { of: () => upstream },
    ownKeys: { order: (plans: unknown) => plans },
    inFlight: { begin: () => () => {} },
    admission: {
      admit(one: Asked) {
        asked.push(one);
        return Promise.reject(new Refusal("credits_short", "there are none"));
      },
    },
  } as unknown as RelayParts;
  const incoming = {
    dialect: "responses",
    path: "/v1/responses",
    header: () => null,
    caller: { models: null, accountId: "acc", holderId: "holder" },
    requestId: "req_1",
    trace: { set() {}, begin: () => ({ end() {} }) },
    body: { json: { model: "m", ...body }, detached: { count: 0 } },
    generates: true,
    over() {},
  } as unknown as RelayRequest;
  await assertRejects(() => relay(parts, incoming), Refusal, "there are none");
  return asked[0]!;
}

Deno.test("what is no text may cost what pictures do, and what nobody can count as much as the context holds (table)", async () => {
  const of = (part: JsonObject) => ({ input: [{ role: "user", content: [part] }] });
  const data = "data:image/png;base64,iVBORw0KGgo=";
  for (
    const [body, price, isOpen] of [
      [{ input: "Hi" }, 1, false],
      [of({ type: "input_text", text: "Hi" }), 1, false],
      [of({ type: "input_image", image_url: data }), 9, false],
      [
        of({
          type: "input_file",
          filename: "a.pdf",
          file_data: "data:application/pdf;base64,AA==",
        }),
        9,
        true,
      ],
      [{ input: "Hi", tools: [{ type: "web_search" }] }, 9, true],
    ] as const
  ) {
    const { route, reserved = 0 } = await admissionOf(body as JsonObject);
    const text = JSON.stringify(body);
    assertEquals(route.prices.input, price * 1_000_000, text);
    // the context's 100,000 tokens at 9 credits; a picture has 48,169 at most
    assertEquals(reserved > 800_000, isOpen, `${text}: ${reserved}`);
  }
});
