import { isObject, type JsonObject, text } from "../../../wire/dialects/mod.ts";
import { ACCOUNT_FILE, cloudUpstream, isClaude } from "../clouds.ts";
import { baseUrl } from "../names.ts";
import type { PlannedCloud, PlannedUpstream } from "../plan.ts";
import { resolved, written } from "./values.ts";

/** A deployment at a cloud: how it is called, and what the operator should know. */
export interface CloudDeployment {
  readonly upstream: PlannedUpstream;
  readonly model: string;
  /** Why it should be tried. */
  readonly checks: readonly string[];
}

/** What a deployment is read from. */
export interface CloudSource {
  /** Its model, without the provider. */
  readonly model: string;
  readonly params: JsonObject;
  readonly env: Readonly<Record<string, string>>;
}

/** Parameters that are imported, by the provider in LiteLLM. */
export const CLOUD_PARAMETERS = {
  bedrock: [
    "api_key",
    "aws_access_key_id",
    "aws_bedrock_runtime_endpoint",
    "aws_region_name",
    "aws_role_name",
    "aws_secret_access_key",
    "aws_session_token",
    "aws_sts_endpoint",
    "model_id",
  ],
  vertex: [
    "vertex_ai_credentials",
    "vertex_ai_location",
    "vertex_ai_project",
    "vertex_credentials",
    "vertex_location",
    "vertex_project",
  ],
} as const;

const TRY = "try it with sluice doctor";
/** Ways to call Bedrock, and a region, before the name of the model. */
const BEDROCK_PREFIX = /^(converse|converse_like|invoke|[a-z]{2}(-[a-z]+)+-\d)\//;

/** Reads a deployment of Bedrock: Claude by invoke, all others by the chat completions that Bedrock has. */
export function bedrockDeployment(
  { model: named, params, env }: CloudSource,
): CloudDeployment | string {
  let model = named;
  let region = resolved(params.aws_region_name, env).value;
  for (let prefix; (prefix = BEDROCK_PREFIX.exec(model)?.[1]) !== undefined;) {
    if (/\d$/.test(prefix)) region ??= prefix;
    model = model.slice(prefix.length + 1);
  }
  const checks: string[] = [];
  if (!isClaude(model)) {
    checks.push(
      `it is called by Bedrock's chat completions: ${TRY}, and with "provider": "bedrock-mantle" if the model is not there`,
    );
  }
  region ??= env.AWS_REGION_NAME ?? env.AWS_REGION;
  if (region === undefined) return "its region is not known: set aws_region_name";
  const key = written(params.api_key);
  const cloud: PlannedCloud = without({
    provider: isClaude(model) ? "bedrock-anthropic" : "bedrock",
    region,
    url: endpointOf(params.aws_bedrock_runtime_endpoint, isClaude(model) ? "" : "/openai/v1", env),
    credentials: key === undefined
      ? {
        kind: "aws",
        ...without({
          accessKeyId: written(params.aws_access_key_id),
          secretAccessKey: written(params.aws_secret_access_key),
          sessionToken: written(params.aws_session_token),
          roleArn: written(params.aws_role_name),
          tokenUrl: written(params.aws_sts_endpoint),
        }),
      }
      : undefined,
  });
  const keys = key === undefined ? [] : [key];
  return {
    upstream: cloudUpstream(cloud, { name: cloud.provider, keys }),
    model: text(params.model_id) ?? model,
    checks,
  };
}

/** Reads a deployment of Vertex AI: Claude by rawPredict, all others by its chat completions. */
export function vertexDeployment(
  { model: named, params, env }: CloudSource,
): CloudDeployment | string {
  const checks: string[] = [];
  const given = params.vertex_credentials ?? params.vertex_ai_credentials;
  const { value } = resolved(given, env);
  // a path; or the key itself, which is not written into the settings
  const isKey = isObject(given) || value?.trim().startsWith("{") === true;
  const file = isKey ? ACCOUNT_FILE : written(given);
  if (isKey) checks.push(`save its vertex_credentials as ${ACCOUNT_FILE} beside the settings`);
  const valueOf = (name: string) =>
    resolved(params[`vertex_${name}`] ?? params[`vertex_ai_${name}`], env).value ??
      env[`VERTEXAI_${name.toUpperCase()}`];
  const [project, region] = [valueOf("project"), valueOf("location")];
  if (project === undefined || region === undefined) {
    return "its project or its location is not known: set vertex_project and vertex_location";
  }
  const isOther = !isClaude(named) && !named.startsWith("gemini");
  if (isOther) checks.push(`it is called by Vertex's chat completions: ${TRY}`);
  const cloud: PlannedCloud = {
    provider: isClaude(named) ? "vertex-anthropic" : "vertex",
    project,
    region,
    credentials: { kind: "google", ...(file !== undefined && { file }) },
  };
  return {
    upstream: cloudUpstream(cloud, { name: cloud.provider }),
    model: isClaude(named) || named.includes("/") ? named : `google/${named}`,
    checks,
  };
}

/** The address of a private endpoint, with the path that the provider's own has. */
function endpointOf(
  given: unknown,
  path: string,
  env: Readonly<Record<string, string>>,
): string | undefined {
  const { value } = resolved(given, env);
  const url = value === undefined ? undefined : baseUrl(value);
  return url === undefined ? undefined : `${url}${path}`;
}

/** An object without what is undefined. */
function without<T extends object>(value: T): { [K in keyof T]: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(value).filter(([, one]) => one !== undefined)) as {
    [K in keyof T]: Exclude<T[K], undefined>;
  };
}
