import { createHash } from "node:crypto";
import { AwsV4Signer } from "aws4fetch";
import { joinPath } from "../../../ground/std/mod.ts";
import { type JsonObject, text } from "../../../wire/dialects/mod.ts";
import type { CredentialSettings } from "../../../settings/config/mod.ts";
import { CachedToken, type Token } from "./cached_token.ts";
import {
  type Credentials,
  CredentialsFault,
  readNamed,
  type UnsignedRequest,
  withoutSecrets,
} from "./credentials.ts";
import type { UpstreamReply } from "../transport.ts";
import { askForJson, askForToken, NEAR_MS, type ProxyFor } from "./token_endpoint.ts";

/** Keys of AWS; `value` is the access key's ID. */
interface AwsKeys extends Token {
  readonly secret: string;
  readonly session: string | undefined;
}

type AwsSettings = CredentialSettings & { kind: "aws"; readonly proxyFor?: ProxyFor };
type Variable = (name: string) => string | undefined;

/** Headers that no signature covers: proxies change them, or the connection adds them. */
const UNSIGNED = new Set([
  "accept-encoding",
  "content-length",
  "traceparent",
  "user-agent",
  "accept",
]);
const ECS_HOST = "http://169.254.170.2";
const IMDS = "http://169.254.169.254/latest";
const CONTAINER_HOSTS =
  /^(?:169\.254\.170\.(?:2|23)|\[fd00:ec2::23\]|localhost|127\.\d+\.\d+\.\d+|\[::1\])$/;
/** What AWS says, with the status 403, of keys that have ended or were taken back: they may have been replaced in their file. */
const REFUSALS = /^(?:ExpiredToken|UnrecognizedClient|InvalidClientTokenId|InvalidSignature)/;
const DIGEST = "x-amz-content-sha256";

/**
 * Signs requests (Signature Version 4), with keys of the settings or of the usual chain: environment, web identity, the shared file,
 * container, instance; for a role that is assumed with them where one is set.
 */
export class AwsCredentials implements Credentials {
  readonly #keys: CachedToken<AwsKeys>;
  readonly #region: string;
  readonly #service: string;
  readonly #now: () => number;

  constructor(
    settings: AwsSettings,
    { region, service, now }: {
      readonly region: string;
      readonly service: string;
      readonly now: () => number;
    },
  ) {
    this.#region = region;
    this.#service = service;
    this.#now = now;
    this.#keys = new CachedToken(() => this.#get(settings), { now });
  }

  async headersFor(request: UnsignedRequest): Promise<Readonly<Record<string, string>>> {
    const keys = await this.#keys.token();
    return await this.#sign(request, keys, this.#service);
  }

  refused(headers: Readonly<Record<string, string>>): boolean {
    const used = /Credential=([^/]+)\//.exec(headers.authorization ?? "")?.[1];
    return this.#keys.refused(used ?? "");
  }

  isRefusal({ status, headers }: Pick<UpstreamReply, "status" | "headers">): boolean {
    return status === 403 && REFUSALS.test(String(headers["x-amzn-errortype"]));
  }

  redact(words: string): string {
    const { current } = this.#keys;
    return withoutSecrets(words, [current?.secret, current?.session, current?.value]);
  }

