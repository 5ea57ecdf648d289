import type { QuirkName } from "./quirk_names.ts";

/** Clouds with credentials of their own. */
export type CloudName = "aws" | "google" | "azure";

/**
 * Providers that the table of models.dev lacks, or has another address or documentation of, in its form. Addresses are those that the
 * providers' own packages use (`@ai-sdk/NAME`), or their documentation names.
 */
export const OWN_TABLE = `
anthropic|Anthropic|messages|https://api.anthropic.com/v1|ANTHROPIC_API_KEY|https://docs.anthropic.com/en/api/messages
openai|OpenAI|chat,responses|https://api.openai.com/v1|OPENAI_API_KEY|https://platform.openai.com/docs/api-reference/chat
openrouter|OpenRouter|chat|https://openrouter.ai/api/v1|OPENROUTER_API_KEY|https://openrouter.ai/docs/api-reference/overview
deepseek|DeepSeek|chat|https://api.deepseek.com/v1|DEEPSEEK_API_KEY|https://api-docs.deepseek.com/
groq|Groq|chat|https://api.groq.com/openai/v1|GROQ_API_KEY|https://console.groq.com/docs/openai
mistral|Mistral|chat|https://api.mistral.ai/v1|MISTRAL_API_KEY|https://docs.mistral.ai/api/
xai|xAI|chat,responses|https://api.x.ai/v1|XAI_API_KEY|https://docs.x.ai/docs/api-reference
google|Google Gemini (chat)|chat|https://generativelanguage.googleapis.com/v1beta/openai|GEMINI_API_KEY,GOOGLE_GENERATIVE_AI_API_KEY,GOOGLE_API_KEY|https://ai.google.dev/gemini-api/docs/openai
gemini|Google Gemini|generate|https://generativelanguage.googleapis.com/v1beta|GEMINI_API_KEY,GOOGLE_GENERATIVE_AI_API_KEY,GOOGLE_API_KEY|https://ai.google.dev/api/generate-content
togetherai|Together AI|chat|https://api.together.xyz/v1|TOGETHER_API_KEY|https://docs.together.ai/docs/openai-api-compatibility
cerebras|Cerebras|chat|https://api.cerebras.ai/v1|CEREBRAS_API_KEY|https://inference-docs.cerebras.ai/resources/openai
deepinfra|DeepInfra|chat|https://api.deepinfra.com/v1/openai|DEEPINFRA_API_KEY|https://deepinfra.com/docs/openai_api
fireworks-ai|Fireworks AI|chat|https://api.fireworks.ai/inference/v1|FIREWORKS_API_KEY|https://fireworks.ai/docs/
perplexity|Perplexity|chat|https://api.perplexity.ai|PERPLEXITY_API_KEY|https://docs.perplexity.ai/guides/chat-completions-guide
cohere|Cohere|chat|https://api.cohere.ai/compatibility/v1|COHERE_API_KEY|https://docs.cohere.com/docs/compatibility-api
vercel|Vercel AI Gateway|chat|https://ai-gateway.vercel.sh/v1|AI_GATEWAY_API_KEY|https://vercel.com/docs/ai-gateway/openai-compat
v0|v0|chat|https://api.v0.dev/v1|V0_API_KEY|https://v0.dev/docs/api/model
venice|Venice AI|chat|https://api.venice.ai/api/v1|VENICE_API_KEY|https://docs.venice.ai
aihubmix|AIHubMix|chat|https://aihubmix.com/v1|AIHUBMIX_API_KEY|https://docs.aihubmix.com
cloudflare-ai-gateway|Cloudflare AI Gateway|chat|https://gateway.ai.cloudflare.com/v1/{resource}/{project}/compat|resource=CLOUDFLARE_ACCOUNT_ID,project=CLOUDFLARE_GATEWAY_ID,CLOUDFLARE_API_TOKEN|https://developers.cloudflare.com/ai-gateway/usage/chat-completion/
azure|Azure OpenAI|chat,responses|https://{resource}.openai.azure.com/openai/v1|resource=AZURE_RESOURCE_NAME,AZURE_API_KEY|https://learn.microsoft.com/azure/ai-foundry/openai/api-version-lifecycle
azure-anthropic|Claude in Azure Foundry|messages|https://{resource}.services.ai.azure.com/anthropic/v1|resource=ANTHROPIC_FOUNDRY_RESOURCE,ANTHROPIC_FOUNDRY_API_KEY|https://learn.microsoft.com/azure/ai-foundry/foundry-models/how-to/use-foundry-models-claude
bedrock|Amazon Bedrock|chat,responses|https://bedrock-runtime.{region}.amazonaws.com/openai/v1|region=AWS_REGION,AWS_BEARER_TOKEN_BEDROCK|https://docs.aws.amazon.com/bedrock/latest/userguide/inference-chat-completions.html
bedrock-mantle|Amazon Bedrock (mantle)|chat,responses|https://bedrock-mantle.{region}.api.aws/v1|region=AWS_REGION,AWS_BEARER_TOKEN_BEDROCK|https://docs.aws.amazon.com/bedrock/latest/userguide/bedrock-mantle.html
bedrock-mantle-anthropic|Claude in Amazon Bedrock (mantle)|messages|https://bedrock-mantle.{region}.api.aws/anthropic/v1|region=AWS_REGION,AWS_BEARER_TOKEN_BEDROCK|https://docs.aws.amazon.com/bedrock/latest/userguide/bedrock-mantle.html
bedrock-anthropic|Claude in Amazon Bedrock|messages|https://bedrock-runtime.{region}.amazonaws.com|region=AWS_REGION,AWS_BEARER_TOKEN_BEDROCK|https://docs.aws.amazon.com/bedrock/latest/userguide/model-parameters-anthropic-claude-messages.html
vertex|Gemini in Vertex AI (chat)|chat|https://{region}-aiplatform.googleapis.com/v1/projects/{project}/locations/{region}/endpoints/openapi|project=GOOGLE_VERTEX_PROJECT,region=GOOGLE_VERTEX_LOCATION|https://cloud.google.com/vertex-ai/generative-ai/docs/migrate/openai/overview
vertex-gemini|Gemini in Vertex AI|generate|https://{region}-aiplatform.googleapis.com/v1/projects/{project}/locations/{region}/publishers/google|project=GOOGLE_VERTEX_PROJECT,region=GOOGLE_VERTEX_LOCATION|https://cloud.google.com/vertex-ai/generative-ai/docs/model-reference/inference
vertex-anthropic|Claude in Vertex AI|messages|https://{region}-aiplatform.googleapis.com/v1/projects/{project}/locations/{region}|project=GOOGLE_VERTEX_PROJECT,region=GOOGLE_VERTEX_LOCATION|https://cloud.google.com/vertex-ai/generative-ai/docs/partner-models/claude
`;

