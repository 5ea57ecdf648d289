import { entryOf, isObject, items, type JsonObject, text } from "../../../wire/dialects/mod.ts";
import { baseUrl, slug, whyNotImported } from "../names.ts";
import type { Notices, PlannedUpstream } from "../plan.ts";
import type { SourceModel, UsdPrices } from "../route_limits.ts";
import {
  bedrockDeployment,
  CLOUD_PARAMETERS,
  type CloudDeployment,
  type CloudSource,
  vertexDeployment,
} from "./clouds.ts";
import { CLOUDS, providedModel, type Provider, PROVIDERS, upstreamUrl } from "./providers.ts";
import { why } from "./reasons.ts";
import { resolved, written } from "./values.ts";

/** An entry of `model_list`. */
export interface Deployment {
  /** What clients call it: several deployments may share a name. */
  readonly group: string;
  readonly upstream: PlannedUpstream;
  /** Its name at the upstream. */
  readonly model: string;
  readonly limits: SourceModel;
  readonly weight: number | undefined;
  readonly order: number | undefined;
}

/** What deployments are read with. */
export interface DeploymentSource {
  /** Parameters by `litellm_credential_name`. */
  readonly credentials: ReadonlyMap<string, JsonObject>;
  readonly env: Readonly<Record<string, string>>;
  readonly notices: Notices;
}

const PARAMETERS = new Set([
  "api_base",
  "api_key",
  "api_version",
  "base_url",
  "cache_read_input_token_cost",
  "custom_llm_provider",
  "extra_headers",
  "input_cost_per_token",
  "litellm_credential_name",
  "max_completion_tokens",
  "max_tokens",
  "model",
  "order",
  "organization",
  "output_cost_per_token",
  "weight",
]);
/** Those of them that do not count for a cloud. */
const OF_ADDRESS = ["api_base", "api_key", "base_url", "extra_headers", "organization"];
const INFORMATION = new Set([
  "base_model",
  "cache_read_input_token_cost",
  "id",
  "input_cost_per_token",
  "litellm_provider",
  "max_input_tokens",
  "max_output_tokens",
  "max_tokens",
  "mode",
  "output_cost_per_token",
]);
/** How deployments of clouds are read, by their names in LiteLLM. */
const BEDROCK = { parameters: CLOUD_PARAMETERS.bedrock, read: bedrockDeployment };
const VERTEX = { parameters: CLOUD_PARAMETERS.vertex, read: vertexDeployment };
const CLOUD_READERS: Readonly<Record<string, CloudReader>> = {
  bedrock: BEDROCK,
  bedrock_converse: BEDROCK,
  vertex_ai: VERTEX,
  vertex_ai_beta: VERTEX,
};

interface CloudReader {
  /** Parameters that it reads. */
  readonly parameters: readonly string[];
  /** Returns why a deployment cannot be imported, if so. */
  read(source: CloudSource): CloudDeployment | string;
}

/** Modes of models that answer conversations. */
const CHAT_MODES = ["chat", "responses"];

/**
 * Reads an entry of `model_list`.
 *
 * @returns The deployment, or `undefined` if it cannot be imported; a notice says why.
 */
