/**
 * Gemini as its service speaks it, in front of the simulator: requests are checked as the service does, field by field, and replies are
 * written by another hand than the gateway's. Names and shapes are those of `@google/genai`.
 */

import * as z from "zod";
import { type SimulateServer, simulateServer } from "./simulate.ts";

// deno-lint-ignore no-explicit-any -- bodies of two dialects
type Json = any;

const name = z.string().regex(/^[A-Za-z_][A-Za-z0-9_.:-]{0,127}$/);
const signature = { thoughtSignature: z.string().min(1).optional() };
const blob = z.strictObject({ mimeType: z.string().regex(/^[a-z]+\/[\w.+-]+$/), data: z.base64() });
const part = z.union([
  z.strictObject({ text: z.string(), ...signature }),
  z.strictObject({ inlineData: blob }),
  z.strictObject({ fileData: z.strictObject({ mimeType: z.string(), fileUri: z.url() }) }),
  z.strictObject({
    functionCall: z.strictObject({
      id: z.string().min(1),
      name,
      args: z.record(z.string(), z.unknown()),
    }),
    ...signature,
  }),
  z.strictObject({
    functionResponse: z.strictObject({
      id: z.string().min(1),
      name,
      response: z.record(z.string(), z.unknown()),
    }),
  }),
]);
const content = z.strictObject({ role: z.enum(["user", "model"]), parts: z.array(part).min(1) });

/** What the service takes; any other field is an error there. */
const request = z.strictObject({
  systemInstruction: z.strictObject({
    role: z.literal("user").optional(), // as Google's SDK has it
    parts: z.array(z.strictObject({ text: z.string().min(1) })).min(1),
  }).optional(),
  contents: z.array(content).min(1),
  tools: z.array(z.strictObject({
    functionDeclarations: z.array(z.strictObject({
      name,
      description: z.string().optional(),
      parametersJsonSchema: z.looseObject({
        type: z.literal("object"),
        $schema: z.never().optional(),
      }),
    })).min(1),
  })).min(1).optional(),
  toolConfig: z.strictObject({
    functionCallingConfig: z.strictObject({
      mode: z.enum(["AUTO", "ANY", "NONE"]),
      allowedFunctionNames: z.array(name).min(1).optional(),
    }).refine((one) => one.allowedFunctionNames === undefined || one.mode === "ANY"),
  }).optional(),
  serviceTier: z.enum(["standard", "flex", "priority"]).optional(),
  generationConfig: z.strictObject({
    maxOutputTokens: z.int().min(1),
    temperature: z.number().min(0).max(2).optional(),
    topP: z.number().min(0).max(1).optional(),
    topK: z.number().min(1).optional(),
    seed: z.int32().optional(),
    presencePenalty: z.number().min(-2).max(2).optional(),
    frequencyPenalty: z.number().min(-2).max(2).optional(),
    stopSequences: z.array(z.string().min(1)).min(1).max(5).optional(),
    responseLogprobs: z.boolean().optional(),
    logprobs: z.int().min(1).max(20).optional(),
    responseMimeType: z.literal("application/json").optional(),
    responseJsonSchema: z.looseObject({}).optional(),
    thinkingConfig: z.strictObject({
      includeThoughts: z.boolean().optional(),
      thinkingBudget: z.int().min(-1).optional(),
      thinkingLevel: z.enum(["MINIMAL", "LOW", "MEDIUM", "HIGH"]).optional(),
    }).refine((one) => one.thinkingBudget === undefined || one.thinkingLevel === undefined)
      .optional(),
  }).refine((one) => one.responseJsonSchema === undefined || one.responseMimeType !== undefined)
    .refine((one) => one.logprobs === undefined || one.responseLogprobs === true),
});

/** A body that the service would reject; its message says why. */
class Rejected extends Error {}

/**
 * Checks a body as the service does.
 *
 * @throws {Rejected} For what it rejects.
 */
export function checkGenerateRequest(body: unknown): void {
  const { error } = request.safeParse(body);
  if (error) throw new Rejected(z.prettifyError(error));
  const { contents } = body as Json;
  contents.forEach(({ role, parts }: Json, at: number) => {
    const of = (all: Json[], kind: string) => all.flatMap((one) => one[kind] ?? []);
    const calls = of(parts, "functionCall");
    const answers = at + 1 < contents.length ? of(contents[at + 1].parts, "functionResponse") : [];
    const same = (one: Json) => `${one.id} ${one.name}`;
    if (calls.map(same).join() !== answers.map(same).join()) {
      throw new Rejected("the number of function response parts must equal that of the calls");
    }
    if (
      role === "user" && calls.length > 0 ||
      role === "model" && of(parts, "functionResponse").length
    ) {
      throw new Rejected("a part is of the other role");
    }
  });
}

