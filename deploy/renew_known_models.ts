/**
 * Writes `src/known_models/table.ts` anew.
 *
 *     deno run --allow-read --allow-write --allow-net deploy/renew_known_models.ts [FILE|URL]
 *
 * Takes the list of models.dev (https://models.dev/api.json, MIT licence), or a file of the same shape, or one with
 * `{ "source", "models": [...] }` in the shape of {@linkcode Listed}.
 *
 * @module
 */

const DEFAULT_SOURCE = "https://models.dev/api.json";
const TABLE = new URL("../src/known_models/table.ts", import.meta.url);

/** Providers whose prices are those of a model's maker, and hosts that many people use. */
const PROVIDERS = [
  "alibaba",
  "anthropic",
  "cerebras",
  "cohere",
  "deepseek",
  "fireworks-ai",
  "google",
  "groq",
  "mistral",
  "moonshotai",
  "openai",
  "togetherai",
  "xai",
  "zai",
];

/** A model as the table needs it. */
interface Listed {
  readonly provider: string;
  readonly id: string;
  readonly context: number;
  readonly output: number;
  /** US dollars per million tokens. */
  readonly usd_per_million: {
    readonly input?: number;
    readonly output?: number;
    readonly cache_read?: number;
  };
  readonly images: boolean;
  readonly reasoning: boolean;
  readonly tools: boolean;
  readonly effort?: readonly string[];
}

/** A model as models.dev lists it. */
interface OnModelsDev {
  readonly id: string;
  readonly reasoning?: boolean;
  readonly tool_call?: boolean;
  readonly modalities?: { readonly input?: readonly string[]; readonly output?: readonly string[] };
  readonly cost?: Listed["usd_per_million"];
  readonly limit?: { readonly context?: number; readonly output?: number };
}

const [from = DEFAULT_SOURCE] = Deno.args;
const { source, models } = listOf(JSON.parse(await textOf(from)));
const lines = models.map(lineOf).filter((line) => line !== undefined).toSorted();
await Deno.writeTextFile(
  TABLE,
  `// Written by deploy/renew_known_models.ts; do not edit.
// Source: ${source}

/**
 * One model per line: provider, ID, context, output, prices of input, cached input and output in US dollars per million
 * tokens, capabilities (e: embeddings, whose output is the length of a vector, 0 if unknown; i: images, r: reasoning,
 * t: tools), efforts.
 */
export const TABLE = \`
${lines.join("\n")}
\`;
`,
);
await Deno.stdout.write(new TextEncoder().encode(`${lines.length} models from ${source}\n`));

async function textOf(from: string): Promise<string> {
  return /^https?:/.test(from) ? await (await fetch(from)).text() : await Deno.readTextFile(from);
}

// deno-lint-ignore no-explicit-any -- what others publish
function listOf(published: any): { source: string; models: readonly Listed[] } {
  if (Array.isArray(published.models)) return published;
  const models = PROVIDERS.flatMap((provider) =>
    Object.values<OnModelsDev>(published[provider]?.models ?? {}).map((one): Listed => ({
      provider,
      id: one.id,
      context: one.limit?.context ?? 0,
      output: one.limit?.output ?? 0,
      usd_per_million: one.cost ?? {},
      images: one.modalities?.input?.includes("image") ?? false,
      reasoning: one.reasoning ?? false,
      tools: one.tool_call ?? false,
    }))
  );
  return { source: `models.dev (MIT), ${new Date().toISOString().slice(0, 10)}`, models };
}

/** A line of the table; undefined for models that neither chat nor make embeddings. */
function lineOf(model: Listed): string | undefined {
  const { provider, id, context, usd_per_million: usd, images, reasoning, tools, effort } = model;
  const embeds = id.includes("embed");
  // the output of an embeddings model is the length of its vectors at OpenAI; others publish something else there
  const output = embeds && provider !== "openai" ? 0 : model.output;
  const isServed = context > 0 && (embeds || output > 0) && !/whisper|tts|imagine|-image/.test(id);
  if (!isServed || /[|\`\\\s$]/.test(id)) return undefined;
  const prices = usd.input === undefined || usd.output === undefined
    ? ["", "", ""]
    : [usd.input, usd.cache_read ?? usd.input, usd.output];
  const capabilities = [embeds && "e", images && "i", reasoning && "r", tools && "t"]
    .filter(Boolean).join("");
  return [provider, id, context, output, ...prices, capabilities, (effort ?? []).join(",")].join(
    "|",
  );
}
