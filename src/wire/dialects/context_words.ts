/** How services say that a prompt is too long for a model: by code or type, or else in words. */

/** Codes and types of an input that is too long: OpenAI; llama.cpp; GLM; Anthropic's bodies by size are another matter. */
const CODES = new Set([
  "context_length_exceeded",
  "exceed_context_size_error",
  "context_window_exceeded",
  "model_context_window_exceeded",
  "prompt_too_long",
  "input_too_long",
  "1261",
]);

/** A number of tokens, grouped or not. Its length is bounded: a sentence is looked for at many places. */
const N = String.raw`([\d,_]{0,14}\d)`;

/**
 * Sentences with numbers whose places are known: `tokens` and `maximum` are the groups that hold them; several tokens are added
 * up. From no other sentence are numbers read: they may be ports, codes or sizes.
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
  // OpenAI, vLLM, OpenRouter, DeepSeek
  {
    words: sentence(
      `maximum context length is ${N} tokens.{0,40}?(?:resulted in|requested|sent)(?: about)? ${N}`,
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

/** Sentences without numbers whose places are known. */
const OTHER_WORDS = new RegExp(
  [
    "context[ _](?:length|window|limit|size)", // OpenAI, Ollama, MiniMax, vLLM and many others
    "maximum context",
    "token limit",
    "prompt (?:is )?too long", // Anthropic, Ollama
    "input (?:is )?too long", // Bedrock
    "input token length too long", // Moonshot
    "too many (?:input )?tokens", // Cohere
    "maximum (?:prompt|model|input) length",
    "(?:prompt|input) exceeds? (?:the )?max(?:imum)?[ _](?:length|tokens|number of tokens)", // GLM
    "reduce the length of the (?:messages|prompt|input)", // Groq, OpenAI
    "tokens to keep from the initial prompt", // LM Studio
  ].join("|"),
  "i",
);

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
  for (const { words, tokens, maximum } of SENTENCES) {
    const found = words.exec(message);
    if (found === null) continue;
    const number = (group: number) => Number(found[group]!.replace(/[,_]/g, ""));
    return {
      tokens: tokens.length === 0 ? undefined : tokens.map(number).reduce((sum, one) => sum + one),
      maximum: maximum === undefined ? undefined : number(maximum),
    };
  }
  const isCoded = CODES.has(code ?? "") || CODES.has(type ?? "");
  return isCoded || OTHER_WORDS.test(message) ? {} : undefined;
}
