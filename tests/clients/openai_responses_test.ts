import { createOpenAI } from "@ai-sdk/openai";
import { generateText, type ModelMessage, Output, stepCountIs, streamText, tool } from "ai";
import OpenAI from "openai";
import { zodResponsesFunction, zodTextFormat } from "openai/helpers/zod";
import { z } from "zod";
import {
  assert,
  assertEquals,
  assertMatch,
  assertRejects,
  assertStringIncludes,
} from "../assert.ts";
import type { TestGateway } from "../fake/gateway.ts";
import { BOTH, ONE, onEveryPairing, reasonedTurns } from "./pairings.ts";

const WEATHER: OpenAI.Responses.FunctionTool = {
  type: "function",
  name: "get_weather",
  description: "Current weather of a city",
  parameters: {
    type: "object",
    properties: { city: { type: "string" } },
    required: ["city"],
    additionalProperties: false,
  },
  strict: true,
};
const POPULATION: OpenAI.Responses.FunctionTool = { ...WEATHER, name: "get_population" };
const HELLO = { model: "svc-k2", input: "Hello there" };

function sdk({ url, key }: TestGateway, options = {}): OpenAI {
  return new OpenAI({ baseURL: `${url}/v1`, apiKey: key, maxRetries: 0, ...options });
}

