import OpenAI from "openai";
import {
  assert,
  assertEquals,
  assertMatch,
  assertRejects,
  assertStringIncludes,
} from "../assert.ts";
import { startGateway } from "../fake/gateway.ts";
import { chunk, completion, eventStream, fakeUpstream, sse } from "../fake/upstream.ts";
import { BOTH, leaves, ONE, onEveryPairing, PNG_BASE64, reasonedTurns } from "./pairings.ts";

const WEATHER: OpenAI.ChatCompletionFunctionTool = {
  type: "function",
  function: {
    name: "get_weather",
    description: "Current weather of a city",
    parameters: {
      type: "object",
      properties: { city: { type: "string" } },
      required: ["city"],
      additionalProperties: false,
    },
  },
};

function sdk({ url, key }: { url: string; key: string }, options = {}): OpenAI {
  return new OpenAI({ baseURL: `${url}/v1`, apiKey: key, maxRetries: 0, ...options });
}

const hello = [{ role: "user" as const, content: "Hello there" }];

onEveryPairing("openai SDK", {
  "answers a plain request": async (gateway) => {
    const reply = await sdk(gateway).chat.completions.create({ model: "svc-k2", messages: hello });
    assertStringIncludes(reply.choices[0]!.message.content!, "Hello there");
    assertEquals(reply.model, "svc-k2");
    assertEquals(reply.choices[0]!.finish_reason, "stop");
    assert(reply.usage!.prompt_tokens > 0 && reply.usage!.completion_tokens > 0);
    assertMatch(reply.id, /^chatcmpl-/);
    assertMatch(reply._request_id!, /^req_/);
  },

  "streams without usage": async (gateway) => {
    const stream = await sdk(gateway).chat.completions.create({
      model: "svc-k2",
      messages: hello,
      stream: true,
    });
    let text = "";
    const ids = new Set<string>();
    for await (const chunk of stream) {
      assertEquals(chunk.usage, undefined);
      assertEquals(chunk.choices.length, 1);
      assertEquals(chunk.model, "svc-k2");
      ids.add(chunk.id);
      text += chunk.choices[0]!.delta.content ?? "";
    }
    assertStringIncludes(text, "Hello there");
    assertEquals(ids.size, 1);
  },

  "streams with usage, in a chunk of its own": async (gateway) => {
    const stream = await sdk(gateway).chat.completions.create({
      model: "svc-k2",
      messages: hello,
      stream: true,
      stream_options: { include_usage: true },
    });
    const usages = [];
    let choicesAfterUsage = 0;
    for await (const chunk of stream) {
      if (chunk.usage) usages.push(chunk.usage);
      else if (usages.length > 0) choicesAfterUsage++;
    }
    assertEquals(usages.length, 1);
    assertEquals(choicesAfterUsage, 0);
    assert(usages[0]!.total_tokens === usages[0]!.prompt_tokens + usages[0]!.completion_tokens);
  },

  "makes a full round with a tool": async (gateway) => {
    const client = sdk(gateway);
    const messages: OpenAI.ChatCompletionMessageParam[] = [
      { role: "user", content: ONE },
    ];
    const first = await client.chat.completions.create({
      model: "svc-k2",
      messages,
      tools: [WEATHER],
    });
    const message = first.choices[0]!.message;
    assertEquals(first.choices[0]!.finish_reason, "tool_calls");
    const call = message.tool_calls![0]!;
    assert(call.type === "function");
    assertEquals(call.function.name, "get_weather");
    assertEquals(JSON.parse(call.function.arguments), { city: "Paris" });
    messages.push(message, { role: "tool", tool_call_id: call.id, content: "sunny, 21 degrees" });
    const second = await client.chat.completions.create({
      model: "svc-k2",
      messages,
      tools: [WEATHER],
    });
    assertStringIncludes(second.choices[0]!.message.content!, "sunny, 21 degrees");
    assertEquals(second.choices[0]!.finish_reason, "stop");
  },

  "runs tools by itself (helper)": async (gateway) => {
    const runner = sdk(gateway).chat.completions.runTools({
      model: "svc-k2",
      messages: [{ role: "user", content: ONE }],
      tools: [{
        type: "function",
        function: {
          name: WEATHER.function.name,
          description: WEATHER.function.description!,
          parameters: WEATHER.function.parameters!,
          parse: JSON.parse,
          function: ({ city }: { city: string }) => `${city}: rain`,
        },
      }],
    });
    assertStringIncludes((await runner.finalContent())!, "Paris: rain");
  },

  "streams tool calls that the helper can put together": async (gateway) => {
    const stream = sdk(gateway).chat.completions.stream({
      model: "svc-k2",
      messages: [{ role: "user", content: ONE }],
      tools: [WEATHER],
    });
    const final = await stream.finalChatCompletion();
    const call = final.choices[0]!.message.tool_calls![0]!;
    assert(call.type === "function");
    assertEquals(JSON.parse(call.function.arguments), { city: "Paris" });
  },

  "gives three choices for n: 3": async (gateway) => {
    const reply = await sdk(gateway).chat.completions.create({
      model: "svc-k2",
      messages: hello,
      n: 3,
    });
    assertEquals(reply.choices.map(({ index }) => index), [0, 1, 2]);
    const stream = await sdk(gateway).chat.completions.create({
      model: "svc-k2",
      messages: hello,
      n: 3,
      stream: true,
    });
    const ended = new Set<number>();
    for await (const { choices } of stream) {
      if (choices[0]?.finish_reason === "stop") ended.add(choices[0].index);
    }
    assertEquals([...ended].sort(), [0, 1, 2]);
  },

  "answers JSON of a schema": async (gateway) => {
    const schema = {
      type: "object",
      properties: {
        city: { type: "string" },
        degrees: { type: "integer", minimum: -90 },
        sky: { type: "string", enum: ["clear", "cloudy"] },
      },
      required: ["city", "degrees", "sky"],
      additionalProperties: false,
    };
    const reply = await sdk(gateway).chat.completions.parse({
      model: "svc-k2",
      messages: [{ role: "user", content: "Weather in Paris as JSON" }],
      response_format: {
        type: "json_schema",
        json_schema: { name: "weather", strict: true, schema },
      },
    });
    assertEquals(JSON.parse(reply.choices[0]!.message.content!), {
      city: "Paris",
      degrees: -90,
      sky: "clear",
    });
  },

  "stops at its token limit": async (gateway) => {
    const reply = await sdk(gateway).chat.completions.create({
      model: "svc-k2",
      messages: hello,
      max_tokens: 5,
    });
    assertEquals(reply.choices[0]!.finish_reason, "length");
    assertEquals(reply.usage!.completion_tokens, 5);
  },

  "lists and retrieves models": async (gateway) => {
    const client = sdk(gateway);
    const ids = [];
    for await (const model of client.models.list()) ids.push(model.id);
    assertEquals(ids, ["svc-k2", "svc-k2-0905", "svc-k2.5", "svc-k2.6", "svc-k2.7-code", "svc-k3"]);
    const one = await client.models.retrieve("svc-k2.7-code");
    assertEquals([one.id, one.object], ["svc-k2.7-code", "model"]);
  },

  "raises AuthenticationError for a wrong key": async (gateway) => {
    const client = sdk({ ...gateway, key: `sk-${"x".repeat(40)}` });
    const error = await assertRejects(
      () => client.chat.completions.create({ model: "svc-k2", messages: hello }),
      OpenAI.AuthenticationError,
    );
    assertEquals([error.status, error.code], [401, "invalid_api_key"]);
  },

  "raises PermissionDeniedError for a model that the key may not use": async (gateway) => {
    const { gateway: { keys, owner } } = gateway;
    const limited = await keys.issue(owner, { models: ["svc-k2"] });
    const client = sdk({ ...gateway, key: limited.secret });
    await client.chat.completions.create({ model: "svc-k2", messages: hello });
    const error = await assertRejects(
      () => client.chat.completions.create({ model: "svc-k3", messages: hello }),
      OpenAI.PermissionDeniedError,
    );
    assertEquals(error.code, "permission_denied");
  },

  "raises NotFoundError for an unknown model": async (gateway) => {
    const error = await assertRejects(
      () => sdk(gateway).chat.completions.create({ model: "svc-k9", messages: hello }),
      OpenAI.NotFoundError,
    );
    assertEquals([error.code, error.param], ["model_not_found", "model"]);
    await assertRejects(() => sdk(gateway).models.retrieve("svc-k9"), OpenAI.NotFoundError);
  },

  "raises BadRequestError for a bad field": async (gateway) => {
    const error = await assertRejects(
      () =>
        sdk(gateway).chat.completions.create({ model: "svc-k2", messages: hello, temperature: 3 }),
      OpenAI.BadRequestError,
    );
    assertEquals([error.code, error.param], ["invalid_request", "temperature"]);
  },

  "raises RateLimitError when the upstream sends 429": async (gateway) => {
    const error = await assertRejects(
      () =>
        sdk(gateway).chat.completions.create({
          model: "svc-k2",
          messages: [{ role: "user", content: "[[status 429]] [[retry-after 30]]" }],
        }),
      OpenAI.RateLimitError,
    );
    assertEquals(error.code, "rate_limit_exceeded");
    assertEquals(error.headers.get("retry-after"), "30");
  },

  "raises InternalServerError, status 503, when the upstream fails": async (gateway) => {
    for (const stream of [false, true]) {
      const error = await assertRejects(
        () =>
          sdk(gateway).chat.completions.create({
            model: "svc-k2",
            messages: [{ role: "user", content: "[[status 500]]" }],
            stream,
          }),
        OpenAI.InternalServerError,
      );
      assertEquals([error.status, error.code], [503, "upstream_unavailable"]);
    }
  },

  "raises an error in the middle of a stream": async (gateway, upstream) => {
    for (const directive of ["error after 6", "cut after 6", "end after 6"]) {
      const stream = await sdk(gateway).chat.completions.create({
        model: "svc-k2",
        messages: [{ role: "user", content: `[[${directive}]]` }],
        stream: true,
      });
      let chunks = 0;
      const error = await assertRejects(async () => {
        for await (const _ of stream) chunks++;
      }, OpenAI.APIError);
      // the first events of a responses stream are of no text
      const least = upstream?.bodies.at(-1).input === undefined ? 5 : 2;
      assert(chunks >= least && chunks <= 6, `${directive}: ${chunks} chunks before ${error}`);
      assertEquals(error.code, "upstream_unavailable", directive);
    }
  },

  "says what a picture is": async (gateway) => {
    const image_url = { url: `data:image/png;base64,${PNG_BASE64}` };
    const reply = await sdk(gateway).chat.completions.create({
      model: "svc-k2.6",
      messages: [{
        role: "user",
        content: [{ type: "text", text: "What is this?" }, { type: "image_url", image_url }],
      }],
    });
    assertStringIncludes(reply.choices[0]!.message.content!, "PNG of 48 × 32 pixels");
  },

  "stops at a stop sequence": async (gateway) => {
    const reply = await sdk(gateway).chat.completions.create({
      model: "svc-k2",
      messages: [{ role: "user", content: "[[say one STOP two]]" }],
      stop: ["STOP"],
    });
    const [choice] = reply.choices;
    assertEquals([choice!.message.content, choice!.finish_reason], ["one ", "stop"]);
  },

  "reasons, calls two tools at once, and sends the whole history back": async (
    gateway,
    upstream,
  ) => {
    const client = sdk(gateway);
    const tools = ["get_weather", "get_population"].map((name) => ({
      ...WEATHER,
      function: { ...WEATHER.function, name },
    }));
    const messages: OpenAI.ChatCompletionMessageParam[] = [
      { role: "system", content: "Be brief." },
    ];
    for (let turn = 0; turn < 4; turn++) {
      messages.push({ role: "user", content: BOTH });
      const request = { model: "svc-k3", messages, tools };
      const first = turn % 2 === 0
        ? await client.chat.completions.create(request)
        : await client.chat.completions.stream(request).finalChatCompletion();
      const { message, finish_reason } = first.choices[0]!;
      assertEquals(finish_reason, "tool_calls");
      assert(message.tool_calls!.length === 2);
      assert("reasoning_content" in message && message.reasoning_content !== "");
      messages.push(message as OpenAI.ChatCompletionMessageParam);
      message.tool_calls!.forEach(({ id }, at) =>
        messages.push({ role: "tool", tool_call_id: id, content: `result ${turn}.${at}` })
      );
      const second = await client.chat.completions.create({ model: "svc-k3", messages, tools });
      const said = second.choices[0]!.message;
      assertStringIncludes(said.content!, `result ${turn}.0`);
      assertStringIncludes(said.content!, `result ${turn}.1`);
      messages.push(said as OpenAI.ChatCompletionMessageParam);
    }
    if (upstream !== undefined) assertEquals(reasonedTurns(upstream.bodies.at(-1)), 7);
  },

  "leaves in the middle of a stream": (gateway) =>
    leaves(gateway, async (signal) => {
      const stream = await sdk(gateway).chat.completions.create({
        model: "svc-k2",
        messages: [{ role: "user", content: "[[tokens 150]] [[pace 5ms]]" }],
        max_tokens: 1_000,
        stream: true,
      }, { signal });
      return stream;
    }),

  "repeats what the upstream had no room for": async (gateway, upstream) => {
    if (upstream === undefined) return; // there is nobody to be busy
    const before = upstream.requests;
    upstream.busyFor(2);
    const reply = await sdk(gateway, { maxRetries: 1 }).chat.completions.create({
      model: "svc-k2",
      messages: hello,
    });
    assertStringIncludes(reply.choices[0]!.message.content!, "Hello there");
    assertEquals(upstream.requests - before, 3);
  },
});

