import { isObject, text } from "../../../wire/dialects/mod.ts";
import { ACCOUNT_FILE, cloudUpstream, isClaude } from "../clouds.ts";
import type { PlannedUpstream } from "../plan.ts";
import { type Flavour, json, type SourceRow, textOf } from "./source_database.ts";

/** How a channel of a cloud is called. */
export interface CloudChannel {
  /** What the operator should know. */
  readonly checks: readonly string[];
  /** Finds the upstream of a model and the model's name there; `undefined` if it is not imported. */
  reach(
    model: string,
  ): { readonly upstream: PlannedUpstream; readonly model: string } | undefined;
}

/** What a channel is read from. */
export interface CloudChannelSource {
  readonly row: SourceRow;
  /** Name of the upstream. */
  readonly name: string;
  /** Keys that are switched on. */
  readonly keys: readonly string[];
}

/** Channels of clouds, by their numbers. */
const READERS: Readonly<
  Record<Flavour, Readonly<Record<number, (source: CloudChannelSource) => CloudChannel | string>>>
> = {
  "new-api": { 33: awsChannel, 41: vertexChannel },
  "one-api": { 33: awsChannel, 42: vertexChannel },
};

/** Finds what reads a kind of channel; it returns why one cannot be imported. */
export function cloudReader(flavour: Flavour, type: number) {
  return READERS[flavour][type];
}

/** Claude models whose name at Bedrock does not end in `-v1:0`, and those that few regions share. */
const BEDROCK_NAMES: Readonly<Record<string, string>> = {
  "claude-3-5-sonnet-20241022": "claude-3-5-sonnet-20241022-v2:0",
  "claude-opus-4-6": "claude-opus-4-6-v1",
};
const US_ONLY = /^claude-(3-opus|3-5-haiku|opus-4(-1)?)-\d{8}$/;
const NOT_EU = /^claude-3-5-sonnet-20241022$/;
/** Regions that share models, and what precedes a model that is shared. */
const SHARING: Readonly<Record<string, string>> = { us: "us", eu: "eu", ap: "apac" };

/** Keys are `access key|secret|region`, or `API key|region`; Claude is called by invoke. */
function awsChannel({ row, name, keys }: CloudChannelSource): CloudChannel | string {
  const config = json(textOf(row, "config"));
  const { ak, sk, region: configured } = isObject(config) ? config : {};
  const written = text(ak) && text(sk) ? [[text(ak)!, text(sk)!, text(configured) ?? ""]] : [];
  const all = [...written, ...keys.map((key) => key.split("|"))];
  const known = all.filter((parts) => parts.length === 2 || parts.length === 3);
  const [first] = known;
  const region = first?.at(-1) ?? "";
  if (first === undefined || region === "") {
    return "its key is neither access key|secret|region nor API key|region";
  }
  const same = known.filter((parts) => parts.length === first.length && parts.at(-1) === region);
  const isSigned = first.length === 3;
  const left = all.length - (isSigned ? 1 : same.length);
  const upstream = cloudUpstream({
    provider: "bedrock-anthropic",
    region,
    ...(isSigned &&
      { credentials: { kind: "aws", accessKeyId: first[0]!, secretAccessKey: first[1]! } }),
  }, { name, keys: isSigned ? [] : same.map(([key]) => key!) });
  const sharing = region.split("-")[0]!;
  const isShared = (model: string) =>
    SHARING[sharing] !== undefined && !(US_ONLY.test(model) && sharing !== "us") &&
    !(NOT_EU.test(model) && sharing === "eu");
  return {
    checks: written.length === 0 && left > 0
      ? [`${left} more of its keys are not imported: add an upstream for each`]
      : [],
    reach(model) {
      if (!isClaude(model)) return undefined;
      if (!model.startsWith("claude-")) return { upstream, model };
      const at = BEDROCK_NAMES[model] ?? (/-\d{8}$/.test(model) ? `${model}-v1:0` : model);
      const prefix = isShared(model) ? `${SHARING[sharing]}.` : "";
      return { upstream, model: `${prefix}anthropic.${at}` };
    },
  };
}

/** The key is that of a service account, in JSON; the region is beside it, for all models or by model. */
function vertexChannel({ row, name }: CloudChannelSource): CloudChannel | string {
  const settings = json(textOf(row, "settings"));
  if (isObject(settings) && settings.vertex_key_type === "api_key") {
    return 'its key belongs to no project: create a service account, and add an upstream with "provider": "vertex"';
  }
  const config = json(textOf(row, "config"));
  const written = isObject(config) ? config : {};
  // several keys are a list; One-API writes region|project|key
  const key = textOf(row, "key") ?? "";
  const account = [json(key)].flat().find(isObject);
  const [keyRegion, keyProject] = account === undefined ? key.split("|") : [];
  const project = text(written.vertex_ai_project_id) ?? text(account?.project_id) ?? keyProject;
  const other = textOf(row, "other");
  const byModel = json(other);
  const regions = isObject(byModel) ? byModel : {
    default: text(written.region) ?? other ?? keyRegion,
  };
  if (!project || text(regions.default) === undefined) {
    return "its project or its region is not known";
  }
  return {
    checks: [`save the key of its service account as ${ACCOUNT_FILE} beside the settings`],
    reach(model) {
      const provider = isClaude(model) ? "vertex-anthropic" : "vertex";
      const upstream = cloudUpstream({
        provider,
        project,
        region: text(regions[model]) ?? text(regions.default)!,
        credentials: { kind: "google", file: ACCOUNT_FILE },
      }, { name: isClaude(model) ? `${name}-claude` : name });
      if (!isClaude(model)) {
        return { upstream, model: model.includes("/") ? model : `google/${model}` };
      }
      const at = model === "claude-3-5-sonnet-20241022" ? "claude-3-5-sonnet-v2-20241022" : model;
      return { upstream, model: at.replace(/-(\d{8})$/, "@$1") };
    },
  };
}