onEveryPairing("openai SDK, responses", {
  "creates": async (gateway) => {
    const response = await sdk(gateway).responses.create(HELLO);
    assertEquals([response.status, response.model], ["completed", "svc-k2"]);
    assertStringIncludes(response.output_text, "Hello there");
    assertMatch(response.id, /^resp_/);
    assertMatch(response._request_id!, /^req_/);
    const { input_tokens: input, output_tokens: output, total_tokens: total } = response.usage!;
    assert(input > 0 && output > 0 && total === input + output);
  },

  "streams": async (gateway) => {
    const stream = sdk(gateway).responses.stream(HELLO);
    let text = "";
    stream.on("response.output_text.delta", ({ delta }) => text += delta);
    const response = await stream.finalResponse();
    assertStringIncludes(text, "Hello there");
    assertEquals([response.status, response.output_text], ["completed", text]);
    assert(response.usage!.output_tokens > 0);
  },

  "makes a full round with two tools at once": async (gateway) => {
    const client = sdk(gateway);
    const tools = [WEATHER, POPULATION];
    const first = await client.responses.stream({ model: "svc-k2", input: BOTH, tools })
      .finalResponse();
    const calls = first.output.filter((item) => item.type === "function_call");
    assertEquals(calls.map(({ name }) => name).sort(), ["get_population", "get_weather"]);
    const outputs = calls.map(({ call_id }) => ({
      type: "function_call_output" as const,
      call_id,
      output: "hail",
    }));
    const input = [
      { role: "user" as const, content: BOTH },
      ...first.output as OpenAI.Responses.ResponseInput,
      ...outputs,
    ];
    const second = await client.responses.create({ model: "svc-k2", input, tools });
    assertStringIncludes(second.output_text, "hail");
  },

  "reads a custom tool's call, and one in a namespace": async (gateway) => {
    const custom = { type: "custom" as const, name: "get_weather" };
    const response = await sdk(gateway).responses.stream({
      model: "svc-k2",
      input: 'Say it. [[call get_weather {"input":"*** Paris\\n"}]]',
      tools: [custom],
    }).finalResponse();
    const call = response.output.find((item) => item.type === "custom_tool_call");
    assertEquals([call?.name, call?.input], ["get_weather", "*** Paris\n"]);
  },

  "parses structured output and the arguments of a call": async (gateway) => {
    const { output } = await sdk(gateway).responses.parse({
      model: "svc-k2",
      input: ONE,
      tools: [WEATHER],
    });
    const call = output.find((item) => item.type === "function_call");
    assertEquals(call?.parsed_arguments as unknown, { city: "Paris" });
  },

  "parses by zod's schemas, whole and streamed": async (gateway) => {
    const City = z.object({ city: z.string(), people: z.number().nullable() });
    const request = {
      model: "svc-k2",
      input: "A city, please",
      text: { format: zodTextFormat(City, "city") },
    };
    const parsed = await sdk(gateway).responses.parse(request);
    assertEquals(typeof parsed.output_parsed?.city, "string");
    const streamed = await sdk(gateway).responses.stream(request).finalResponse();
    assertEquals(streamed.output_parsed, parsed.output_parsed);
    const population = zodResponsesFunction({
      name: "get_weather",
      parameters: z.object({ city: z.string() }),
      function: ({ city }) => `${city}: hail`,
    });
    const { output } = await sdk(gateway).responses.parse({
      model: "svc-k2",
      input: ONE,
      tools: [population],
    });
    const call = output.find((item) => item.type === "function_call");
    assertEquals(call?.parsed_arguments, { city: "Paris" });
  },

  "reads a summary of the reasoning, and returns what is sealed": async (gateway, upstream) => {
    const request = {
      model: "svc-k3",
      input: [{ role: "user" as const, content: ONE }],
      tools: [WEATHER],
      store: false,
      include: ["reasoning.encrypted_content" as const],
      reasoning: { effort: "high" as const, summary: "auto" as const },
    };
    const stream = sdk(gateway).responses.stream(request);
    let summary = "";
    stream.on("response.reasoning_summary_text.delta", ({ delta }) => summary += delta);
    const { output } = await stream.finalResponse();
    const reasoning = output.find((item) => item.type === "reasoning")!;
    assertEquals(reasoning.summary.map(({ text }) => text).join(""), summary);
    assert(summary !== "" && (reasoning.encrypted_content ?? "") !== "");
    const calls = output.filter((item) => item.type === "function_call");
    const outputs = calls.map(({ call_id }) => ({
      type: "function_call_output" as const,
      call_id,
      output: "hail",
    }));
    const input = [...request.input, ...output as OpenAI.Responses.ResponseInput, ...outputs];
    const next = await sdk(gateway).responses.create({ ...request, input });
    assertStringIncludes(next.output_text, "hail");
    const sent = upstream?.bodies.at(-1);
    if (sent?.messages !== undefined) assertEquals(reasonedTurns(sent), 1);
    if (sent?.input !== undefined) {
      const [own] = sent.input.filter(({ type }: { type: string }) => type === "reasoning");
      assertEquals(own.encrypted_content, "simulated-encrypted-reasoning");
    }
  },

  "is told what is wrong": async (gateway) => {
    const error = await assertRejects(
      () => sdk(gateway).responses.create({ ...HELLO, model: "no-such" }).then(() => {}),
      OpenAI.NotFoundError,
    );
    assertEquals([error.status, error.code], [404, "model_not_found"]);
  },

  "sees that a stream broke, instead of one that ends silently": async (gateway) => {
    for (const directive of ["error", "cut", "end"]) {
      const request = { model: "svc-k2", input: `[[tokens 60]] [[${directive} after 30]]` };
      const response = await sdk(gateway).responses.stream(request).finalResponse();
      assertEquals([response.status, response.error?.code], ["failed", "server_error"], directive);
      assert(response.output_text !== "", "what had come is there");
      const types: string[] = [];
      const events = await sdk(gateway).responses.create({ ...request, stream: true });
      for await (const { type } of events) types.push(type);
      assertEquals(types.at(-1), "response.failed", directive);
    }
  },

  "is told what a request lacks or may not say": async (gateway, upstream) => {
    const wrong: [OpenAI.Responses.ResponseCreateParamsNonStreaming, RegExp][] = [
      [{ ...HELLO, background: true }, /background/],
      [{ ...HELLO, previous_response_id: "resp_1" }, /previous_response_id/],
      [{ ...HELLO, conversation: "conv_1" }, /conversation/],
      [{ ...HELLO, input: [{ type: "item_reference", id: "msg_none" }] }, /store/],
      [
        { ...HELLO, input: [{ type: "function_call_output", call_id: "call_1", output: "x" }] },
        /call_1/,
      ],
    ];
    // an upstream of responses runs such a tool
    const runsHosted = upstream?.bodies.at(-1)?.input !== undefined;
    if (!runsHosted) wrong.push([{ ...HELLO, tools: [{ type: "web_search" }] }, /web_search/]);
    for (const [body, pattern] of wrong) {
      const error = await assertRejects(
        () => sdk(gateway).responses.create(body).then(() => {}),
        OpenAI.BadRequestError,
      );
      assertMatch(error.message, pattern);
    }
  },

  "ends at its limit": async (gateway) => {
    const response = await sdk(gateway).responses.stream({
      ...HELLO,
      input: "Tell me a long story, please",
      max_output_tokens: 16,
    }).finalResponse();
    assertEquals(response.status, "incomplete");
    assertEquals(response.incomplete_details, { reason: "max_output_tokens" });
  },

  "compacts": async (gateway) => {
    const compacted = await sdk(gateway).responses.compact(HELLO);
    assertEquals(compacted.output.map(({ type }) => type), ["compaction"]);
    const input = [
      ...compacted.output as OpenAI.Responses.ResponseInput,
      { role: "user" as const, content: "Go on" },
    ];
    const next = await sdk(gateway).responses.create({ model: "svc-k2", input });
    assertEquals(next.status, "completed");
  },
});

