import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { generateText, type LanguageModel, stepCountIs, streamText, tool } from "ai";
import { z } from "zod";
import { assertEquals, assertStringIncludes } from "../assert.ts";
import { startGateway } from "../fake/gateway.ts";
import { simulateServer } from "../fake/simulate.ts";

const CLIENTS: Readonly<Record<string, (base: string, apiKey: string) => LanguageModel>> = {
  chat: (baseURL, apiKey) => createOpenAICompatible({ name: "sluice", baseURL, apiKey })("svc-k3"),
  messages: (baseURL, apiKey) => createAnthropic({ baseURL, apiKey })("svc-k3"),
};

for (const upstream of ["chat", "messages", "responses"] as const) {
  for (const [front, connect] of Object.entries(CLIENTS)) {
    Deno.test(`Vercel AI SDK (${front}) runs a tool over a ${upstream} upstream`, {
      // The SDK leaves a stream's connection open, for which the server of Deno 2.4 waits. In Deno 2.9 nobody
      // can clear a timer of Node's that was refreshed in its own callback, as undici's clock is.
      sanitizeOps: false,
      sanitizeResources: false,
    }, async (t) => {
      await using server = simulateServer();
      await using gateway = await startGateway({
        settings: { upstream: { url: server.url, dialect: upstream } },
      });
      const asked: string[] = [];
      const request = {
        model: connect(`${gateway.url}/v1`, gateway.key),
        prompt: 'What is the weather in Paris? [[call get_weather {"city":"Paris"}]]',
        stopWhen: stepCountIs(3),
        maxRetries: 0,
        tools: {
          get_weather: tool({
            description: "Weather of a city",
            inputSchema: z.object({ city: z.string() }),
            execute: ({ city }) => {
              asked.push(city);
              return `${city}: hail`;
            },
          }),
        },
      };
      await t.step("whole", async () => {
        const { text, steps } = await generateText(request);
        assertStringIncludes(text, "Paris: hail");
        assertEquals(steps.length, 2);
        assertEquals(steps[0]!.finishReason, "tool-calls");
        assertEquals((steps[0]!.reasoningText ?? "") !== "", true, "the reasoning is seen");
      });
      await t.step("streamed", async () => {
        const result = streamText(request);
        assertStringIncludes(await result.text, "Paris: hail");
      });
      assertEquals(asked, ["Paris", "Paris"]);
    });
  }
}
