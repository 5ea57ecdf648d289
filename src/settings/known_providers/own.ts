import type { BackName } from "../../wire/dialects/mod.ts";
import type { QuirkName } from "./quirk_names.ts";

/** Clouds with credentials of their own. */
export type CloudName = "aws" | "google" | "azure";

/** What a row says of a provider that the table does not, or says otherwise. */
export interface OwnRow {
  readonly id: string;
  readonly title?: string;
  /** The first is what it is spoken to in; the others it speaks as well. Default: chat. */
  readonly dialects?: readonly [BackName, ...BackName[]];
  /** Base URL, with `{resource}`, `{project}` and `{region}` for what the settings fill in. */
  readonly url?: string;
  readonly variables?: readonly string[];
  readonly source?: string;
  readonly quirks?: QuirkName;
  /** Kind of credentials where no key is set. */
  readonly credentials?: CloudName;
  /** What tokens are asked for, where it is not what its kind of credentials asks for otherwise. */
  readonly scope?: string;
  /** Base URLs of regions that the pattern of `url` does not hold for. */
  readonly regionUrls?: Readonly<Record<string, string>>;
  /** Other IDs of the same provider. */
  readonly aliases?: readonly string[];
  /** Host names of the same service besides that of `url`. */
  readonly otherHosts?: readonly string[];
  /** Whether a variable is often set for other programs, so that it does not mean the provider is to be used. */
  readonly isUnasked?: boolean;
}

/** Vertex AI's addresses for several regions at once, as `@google/genai` and `@anthropic-ai/vertex-sdk` write them. */
function multiRegions(...path: readonly string[]): Readonly<Record<string, string>> {
  return Object.fromEntries(["us", "eu"].map((region) => [
    region,
    [
      `https://aiplatform.${region}.rep.googleapis.com/v1/projects/{project}/locations/${region}`,
      ...path,
    ].join("/"),
  ]));
}

/**
 * Providers whose address the table lacks, which depart from their dialect, or which are to be offered first, in that order. Addresses
 * are those that the providers' own packages use (`@ai-sdk/NAME`), or their documentation names.
 */
