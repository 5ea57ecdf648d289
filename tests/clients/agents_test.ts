import {
  Agent,
  OpenAIProvider,
  OutputGuardrailTripwireTriggered,
  Runner,
  setTracingDisabled,
  tool,
  user,
  webSearchTool,
} from "@openai/agents";
import { z } from "zod";
import { assertEquals, assertRejects, assertStringIncludes } from "../assert.ts";
import { type TestGateway, usageRecords } from "../fake/gateway.ts";
import { BOTH, ONE, onEveryPairing } from "./pairings.ts";

setTracingDisabled(true); // traces go to OpenAI

/** The SDK as it is, but for the address and the key. */
function runner({ url, key }: TestGateway): Runner {
  return new Runner({ modelProvider: new OpenAIProvider({ baseURL: `${url}/v1`, apiKey: key }) });
}

const MODEL = "svc-k3";

/** A tool that notes the cities that it was asked for. */
function weather(asked: string[], name = "get_weather") {
  return tool({
    name,
    description: "Current weather of a city",
    parameters: z.object({ city: z.string() }),
    execute: ({ city }) => {
      asked.push(city);
      return `${city}: hail`;
    },
  });
}

onEveryPairing("@openai/agents", {
  "runs a tool": async (gateway) => {
    const asked: string[] = [];
    const agent = new Agent({ name: "Weather", model: MODEL, tools: [weather(asked)] });
    const { finalOutput } = await runner(gateway).run(agent, ONE);
    assertStringIncludes(finalOutput ?? "", "Paris: hail");
    assertEquals(asked, ["Paris"]);
    const last = (await usageRecords(gateway)).slice(-2);
    assertEquals(last.map(({ dialect, ending }) => [dialect, ending]), [
      ["responses", "complete"],
      ["responses", "complete"],
    ]);
  },

  "runs two tools at once, and streams": async (gateway) => {
    const asked: string[] = [];
    const tools = [weather(asked), weather(asked, "get_population")];
    const agent = new Agent({ name: "Both", model: MODEL, tools });
    const result = await runner(gateway).run(agent, BOTH, { stream: true });
    let text = "";
    for await (const piece of result.toTextStream()) text += piece;
    await result.completed;
    assertEquals(asked, ["Paris", "Paris"]);
    assertStringIncludes(text, "Paris: hail");
    assertEquals(result.finalOutput, text);
  },

  "hands off to another agent": async (gateway) => {
    const asked: string[] = [];
    const expert = new Agent({
      name: "Expert",
      model: MODEL,
      handoffDescription: "Knows the weather",
      tools: [weather(asked)],
    });
    const desk = new Agent({ name: "Desk", model: MODEL, handoffs: [expert] });
    const prompt = 'Weather? [[call transfer_to_Expert {}]] [[then]] [[call get_weather {"city":' +
      '"Paris"}]] [[then]] [[say It hails.]]';
    const { finalOutput, lastAgent } = await runner(gateway).run(desk, prompt);
    assertEquals([finalOutput, lastAgent?.name, asked], ["It hails.", "Expert", ["Paris"]]);
  },

  "continues a conversation with all that was said": async (gateway) => {
    const asked: string[] = [];
    const agent = new Agent({ name: "Weather", model: MODEL, tools: [weather(asked)] });
    const first = await runner(gateway).run(agent, ONE);
    const second = await runner(gateway).run(agent, [
      ...first.history,
      user("And now? [[say The same.]]"),
    ]);
    assertEquals(second.finalOutput, "The same.");
  },

  "gets output of a type": async (gateway) => {
    const outputType = z.object({ city: z.string(), people: z.number() });
    const agent = new Agent({ name: "City", model: MODEL, outputType });
    const { finalOutput } = await runner(gateway).run(agent, "A city, please");
    assertEquals(typeof finalOutput?.city, "string");
    assertEquals(typeof finalOutput?.people, "number");
  },

  "guards its output": async (gateway) => {
    const agent = new Agent({
      name: "Guarded",
      model: MODEL,
      outputGuardrails: [{
        name: "no secrets",
        execute: ({ agentOutput }) =>
          Promise.resolve({
            tripwireTriggered: String(agentOutput).includes("SECRET"),
            outputInfo: {},
          }),
      }],
    });
    await assertRejects(
      () => runner(gateway).run(agent, "[[say SECRET]]").then(() => {}),
      OutputGuardrailTripwireTriggered,
    );
    assertEquals((await runner(gateway).run(agent, "[[say fine]]")).finalOutput, "fine");
  },

  "may list a hosted tool beside its own": async (gateway, upstream) => {
    if (upstream?.bodies.at(-1)?.input !== undefined) return; // such an upstream runs it
    const asked: string[] = [];
    const agent = new Agent({
      name: "Searching",
      model: MODEL,
      tools: [weather(asked), webSearchTool()],
    });
    const { finalOutput } = await runner(gateway).run(agent, ONE);
    assertStringIncludes(finalOutput ?? "", "Paris: hail");
    const record = (await usageRecords(gateway)).at(-1)!;
    assertStringIncludes(String(record.ignored), "tools.web_search");
  },

  "is told what is wrong": async (gateway) => {
    const agent = new Agent({ name: "Lost", model: "no-such" });
    const error = await assertRejects(
      () => runner(gateway).run(agent, "Hi").then(() => {}),
      Error,
    );
    assertStringIncludes(error.message, "Unknown model 'no-such'");
  },
});