/** What no table says of a provider. */
export interface OwnRow {
  readonly id: string;
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

/** Vertex AI's addresses for no region and for several at once, as `@google/genai` and `@anthropic-ai/vertex-sdk` write them. */
function vertexUrls(...path: readonly string[]): Readonly<Record<string, string>> {
  const urlAt = (host: string, region: string) =>
    [`https://${host}/v1/projects/{project}/locations/${region}`, ...path].join("/");
  return {
    global: urlAt("aiplatform.googleapis.com", "global"),
    us: urlAt("aiplatform.us.rep.googleapis.com", "us"),
    eu: urlAt("aiplatform.eu.rep.googleapis.com", "eu"),
  };
}

/** Providers that depart from their dialect or from what others do, or that are to be offered first, in that order. */
export const OWN: readonly OwnRow[] = [
  {
    id: "moonshot",
    aliases: ["moonshotai"],
    otherHosts: ["api.moonshot.cn"],
    quirks: "moonshot",
  },
  { id: "moonshotai-cn", quirks: "moonshot" },
  { id: "anthropic", quirks: "anthropic" },
  { id: "openai", quirks: "openai" },
  { id: "openrouter", quirks: "openrouter" },
  { id: "deepseek", quirks: "deepseek" },
  { id: "groq" },
  { id: "mistral", quirks: "mistral" },
  { id: "xai" },
  { id: "google" },
  { id: "gemini" },
  { id: "togetherai", aliases: ["together"] },
  { id: "cerebras" },
  { id: "deepinfra" },
  { id: "fireworks-ai" },
  { id: "perplexity" },
  { id: "cohere" },
  { id: "vercel" },
  { id: "v0" },
  { id: "venice" },
  { id: "aihubmix" },
  { id: "cloudflare-ai-gateway" },
  { id: "azure", aliases: ["azure-openai"], quirks: "azure", credentials: "azure" },
  {
    id: "azure-anthropic",
    quirks: "anthropic",
    credentials: "azure",
    scope: "https://ai.azure.com/.default",
  },
  { id: "bedrock", aliases: ["amazon-bedrock"], credentials: "aws" },
  { id: "bedrock-mantle", quirks: "bedrock-mantle", credentials: "aws" },
  { id: "bedrock-mantle-anthropic", quirks: "bedrock-mantle-anthropic", credentials: "aws" },
  { id: "bedrock-anthropic", quirks: "bedrock-anthropic", credentials: "aws" },
  {
    id: "vertex",
    aliases: ["google-vertex"],
    regionUrls: vertexUrls("endpoints/openapi"),
    credentials: "google",
  },
  {
    id: "vertex-gemini",
    regionUrls: vertexUrls("publishers/google"),
    quirks: "vertex-gemini",
    credentials: "google",
  },
  {
    id: "vertex-anthropic",
    aliases: ["google-vertex-anthropic"],
    regionUrls: vertexUrls(),
    quirks: "vertex-anthropic",
    credentials: "google",
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