export const OWN: readonly OwnRow[] = [
  {
    id: "moonshot",
    aliases: ["moonshotai"],
    otherHosts: ["api.moonshot.cn"],
    quirks: "moonshot",
  },
  { id: "moonshotai-cn", quirks: "moonshot" },
  {
    id: "anthropic",
    title: "Anthropic",
    url: "https://api.anthropic.com/v1",
    dialects: ["messages"],
    quirks: "anthropic",
    variables: ["ANTHROPIC_API_KEY"],
    source: "https://docs.anthropic.com/en/api/messages",
  },
  {
    id: "openai",
    title: "OpenAI",
    url: "https://api.openai.com/v1",
    dialects: ["chat", "responses"],
    quirks: "openai",
    variables: ["OPENAI_API_KEY"],
    source: "https://platform.openai.com/docs/api-reference/chat",
  },
  {
    id: "openrouter",
    quirks: "openrouter",
    source: "https://openrouter.ai/docs/api-reference/overview",
  },
  {
    id: "deepseek",
    url: "https://api.deepseek.com/v1",
    quirks: "deepseek",
    source: "https://api-docs.deepseek.com/",
  },
  {
    id: "groq",
    title: "Groq",
    url: "https://api.groq.com/openai/v1",
    variables: ["GROQ_API_KEY"],
    source: "https://console.groq.com/docs/openai",
  },
  {
    id: "mistral",
    title: "Mistral",
    url: "https://api.mistral.ai/v1",
    variables: ["MISTRAL_API_KEY"],
    quirks: "mistral",
    source: "https://docs.mistral.ai/api/",
  },
  {
    id: "xai",
    title: "xAI",
    url: "https://api.x.ai/v1",
    dialects: ["chat", "responses"],
    variables: ["XAI_API_KEY"],
    source: "https://docs.x.ai/docs/api-reference",
  },
  {
    id: "google",
    title: "Google Gemini (chat)",
    url: "https://generativelanguage.googleapis.com/v1beta/openai",
    variables: ["GEMINI_API_KEY", "GOOGLE_GENERATIVE_AI_API_KEY", "GOOGLE_API_KEY"],
    source: "https://ai.google.dev/gemini-api/docs/openai",
  },
  {
    id: "gemini",
    title: "Google Gemini",
    url: "https://generativelanguage.googleapis.com/v1beta",
    dialects: ["generate"],
    variables: ["GEMINI_API_KEY", "GOOGLE_GENERATIVE_AI_API_KEY", "GOOGLE_API_KEY"],
    source: "https://ai.google.dev/api/generate-content",
  },
  {
    id: "togetherai",
    aliases: ["together"],
    title: "Together AI",
    url: "https://api.together.xyz/v1",
    variables: ["TOGETHER_API_KEY"],
    source: "https://docs.together.ai/docs/openai-api-compatibility",
  },
  {
    id: "cerebras",
    title: "Cerebras",
    url: "https://api.cerebras.ai/v1",
    variables: ["CEREBRAS_API_KEY"],
    source: "https://inference-docs.cerebras.ai/resources/openai",
  },
  {
    id: "deepinfra",
    title: "DeepInfra",
    url: "https://api.deepinfra.com/v1/openai",
    variables: ["DEEPINFRA_API_KEY"],
    source: "https://deepinfra.com/docs/openai_api",
  },
  { id: "fireworks-ai", url: "https://api.fireworks.ai/inference/v1" },
  {
    id: "perplexity",
    title: "Perplexity",
    url: "https://api.perplexity.ai",
    variables: ["PERPLEXITY_API_KEY"],
    source: "https://docs.perplexity.ai/guides/chat-completions-guide",
  },
  {
    id: "cohere",
    title: "Cohere",
    url: "https://api.cohere.ai/compatibility/v1",
    variables: ["COHERE_API_KEY"],
    source: "https://docs.cohere.com/docs/compatibility-api",
  },
  {
    id: "vercel",
    title: "Vercel AI Gateway",
    url: "https://ai-gateway.vercel.sh/v1",
    variables: ["AI_GATEWAY_API_KEY"],
    source: "https://vercel.com/docs/ai-gateway/openai-compat",
  },
  {
    id: "v0",
    title: "v0",
    url: "https://api.v0.dev/v1",
    variables: ["V0_API_KEY"],
    source: "https://v0.dev/docs/api/model",
  },
  {
    id: "venice",
    title: "Venice AI",
    url: "https://api.venice.ai/api/v1",
    variables: ["VENICE_API_KEY"],
    source: "https://docs.venice.ai",
  },
  {
    id: "aihubmix",
    title: "AIHubMix",
    url: "https://aihubmix.com/v1",
    variables: ["AIHUBMIX_API_KEY"],
    source: "https://docs.aihubmix.com",
  },
  {
    id: "cloudflare-ai-gateway",
    title: "Cloudflare AI Gateway",
    url: "https://gateway.ai.cloudflare.com/v1/{resource}/{project}/compat",
    variables: [
      "resource=CLOUDFLARE_ACCOUNT_ID",
      "project=CLOUDFLARE_GATEWAY_ID",
      "CLOUDFLARE_API_TOKEN",
    ],
    source: "https://developers.cloudflare.com/ai-gateway/usage/chat-completion/",
  },
  {
    id: "azure",
    aliases: ["azure-openai"],
    title: "Azure OpenAI",
    url: "https://{resource}.openai.azure.com/openai/v1",
    dialects: ["chat", "responses"],
    quirks: "azure",
    credentials: "azure",
    variables: ["resource=AZURE_RESOURCE_NAME", "AZURE_API_KEY"],
    source: "https://learn.microsoft.com/azure/ai-foundry/openai/api-version-lifecycle",
  },
  {
    id: "azure-anthropic",
    title: "Claude in Azure Foundry",
    url: "https://{resource}.services.ai.azure.com/anthropic/v1",
    dialects: ["messages"],
    quirks: "anthropic",
    credentials: "azure",
    scope: "https://ai.azure.com/.default",
    variables: ["resource=ANTHROPIC_FOUNDRY_RESOURCE", "ANTHROPIC_FOUNDRY_API_KEY"],
    source:
      "https://learn.microsoft.com/azure/ai-foundry/foundry-models/how-to/use-foundry-models-claude",
  },
  {
    id: "bedrock",
    aliases: ["amazon-bedrock"],
    title: "Amazon Bedrock",
    url: "https://bedrock-runtime.{region}.amazonaws.com/openai/v1",
    dialects: ["chat", "responses"],
    credentials: "aws",
    variables: ["region=AWS_REGION", "AWS_BEARER_TOKEN_BEDROCK"],
    source: "https://docs.aws.amazon.com/bedrock/latest/userguide/inference-chat-completions.html",
  },
  {
    id: "bedrock-mantle",
    title: "Amazon Bedrock (mantle)",
    url: "https://bedrock-mantle.{region}.api.aws/v1",
    dialects: ["chat", "responses"],
    quirks: "bedrock-mantle",
    credentials: "aws",
    variables: ["region=AWS_REGION", "AWS_BEARER_TOKEN_BEDROCK"],
    source: "https://docs.aws.amazon.com/bedrock/latest/userguide/bedrock-mantle.html",
  },
  {
    id: "bedrock-mantle-anthropic",
    title: "Claude in Amazon Bedrock (mantle)",
    url: "https://bedrock-mantle.{region}.api.aws/anthropic/v1",
    dialects: ["messages"],
    quirks: "bedrock-mantle-anthropic",
    credentials: "aws",
    variables: ["region=AWS_REGION", "AWS_BEARER_TOKEN_BEDROCK"],
    source: "https://docs.aws.amazon.com/bedrock/latest/userguide/bedrock-mantle.html",
  },
  {
    id: "bedrock-anthropic",
    title: "Claude in Amazon Bedrock",
    url: "https://bedrock-runtime.{region}.amazonaws.com",
    dialects: ["messages"],
    quirks: "bedrock-anthropic",
    credentials: "aws",
    variables: ["region=AWS_REGION", "AWS_BEARER_TOKEN_BEDROCK"],
    source:
      "https://docs.aws.amazon.com/bedrock/latest/userguide/model-parameters-anthropic-claude-messages.html",
  },
  {
    id: "vertex",
    aliases: ["google-vertex"],
    title: "Gemini in Vertex AI (chat)",
    url:
      "https://{region}-aiplatform.googleapis.com/v1/projects/{project}/locations/{region}/endpoints/openapi",
    regionUrls: {
      global:
        "https://aiplatform.googleapis.com/v1/projects/{project}/locations/global/endpoints/openapi",
      ...multiRegions("endpoints/openapi"),
    },
    credentials: "google",
    variables: ["project=GOOGLE_VERTEX_PROJECT", "region=GOOGLE_VERTEX_LOCATION"],
    source: "https://cloud.google.com/vertex-ai/generative-ai/docs/migrate/openai/overview",
  },
  {
    id: "vertex-gemini",
    title: "Gemini in Vertex AI",
    url:
      "https://{region}-aiplatform.googleapis.com/v1/projects/{project}/locations/{region}/publishers/google",
    regionUrls: {
      global:
        "https://aiplatform.googleapis.com/v1/projects/{project}/locations/global/publishers/google",
      ...multiRegions("publishers/google"),
    },
    dialects: ["generate"],
    quirks: "vertex-gemini",
    credentials: "google",
    variables: ["project=GOOGLE_VERTEX_PROJECT", "region=GOOGLE_VERTEX_LOCATION"],
    source: "https://cloud.google.com/vertex-ai/generative-ai/docs/model-reference/inference",
  },
  {
    id: "vertex-anthropic",
    aliases: ["google-vertex-anthropic"],
    title: "Claude in Vertex AI",
    url: "https://{region}-aiplatform.googleapis.com/v1/projects/{project}/locations/{region}",
    regionUrls: {
      global: "https://aiplatform.googleapis.com/v1/projects/{project}/locations/global",
      ...multiRegions(),
    },
    dialects: ["messages"],
    quirks: "vertex-anthropic",
    credentials: "google",
    variables: ["project=GOOGLE_VERTEX_PROJECT", "region=GOOGLE_VERTEX_LOCATION"],
    source: "https://cloud.google.com/vertex-ai/generative-ai/docs/partner-models/claude",
  },
  ...["", "-cn", "-coding-plan", "-coding-plan-cn", "-token-plan", "-token-plan-cn"].map((
    plan,
  ) => ({
    id: `alibaba${plan}`,
    quirks: "dashscope" as const,
  })),
  { id: "github-models", isUnasked: true },
  { id: "github-copilot", isUnasked: true },
];