/** Starts one. Its `url` is the base that `/models/…` is appended to. */
export function generateServer(): SimulateServer {
  const simulator = simulateServer();
  const bodies: unknown[] = [];
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, async (incoming) => {
    const { pathname, searchParams } = new URL(incoming.url);
    if (incoming.method === "GET") {
      const models = ["svc-k2", "svc-k3"].map((one) => ({
        name: `models/${one}`,
        inputTokenLimit: 100_000,
        outputTokenLimit: 8_000,
        supportedGenerationMethods: ["generateContent", "countTokens"],
      }));
      return Response.json({ models });
    }
    const [, model, method] = /^\/v1beta\/models\/([^/:]+):(\w+)$/.exec(pathname) ?? [];
    const stream = method === "streamGenerateContent";
    const isKnown = method === "generateContent" || stream && searchParams.get("alt") === "sse";
    if (model === undefined || !isKnown) return failed(404, "NOT_FOUND", `no ${pathname}`);
    const body = await incoming.json();
    bodies.push(body);
    try {
      checkGenerateRequest(body);
    } catch (error) {
      return failed(400, "INVALID_ARGUMENT", (error as Error).message);
    }
    const reply = await fetch(`${simulator.url}/chat/completions`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(chatBody(decodeURIComponent(model), body, stream)),
      signal: incoming.signal,
    });
    if (!reply.ok) {
      const { error } = await reply.json().catch(() => ({}));
      const status = reply.status === 429 ? "RESOURCE_EXHAUSTED" : "UNAVAILABLE";
      const after = Number(reply.headers.get("retry-after") ?? 0.1);
      return failed(reply.status, status, error?.message ?? "busy", `${after}s`);
    }
    return stream
      ? new Response(reply.body!.pipeThrough(events()), {
        headers: { "content-type": "text/event-stream" },
      })
      : Response.json(wholeOf(await reply.json()));
  });
  return {
    url: `http://127.0.0.1:${server.addr.port}/v1beta`,
    get requests() {
      return simulator.requests;
    },
    get cancelled() {
      return simulator.cancelled;
    },
    bodies,
    busyFor: (count) => simulator.busyFor(count),
    async [Symbol.asyncDispose]() {
      await server.shutdown();
      await simulator[Symbol.asyncDispose]();
    },
  };
}

