/** How services say that a prompt is too long for a model: by code or type, or else in words. */

/** Codes and types of an input that is too long: OpenAI's, llama.cpp's, GLM's (1261), GitHub's. Anthropic's of bodies by size is another matter. */
const CODE =
  /context_?(?:length|window|size|limit)_?(?:exceeded|overflow)|exceeds?_context|(?:prompt|input)_(?:is_)?too_long|prompt_tokens_exceeded|tokens_limit_(?:reached|exceeded)|^1261$/i;

/** A number of tokens, grouped or not. Its length is bounded: a sentence is looked for at many places. */
const N = String.raw`[\d,_]{0,14}\d`;
/** The tokens of a prompt, those that are added to them, and how many there may be. */
const T = `(?<tokens>${N})`;
const MORE = `(?<more>${N})`;
const M = `(?<maximum>${N})`;

/** Sentences that say which number is which. */
const SENTENCES = [
  // Anthropic
  `prompt is too long: ${T} tokens > ${M} maximum`,
  `exceed context limit: ${T} \\+ ${MORE} > ${M}`,
  // vLLM
  `maximum context length is ${M} tokens.{0,160}? total of(?: at least)? ${T}`,
  // OpenAI, vLLM, OpenRouter, DeepSeek
  `maximum context length is ${M} tokens.{0,40}?(?:resulted in|requested|sent)(?: about)? ${T}(?!\\d| output)`,
  // vLLM
  `\\(length ${T}\\) is longer than the maximum model length of ${M}`,
  `maximum context length is ${M} tokens.{0,80}?(?:contains|has)(?: at least)? ${T} input tokens`,
  `passed ${T} input tokens.{0,80}?context length is only ${M}`,
  `maximum context length is ${M}`,
  // SGLang
  `input \\(${T} tokens\\) is longer than the model.s context length \\(${M} tokens\\)`,
  // llama.cpp
  `request \\(${T} tokens\\) exceeds the available context size \\(${M} tokens\\)`,
  // xAI
  `maximum prompt length is ${M} but the request contains ${T} tokens`,
  // Gemini
  `input token count \\(?${T}\\)? exceeds the maximum number of tokens allowed \\(?${M}\\)?`,
  // Mistral
  `prompt contains ${T} tokens.{0,80}?${M} maximum context length`,
  // Moonshot
  `exceeded model token limit ?: ?${M} \\(requested: ${T}\\)`,
  `exceeded model token limit ?: ?${M}`,
  // Cohere
  `tokens in the prompt cannot exceed ${M}.{0,20}?received ${T}`,
  // GitHub Copilot
  `prompt token count of ${T} exceeds the limit of ${M}`,
  // Cerebras
  `current length is ${T} while limit is ${M}`,
  // TGI
  "`inputs` tokens \\+ `max_new_tokens` must be <= " + M + "\\. Given: " + T +
  " `inputs` tokens and " + MORE,
  "`inputs` must have less than " + M + " tokens\\. Given: " + T,
  // LM Studio
  `first ${T} tokens when context.{0,20}? overflows.{0,80}?context length of only ${M}`,
].map(sentence);

function sentence(words: string): RegExp {
  return new RegExp(words, "i");
}

/** A whole number, not the digits of a longer one. */
const WHOLE_T = String.raw`(?<!\d)${T}(?!\d)`;
const WHOLE_M = String.raw`(?<!\d)${M}(?!\d)`;

/** Other sentences with two numbers. They are read where the tokens are more than the maximum. */
const NUMBERS = [
  `${WHOLE_T}\\)?[^.\\d]{0,60}?(?:exceed|(?:longer|greater|larger|more) than|>|up to|limit is|length is|size is)[^.\\d]{0,60}?${WHOLE_M}`,
  `(?:limit|length|size|window|max)[^.\\d]{0,40}?${WHOLE_M}\\D{0,80}?(?:request|result|contain|pass|sent|given|receiv|count)\\D{0,40}?${WHOLE_T}`,
  `too long: ${WHOLE_T}\\D{0,60}?${WHOLE_M}`,
].map(sentence);

/** Names of limits of the output, and their values' unit. */
const OUTPUT =
  /\bmax_?(?:completion_?|output_?|new_?)?tokens\b|\b(?:output|completion|new|budget)[ _]tokens?\b/gi;
const INPUT = /prompt|input|messages?\b|conversation|requested|total|\bsum\b/i;

/** Matters in which tokens and contexts are named as well: limits by time, parameters, and sizes of files. */
const OTHER_MATTERS = new RegExp(
  [
    "\\bper[ -](?:second|minute|min|hour|day|week|month)\\b",
    "\\bTP[MD]\\b",
    "\\b(?:daily|hourly|weekly|monthly)\\b",
    "rate[ _-]?limit",
    "throttl",
    "quota",
    "usage limit|\\benqueued\\b|paid account",
    "\\b(?:access|auth\\w*|bearer|session|refresh) tokens?\\b|\\bJWT\\b",
    "too many requests",
    "please wait",
    "try again (?:later|tomorrow)",
    "(?:unknown|unrecognized|unexpected|unsupported|invalid) (?:parameter|field|argument|option|name)\\b",
    "(?:parameter|field|argument|option) is not (?:supported|permitted|allowed)",
    "(?:image|audio|video|file|document)[^.]{0,60}(?:bytes|\\b[KM]i?B\\b|pixels|seconds|minutes)",
  ].join("|"),
  "i",
);