/** The AI SDK's default model, as it is or without stored items. */
function aiSdk({ url, key }: TestGateway, store: boolean) {
  const sentBodies: string[] = [];
  const provider = createOpenAI({
    baseURL: `${url}/v1`,
    apiKey: key,
    fetch: (input, init) => {
      sentBodies.push(String(init?.body));
      return fetch(input, init);
    },
  });
  const options = store ? {} : { store };
  return {
    sentBodies,
    model: provider("svc-k3"),
    maxRetries: 0,
    /** @param more Options of the provider besides. */
    providerOptions: (more: Record<string, string> = {}) => ({
      providerOptions: { openai: { ...options, ...more } },
    }),
  };
}

for (const store of [true, false]) {
  onEveryPairing(`AI SDK, responses, ${store ? "as it is" : "store: false"}`, {
    "runs a tool, whole and streamed": async (gateway) => {
      const { sentBodies: _, providerOptions, ...common } = aiSdk(gateway, store);
      const asked: string[] = [];
      const request = {
        ...common,
        ...providerOptions(),
        prompt: ONE,
        stopWhen: stepCountIs(3),
        tools: {
          get_weather: tool({
            inputSchema: z.object({ city: z.string() }),
            execute: ({ city }) => {
              asked.push(city);
              return `${city}: hail`;
            },
          }),
        },
      };
      const whole = await generateText(request);
      assertStringIncludes(whole.text, "Paris: hail");
      assertEquals(whole.steps.length, 2);
      assertStringIncludes(await streamText(request).text, "Paris: hail");
      assertEquals(asked, ["Paris", "Paris"]);
    },

    "has a second turn, whole and streamed": async (gateway, upstream) => {
      const { sentBodies, providerOptions, ...common } = aiSdk(gateway, store);
      const messages: ModelMessage[] = [];
      for (const [turn, said] of ["one", "two", "three"].entries()) {
        messages.push({ role: "user", content: `Say it. [[say ${said}]]` });
        const request = { ...common, ...providerOptions(), messages };
        const result = turn === 1 ? streamText(request) : await generateText(request);
        assertEquals(await result.text, said);
        messages.push(...(await result.response).messages);
      }
      // what it sends by default are references to what it has got
      assertEquals(sentBodies.at(-1)?.includes('"item_reference"'), store);
      const received = JSON.stringify(upstream?.bodies.at(-1) ?? {});
      assert(!received.includes("item_reference"));
      if (upstream === undefined) return;
      for (const said of ["one", "two"]) assertStringIncludes(received, `"${said}"`);
    },

    "is told of a stream that broke": async (gateway) => {
      const { sentBodies: _, providerOptions, ...common } = aiSdk(gateway, store);
      const result = streamText({
        ...common,
        ...providerOptions(),
        prompt: "[[tokens 60]] [[cut after 40]]",
        onError: () => {},
      });
      let [text, finish, errors] = ["", "", 0];
      for await (const part of result.fullStream) {
        if (part.type === "text-delta") text += part.text;
        if (part.type === "finish") finish = part.finishReason;
        if (part.type === "error") errors++;
      }
      assert(text !== "");
      assertEquals([finish, errors], ["error", 1]);
    },

    "gets an object, and a summary of the reasoning": async (gateway) => {
      const { sentBodies: _, providerOptions, ...common } = aiSdk(gateway, store);
      const { output, reasoningText } = await generateText({
        ...common,
        ...providerOptions({ reasoningSummary: "auto", reasoningEffort: "high" }),
        prompt: "A city, please",
        output: Output.object({ schema: z.object({ city: z.string() }) }),
      });
      assertEquals(typeof output.city, "string");
      assert((reasoningText ?? "") !== "");
      const streamed = streamText({
        ...common,
        ...providerOptions({ reasoningSummary: "auto" }),
        prompt: "[[say Hi]]",
      });
      assertEquals(await streamed.text, "Hi");
      assert((await streamed.reasoningText ?? "") !== "");
    },
  });
}
