/**
 * Generates the tables of `src/settings/known_models/` and `src/settings/known_providers/` again.
 *
 *     deno run --allow-read --allow-write --allow-net deploy/renew_known_models.ts [FILE|URL]
 *
 * Takes the list of models.dev (https://models.dev/api.json, MIT licence), or a file of the same shape, or one with
 * `{ "source", "models": [...] }` in the shape of {@linkcode Listed}, or `{ "source", "providers": [...] }` in that of
 * {@linkcode Provider}; what a file does not have stays as it is.
 *
 * @module
 */

const DEFAULT_SOURCE = "https://models.dev/api.json";

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
    readonly cache_write?: number;
  };
  readonly images: boolean;
  readonly reasoning: boolean;
  readonly tools: boolean;
  readonly effort?: readonly string[];
}

/** A provider as models.dev lists it. */
interface Provider {
  readonly id: string;
  readonly name: string;
  /** The package of its wire format. */
  readonly npm?: string;
  /** Base URL; `${NAME}` stands for the value of a variable. */
  readonly api?: string;
  readonly env?: readonly string[];
  readonly doc?: string;
}

/** Wire formats by the package that speaks them. */
const DIALECTS: Readonly<Record<string, string>> = {
  "@ai-sdk/openai-compatible": "chat",
  "@openrouter/ai-sdk-provider": "chat",
  "@ai-sdk/openai": "responses,chat",
  "@ai-sdk/anthropic": "messages",
};

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
const published = JSON.parse(await textOf(from));
const { source, models, providers } = listOf(published);
if (models.length > 0) {
  const lines = models.map(lineOf).filter((line) => line !== undefined).toSorted();
  await writeTable(
    "known_models",
    `One model per line: provider, ID, context, output, prices of input, cached input and output in US dollars per million
 * tokens, capabilities (e: embeddings, whose output is the length of a vector, 0 if unknown; i: images, r: reasoning,
 * t: tools), efforts, and the price of what is written to a prompt cache where that is more than the input's.`,
    lines,
  );
}
if (providers.length > 0) {
  const lines = providers.map(providerLineOf).filter((line) => line !== undefined).toSorted();
  await writeTable(
    "known_providers",
    `One provider per line: ID, name, dialects, base URL, variables that its own tools read a key from, or a part of the URL
 * (\`resource=NAME\`), and where it is documented. What is not published, or departs, is in \`own.ts\`.`,
    lines,
  );
}

async function writeTable(room: string, about: string, lines: readonly string[]): Promise<void> {
  await Deno.writeTextFile(
    new URL(`../src/settings/${room}/table.ts`, import.meta.url),
    `// Written by deploy/renew_known_models.ts; do not edit.
// Source: ${source}

/**
 * ${about}
 */
export const TABLE = \`
${lines.join("\n")}
\`;
`,
  );
  await Deno.stdout.write(new TextEncoder().encode(`${lines.length} ${room} from ${source}\n`));
}

async function textOf(from: string): Promise<string> {
  return /^https?:/.test(from) ? await (await fetch(from)).text() : await Deno.readTextFile(from);
}

function listOf(
  // deno-lint-ignore no-explicit-any -- what others publish
  published: any,
): { source: string; models: readonly Listed[]; providers: readonly Provider[] } {
  if (Array.isArray(published.models) || Array.isArray(published.providers)) {
    return { models: [], providers: [], ...published };
  }
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
  return {
    source: `models.dev (MIT), ${new Date().toISOString().slice(0, 10)}`,
    models,
    providers: Object.values<Provider>(published),
  };
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
  const { input = 0, cache_write: written = 0 } = usd;
  const dearer = input > 0 && written > input ? [written] : [];
  const line = [provider, id, context, output, ...prices, capabilities, (effort ?? []).join(",")];
  return [...line, ...dearer].join("|");
}

/** A line of the table; undefined for providers whose format or address is not published. */
function providerLineOf(
  { id, name, npm = "", api, env = [], doc = "" }: Provider,
): string | undefined {
  const dialects = DIALECTS[npm];
  if (dialects === undefined || api === undefined) return undefined;
  const holes = [...api.matchAll(/\$\{(\w+)\}/g)].map(([, variable]) => variable!);
  if (holes.length > 1 || /[|`\\\s]/.test(`${id}${api}${doc}`)) return undefined;
  // a variable for all of a host may have the scheme as well
  const url = api.replace(/^\$\{\w+\}/, "https://{resource}").replace(/\$\{\w+\}/, "{resource}")
    .replace(/\/chat\/completions\/?$/, ""); // some have the address of requests there
  const variables = env.map((one) => holes.includes(one) ? `resource=${one}` : one);
  return [id, name.replace("|", " "), dialects, url, variables.join(","), doc].join("|");
}