export function deploymentOf(
  entry: unknown,
  index: number,
  { credentials, env, notices }: DeploymentSource,
): Deployment | undefined {
  const group = isObject(entry) ? text(entry.model_name) : undefined;
  const subject = `model_list[${index}]${group === undefined ? "" : ` (${group})`}`;
  const reject = (reason: string) => notices.notImported(subject, reason);
  if (!isObject(entry) || group === undefined) return void reject("it has no model_name");
  const own = isObject(entry.litellm_params) ? entry.litellm_params : {};
  const credential = text(own.litellm_credential_name);
  const params = { ...credentials.get(credential ?? ""), ...own };
  const info = isObject(entry.model_info) ? entry.model_info : {};
  const named = text(params.model);
  if (named === undefined) return void reject("it has no litellm_params.model");

  const base = resolved(params.api_base ?? params.base_url, env);
  if (base.missing !== undefined) {
    return void reject(
      `its address is in ${base.missing}: set that environment variable and run the command again`,
    );
  }
  const provided = providedModel(named, {
    provider: text(params.custom_llm_provider),
    hasUrl: base.value !== undefined,
  });
  if (provided === undefined) return void reject(`the provider of '${named}' is not known`);
  const { provider: providerName, model } = provided;
  const provider: Provider | undefined = Object.hasOwn(PROVIDERS, providerName)
    ? PROVIDERS[providerName]
    : undefined;
  const cloud = entryOf(CLOUD_READERS, providerName);
  if (provider === undefined && cloud === undefined) {
    const ours = entryOf(CLOUDS, providerName)?.map((id) => `"provider": "${id}"`);
    return void reject(
      ours === undefined
        ? `${providerName} speaks a protocol of its own: use its OpenAI-compatible endpoint, if it has one`
        : `add an upstream with ${
          ours.join(" or ")
        } to the settings: sluice providers says what it needs`,
    );
  }
  const mode = text(info.mode);
  if (mode !== undefined && !CHAT_MODES.includes(mode)) {
    return void reject(`mode ${mode}: only chat models are imported`);
  }
  if (cloud !== undefined && model.includes("*")) {
    return void reject("name the models of a cloud one by one");
  }
  const unusable = model.includes("*") || mode !== undefined ? undefined : whyNotImported(model);
  if (unusable !== undefined) return void reject(unusable);
  const deployed = cloud?.read({ model, params, env });
  if (typeof deployed === "string") return void reject(deployed);
  const given = base.value === undefined ? undefined : baseUrl(base.value);
  if (base.value !== undefined && given === undefined) {
    return void reject("its address must begin with http:// or https://");
  }
  const url = provider && upstreamUrl(provider, given);
  if (provider !== undefined && url === undefined) {
    return void reject(`${providerName} needs an address (api_base)`);
  }

  for (const name of Object.keys(params)) {
    const isRead = PARAMETERS.has(name) && !(cloud && OF_ADDRESS.includes(name)) ||
      cloud?.parameters.includes(name);
    if (!isRead) {
      notices.notImported(`${subject} ${name}`, why(name));
    }
  }
  for (const name of Object.keys(info)) {
    if (!INFORMATION.has(name) && !name.startsWith("supports_")) {
      notices.notImported(`${subject} model_info.${name}`, why(name));
    }
  }
  if (providerName === "azure") {
    notices.check(
      subject,
      "it is called by Azure's v1 API (/openai/v1), which needs no api_version: try it with sluice doctor",
    );
  } else if (params.api_version !== undefined) {
    notices.notImported(`${subject} api_version`, why("api_version"));
  }
  const called = deployed ?? {
    upstream: upstreamOf(provider!, {
      url: url!,
      name: slug(providerName.replaceAll("_", "-"), "upstream"),
      params,
      mode,
      hasOwnUrl: given !== undefined,
      discover: model.includes("*"),
    }),
    model,
    checks: [],
  };
  for (const text of called.checks) notices.check(subject, text);
  return {
    group,
    upstream: called.upstream,
    model: called.model,
    limits: {
      id: (text(info.base_model) ?? model).split("/").at(-1)!,
      url: called.upstream.url,
      context: tokens(info.max_input_tokens),
      maxOutput: tokens(params.max_completion_tokens) ?? tokens(params.max_tokens) ??
        tokens(info.max_output_tokens) ?? tokens(info.max_tokens),
      images: typeof info.supports_vision === "boolean" ? info.supports_vision : undefined,
      prices: pricesOf({ ...info, ...params }, info),
    },
    weight: amount(params.weight),
    order: amount(params.order),
  };
}

function upstreamOf(
  { dialect: own = "chat", keyVariable }: Provider,
  { url, name, params, mode, hasOwnUrl, discover }: {
    readonly url: string;
    readonly mode: string | undefined;
    readonly name: string;
    readonly params: JsonObject;
    readonly hasOwnUrl: boolean;
    readonly discover: boolean;
  },
): PlannedUpstream {
  const dialect = own === "chat" && mode === "responses" ? "responses" : own;
  const given = written(params.api_key);
  // a provider's usual key is not sent to another address
  const usual = keyVariable === undefined || (hasOwnUrl && name === "openai")
    ? undefined
    : `\${${keyVariable}}`;
  const key = given ?? usual;
  const organization = written(params.organization);
  const headers = Object.fromEntries(
    Object.entries(isObject(params.extra_headers) ? params.extra_headers : {})
      .flatMap(([header, value]) => {
        const one = written(value);
        return one === undefined ? [] : [[header, one]];
      })
      .concat(organization === undefined ? [] : [["OpenAI-Organization", organization]]),
  );
  const keys = key === undefined ? [] : [key];
  return {
    ref: JSON.stringify([url, dialect, keys, headers]),
    name,
    url,
    dialect,
    keys,
    headers,
    discover,
  };
}

/** Prices per token; the parameters count more than the information. */
function pricesOf(params: JsonObject, info: JsonObject): UsdPrices {
  const perMillion = (name: string) => {
    const perToken = amount(params[name]) ?? amount(info[name]);
    return perToken === undefined ? undefined : perToken * 1e6;
  };
  return {
    input: perMillion("input_cost_per_token"),
    cached: perMillion("cache_read_input_token_cost"),
    output: perMillion("output_cost_per_token"),
  };
}

/** A number that is not negative. YAML reads `3e-06` as a text. */
export function amount(value: unknown): number | undefined {
  const number = typeof value === "string" && value.trim() !== "" ? Number(value) : value;
  return typeof number === "number" && Number.isFinite(number) && number >= 0 ? number : undefined;
}

function tokens(value: unknown): number | undefined {
  const number = amount(value);
  return number !== undefined && Number.isSafeInteger(number) && number > 0 ? number : undefined;
}

/** The parameters of `credential_list`, by their names. */
export function credentialsOf(list: unknown): Map<string, JsonObject> {
  return new Map(
    items(list).flatMap((one): [string, JsonObject][] => {
      if (!isObject(one) || !isObject(one.credential_values)) return [];
      const name = text(one.credential_name);
      return name === undefined ? [] : [[name, one.credential_values]];
    }),
  );
}
