/** How services say that a prompt is too long: real sentences, and what is read from them. */

import fc from "fast-check";
import { readUpstreamError, tooLongMessage } from "../../../src/wire/dialects/mod.ts";
import { tooLongPrompt } from "../../../src/wire/dialects/context_words.ts";
import { assertEquals } from "../../assert.ts";

/** The error of a body; its numbers, of which some are not told. */
const CORPUS: readonly (readonly [
  service: string,
  error: unknown,
  tokens?: number | undefined,
  max?: number,
])[] = [
  [
    "Anthropic",
    {
      type: "invalid_request_error",
      message: "prompt is too long: 208310 tokens > 200000 maximum",
    },
    208_310,
    200_000,
  ],
  [
    "Anthropic, with the output",
    {
      type: "invalid_request_error",
      message:
        "input length and `max_tokens` exceed context limit: 186433 + 20000 > 200000, decrease input length or `max_tokens` and try again",
    },
    206_433,
    200_000,
  ],
  [
    "OpenAI",
    {
      message:
        "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens. Please reduce the length of the messages.",
      code: "context_length_exceeded",
    },
    9_000,
    8_192,
  ],
  [
    "OpenAI, with the output",
    {
      message:
        "This model's maximum context length is 4097 tokens. However, you requested 5360 tokens (1360 in the messages, 4000 in the completion).",
      code: "context_length_exceeded",
    },
    5_360,
    4_097,
  ],
  ["OpenAI, responses", {
    message:
      "Your input exceeds the context window of this model. Please adjust your input and try again.",
    code: "context_length_exceeded",
  }],
  [
    "OpenRouter",
    {
      code: 400,
      message:
        "This endpoint's maximum context length is 200000 tokens. However, you requested about 250123 tokens (250123 of text input).",
    },
    250_123,
    200_000,
  ],
  [
    "vLLM",
    {
      message:
        "The decoder prompt (length 5000) is longer than the maximum model length of 4096. Make sure that `max_model_len` is no smaller.",
    },
    5_000,
    4_096,
  ],
  [
    "vLLM, later",
    {
      message:
        "This model's maximum context length is 4096 tokens. However, your request has 5021 input tokens. Please reduce the length of the input messages.",
    },
    5_021,
    4_096,
  ],
  [
    "SGLang",
    {
      message: "The input (9000 tokens) is longer than the model's context length (8192 tokens).",
    },
    9_000,
    8_192,
  ],
  ["llama.cpp, 2025", {
    code: 400,
    type: "exceed_context_size_error",
    message:
      "the request exceeds the available context size. try increasing the context size or enable context shift",
  }],
  [
    "llama.cpp, 2026",
    {
      code: 400,
      type: "exceed_context_size_error",
      message:
        "request (9000 tokens) exceeds the available context size (8192 tokens), try increasing it",
      n_prompt_tokens: 9_000,
      n_ctx: 8_192,
    },
    9_000,
    8_192,
  ],
  [
    "xAI",
    "This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
    537_812,
    131_072,
  ],
  [
    "Gemini",
    {
      code: 400,
      status: "INVALID_ARGUMENT",
      message:
        "The input token count (1500000) exceeds the maximum number of tokens allowed (1048575).",
    },
    1_500_000,
    1_048_575,
  ],
  [
    "Gemini, without brackets",
    {
      code: 400,
      message:
        "The input token count 1,500,000 exceeds the maximum number of tokens allowed 1,048,575.",
    },
    1_500_000,
    1_048_575,
  ],
  ["AWS, in capitals", { Message: "Input is too long for requested model." }],
  ["Baidu", { error_code: 336103, error_msg: "Prompt is too long" }],
  ["LMDeploy", { message: "input_ids length exceeds session_len: 9000 > 8192" }, 9_000, 8_192],
  [
    "LM Studio, later",
    "Cannot truncate prompt with n_keep (9000) >= n_ctx (4096)",
    9_000,
    4_096,
  ],
  ["Bedrock", { message: "Input is too long for requested model." }],
  [
    "Mistral",
    {
      message:
        "Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length",
    },
    40_000,
    32_768,
  ],
  [
    "Moonshot",
    {
      message:
        "Invalid request: Your request exceeded model token limit: 262144 (requested: 300000)",
      type: "invalid_request_error",
    },
    300_000,
    262_144,
  ],
  [
    "Moonshot, earlier",
    { message: "Invalid request: Your request exceeded model token limit : 131072" },
    undefined,
    131_072,
  ],
  [
    "Cohere",
    {
      message:
        "too many tokens: total number of tokens in the prompt cannot exceed 4081 - received 4292. Try using a shorter prompt.",
    },
    4_292,
    4_081,
  ],
  [
    "GitHub Copilot",
    {
      message: "prompt token count of 135007 exceeds the limit of 128000",
      code: "model_max_prompt_tokens_exceeded",
    },
    135_007,
    128_000,
  ],
  [
    "Cerebras",
    {
      message:
        "Please reduce the length of the messages or completion. Current length is 9021 while limit is 8192",
    },
    9_021,
    8_192,
  ],
  ["Groq", {
    message: "Please reduce the length of the messages or completion.",
    code: "context_length_exceeded",
  }],
  [
    "TGI",
    {
      message:
        "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 2048. Given: 2000 `inputs` tokens and 100 `max_new_tokens`",
    },
    2_100,
    2_048,
  ],
  [
    "TGI, input",
    { message: "Input validation error: `inputs` must have less than 1024 tokens. Given: 1600" },
    1_600,
    1_024,
  ],
  [
    "LM Studio",
    {
      message:
        "Trying to keep the first 9000 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens, which is not enough.",
    },
    9_000,
    4_096,
  ],
  [
    "vLLM, with the output first",
    {
      message:
        "This model's maximum context length is 196608 tokens. However, you requested 16384 output tokens and your prompt contains at least 180225 input tokens, for a total of at least 196609 tokens.",
    },
    196_609,
    196_608,
  ],
  [
    "vLLM, as LiteLLM passes it on",
    {
      message:
        "You passed 99073 input tokens and requested 32000 output tokens. However, the model's context length is only 95000 tokens",
    },
    99_073,
    95_000,
  ],
  ["Alibaba", {
    message:
      "<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 202752]",
  }],
  [
    "OpenRouter, Poolside",
    { message: "Input length 131393 exceeds the maximum allowed input length of 131040 tokens." },
    131_393,
    131_040,
  ],
  ["Bedrock, Nova", {
    message: "Input Tokens Exceeded: Number of input tokens exceeds maximum length.",
  }],
  ["Bedrock, Titan", { message: "Input exceeds the max input token limit" }],
  [
    "Vertex",
    {
      message:
        "Unable to submit request because the input token count is 40000 but the model supports up to 32768. Reduce the input token count and try again.",
    },
    40_000,
    32_768,
  ],
  [
    "SGLang, with the output",
    {
      message:
        "Requested token count exceeds the model's maximum context length of 32768 tokens. You requested a total of 40000 tokens: 30000 tokens from the input messages and 10000 tokens for the completion.",
    },
    40_000,
    32_768,
  ],
  [
    "Azure",
    {
      message:
        "Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in 300000 tokens. Please reduce the length of the messages.",
      code: "context_length_exceeded",
    },
    300_000,
    272_000,
  ],
  ["GitHub Models", {
    code: "tokens_limit_reached",
    message: "Request body too large for gpt-4o model. Max size: 8000 tokens.",
  }],
  [
    "DS4",
    { message: "Prompt has 150,000 tokens, but the configured context size is 128,000 tokens" },
    150_000,
    128_000,
  ],
  ["TensorRT", {
    message:
      "The sum of prompt length (5000.0), query length (0) should not exceed max_num_tokens (4096)",
  }],
  ["GLM, in words", { message: "tokens in request more than max tokens allowed" }],
  ["Volcengine", { message: "Total tokens of image and text exceed max message tokens" }],
  ["a service in Chinese", { message: "输入内容过长，超过模型最大长度" }],
  [
    "a relay of Anthropic's body",
    {
      type: "upstream_error",
      message:
        '{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 300000 tokens > 200000 maximum"}}',
    },
    300_000,
    200_000,
  ],
  ["Ollama", { message: "prompt too long; exceeded max context length by 4 tokens" }],
  ["MiniMax", {
    message: "invalid params, context window exceeds limit (2013)",
    type: "bad_request_error",
  }],
  ["GLM", { message: "Prompt exceeds max length", code: "1261" }],
];

