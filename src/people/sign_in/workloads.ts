import type { JWTVerifyGetKey } from "jose";
import type { WorkloadSettings } from "../../settings/config/mod.ts";
import { ALGORITHMS, KEYS_COOLDOWN_MS, METADATA_MS, SKEW_S } from "./provider.ts";
import { WayError, Ways, type WaysOptions } from "./ways.ts";
import { digestOf } from "../../ground/platform/mod.ts";

/** A job's token is not valid for longer. */
const MAX_LIFE_S = 24 * 3_600;

/** A job that a rule of the settings lets in. */
export interface Workload {
  readonly rule: WorkloadSettings;
  /** What its issuer calls it. */
  readonly subject: string;
  /** Digest of what its issuer has signed: the same token has the same. */
  readonly tokenDigest: string;
}

/** Thrown if a job's token gives nothing. The message says why, without a final full stop, and has nothing of the token besides its subject. */
export class WorkloadError extends Error {
  override readonly name = "WorkloadError";
  /** Whether the issuer cannot be asked for its keys just now, rather than that the token is not to be trusted. */
  readonly isDown: boolean;

  constructor(message: string, { isDown = false, ...options }: ErrorOptions & {
    readonly isDown?: boolean;
  } = {}) {
    super(message, options);
    this.isDown = isDown;
  }
}

interface IssuerKeys {
  readonly find: JWTVerifyGetKey;
  readonly atMs: number;
}

/**
 * Lets in the jobs of CI and clusters by the token that their issuer gives each of them (OpenID Connect Discovery 1.0, RFC 7519), and by
 * rules on its claims. Only issuers that the settings name are asked for keys.
 */
export class Workloads {
  readonly #rules: readonly WorkloadSettings[];
  readonly #now: () => number;
  readonly #ways: WaysOptions;
  readonly #keys = new Map<string, IssuerKeys>();

  constructor(
    rules: readonly WorkloadSettings[],
    { now, ...ways }: WaysOptions & { readonly now: () => number },
  ) {
    this.#rules = rules;
    this.#now = now;
    this.#ways = ways;
  }

  /**
   * Finds the rule that lets in a job.
   *
   * @throws {WorkloadError} If there is none, or the token is not what it says.
   */
  async find(token: string): Promise<Workload> {
    const jose = await import("jose");
    let issuer: string;
    try {
      issuer = String(jose.decodeJwt(token).iss);
    } catch (error) {
      throw new WorkloadError("The token is not a JWT", { cause: error });
    }
    const rules = this.#rules.filter((rule) => rule.issuer === issuer);
    if (rules.length === 0) throw new WorkloadError("No rule names the token's issuer");
    const keys = await this.#keysOf(issuer);
    const nowS = this.#now() / 1_000;
    const { payload } = await jose.jwtVerify(token, keys, {
      issuer,
      audience: rules.map(({ audience }) => audience),
      algorithms: [...ALGORITHMS],
      clockTolerance: SKEW_S,
      currentDate: new Date(this.#now()),
      requiredClaims: ["sub", "exp", "iat"],
    }).catch((error) => {
      if (error instanceof WorkloadError) throw error;
      const why = error instanceof jose.errors.JOSEError ? error.message : "its keys have a fault";
      throw new WorkloadError(`The token does not fit: ${why}`, { cause: error });
    });
    const { iat, exp, sub, aud } = payload;
    if (iat! > nowS + SKEW_S) throw new WorkloadError("The token is of the future");
    if (exp! - iat! > MAX_LIFE_S) {
      throw new WorkloadError("The token is valid for more than a day: a job's is not");
    }
    // anybody else it is for could send it here
    if ([aud].flat().length !== 1) throw new WorkloadError("The token is for others as well");
    const rule = rules.find((one) => one.audience === [aud].flat()[0] && fits(one, payload));
    if (rule === undefined) throw new WorkloadError(`No rule fits the claims of ${sub}`);
    // the signature may have several forms
    const tokenDigest = digestOf(token.slice(0, token.lastIndexOf(".")));
    return { rule, subject: sub!, tokenDigest };
  }

  async #keysOf(issuer: string): Promise<JWTVerifyGetKey> {
    const known = this.#keys.get(issuer);
    if (known !== undefined && this.#now() - known.atMs < METADATA_MS) return known.find;
    const allowPrivateHosts = this.#rules.filter((rule) => rule.issuer === issuer)
      .flatMap((rule) => rule.allowPrivateHosts);
    const ways = new Ways({ issuer, allowPrivateHosts }, this.#ways);
    const place = `${issuer.replace(/\/$/, "")}/.well-known/openid-configuration`;
    const document = await jsonAt(place, ways);
    if (document.issuer !== issuer) {
      throw new WorkloadError("The token's issuer does not describe itself as the settings do");
    }
    const address = String(document.jwks_uri);
    if (!URL.canParse(address)) throw new WorkloadError("The token's issuer names no keys");
    const jose = await import("jose");
    const find = jose.createRemoteJWKSet(new URL(address), {
      cooldownDuration: KEYS_COOLDOWN_MS,
      [jose.customFetch]: async (url: string) => Response.json(await jsonAt(url, ways)),
    });
    this.#keys.set(issuer, { find, atMs: this.#now() });
    return find;
  }
}

async function jsonAt(address: string, ways: Ways): Promise<Readonly<Record<string, unknown>>> {
  try {
    const reply = await ways.fetch(address, { headers: { accept: "application/json" } });
    if (reply.status !== 200) throw new TypeError(`status ${reply.status}`);
    return await reply.json();
  } catch (error) {
    if (error instanceof WayError) {
      throw new WorkloadError(`The token's issuer ${error.message}`, { cause: error });
    }
    const message = "The token's issuer cannot be asked for its keys";
    throw new WorkloadError(message, { cause: error, isDown: true });
  }
}

/** Whether a token has what a rule asks for: of each claim, one of the texts. */
function fits({ claims }: WorkloadSettings, payload: Readonly<Record<string, unknown>>): boolean {
  return Object.entries(claims).every(([name, wanted]) => {
    const values = Object.hasOwn(payload, name) ? [payload[name]].flat() : [];
    return values.some((value) =>
      ["string", "number", "boolean"].includes(typeof value) &&
      wanted.some((pattern) => isLike(pattern, String(value)))
    );
  });
}

/** Whether a text is like a pattern, in which `*` stands for any characters. */
function isLike(pattern: string, text: string): boolean {
  const [first = "", ...others] = pattern.split("*");
  const last = others.pop();
  if (last === undefined) return text === pattern;
  if (!text.startsWith(first)) return false;
  let at = first.length;
  for (const part of others) {
    const found = text.indexOf(part, at);
    if (found < 0) return false;
    at = found + part.length;
  }
  return text.length - last.length >= at && text.endsWith(last);
}
