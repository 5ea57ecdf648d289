import { findKnownProvider } from "../../../settings/known_providers/mod.ts";
import type { BackName } from "../../../wire/dialects/mod.ts";
import type { Flavour } from "./source_database.ts";

/** A kind of channel that speaks one of the dialects. */
export interface ChannelType {
  readonly name: string;
  /** Address if the channel has none; without a version. */
  readonly url?: string;
  /** What follows the address. */
  readonly path: string;
  readonly dialect?: BackName;
}

const custom: ChannelType = { name: "custom", path: "/v1" };
const openai = known("openai");
const azure: ChannelType = { name: "azure", path: "/openai/v1" };
const ollama: ChannelType = { name: "ollama", url: "http://localhost:11434", path: "/v1" };
const anthropic = known("anthropic");
const dashscope = known("dashscope", { id: "alibaba-cn", path: "/compatible-mode/v1" });
const openrouter = known("openrouter");
const gemini = known("google", { path: "/v1beta/openai" });
const moonshot = known("moonshot", { id: "moonshotai-cn" });
const lingyiwanwu = { name: "lingyiwanwu", url: "https://api.lingyiwanwu.com", path: "/v1" };
const minimax: ChannelType = { name: "minimax", url: "https://api.minimax.chat", path: "/v1" };
const siliconflow = known("siliconflow", { id: "siliconflow-cn" });
const mistral = known("mistral");
const deepseek = known("deepseek");
const volcengine = {
  name: "volcengine",
  url: "https://ark.cn-beijing.volces.com",
  path: "/api/v3",
};
const baidu: ChannelType = { name: "baidu", url: "https://qianfan.baidubce.com", path: "/v2" };
const xai = known("xai");

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
    26: known("zhipu", { id: "zhipuai", path: "/api/paas/v4" }),
    27: known("perplexity", { path: "" }),
    31: lingyiwanwu,
    35: minimax,
    40: siliconflow,
    42: mistral,
    43: deepseek,
    45: volcengine,
    46: baidu,
    47: { name: "xinference", path: "/v1" },
    48: xai,
    53: known("submodel"),
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
    29: known("groq"),
    30: ollama,
    31: lingyiwanwu,
    32: known("stepfun"),
    36: deepseek,
    39: known("together"),
    40: volcengine,
    41: { name: "novita", url: "https://api.novita.ai/v3/openai", path: "" },
    44: siliconflow,
    45: xai,
    47: baidu,
    49: dashscope,
    50: { name: "openai-compatible", path: "" },
    51: known("google", { path: "" }),
  },
};

/** A kind of a provider that the gateway knows, too. */
function known(name: string, { id = name, path = "/v1" } = {}): ChannelType {
  const { url, dialect } = findKnownProvider(id)!;
  const bare = url.slice(0, url.length - path.length);
  return { name, url: bare, path, ...(dialect === "chat" ? {} : { dialect }) };
}

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
