import { LLMock } from "@copilotkit/aimock";
import OpenAI from "openai";
import Anthropic from "@anthropic-ai/sdk";
import { assertEquals, assertRejects } from "../assert.ts";
import { startGateway } from "../fake/gateway.ts";
import type { SettingsInput } from "../../src/settings/config/mod.ts";
import { PROOF } from "../tier.ts";

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

/** The mock as clouds, by the paths that it plays of them. */
const CLOUDS: Readonly<
  Record<string, (root: string) => NonNullable<SettingsInput["upstreams"]>[string]>
> = {
  "bedrock-invoke": (url) => ({ provider: "bedrock-anthropic", url, ...BEDROCK }),
  "bedrock-chat": (url) => ({ provider: "bedrock", url: `${url}/openai/v1`, ...BEDROCK }),
  "bedrock-responses": (url) => ({
    provider: "bedrock",
    url: `${url}/openai/v1`,
    dialect: "responses",
    ...BEDROCK,
  }),
  "mantle-messages": (url) => ({
    provider: "bedrock-mantle-anthropic",
    url: `${url}/v1`,
    ...BEDROCK,
  }),
  "azure-chat": (url) => ({ provider: "azure", url: `${url}/openai/v1`, ...AZURE }),
  "azure-responses": (url) => ({
    provider: "azure",
    url: `${url}/openai/v1`,
    dialect: "responses",
    ...AZURE,
  }),
  "azure-deployments": (url) => ({
    url: `${url}/openai?api-version=2024-10-21`,
    path: "/deployments/{model}/chat/completions",
    key: "an-azure-key",
    quirks: "azure",
  }),
  "azure-anthropic": (url) => ({ provider: "azure-anthropic", url: `${url}/v1`, ...AZURE }),
  "gemini-chat": (url) => ({
    provider: "google",
    url: `${url}/v1beta/openai`,
    key: "a-gemini-key",
  }),
  "gemini": (url) => ({ provider: "gemini", url: `${url}/v1beta`, key: "a-gemini-key" }),
  "vertex-gemini": (url) => ({
    provider: "vertex-gemini",
    url: `${url}/v1/projects/p/locations/l/publishers/google`,
    credentials: { kind: "command", command: ["echo", "ya29.token"], ttlMs: 60_000 },
  }),
  "vertex": (url) => ({
    provider: "vertex",
    url: `${url}/v1beta1/projects/p/locations/l/endpoints/openapi`,
    credentials: { kind: "command", command: ["echo", "ya29.token"], ttlMs: 60_000 },
  }),
};
const BEDROCK = {
  region: "eu-central-1",
  credentials: { kind: "aws", accessKeyId: "AKIDEXAMPLE1", secretAccessKey: "wJalrXUtnFEMI" },
} as const;
const AZURE = { resource: "r", key: "an-azure-key" } as const;

Deno.test(
  "aimock's Bedrock, Azure, Gemini and Vertex as upstreams, from each dialect, whole and streamed",
  {
    ...PROOF, // each cloud has tests of its own
    sanitizeOps: false,
    sanitizeResources: false,
  },
  async (t) => {
    await using upstream = await mock();
    await using gateway = await startGateway({
      settings: {
        upstreams: Object.fromEntries(
          Object.entries(CLOUDS).map(([name, of]) => [name, of(upstream.root)]),
        ),
        routes: Object.fromEntries(
          Object.keys(CLOUDS).map((name) => [name, {
            targets: [{ upstream: name, model: "anthropic.claude-x-v1:0" }],
            context: 100_000,
            maxOutput: 1_000,
            prices: { input: 1_000, cached: 1_000, output: 1_000 },
            reasoning: "effort",
          }]),
        ),
      },
    });
    const openai = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: gateway.key, maxRetries: 0 });
    const anthropic = new Anthropic({ baseURL: gateway.url, apiKey: gateway.key, maxRetries: 0 });
    for (const model of Object.keys(CLOUDS)) {
      await t.step(model, async () => {
        const ask = (content: string) => ({
          model,
          max_tokens: 100,
          messages: [{ role: "user" as const, content }],
        });
        const asked = (input: string) => ({ model, input, max_output_tokens: 100 });
        const completions = [
          await openai.chat.completions.create(ask("hello")),
          await openai.chat.completions.stream(ask("hello")).finalChatCompletion(),
        ];
        for (const { choices: [choice] } of completions) {
          const { content, reasoning_content: thinking } = choice!.message as {
            content: string | null;
            reasoning_content?: string;
          };
          assertEquals([thinking, content], SAID);
        }
        const messages = [
          await anthropic.messages.create(ask("hello")),
          await anthropic.messages.stream(ask("hello")).finalMessage(),
        ];
        for (const { content } of messages) {
          assertEquals(content.map((one) => one.type === "text" ? one.text : thoughtOf(one)), SAID);
        }
        const responses = [
          await openai.responses.create(asked("hello")),
          await openai.responses.stream(asked("hello")).finalResponse(),
        ];
        for (const { output, output_text: text } of responses) {
          const [first] = output;
          const thinking = first?.type === "reasoning" && first.summary[0]?.text;
          assertEquals([thinking, text], SAID);
        }

        const calls = [
          await openai.chat.completions.create(ask("weather")),
          await openai.chat.completions.stream(ask("weather")).finalChatCompletion(),
        ].map(({ choices: [choice] }) => {
          const [call] = choice!.message.tool_calls!;
          return call!.type === "function" && JSON.parse(call!.function.arguments);
        });
        for (
          const { content } of [
            await anthropic.messages.create(ask("weather")),
            await anthropic.messages.stream(ask("weather")).finalMessage(),
          ]
        ) {
          const use = content.find(({ type }) => type === "tool_use");
          calls.push(use?.type === "tool_use" && use.input);
        }
        for (
          const { output } of [
            await openai.responses.create(asked("weather")),
            await openai.responses.stream(asked("weather")).finalResponse(),
          ]
        ) {
          const made = output.find(({ type }) => type === "function_call");
          calls.push(made?.type === "function_call" && JSON.parse(made.arguments));
        }
        assertEquals(calls, new Array(6).fill({ city: "Paris" }));
        await assertRejects(
          () => openai.chat.completions.create(ask("limit")),
          OpenAI.RateLimitError,
        );
      });
    }
  },
);

/** The mock's thinking and text. */
const SAID = ["It greets.", "Hello from the mock"];

function thoughtOf(block: Anthropic.ContentBlock): string | undefined {
  return block.type === "thinking" ? block.thinking : undefined;
}
