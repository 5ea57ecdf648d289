import { invalid } from "../../../ground/refusal.ts";
import type { Back, WriteConversationOptions, WrittenRequest } from "../dialect.ts";
import type { JsonObject } from "../json.ts";
import type { Concept, Conversation, Part } from "../neutral/conversation.ts";
import { hasUnsealed } from "../neutral/sealed_reasoning.ts";
import { changedNames } from "../neutral/tool_names.ts";
import { configOf } from "./config.ts";
import { GenerateReader, readGenerateReply } from "./read_reply.ts";
import { contentsOf, toolsOf } from "./write.ts";

/** Generate as upstreams speak it. The model is in the path, and so is whether the reply is a stream. */
export const generateBack: Back = {
  path: "/models/{model}:generateContent",
  pathFor: ({ model, stream }) =>
    `/${resourceOf(model)}:${stream ? "streamGenerateContent?alt=sse" : "generateContent"}`,
  modelsPath: "/models?pageSize=1000",
  authorization: (key) => ({ "x-goog-api-key": key }),
  versionHeaders: () => ({}),
  write,
  readReply: readGenerateReply,
  reader: () => new GenerateReader(),
};

/** A model's resource: names may have their kind in front, as models that are tuned do. */
function resourceOf(model: string): string {
  const [, kind = "models", name = model] = /^(models|tunedModels)\/(.+)$/.exec(model) ?? [];
  return `${kind}/${encodeURIComponent(name)}`;
}

/** Service tiers by OpenAI's words for them. */
const TIERS: ReadonlyMap<string | undefined, string> = new Map([
  ["default", "standard"],
  ["flex", "flex"],
  ["priority", "priority"],
]);

function write(conversation: Conversation, options: WriteConversationOptions): WrittenRequest {
  const { fields } = options;
  const { instructions, tools, serviceTier } = conversation;
  const contents = contentsOf(conversation, options);
  if (contents.length === 0) {
    const param = fields.messages;
    throw invalid(param, `${param} must have at least one user or assistant message with content.`);
  }
  const { config, adjusted, dropped } = configOf(conversation, options);
  const tier = TIERS.get(serviceTier);
  const body: JsonObject = {
    ...(instructions === "" ? {} : { systemInstruction: { parts: [{ text: instructions }] } }),
    contents,
    ...(tools.length === 0 ? {} : toolsOf(conversation)),
    generationConfig: config,
    ...(tier === undefined ? {} : { serviceTier: tier }),
  };
  const { temperature, topP } = config;
  return {
    body,
    dropped: [...dropped, ...missed(conversation, options)].map((concept) => fields[concept]),
    adjusted,
    toolNames: changedNames(tools),
    takesMadeImages: true,
    sampling: {
      ...(typeof temperature === "number" && { temperature }),
      ...(typeof topP === "number" && { top_p: topP }),
      ...(serviceTier !== undefined && tier !== undefined && { service_tier: serviceTier }),
    },
  };
}

/** What a conversation holds that the dialect has no place for. */
function missed(
  { turns, tools, parallelTools, verbosity, serviceTier, ...more }: Conversation,
  options: WriteConversationOptions,
): Concept[] {
  const hasDetail = (part: Part) => part.type === "image" && part.detail !== undefined;
  const missed: Partial<Record<Concept, boolean>> = {
    parallelTools: parallelTools === false && tools.length > 0,
    // a call that is forced satisfies its schema
    strictTools: (more.toolChoice ?? "auto") === "auto" && tools.some(({ strict }) => strict),
    imageDetail: turns.some((turn) => "parts" in turn && turn.parts.some(hasDetail)),
    // a text of thoughts without the signature that its model gave it
    earlierReasoning: hasUnsealed(turns, options),
    verbosity: verbosity !== undefined,
    serviceTier: serviceTier !== undefined && !TIERS.has(serviceTier),
    user: more.user !== undefined,
    safetyId: more.safetyId !== undefined,
    cacheKey: more.cacheKey !== undefined,
  };
  return (Object.keys(missed) as Concept[]).filter((concept) => missed[concept]);
}
