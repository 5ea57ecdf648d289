import type { DialectName } from "../../../wire/dialects/mod.ts";
import type { Flavour } from "./source_database.ts";

/** A kind of channel that speaks one of the dialects. */
export interface ChannelType {
  readonly name: string;
  /** Address if the channel has none; without a version. */
  readonly url?: string;
  /** What follows the address. */
  readonly path: string;
  readonly dialect?: DialectName;
}

const custom: ChannelType = { name: "custom", path: "/v1" };
const openai: ChannelType = { name: "openai", url: "https://api.openai.com", path: "/v1" };
const azure: ChannelType = { name: "azure", path: "/openai/v1" };
const ollama: ChannelType = { name: "ollama", url: "http://localhost:11434", path: "/v1" };
const anthropic: ChannelType = {
  name: "anthropic",
  url: "https://api.anthropic.com",
  path: "/v1",
  dialect: "messages",
};
const dashscope: ChannelType = {
  name: "dashscope",
  url: "https://dashscope.aliyuncs.com",
  path: "/compatible-mode/v1",
};
const openrouter: ChannelType = {
  name: "openrouter",
  url: "https://openrouter.ai/api",
  path: "/v1",
};
const gemini: ChannelType = {
  name: "gemini",
  url: "https://generativelanguage.googleapis.com",
  path: "/v1beta/openai",
};
const moonshot: ChannelType = { name: "moonshot", url: "https://api.moonshot.cn", path: "/v1" };
const lingyiwanwu: ChannelType = {
  name: "lingyiwanwu",
  url: "https://api.lingyiwanwu.com",
  path: "/v1",
};
const minimax: ChannelType = { name: "minimax", url: "https://api.minimax.chat", path: "/v1" };
const siliconflow: ChannelType = {
  name: "siliconflow",
  url: "https://api.siliconflow.cn",
  path: "/v1",
};
const mistral: ChannelType = { name: "mistral", url: "https://api.mistral.ai", path: "/v1" };
const deepseek: ChannelType = { name: "deepseek", url: "https://api.deepseek.com", path: "/v1" };
const volcengine: ChannelType = {
  name: "volcengine",
  url: "https://ark.cn-beijing.volces.com",
  path: "/api/v3",
};
const baidu: ChannelType = { name: "baidu", url: "https://qianfan.baidubce.com", path: "/v2" };
const xai: ChannelType = { name: "xai", url: "https://api.x.ai", path: "/v1" };

/** Channels by their number. Those of a protocol of their own are missing. */
const TYPES: Readonly<Record<Flavour, Readonly<Record<number, ChannelType>>>> = {
  "new-api": {
    1: openai,
    3: azure,
    4: ollama,
    8: custom,
    14: anthropic,
    17: dashscope,
    20: openrouter,
    24: gemini,
    25: moonshot,
    26: { name: "zhipu", url: "https://open.bigmodel.cn", path: "/api/paas/v4" },
    27: { name: "perplexity", url: "https://api.perplexity.ai", path: "" },
    31: lingyiwanwu,
    35: minimax,
    40: siliconflow,
    42: mistral,
    43: deepseek,
    45: volcengine,
    46: baidu,
    47: { name: "xinference", path: "/v1" },
    48: xai,
    53: { name: "submodel", url: "https://llm.submodel.ai", path: "/v1" },
  },
  "one-api": {
    1: openai,
    3: azure,
    8: custom,
    14: anthropic,
    17: dashscope,
    20: openrouter,
    24: gemini,
    25: moonshot,
    26: { name: "baichuan", url: "https://api.baichuan-ai.com", path: "/v1" },
    27: minimax,
    28: mistral,
    29: { name: "groq", url: "https://api.groq.com/openai", path: "/v1" },
    30: ollama,
    31: lingyiwanwu,
    32: { name: "stepfun", url: "https://api.stepfun.com", path: "/v1" },
    36: deepseek,
    39: { name: "together", url: "https://api.together.xyz", path: "/v1" },
    40: volcengine,
    41: { name: "novita", url: "https://api.novita.ai/v3/openai", path: "" },
    44: siliconflow,
    45: xai,
    47: baidu,
    49: dashscope,
    50: { name: "openai-compatible", path: "" },
    51: {
      name: "gemini",
      url: "https://generativelanguage.googleapis.com/v1beta/openai",
      path: "",
    },
  },
};

/** Finds a kind of channel by its number. */
export function channelType(flavour: Flavour, type: number): ChannelType | undefined {
  return TYPES[flavour][type];
}

/** Makes the base URL of a channel, whose own address has no version. */
export function channelUrl(
  { url, path }: ChannelType,
  own: string | undefined,
): string | undefined {
  const given = own?.replace(/\/(chat\/completions|messages)$/, "");
  const base = given ?? url;
  if (base === undefined) return undefined;
  return path === "" || base.endsWith(path) || /\/v\d+$/.test(base) ? base : `${base}${path}`;
}
