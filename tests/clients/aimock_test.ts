import { LLMock } from "@copilotkit/aimock";
import OpenAI from "openai";
import Anthropic from "@anthropic-ai/sdk";
import { assertEquals, assertRejects } from "../assert.ts";
import { startGateway } from "../fake/gateway.ts";
import type { SettingsInput } from "../../src/settings/config/mod.ts";

/** An upstream that others wrote, in either dialect. */
async function mock() {
  const one = new LLMock({ port: 0 });
  one.on({ userMessage: "hello" }, { content: "Hello from the mock", reasoning: "It greets." });
  one.on({ userMessage: "weather" }, {
    toolCalls: [{ id: "call_1", name: "get_weather", arguments: '{"city":"Paris"}' }],
  });
  one.on({ userMessage: "limit" }, {
    error: { message: "slow down", type: "rate_limit_error" },
    status: 429,
  });
  await one.start();
  return {
    url: `${one.url}/v1`,
    root: one.url,
    [Symbol.asyncDispose]: async () => void await one.stop(),
  };
}

for (const dialect of ["chat", "messages"] as const) {
  Deno.test(`aimock as an upstream of the ${dialect} dialect`, {
    sanitizeOps: false, // the mock's server keeps its sockets a little longer than its stop
    sanitizeResources: false,
  }, async () => {
    await using upstream = await mock();
    await using gateway = await startGateway({
      settings: { upstream: { url: upstream.url, dialect } },
    });
    const openai = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: gateway.key, maxRetries: 0 });
    const anthropic = new Anthropic({ baseURL: gateway.url, apiKey: gateway.key, maxRetries: 0 });
    const ask = (content: string) => ({
      model: "svc-k3",
      max_tokens: 100,
      messages: [{ role: "user" as const, content }],
    });

    const chat = await openai.chat.completions.create(ask("hello"));
    assertEquals(chat.choices[0]!.message.content, "Hello from the mock");
    const streamed = await openai.chat.completions.stream(ask("hello")).finalChatCompletion();
    assertEquals(streamed.choices[0]!.message.content, "Hello from the mock");
    const message = await anthropic.messages.create(ask("hello"));
    assertEquals(message.content.map(({ type }) => type), ["thinking", "text"]);
    const stream = await anthropic.messages.stream(ask("hello")).finalMessage();
    assertEquals(stream.content.map(({ type }) => type), ["thinking", "text"]);

    const called = await openai.chat.completions.create(ask("weather"));
    const call = called.choices[0]!.message.tool_calls![0]!;
    assertEquals(call.type === "function" && call.function.arguments, '{"city":"Paris"}');
    const used = await anthropic.messages.stream(ask("weather")).finalMessage();
    assertEquals<unknown>(used.content.find(({ type }) => type === "tool_use"), {
      type: "tool_use",
      id: "call_1",
      name: "get_weather",
      input: { city: "Paris" },
    });
    assertEquals(used.stop_reason, "tool_use");

    await assertRejects(() => openai.chat.completions.create(ask("limit")), OpenAI.RateLimitError);
    await assertRejects(() => anthropic.messages.create(ask("limit")), Anthropic.RateLimitError);
  });
}

/** The mock as clouds: what it plays of Gemini and Vertex are their own dialect's paths. */
const CLOUDS: Readonly<
  Record<string, (root: string) => NonNullable<SettingsInput["upstreams"]>[string]>
> = {
  "Bedrock by invoke": (url) => ({
    provider: "bedrock-anthropic",
    url,
    region: "eu-central-1",
    credentials: { kind: "aws", accessKeyId: "AKIDEXAMPLE1", secretAccessKey: "wJalrXUtnFEMI" },
  }),
  "Azure": (url) => ({
    url: `${url}/openai?api-version=2024-10-21`,
    path: "/deployments/{model}/chat/completions",
    key: "an-azure-key",
    quirks: "azure",
  }),
};

for (const [cloud, upstreamOf] of Object.entries(CLOUDS)) {
  Deno.test(`aimock's ${cloud} as an upstream, from each dialect`, {
    sanitizeOps: false,
    sanitizeResources: false,
  }, async () => {
    await using upstream = await mock();
    await using gateway = await startGateway({
      settings: {
        upstreams: { cloud: upstreamOf(upstream.root) },
        routes: {
          model: {
            targets: [{ upstream: "cloud", model: "anthropic.claude-x-v1:0" }],
            context: 100_000,
            maxOutput: 1_000,
            prices: { input: 1_000, cached: 1_000, output: 1_000 },
          },
        },
      },
    });
    const openai = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: gateway.key, maxRetries: 0 });
    const anthropic = new Anthropic({ baseURL: gateway.url, apiKey: gateway.key, maxRetries: 0 });
    const ask = (content: string) => ({
      model: "model",
      max_tokens: 100,
      messages: [{ role: "user" as const, content }],
    });
    const input = (input: string) => ({ model: "model", input, max_output_tokens: 100 });
    const textOf = (content: readonly Anthropic.ContentBlock[]) =>
      content.flatMap((block) => block.type === "text" ? [block.text] : []).join("");

    const texts = [
      (await openai.chat.completions.create(ask("hello"))).choices[0]!.message.content,
      (await openai.chat.completions.stream(ask("hello")).finalChatCompletion()).choices[0]!.message
        .content,
      textOf((await anthropic.messages.create(ask("hello"))).content),
      textOf((await anthropic.messages.stream(ask("hello")).finalMessage()).content),
      (await openai.responses.create(input("hello"))).output_text,
      (await openai.responses.stream(input("hello")).finalResponse()).output_text,
    ];
    assertEquals(texts, new Array(6).fill("Hello from the mock"));
    const called = await openai.chat.completions.create(ask("weather"));
    const [call] = called.choices[0]!.message.tool_calls!;
    assertEquals(call!.type === "function" && call!.function.arguments, '{"city":"Paris"}');
    const used = await anthropic.messages.stream(ask("weather")).finalMessage();
    const use = used.content.find(({ type }) => type === "tool_use");
    assertEquals(use?.type === "tool_use" && use.input, { city: "Paris" });
    const { output } = await openai.responses.stream(input("weather")).finalResponse();
    const made = output.find(({ type }) => type === "function_call");
    assertEquals(made?.type === "function_call" && made.arguments, '{"city":"Paris"}');
    await assertRejects(() => openai.chat.completions.create(ask("limit")), OpenAI.RateLimitError);
  });
}