for (const [service, error, tokens, maximum] of CORPUS) {
  Deno.test(`a prompt that is too long in the words of ${service}`, () => {
    const read = readUpstreamError(error);
    const said = tooLongPrompt(read);
    assertEquals([said?.tokens, said?.maximum, said !== undefined], [tokens, maximum, true]);
    assertEquals(
      tooLongMessage(read),
      maximum === undefined
        ? "prompt is too long"
        : `prompt is too long: ${tokens ?? maximum + 1} tokens > ${maximum} maximum`,
    );
  });
}

Deno.test("other errors are not of a prompt that is too long, whatever numbers they have", () => {
  for (
    const message of [
      "max_tokens must be at most 8192",
      "Rate limit reached: 40000 tokens per minute, used 39000, requested 4000",
      "connect ECONNREFUSED 127.0.0.1:8192",
      "Invalid value for tools[0]",
      "string too long. Expected a string with maximum length 64, but got a string with length 70 instead.",
      "The model produced invalid content",
      "Too many tokens, please wait before trying again.",
      "Too many tokens per day, please wait before trying again.",
      "Request too large for model `x` on tokens per minute (TPM): Limit 6000, Requested 9000, please reduce your message size",
      "Daily token limit reached. Please try again tomorrow.",
      "max_tokens: 100000 > 64000, which is the maximum allowed number of output tokens",
      "max_output_tokens (200000) exceeds model maximum output tokens (128000)",
      "Invalid input: `max_tokens` should be at least 1",
      "Unknown parameter: context_window",
      "messages.0.content.1.image.source.base64: image exceeds 5 MB maximum: 6000000 bytes > 5242880 bytes",
      "response_format: schema exceeds maximum nesting of 5 levels",
      "tools: too many tools, limit is 128",
      "usage limit exceeded, 5-hour usage limit reached for Token Plan Starter (0/0 used)",
      "Enqueued token limit reached. Limit: 90,000 enqueued tokens.",
      "The access token has exceeded its lifetime",
      "Audio input exceeds the maximum length of 30 seconds",
      "Prompt tokens limit exceeded: 9000 > 3000. To increase, upgrade to a paid account",
      "messages.1: `tool_use` ids were found without `tool_result` blocks",
      "",
    ]
  ) assertEquals(tooLongPrompt({ message }), undefined, message);
  assertEquals(tooLongPrompt({}), undefined);
});

