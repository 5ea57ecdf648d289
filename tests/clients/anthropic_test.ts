import Anthropic from "@anthropic-ai/sdk";
import {
  assert,
  assertEquals,
  assertMatch,
  assertRejects,
  assertStringIncludes,
} from "../assert.ts";
import { BOTH, leaves, onEveryPairing, PNG_BASE64, reasonedTurns } from "./pairings.ts";

const TOOLS: Anthropic.Tool[] = ["get_weather", "get_population"].map((name) => ({
  name,
  description: "About a city",
  input_schema: {
    type: "object",
    properties: { city: { type: "string" } },
    required: ["city"],
  },
}));

function sdk({ url, key }: { url: string; key: string }, options = {}): Anthropic {
  return new Anthropic({ baseURL: url, apiKey: key, maxRetries: 0, ...options });
}

const hello: Anthropic.MessageParam[] = [{ role: "user", content: "Hello there" }];
const base = { model: "svc-k2", max_tokens: 200, messages: hello };

function textOf(message: Anthropic.Message): string {
  return message.content.map((block) => (block.type === "text" ? block.text : "")).join("");
}

onEveryPairing("anthropic SDK", {
  "answers a plain request": async (gateway) => {
    const reply = await sdk(gateway).messages.create({ ...base, system: "Be brief." });
    assertStringIncludes(textOf(reply), "Hello there");
    assertEquals([reply.type, reply.role, reply.model], ["message", "assistant", "svc-k2"]);
    assertEquals([reply.stop_reason, reply.stop_sequence], ["end_turn", null]);
    assertMatch(reply.id, /^msg_/);
    assertMatch(reply._request_id!, /^req_/);
    assert(reply.usage.input_tokens > 0 && reply.usage.output_tokens > 0);
  },

  "streams": async (gateway) => {
    const stream = sdk(gateway).messages.stream(base);
    let text = "";
    stream.on("text", (delta) => text += delta);
    const message = await stream.finalMessage();
    assertEquals(textOf(message), text);
    assertStringIncludes(text, "Hello there");
    assertEquals(message.stop_reason, "end_turn");
    assert(message.usage.output_tokens > 0);
  },

  "runs a loop of tools by itself, although no thread is kept here": async (gateway) => {
    const cities: unknown[] = [];
    const [tool] = TOOLS;
    const runner = sdk(gateway).beta.messages.toolRunner({
      ...base,
      max_iterations: 6,
      messages: [{
        role: "user",
        content: '[[call get_weather {"city":"Paris"}]] [[then]] ' +
          '[[call get_weather {"city":"Oslo"}]] [[then]] [[say Done.]]',
      }],
      tools: [{
        ...tool!,
        parse: (input: unknown) => input as { city: string },
        run: ({ city }: { city: string }) => {
          cities.push(city);
          return `sunny in ${city}`;
        },
      }],
    });
    const last = await runner.runUntilDone();
    assertEquals(cities, ["Paris", "Oslo"]);
    assertEquals(last.stop_reason, "end_turn");
    assertEquals(runner.params.messages.length, 6);
  },

  "makes a full round with parallel tools": async (gateway) => {
    for (const streamed of [false, true]) {
      const client = sdk(gateway);
      const ask = (messages: Anthropic.MessageParam[]) => {
        const request = { ...base, messages, tools: TOOLS };
        return streamed
          ? client.messages.stream(request).finalMessage()
          : client.messages.create(request);
      };
      const messages: Anthropic.MessageParam[] = [
        { role: "user", content: BOTH },
      ];
      const first = await ask(messages);
      const calls = first.content.filter((block) => block.type === "tool_use");
      assertEquals(first.stop_reason, "tool_use");
      assertEquals(calls.map(({ name, input }) => [name, input]), [
        ["get_weather", { city: "Paris" }],
        ["get_population", { city: "Paris" }],
      ]);
      messages.push({ role: "assistant", content: first.content }, {
        role: "user",
        // in reverse, as coding tools do, and one of them failed
        content: [
          { type: "tool_result", tool_use_id: calls[1]!.id, content: "unknown", is_error: true },
          {
            type: "tool_result",
            tool_use_id: calls[0]!.id,
            content: [{ type: "text", text: "sunny" }],
          },
        ],
      });
      const second = await ask(messages);
      assertStringIncludes(textOf(second), "sunny");
      assertStringIncludes(textOf(second), "Error: unknown");
      assertEquals(second.stop_reason, "end_turn");
    }
  },

  "reasons, and takes its reasoning back": async (gateway) => {
    for (const streamed of [false, true]) {
      const client = sdk(gateway);
      const request = { ...base, model: "svc-k3", thinking: { type: "adaptive" as const } };
      const reply = streamed
        ? await client.messages.stream(request).finalMessage()
        : await client.messages.create(request);
      const [thinking, text] = reply.content;
      assert(thinking?.type === "thinking" && text?.type === "text");
      assert(thinking.thinking.length > 0 && thinking.signature.length > 0);
      const next = await client.messages.create({
        ...request,
        messages: [...hello, { role: "assistant", content: reply.content }, {
          role: "user",
          content: "And now?",
        }],
      });
      assertStringIncludes(textOf(next), "And now?");
    }
  },

  "stops at its token limit": async (gateway) => {
    const short = await sdk(gateway).messages.create({ ...base, max_tokens: 5 });
    assertEquals([short.stop_reason, short.usage.output_tokens], ["max_tokens", 5]);
  },

  "stops at a stop sequence": async (gateway) => {
    const stopped = await sdk(gateway).messages.create({
      ...base,
      messages: [{ role: "user", content: "[[say one STOP two]]" }],
      stop_sequences: ["STOP"],
    });
    assertEquals([textOf(stopped), stopped.stop_reason, stopped.stop_sequence], [
      "one ",
      "stop_sequence",
      "STOP",
    ]);
  },

  "counts tokens, and lists models with aliases": async (gateway) => {
    const client = sdk(gateway);
    const counted = await client.messages.countTokens({ model: "svc-k3", messages: hello });
    assert(counted.input_tokens > 0);
    const ids = [];
    for await (const model of client.models.list()) ids.push(model.id);
    assert(ids.includes("svc-k3") && ids.includes("claude-svc-k3"));
    assertEquals((await client.models.retrieve("claude-svc-k3")).type, "model");
  },

  "raises the SDK's errors for the right causes": async (gateway) => {
    const client = sdk(gateway);
    const unknown = sdk({ ...gateway, key: `sk-${"x".repeat(40)}` });
    const directed = (content: string) => ({
      ...base,
      messages: [{ role: "user" as const, content }],
    });
    await assertRejects(() => unknown.messages.create(base), Anthropic.AuthenticationError);
    await assertRejects(
      () => client.messages.create({ ...base, model: "nope" }),
      Anthropic.NotFoundError,
    );
    await assertRejects(
      () => client.messages.create({ ...base, max_tokens: 0 }),
      Anthropic.BadRequestError,
    );
    await assertRejects(
      () => client.messages.create(directed("[[status 429]]")),
      Anthropic.RateLimitError,
    );
    const failed = await assertRejects(
      () => client.messages.create(directed("[[status 500]]")),
      Anthropic.InternalServerError,
    );
    assertEquals(failed.status, 503);
    for (const directive of ["error after 6", "cut after 6", "end after 6"]) {
      await assertRejects(
        () => client.messages.stream(directed(`[[${directive}]]`)).finalMessage(),
        Anthropic.APIError,
        "api_error",
      );
    }
  },

  "says what pictures are, those in the results of tools too": async (gateway) => {
    const image = (media_type: "image/png") => ({
      type: "image" as const,
      source: { type: "base64" as const, media_type, data: PNG_BASE64 },
    });
    const reply = await sdk(gateway).messages.create({
      ...base,
      model: "svc-k2.6",
      messages: [{
        role: "user",
        content: [image("image/png"), { type: "text", text: "What is this?" }],
      }],
    });
    assertStringIncludes(textOf(reply), "PNG of 48 × 32 pixels");
    const result = await sdk(gateway).messages.create({
      ...base,
      model: "svc-k2.6",
      tools: TOOLS,
      messages: [
        { role: "user", content: "[[call get_weather {}]] [[then]] [[say done]]" },
        {
          role: "assistant",
          content: [{ type: "tool_use", id: "toolu_1", name: "get_weather", input: {} }],
        },
        {
          role: "user",
          content: [{
            type: "tool_result",
            tool_use_id: "toolu_1",
            content: [image("image/png"), { type: "text", text: "a map" }],
          }],
        },
      ],
    });
    assertEquals(result.stop_reason, "end_turn");
  },

  "sends a long history of reasoning and tools back": async (gateway, upstream) => {
    const client = sdk(gateway);
    const messages: Anthropic.MessageParam[] = [];
    for (let turn = 0; turn < 4; turn++) {
      messages.push({ role: "user", content: BOTH });
      const request = { ...base, model: "svc-k3", max_tokens: 2_000, messages, tools: TOOLS };
      const first = turn % 2 === 0
        ? await client.messages.create(request)
        : await client.messages.stream(request).finalMessage();
      const kinds = first.content.map(({ type }) => type);
      assertEquals(kinds.filter((kind) => kind !== "text"), ["thinking", "tool_use", "tool_use"]);
      const calls = first.content.filter((block) => block.type === "tool_use");
      messages.push({ role: "assistant", content: first.content }, {
        role: "user",
        content: calls.map(({ id }, at) => ({
          type: "tool_result",
          tool_use_id: id,
          content: `result ${turn}.${at}`,
        })),
      });
      const second = await client.messages.create({ ...request, messages });
      assertStringIncludes(textOf(second), `result ${turn}.0`);
      assertStringIncludes(textOf(second), `result ${turn}.1`);
      messages.push({ role: "assistant", content: second.content });
    }
    if (upstream !== undefined) assertEquals(reasonedTurns(upstream.bodies.at(-1)), 7);
  },

  "leaves in the middle of a stream": (gateway) =>
    leaves(gateway, async (signal) => {
      const stream = await sdk(gateway).messages.create({
        ...base,
        max_tokens: 1_000,
        messages: [{ role: "user", content: "[[tokens 150]] [[pace 5ms]]" }],
        stream: true,
      }, { signal });
      return stream;
    }),

  "repeats what the upstream had no room for": async (gateway, upstream) => {
    if (upstream === undefined) return; // there is nobody to be busy
    const before = upstream.requests;
    upstream.busyFor(2);
    const reply = await sdk(gateway, { maxRetries: 1 }).messages.create(base);
    assertStringIncludes(textOf(reply), "Hello there");
    assertEquals(upstream.requests - before, 3);
  },

  "sends once what cannot succeed": async (gateway) => {
    const client = sdk({ ...gateway, key: `sk-${"y".repeat(40)}` }, { maxRetries: 5 });
    const before = gateway.log().split("request refused").length;
    await assertRejects(() => client.messages.create(base), Anthropic.AuthenticationError);
    assertEquals(gateway.log().split("request refused").length, before + 1);
  },
});