/**
 * Other sentences: of a context, of an input that is too long, of its tokens and their limit, and what Chinese services say. The distance
 * between words is bounded, which bounds the work.
 */
const EXCESS =
  "exceed|overflow|too (?:long|large|big|many)|(?:longer|greater|larger|bigger|more) than|" +
  "(?:not|n't) fit|supports? (?:up to|at most)|should be|(?:must|should) (?:be|have) (?:less|at most|no more|<)|limit|maximum|>";
const WHAT = "(?:prompts?|inputs?|messages?|conversation|sequence|context|request|total|history)";
const OTHER_WORDS = new RegExp(
  [
    "context[ _](?:length|window|limit|size)", // OpenAI, Ollama, MiniMax, vLLM and many others
    "maximum context",
    `(?:${EXCESS})(?:[^.]|\\.\\d){0,60}\\bcontext\\b`,
    "(?:prompt|input|context|conversation|messages|sequence|history)(?: \\w+){0,3} (?:too (?:long|large|big)|(?:longer|larger|bigger) than)",
    "(?:prompt|input) too (?:long|large)",
    "too many (?:input |prompt )?tokens", // Cohere, Titan
    `\\b${WHAT}\\b(?:[^.]|\\.\\d){0,60}?(?:tokens?|length)\\b(?:[^.]|\\.\\d){0,60}?(?:${EXCESS})`, // Bedrock, Vertex, DashScope, watsonx, Databricks
    `\\b(?:tokens?|length)\\b(?:[^.]|\\.\\d){0,40}?\\b${WHAT}\\b(?:[^.]|\\.\\d){0,60}?(?:${EXCESS})`, // GLM, Volcengine
    "\\b(?:maximum|max) (?:prompt|model|input|sequence) length",
    "\\btokens?[ _]limit|\\btokens?\\b(?:[^.]|\\.\\d){0,40} exceed|exceed(?:[^.]|\\.\\d){0,40}\\btokens?\\b",
    "(?:prompt|input) exceeds? (?:the )?max",
    "too large for (?:[^.]|\\.\\d){0,60}\\. max size: [\\d,]+ tokens", // GitHub Models
    "reduce the length of the (?:messages|prompt|input)", // Groq, OpenAI
    "tokens to keep from the initial prompt", // LM Studio
    "\\b(?:n_ctx|session_len|max_(?:seq|model)_len)\\b", // llama.cpp, LMDeploy, ExLlama, vLLM
    "上下文.{0,20}[超长限]|(?:输入|提示|对话|消息|prompt).{0,20}(?:[过超太]长|超[过出])|tokens?.{0,20}超[过出]",
  ].join("|"),
  "i",
);
/** Characters of a message that are read. */
const MAX_CHARS = 4_000;

/** What an upstream says of a prompt that is too long, as far as it does. */
export interface TooLongPrompt {
  readonly tokens?: number | undefined;
  readonly maximum?: number | undefined;
}

/**
 * Reads an error as one of a prompt that is too long.
 *
 * @param error Code and type are looked at first.
 * @returns Its numbers, where they are told; undefined for any other error.
 */
export function tooLongPrompt(
  { message = "", code, type }: {
    readonly message?: string | undefined;
    readonly code?: string | undefined;
    readonly type?: string | undefined;
  },
): TooLongPrompt | undefined {
  const said = message.slice(0, MAX_CHARS);
  for (const words of SENTENCES) {
    const found = words.exec(said);
    if (found !== null) return numbersOf(found);
  }
  if (!CODE.test(code ?? "") && !CODE.test(type ?? "")) {
    if (OTHER_MATTERS.test(`${said} ${code} ${type}`)) return undefined;
    const rest = said.replace(OUTPUT, "");
    if (rest !== said && !INPUT.test(rest) || !OTHER_WORDS.test(rest)) return undefined;
  }
  return numbersIn(said);
}

function numbersOf({ groups = {} }: RegExpExecArray): TooLongPrompt {
  const { tokens, more = "0", maximum } = groups;
  const count = (digits: string) => Number(digits.replace(/[,_]/g, ""));
  return {
    tokens: tokens === undefined ? undefined : count(tokens) + count(more),
    maximum: count(maximum!),
  };
}

function numbersIn(said: string): TooLongPrompt {
  for (const words of NUMBERS) {
    const found = words.exec(said);
    const numbers = found === null ? {} : numbersOf(found);
    if (numbers.tokens! > numbers.maximum!) return numbers;
  }
  return {};
}