/** An error in Google's form. */
export function failed(
  code: number,
  status: string,
  message: string,
  retryDelay?: string,
): Response {
  const details = retryDelay === undefined ? [] : [
    { "@type": "type.googleapis.com/google.rpc.QuotaFailure", violations: [] },
    { "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay },
  ];
  return Response.json({ error: { code, message, status, details } }, { status: code });
}

function chatBody(model: string, body: Json, stream: boolean): Json {
  const { systemInstruction: system, contents, tools = [], toolConfig, generationConfig } = body;
  const { thinkingConfig: thinking } = generationConfig;
  const calling = toolConfig?.functionCallingConfig;
  const chosen = calling?.allowedFunctionNames?.[0];
  const choices: Json = { AUTO: "auto", NONE: "none", ANY: "required" };
  return {
    model,
    stream,
    ...(stream && { stream_options: { include_usage: true } }),
    messages: [
      ...(system ? [{ role: "system", content: system.parts[0].text }] : []),
      ...contents.flatMap(messagesOf),
    ],
    max_tokens: generationConfig.maxOutputTokens,
    temperature: generationConfig.temperature,
    top_p: generationConfig.topP,
    stop: generationConfig.stopSequences,
    ...(thinking && {
      reasoning_effort: thinking.thinkingBudget === 0
        ? "none"
        : thinking.thinkingLevel?.toLowerCase() ?? "high",
    }),
    ...(tools[0] && {
      tools: tools[0].functionDeclarations.map((
        { name, description, parametersJsonSchema }: Json,
      ) => ({
        type: "function",
        function: { name, description, parameters: parametersJsonSchema },
      })),
      ...(calling && {
        tool_choice: chosen
          ? { type: "function", function: { name: chosen } }
          : choices[calling.mode],
      }),
    }),
    ...(generationConfig.responseMimeType && {
      response_format: generationConfig.responseJsonSchema
        ? {
          type: "json_schema",
          json_schema: { name: "r", schema: generationConfig.responseJsonSchema },
        }
        : { type: "json_object" },
    }),
  };
}

function messagesOf({ role, parts }: Json): Json[] {
  if (role === "model") {
    const calls = parts.flatMap((one: Json) => one.functionCall ?? []);
    return [{
      role: "assistant",
      content: parts.map((one: Json) => one.text ?? "").join("") || null,
      ...(calls.length > 0 && {
        tool_calls: calls.map(({ id, name, args }: Json) => ({
          id,
          type: "function",
          function: { name, arguments: JSON.stringify(args) },
        })),
      }),
    }];
  }
  const results = parts.flatMap((one: Json) => one.functionResponse ?? []);
  const others = parts.filter((one: Json) => one.functionResponse === undefined);
  return [
    ...results.map(({ id, response: { output, error } }: Json) => ({
      role: "tool",
      tool_call_id: id,
      content: output || (error === undefined ? "(nothing)" : `Error: ${error}`),
    })),
    ...(others.length === 0 ? [] : [{
      role: "user",
      content: others.map(({ text, inlineData: data, fileData: file }: Json) =>
        text !== undefined
          ? { type: "text", text }
          : data?.mimeType === "application/pdf"
          ? { type: "file", file: { filename: "f", file_data: data.data } }
          : {
            type: "image_url",
            image_url: { url: file?.fileUri ?? `data:${data.mimeType};base64,${data.data}` },
          }
      ),
    }]),
  ];
}

const FINISHES: Json = {
  stop: "STOP",
  tool_calls: "STOP",
  length: "MAX_TOKENS",
  content_filter: "SAFETY",
};

function usageOf(usage: Json): Json {
  const { prompt_tokens: prompt, completion_tokens: output, completion_tokens_details: details } =
    usage;
  const thoughts = details?.reasoning_tokens ?? 0;
  return {
    usageMetadata: {
      promptTokenCount: prompt,
      // a number that is zero is left out
      ...(output > thoughts && { candidatesTokenCount: output - thoughts }),
      ...(thoughts > 0 && { thoughtsTokenCount: thoughts }),
      ...(usage.prompt_tokens_details?.cached_tokens > 0 &&
        { cachedContentTokenCount: usage.prompt_tokens_details.cached_tokens }),
      totalTokenCount: prompt + output,
    },
  };
}

const HEAD = { modelVersion: "gemini-of-the-test", responseId: "r-1" };

/** What signs a text after thoughts. */
const SIGNED = { thoughtSignature: btoa("signature of a text") };

function callPart({ id, function: { name, arguments: args } }: Json, at: number): Json {
  const functionCall = { id, name, args: JSON.parse(args) };
  return { functionCall, ...(at === 0 && { thoughtSignature: btoa(`signature of ${id}`) }) };
}

function wholeOf({ choices: [{ message, finish_reason: reason }], usage }: Json): Json {
  const { reasoning_content: thought, content, tool_calls: calls = [] } = message;
  const parts = [
    ...(thought ? [{ text: thought, thought: true }] : []),
    ...(content ? [{ text: content, ...(thought && SIGNED) }] : []),
    ...calls.map(callPart),
  ];
  const candidate = { content: { role: "model", parts }, finishReason: FINISHES[reason], index: 0 };
  return { candidates: [candidate], ...usageOf(usage), ...HEAD };
}

/** Chunks of chat as events: calls whole, usage in each event, no end mark. */
function events(): TransformStream<Uint8Array, Uint8Array> {
  const [decoder, encoder] = [new TextDecoder(), new TextEncoder()];
  const calls: Json[] = [];
  let [rest, reason, hasThought]: [string, string | undefined, boolean] = ["", undefined, false];
  const event = (parts: Json[], more: Json = {}) =>
    `data: ${
      JSON.stringify({
        candidates: [{
          ...(parts.length > 0 && { content: { role: "model", parts } }),
          ...more.finish,
          index: 0,
        }],
        ...more.usage,
        ...HEAD,
      })
    }\r\n\r\n`;
  const take = ({ choices, usage }: Json): string => {
    const [{ delta = {}, finish_reason: finish = null } = {}] = choices as Json[];
    reason = finish ?? reason;
    for (const { index, id, function: own } of delta.tool_calls ?? []) {
      const call = calls[index] ??= { id, function: { name: own.name, arguments: "" } };
      call.function.arguments += own.arguments ?? "";
    }
    const { reasoning_content: thought, content } = delta;
    if (usage) {
      const finish = { finishReason: FINISHES[reason ?? "stop"] };
      const last = calls.length > 0 || !hasThought
        ? calls.map(callPart)
        : [{ text: "", ...SIGNED }];
      return event(last, { finish, usage: usageOf(usage) });
    }
    if (thought) hasThought = true;
    if (thought) return event([{ text: thought, thought: true }]);
    return content ? event([{ text: content }]) : "";
  };
  return new TransformStream({
    transform(bytes, controller) {
      const lines = (rest + decoder.decode(bytes, { stream: true })).split("\n");
      rest = lines.pop()!;
      const text = lines.filter((line) => line.startsWith("data: {"))
        .map((line) => take(JSON.parse(line.slice(6)))).join("");
      if (text !== "") controller.enqueue(encoder.encode(text));
    },
  });
}