  async #sign(
    { method, url, headers, body }: UnsignedRequest,
    { value, secret, session }: AwsKeys,
    service: string,
  ): Promise<Record<string, string>> {
    const signable = Object.entries(headers).filter(([name]) => !UNSIGNED.has(name));
    const signer = new AwsV4Signer({
      method,
      url,
      headers: { ...Object.fromEntries(signable), [DIGEST]: await digestOf(body) },
      accessKeyId: value,
      secretAccessKey: secret,
      sessionToken: session ?? "", // which is none
      service,
      region: this.#region,
      datetime: new Date(this.#now()).toISOString().replace(/[:-]|\.\d{3}/g, ""),
    });
    return Object.fromEntries((await signer.sign()).headers);
  }

  async #get(settings: AwsSettings): Promise<AwsKeys> {
    const keys = await usualKeys(settings, this.#now);
    if (settings.roleArn === undefined) return keys;
    const url = new URL(settings.tokenUrl ?? `https://sts.${this.#region}.amazonaws.com/`);
    const form = {
      Action: "AssumeRole",
      Version: "2011-06-15",
      RoleArn: settings.roleArn,
      RoleSessionName: "sluice",
    };
    const body = new URLSearchParams(form).toString();
    const headers = { "content-type": "application/x-www-form-urlencoded;charset=UTF-8" };
    const signed = await this.#sign({ method: "POST", url: url.href, headers, body }, keys, "sts");
    const who = `AWS STS, for the role ${settings.roleArn}`;
    return stsKeys(
      await askForToken({
        who,
        url: url.href,
        headers: { ...headers, ...signed },
        form,
        proxyFor: settings.proxyFor,
      }),
      who,
    );
  }
}

/** Keys of the first source that has any. */
async function usualKeys(settings: AwsSettings, now: () => number): Promise<AwsKeys> {
  const { accessKeyId, secretAccessKey, sessionToken, environment = {} } = settings;
  const variable: Variable = (name) => environment[name]?.reveal();
  if (accessKeyId !== undefined || secretAccessKey !== undefined) {
    if (accessKeyId === undefined || secretAccessKey === undefined) {
      throw new CredentialsFault("credentials for AWS need `accessKeyId` and `secretAccessKey`");
    }
    return lasting(accessKeyId.reveal(), secretAccessKey.reveal(), sessionToken?.reveal());
  }
  const [id, secret] = [variable("AWS_ACCESS_KEY_ID"), variable("AWS_SECRET_ACCESS_KEY")];
  if (id !== undefined && secret !== undefined) {
    return lasting(id, secret, variable("AWS_SESSION_TOKEN"));
  }
  return await webIdentity(settings, variable) ?? await sharedFile(variable) ??
    await containerKeys(variable) ?? await instanceKeys(variable, now);
}

function lasting(value: string, secret: string, session: string | undefined): AwsKeys {
  return { value, secret, session, endsAtMs: undefined };
}

/** Kubernetes: a projected token becomes keys of a role. */
async function webIdentity(
  { tokenUrl, region, proxyFor }: AwsSettings,
  variable: Variable,
): Promise<AwsKeys | undefined> {
  const [file, role] = [variable("AWS_WEB_IDENTITY_TOKEN_FILE"), variable("AWS_ROLE_ARN")];
  if (file === undefined || role === undefined) return undefined;
  const token = await readNamed("the web identity token", file);
  const who = `AWS STS, for the role ${role}`;
  const url = tokenUrl ??
    `https://sts.${region ?? variable("AWS_REGION") ?? "us-east-1"}.amazonaws.com/`;
  const form = {
    Action: "AssumeRoleWithWebIdentity",
    Version: "2011-06-15",
    RoleArn: role,
    RoleSessionName: variable("AWS_ROLE_SESSION_NAME") ?? "sluice",
    WebIdentityToken: token.trim(),
  };
  return stsKeys(await askForToken({ who, url, form, secrets: [token.trim()], proxyFor }), who);
}

/** STS speaks XML. */
function stsKeys(xml: string, who: string): AwsKeys {
  const all = xml.matchAll(/<(\w+)>([^<]+)<\/\1>/g);
  return keysIn(Object.fromEntries(Array.from(all, ([, name, value]) => [name, value])), who);
}

/** Keys of a profile in `~/.aws/credentials`. Other kinds of profiles, such as single sign-on, are for the kind `command`. */
async function sharedFile(variable: Variable): Promise<AwsKeys | undefined> {
  const home = variable("HOME");
  const path = variable("AWS_SHARED_CREDENTIALS_FILE") ??
    (home === undefined ? undefined : joinPath(home, ".aws", "credentials"));
  const content = path === undefined
    ? undefined
    : await Deno.readTextFile(path).catch(() => undefined);
  if (content === undefined) return undefined;
  const profile = variable("AWS_PROFILE") ?? "default";
  const values = profileIn(content, profile);
  const { aws_access_key_id: id, aws_secret_access_key: secret } = values;
  if (id === undefined || secret === undefined) {
    if (variable("AWS_PROFILE") === undefined) return undefined;
    throw new CredentialsFault(
      `the profile '${profile}' of ${path} has no keys: for single sign-on use the kind 'command'`,
    );
  }
  return lasting(id, secret, values.aws_session_token);
}

