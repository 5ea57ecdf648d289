import { createHmac } from "node:crypto";
import { describeKey } from "../../operating/operations/mod.ts";
import { providerWays } from "../../operating/provisioning/mod.ts";
import {
  type Account,
  type Accounts,
  DuplicateKey,
  type Key,
  type Keys,
  type Team,
  type TeamKeys,
  type Teams,
} from "../../people/accounts/mod.ts";
import { recordStatement } from "../../people/operation_log/mod.ts";
import { type Workload, WorkloadError, Workloads } from "../../people/sign_in/mod.ts";
import type { Catalog } from "../../settings/catalog/mod.ts";
import type { Settings, WorkloadSettings } from "../../settings/config/mod.ts";
import { nameFrom } from "../../ground/platform/mod.ts";
import { RateLimit } from "../../ground/rate_limits/mod.ts";
import { STATUS_CODE } from "../../ground/std/mod.ts";
import { MINUTE_MS } from "../../ground/time.ts";
import type { Log } from "../../ground/telemetry/mod.ts";
import { OAuthError } from "./oauth_error.ts";

/** Dependencies of {@linkcode WorkloadExchange}. */
export interface WorkloadParts {
  readonly accounts: Pick<Accounts, "byId" | "find">;
  readonly teams: Pick<Teams, "list">;
  readonly keys: Pick<Keys, "issue" | "bySecret">;
  readonly teamKeys: Pick<TeamKeys, "issue">;
  readonly catalog: () => Catalog;
  readonly settings: Pick<Settings, "signIn" | "proxies">;
  readonly sealKey: () => Promise<Uint8Array>;
  readonly now: () => number;
  readonly log: Log;
}

/** Token types that a job may send (RFC 8693, section 3): all are JWTs. */
const TYPES = ["jwt", "id_token"].map((name) => `urn:ietf:params:oauth:token-type:${name}`);
const ACCESS_TOKEN = "urn:ietf:params:oauth:token-type:access_token";
const PURPOSE = "sluice key of a workload";
/** Tokens that are exchanged, of one address: those that are wrong are counted elsewhere, and keep out no others. */
const EXCHANGES = { limit: 300, windowMs: 10 * MINUTE_MS };
const MAX_NAME_CHARS = 100;

/**
 * Exchanges the token of a job for a key (RFC 8693). The key follows from the token: a token that is sent again gives the same key, for the
 * time that is left of it, and nothing once that has ended or was revoked. So jobs may share a token, and a thief of one gains no time.
 */
export class WorkloadExchange {
  readonly #parts: WorkloadParts;
  readonly #workloads: Workloads;
  readonly #exchanges: RateLimit;
  /** Whether the settings have rules. */
  readonly isOn: boolean;

  constructor(parts: WorkloadParts) {
    const { settings: { signIn, proxies }, now } = parts;
    const rules = signIn?.workloads ?? [];
    this.#parts = parts;
    this.isOn = rules.length > 0;
    this.#workloads = new Workloads(rules, { ...providerWays({ proxies }), now });
    this.#exchanges = new RateLimit({ ...EXCHANGES, now });
  }

  /**
   * Gives a job its key.
   *
   * @param address From where it asks.
   * @param guessed Called if the token is not to be trusted.
   * @throws {OAuthError} If it gets none.
   */
  async exchange(form: URLSearchParams, address: string, guessed: () => void) {
    const type = form.get("subject_token_type") ?? TYPES[0]!;
    const token = form.get("subject_token") ?? "";
    if (token === "" || !TYPES.includes(type)) {
      throw new OAuthError(
        "invalid_request",
        `Send subject_token, and as its type one of: ${TYPES.join(", ")}.`,
      );
    }
    if (this.#exchanges.waitMs(address) > 0) {
      throw new OAuthError(
        "temporarily_unavailable",
        "Too many tokens from this address: try again later.",
        STATUS_CODE.TooManyRequests,
      );
    }
    let workload: Workload;
    try {
      workload = await this.#workloads.find(token);
    } catch (error) {
      if (!(error instanceof WorkloadError)) throw error;
      this.#parts.log.warn("a workload's token was refused", { reason: error.message, address });
      if (error.isDown) {
        throw new OAuthError(
          "temporarily_unavailable",
          `${error.message}.`,
          STATUS_CODE.ServiceUnavailable,
        );
      }
      guessed();
      throw new OAuthError("invalid_grant", `${error.message}.`);
    }
    this.#exchanges.add(address);
    const { secret, expiresAtMs } = await this.#keyFor(workload, address);
    return {
      access_token: secret,
      issued_token_type: ACCESS_TOKEN,
      token_type: "Bearer",
      expires_in: Math.floor((expiresAtMs! - this.#parts.now()) / 1_000),
      scope: "inference",
    };
  }

  async #keyFor(workload: Workload, address: string): Promise<Key & { secret: string }> {
    const { keys, now } = this.#parts;
    const secret = await this.#secretOf(workload);
    const known = async () => {
      const key = await keys.bySecret(secret);
      return key === undefined ? undefined : { ...key, secret };
    };
    const key = await known() ?? await this.#issue(workload, { secret, address }).catch(
      async (error) => {
        const other = error instanceof DuplicateKey ? await known() : undefined;
        if (other === undefined) throw error;
        return other;
      },
    );
    if (key.revokedAtMs !== null || key.expiresAtMs! <= now()) {
      throw new OAuthError(
        "invalid_grant",
        "The key of this token has ended: ask the issuer for another token.",
      );
    }
    return key;
  }

  async #issue(
    { rule, subject }: Workload,
    { secret, address }: { readonly secret: string; readonly address: string },
  ): Promise<Key & { secret: string }> {
    const { keys, teamKeys, catalog, now } = this.#parts;
    const routes = catalog();
    const options = {
      secret,
      name: nameFrom(`${rule.name}: ${subject}`.slice(0, MAX_NAME_CHARS)),
      expiresAtMs: now() + rule.minutes * MINUTE_MS,
      models: rule.models?.map((name) => routes.find(name)?.id ?? name),
    };
    const record = (key: Key) => [
      recordStatement({
        actor: { account: null, teams: new Map(), keyId: null, name: `workload ${rule.name}` },
        origin: { door: "api", address },
      }, {
        operation: "key.create",
        about: { accountId: key.accountId, teamId: key.teamId ?? undefined, objectId: key.id },
        atMs: key.createdAtMs,
        after: describeKey(key),
      }),
    ];
    const payer = await this.#payer(rule);
    return "kind" in payer
      ? await keys.issue(payer, options, record)
      : await teamKeys.issue(payer, null, options, record);
  }

  async #payer(
    { account: email, team: name, name: rule }: WorkloadSettings,
  ): Promise<Account | Team> {
    const { accounts, teams, log } = this.#parts;
    if (email !== undefined) {
      const account = await accounts.find(email.toLowerCase());
      if (account?.disabledAtMs === null) return account;
    } else {
      const all = await teams.list();
      const team = all.find(({ id }) => id === name) ?? all.find((one) => one.name === name);
      if (team !== undefined && team.disabledAtMs === null && team.poolId !== null) return team;
    }
    log.warn("a workload gets no key: nobody would pay", { workload: rule });
    throw new OAuthError(
      "access_denied",
      `The account or team of the rule ${rule} is not there, is disabled, or has no pool.`,
    );
  }

  async #secretOf({ tokenDigest }: Workload): Promise<string> {
    const own = createHmac("sha256", await this.#parts.sealKey()).update(PURPOSE).digest();
    return `sk-${createHmac("sha256", own).update(tokenDigest).digest("base64url")}`;
  }
}
