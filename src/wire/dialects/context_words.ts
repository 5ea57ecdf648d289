/** How services say that a prompt is too long for a model: by code or type, or else in words. */

/** Codes and types of an input that is too long: OpenAI's, llama.cpp's, GLM's (1261), GitHub's. Anthropic's of bodies by size is another matter. */
const CODE =
  /context_?(?:length|window|size|limit)_?(?:exceeded|overflow)|exceeds?_context|(?:prompt|input)_(?:is_)?too_long|prompt_tokens_exceeded|tokens_limit_(?:reached|exceeded)|^1261$/i;

/** A number of tokens, grouped or not. Its length is bounded: a sentence is looked for at many places. */
const N = String.raw`([\d,_]{0,14}\d)`;

/**
 * Sentences with numbers whose places are known: `tokens` and `maximum` are the groups that hold them; several tokens are added
 * up.
 */
const SENTENCES: readonly {
  readonly words: RegExp;
  readonly tokens: readonly number[];
  readonly maximum?: number;
}[] = [
  // Anthropic
  { words: sentence(`prompt is too long: ${N} tokens > ${N} maximum`), tokens: [1], maximum: 2 },
  {
    words: sentence(`exceed context limit: ${N} \\+ ${N} > ${N}`),
    tokens: [1, 2],
    maximum: 3,
  },
  // vLLM
  {
    words: sentence(`maximum context length is ${N} tokens.{0,160}? total of(?: at least)? ${N}`),
    tokens: [2],
    maximum: 1,
  },
  // OpenAI, vLLM, OpenRouter, DeepSeek
  {
    words: sentence(
      `maximum context length is ${N} tokens.{0,40}?(?:resulted in|requested|sent)(?: about)? ${N}(?!\\d| output)`,
    ),
    tokens: [2],
    maximum: 1,
  },
  // vLLM
  {
    words: sentence(
      `\\(length ${N}\\) is longer than the maximum model length of ${N}`,
    ),
    tokens: [1],
    maximum: 2,
  },
  {
    words: sentence(
      `maximum context length is ${N} tokens.{0,80}?(?:contains|has)(?: at least)? ${N} input tokens`,
    ),
    tokens: [2],
    maximum: 1,
  },
  {
    words: sentence(`passed ${N} input tokens.{0,80}?context length is only ${N}`),
    tokens: [1],
    maximum: 2,
  },
  { words: sentence(`maximum context length is ${N}`), tokens: [], maximum: 1 },
  // SGLang
  {
    words: sentence(
      `input \\(${N} tokens\\) is longer than the model.s context length \\(${N} tokens\\)`,
    ),
    tokens: [1],
    maximum: 2,
  },
  // llama.cpp
  {
    words: sentence(
      `request \\(${N} tokens\\) exceeds the available context size \\(${N} tokens\\)`,
    ),
    tokens: [1],
    maximum: 2,
  },
  // xAI
  {
    words: sentence(
      `maximum prompt length is ${N} but the request contains ${N} tokens`,
    ),
    tokens: [2],
    maximum: 1,
  },
  // Gemini
  {
    words: sentence(
      `input token count \\(?${N}\\)? exceeds the maximum number of tokens allowed \\(?${N}\\)?`,
    ),
    tokens: [1],
    maximum: 2,
  },
  // Mistral
  {
    words: sentence(`prompt contains ${N} tokens.{0,80}?${N} maximum context length`),
    tokens: [1],
    maximum: 2,
  },
  // Moonshot
  {
    words: sentence(`exceeded model token limit ?: ?${N} \\(requested: ${N}\\)`),
    tokens: [2],
    maximum: 1,
  },
  { words: sentence(`exceeded model token limit ?: ?${N}`), tokens: [], maximum: 1 },
  // Cohere
  {
    words: sentence(`tokens in the prompt cannot exceed ${N}.{0,20}?received ${N}`),
    tokens: [2],
    maximum: 1,
  },
  // GitHub Copilot
  {
    words: sentence(`prompt token count of ${N} exceeds the limit of ${N}`),
    tokens: [1],
    maximum: 2,
  },
  // Cerebras
  { words: sentence(`current length is ${N} while limit is ${N}`), tokens: [1], maximum: 2 },
  // TGI
  {
    words: sentence(
      "`inputs` tokens \\+ `max_new_tokens` must be <= " + N + "\\. Given: " + N +
        " `inputs` tokens and " + N,
    ),
    tokens: [2, 3],
    maximum: 1,
  },
  {
    words: sentence("`inputs` must have less than " + N + " tokens\\. Given: " + N),
    tokens: [2],
    maximum: 1,
  },
  // LM Studio
  {
    words: sentence(
      `first ${N} tokens when context.{0,20}? overflows.{0,80}?context length of only ${N}`,
    ),
    tokens: [1],
    maximum: 2,
  },
];

function sentence(words: string): RegExp {
  return new RegExp(words, "i");
}

/** A whole number, not the digits of a longer one. */
const WHOLE = String.raw`(?<!\d)${N}(?!\d)`;

/** Places of numbers in other sentences. They are read where the tokens are more than the maximum. */
const NUMBERS: readonly {
  readonly words: RegExp;
  readonly tokens: number;
  readonly maximum: number;
}[] = [
  {
    words: sentence(
      `${WHOLE}\\)?[^.\\d]{0,60}?(?:exceed|(?:longer|greater|larger|more) than|>|up to|limit is|length is|size is)[^.\\d]{0,60}?${WHOLE}`,
    ),
    tokens: 1,
    maximum: 2,
  },
  {
    words: sentence(
      `(?:limit|length|size|window|max)[^.\\d]{0,40}?${WHOLE}\\D{0,80}?(?:request|result|contain|pass|sent|given|receiv|count)\\D{0,40}?${WHOLE}`,
    ),
    tokens: 2,
    maximum: 1,
  },
  { words: sentence(`too long: ${WHOLE}\\D{0,60}?${WHOLE}`), tokens: 1, maximum: 2 },
];

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
  for (const { words, tokens, maximum } of SENTENCES) {
    const found = words.exec(said);
    if (found === null) continue;
    return {
      tokens: tokens.length === 0
        ? undefined
        : tokens.map((group) => numberOf(found, group)).reduce((sum, one) => sum + one),
      maximum: maximum === undefined ? undefined : numberOf(found, maximum),
    };
  }
  if (!CODE.test(code ?? "") && !CODE.test(type ?? "")) {
    if (OTHER_MATTERS.test(`${said} ${code} ${type}`)) return undefined;
    const rest = said.replace(OUTPUT, "");
    if (rest !== said && !INPUT.test(rest) || !OTHER_WORDS.test(rest)) return undefined;
  }
  return numbersIn(said);
}

function numberOf(found: RegExpExecArray, group: number): number {
  return Number(found[group]!.replace(/[,_]/g, ""));
}

function numbersIn(said: string): TooLongPrompt {
  for (const { words, tokens, maximum } of NUMBERS) {
    const found = words.exec(said);
    if (found === null || numberOf(found, tokens) <= numberOf(found, maximum)) continue;
    return { tokens: numberOf(found, tokens), maximum: numberOf(found, maximum) };
  }
  return {};
}