function profileIn(content: string, profile: string): Record<string, string | undefined> {
  const values: Record<string, string> = {};
  let isIn = false;
  for (const line of content.split("\n").map((one) => one.trim())) {
    const section = /^\[\s*(?:profile\s+)?([^\]]+?)\s*\]$/.exec(line);
    if (section !== null) isIn = section[1] === profile;
    const entry = /^([a-z_]+)\s*=\s*(.*)$/.exec(line);
    if (isIn && entry !== null) values[entry[1]!] = entry[2]!;
  }
  return values;
}

/** ECS and EKS: an address in the environment. */
async function containerKeys(variable: Variable): Promise<AwsKeys | undefined> {
  const relative = variable("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI");
  const full = variable("AWS_CONTAINER_CREDENTIALS_FULL_URI");
  const url = relative === undefined ? full : `${ECS_HOST}${relative}`;
  if (url === undefined) return undefined;
  const { protocol, hostname } = new URL(url);
  if (protocol !== "https:" && !CONTAINER_HOSTS.test(hostname)) {
    throw new CredentialsFault(
      "AWS_CONTAINER_CREDENTIALS_FULL_URI is neither https nor a local address",
    );
  }
  const file = variable("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE");
  const token = file === undefined
    ? variable("AWS_CONTAINER_AUTHORIZATION_TOKEN")
    : await Deno.readTextFile(file).then((one) => one.trim(), () => undefined);
  const who = "the container's credentials endpoint";
  const headers = token === undefined ? {} : { authorization: token };
  return keysIn(await askForJson({ who, url, headers, patienceMs: NEAR_MS }), who);
}

/** EC2, by version 2 of its metadata service. */
async function instanceKeys(variable: Variable, now: () => number): Promise<AwsKeys> {
  const who = "the instance's metadata server (no keys are set, and no profile has any)";
  if (variable("AWS_EC2_METADATA_DISABLED") === "true") {
    throw new CredentialsFault("no keys for AWS: none are set, and no profile has any");
  }
  const base =
    (variable("AWS_EC2_METADATA_SERVICE_ENDPOINT")?.replace(/\/+$/, "").concat("/latest")) ?? IMDS;
  const near = { who, patienceMs: NEAR_MS };
  const token = await askForToken({
    ...near,
    url: `${base}/api/token`,
    method: "PUT",
    headers: { "x-aws-ec2-metadata-token-ttl-seconds": "300" },
  });
  const headers = { "x-aws-ec2-metadata-token": token.trim() };
  const folder = `${base}/meta-data/iam/security-credentials/`;
  const [role = ""] = (await askForToken({ ...near, url: folder, headers })).trim().split("\n");
  const keys = keysIn(
    await askForJson({ ...near, url: `${folder}${encodeURIComponent(role)}`, headers }),
    who,
  );
  return { ...keys, endsAtMs: keys.endsAtMs ?? now() + 300_000 };
}

function keysIn(reply: JsonObject, who: string): AwsKeys {
  const [value, secret] = [text(reply.AccessKeyId), text(reply.SecretAccessKey)];
  if (value === undefined || secret === undefined) {
    throw new CredentialsFault(`${who} gave a reply without keys`);
  }
  return {
    value,
    secret,
    session: text(reply.Token) ?? text(reply.SessionToken),
    endsAtMs: Date.parse(text(reply.Expiration) ?? "") || undefined,
  };
}

async function digestOf(body: UnsignedRequest["body"]): Promise<string> {
  const hash = createHash("sha256");
  if (typeof body === "object") { for await (const chunk of body) hash.update(chunk); }
  else if (body !== undefined) hash.update(body);
  return hash.digest("hex");
}