Deno.test("a prompt that is too long is known by what is too long, how, and for what, in whatever words (property)", () => {
  const what = fc.constantFrom(
    "The prompt's length",
    "Your input of 9000 tokens",
    "The number of input tokens",
    "prompt token count 9000",
    "input sequence length (9000)",
    "the messages' tokens",
    "Total tokens of the request",
  );
  const how = fc.constantFrom(
    "exceeds",
    "is greater than",
    "is longer than",
    "must not exceed",
    "cannot exceed",
  );
  const limit = fc.constantFrom(
    "the limit of 8192",
    "the model's context",
    "the maximum length (8192)",
    "max_seq_len 8192",
    "what the model supports: 8192 tokens",
  );
  const around = fc.constantFrom("", "Error: ", "ValidationException: ", "<400> Bad request. ");
  fc.assert(fc.property(around, what, how, limit, (before, one, relation, other) => {
    const message = `${before}${one} ${relation} ${other}. Please try again.`;
    assertEquals(tooLongPrompt({ message }) !== undefined, true, message);
    const later = `${before}${one} ${relation} ${other} per minute. Please try again.`;
    assertEquals(tooLongPrompt({ message: later }), undefined, later);
  }));
});

Deno.test("what has more digits than a number of tokens is none", () => {
  const digits = "9".repeat(40);
  const message = `prompt is too long: ${digits} tokens > 200000 maximum`;
  assertEquals(tooLongPrompt({ message }), {});
});