Deno.test("openai SDK: its own retries meet the right statuses and headers", async () => {
  let calls = 0;
  await using upstream = fakeUpstream(() =>
    ++calls < 3
      ? new Response("busy", { status: 429, headers: { "retry-after": "0" } })
      : completion("at last")
  );
  await using gateway = await startGateway({ settings: { upstream: { url: upstream.url } } });
  const reply = await sdk(gateway, { maxRetries: 2 }).chat.completions.create({
    model: "svc-k2",
    messages: hello,
  });
  assertEquals(reply.choices[0]!.message.content, "at last");

  calls = -100; // a request that cannot succeed is sent once, whatever the SDK's patience
  const client = sdk({ ...gateway, key: `sk-${"y".repeat(40)}` }, { maxRetries: 5 });
  const before = gateway.log().split("request refused").length;
  await assertRejects(
    () => client.chat.completions.create({ model: "svc-k2", messages: hello }),
    OpenAI.AuthenticationError,
  );
  assertEquals(gateway.log().split("request refused").length, before + 1);
});

Deno.test("openai SDK: parallel calls of an upstream that sends them without role, under one index", async () => {
  const called = (city: string) => ({
    tool_calls: [{
      index: 0,
      id: `call_${city}`,
      function: { name: "get_weather", arguments: JSON.stringify({ city }) },
    }],
  });
  const finish = { choices: [{ index: 0, delta: {}, finish_reason: "stop" }] };
  await using upstream = fakeUpstream(() =>
    eventStream(
      sse(chunk(called("Lisbon")), chunk(called("Oslo")), JSON.stringify(finish), "[DONE]"),
    )
  );
  await using gateway = await startGateway({ settings: { upstream: { url: upstream.url } } });
  const { message, finish_reason } = (await sdk(gateway).chat.completions.stream({
    model: "svc-k2",
    messages: hello,
    tools: [WEATHER],
  }).finalChatCompletion()).choices[0]!;
  assertEquals(finish_reason, "tool_calls");
  assertEquals(
    message.tool_calls?.map((call) => call.type === "function" && call.function.arguments),
    ['{"city":"Lisbon"}', '{"city":"Oslo"}'],
  );
});
