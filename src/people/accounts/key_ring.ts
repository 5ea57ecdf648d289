import * as z from "zod";
import type { Database } from "../../ground/database/mod.ts";
import { flag, jsonText, rowOf, shownText } from "../../ground/row.ts";
import { Refusal } from "../../ground/refusal.ts";
import { KEY_PATTERN, readScopes, type Scope } from "./key.ts";
import { ROLES } from "./roles.ts";
import { OWN_KEY_USES, OWN_KEYS_OF_CALLER, ownKeysColumn } from "./upstream_keys.ts";
import { iif } from "../../ground/sql/mod.ts";
import { digestOf } from "../../ground/platform/mod.ts";

const modelSet = jsonText(z.array(z.string())).transform((all) => new Set(all)).nullable();

const callerRow = rowOf({
  account_id: z.string(),
  email: z.string(),
  key_id: z.string(),
  /** Routes that the key may use; `null` allows all. */
  models: modelSet,
  /** Whether a budget applies to the key: its own, or one of its account, team or member. */
  has_budget: flag,
  /** Max requests of the key in flight at once; `null` for any number. */
  at_once: z.int().nullable(),
  expires_at_ms: z.int().nullable(),
  revoked_at_ms: z.int().nullable(),
  disabled_at_ms: z.int().nullable(),
  scopes: z.string().transform((text) => new Set(readScopes(text))),
  /** Present role of the account: a key with scope `admin` or `read` can do no more than it allows. */
  role: z.enum(ROLES),
  /** Until when this secret is valid, if the key was given another one. */
  secret_until_ms: z.int().nullable(),
  team_id: z.string().nullable(),
  /** Account of the team's member that the key was made for. */
  member_id: z.string().nullable(),
  team_models: modelSet,
  /** Name of the key's team, for messages. */
  team_name: shownText.nullable(),
  /** Email address of the member that the key was made for, for messages. */
  member_email: z.string().nullable(),
  /** What has been closed to a key of a team: the team, its member's access to it, or the member's account. */
  closed: z.enum(["team", "member", "person"]).nullable(),
  /** Keys of upstreams that its requests may be sent with: those of its team, or of its account if it is of none. */
  own_keys: ownKeysColumn,
  /** Whether they are used alone, before the gateway's keys or after them. */
  own_key_use: z.enum(OWN_KEY_USES),
  /** What the tool calls itself that signed in and has this key as its token; `null` for other keys. */
  tool: z.string().nullable(),
}).transform(({ teamModels, ...caller }) => ({
  ...caller,
  /** The account that what is kept or sealed for the client belongs to: the member's, else the one that pays. */
  holderId: caller.memberId ?? caller.accountId,
  models: commonModels(caller.models, teamModels),
}));

/** The account and key behind a request, and what the key allows. */
export type Caller = z.output<typeof callerRow>;

/** Thrown for a valid key whose account, team or member is disabled or stopped. */
export class AccountDisabled extends Refusal {
  readonly caller: Caller;

  constructor(caller: Caller) {
    super("permission_denied", CLOSED[caller.disabledAtMs === null ? caller.closed! : "account"]);
    this.caller = caller;
  }
}

const CLOSED = {
  account: "The account of this API key is disabled. Contact the operator.",
  team: "The team of this API key is disabled. Contact the operator.",
  member: "This API key's member of the team has been stopped. Contact the team's lead.",
  person: "The account of this API key's member is disabled. Contact the operator.",
} as const;

/**
 * Checks that a key may be used for something.
 *
 * @throws {Refusal} `permission_denied` if the key does not have the scope.
 */
export function checkScope({ scopes }: Pick<Caller, "scopes">, scope: Scope): void {
  if (scopes.has(scope)) return;
  throw new Refusal(
    "permission_denied",
    `This API key does not have the scope '${scope}': it has ${
      [...scopes].join(", ")
    }. Use another key.`,
  );
}

/** Models that are in both lists. */
function commonModels(
  a: ReadonlySet<string> | null,
  b: ReadonlySet<string> | null,
): ReadonlySet<string> | null {
  return a === null ? b : b === null ? a : a.intersection(b);
}

const BY_DIGEST = `
  select keys.account_id, accounts.email, accounts.role, keys.id as key_id, keys.models,
         keys.budgets > 0 as has_budget, keys.at_once, keys.expires_at_ms,
         keys.revoked_at_ms, accounts.disabled_at_ms, keys.scopes, keys.team_id, keys.member_id,
         teams.models as team_models, teams.name as team_name, members.email as member_email,
         ${iif("keys.digest = ?", "null", "previous_until_ms")} as secret_until_ms,
         case
           when keys.team_id is null then null
           when teams.disabled_at_ms is not null then 'team'
           when keys.member_id is null then null
           when team_members.account_id is null or stopped_at_ms is not null then 'member'
           when members.disabled_at_ms is not null then 'person'
         end as closed,
         ${OWN_KEYS_OF_CALLER} as own_keys, coalesce(teams.own_keys, 'first') as own_key_use,
         (select client from tool_grants where key_id = keys.id) as tool
  from keys join accounts on accounts.id = keys.account_id
    left join teams on teams.id = keys.team_id
    left join team_members
      on team_members.team_id = keys.team_id and team_members.account_id = keys.member_id
    left join accounts as members on members.id = keys.member_id
  where keys.digest = ? or keys.previous_digest = ?
  order by keys.digest = ? desc limit 1`;
const REVISION = "select number from revisions where noun = 'keys'";

const MAX_KNOWN = 20_000;
/** Keys that are kept as they are presented, and the longest time for that. */
const MAX_RECENT = 256;
const RECENT_MS = 60_000;
const MAX_UNKNOWN = 5_000;

/**
 * Authenticates API keys, with a cache in memory so that a known key costs no database read.
 *
 * The cache is cleared when any key or account has changed, whichever process changed it: the revision is read every
 * `pollMs`. The cache never decides about credits.
 */
export class KeyRing {
  readonly #database: Database;
  readonly #now: () => number;
  readonly #timer: ReturnType<typeof setInterval>;
  /** By the key's digest. */
  #known = new Map<string, Caller>();
  /** Some of them by the key itself, so that a key in use is not digested for each request. */
  #recent = new Map<string, Caller>();
  #recentSinceTick = 0;
  #unknown = new Map<string, true>();
  #revision = -1;
  #polling: Promise<void> | undefined;
  #lastSeenMs: number;
  readonly #staleMs: () => number;
  readonly #tick: () => number;

  /**
   * @param options `patienceMs` says how long cached keys are valid while the database does not answer and requests are admitted
   *   without it, in milliseconds; `tick` is a clock that nobody sets; tests pass their own.
   */
  constructor(
    database: Database,
    { now, pollMs = 250, patienceMs = () => 0, tick = () => performance.now() }: {
      now: () => number;
      pollMs?: number;
      patienceMs?: () => number;
      tick?: () => number;
    },
  ) {
    this.#database = database;
    this.#now = now;
    this.#tick = tick;
    this.#staleMs = () =>
      Math.max(pollMs * 3, database.outbox?.isUsable === true ? patienceMs() : 0);
    this.#lastSeenMs = tick();
    this.#timer = setInterval(() => void this.refresh(), pollMs);
  }

  /** Number of cached keys. */
  get size(): number {
    return this.#known.size;
  }

  /**
   * Authenticates a request.
   *
   * @param presented Values of the key headers, in order of precedence. The first valid key is used.
   * @returns The caller; a promise only if the key is not cached.
   * @throws {Refusal} `key_invalid`, for the first key, if none is valid.
   * @throws {AccountDisabled} If the account of the first key is disabled.
   */
  identify(presented: readonly string[]): Caller | Promise<Caller> {
    if (presented.length === 0) {
      throw new Refusal(
        "key_invalid",
        "Missing API key. Send it as 'Authorization: Bearer sk-…' or as 'X-API-Key: sk-…'.",
      );
    }
    // Nearly every request has a cached, valid first key: no promise is needed.
    const first = this.#held(presented[0]!);
    if (first !== undefined && this.#fault(first) === undefined) return first;
    return this.#search(presented);
  }

  /** Clears the cache if a key or account has changed. Never rejects. */
  refresh(): Promise<void> {
    this.#polling ??= this.#poll().finally(() => this.#polling = undefined);
    return this.#polling;
  }

  /** Stops polling the database. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.#polling;
  }

  async #search(presented: readonly string[]): Promise<Caller> {
    let refusal: Refusal | undefined;
    for (const secret of presented) {
      const found = await this.#find(secret);
      const fault = found instanceof Refusal ? found : this.#fault(found);
      if (fault === undefined) return found as Caller;
      refusal ??= fault;
    }
    throw refusal;
  }

  #held(secret: string): Caller | undefined {
    // An unavailable database must not keep revoked keys valid for longer than requests are admitted without it.
    if (this.#tick() - this.#lastSeenMs > this.#staleMs()) return undefined;
    const recent = this.#recent.get(secret);
    if (recent !== undefined) return recent;
    const known = this.#known.get(digestOf(secret));
    if (known === undefined) return undefined;
    remember(this.#recent, secret, known, MAX_RECENT);
    return known;
  }

  async #find(secret: string): Promise<Caller | Refusal> {
    if (!KEY_PATTERN.test(secret)) {
      return new Refusal(
        "key_invalid",
        "Malformed API key: it must be 'sk-' followed by at least 16 letters, digits, '_' or '-'.",
      );
    }
    const digest = digestOf(secret);
    const held = this.#held(secret);
    if (held !== undefined) return held;
    if (!this.#unknown.has(digest)) {
      const revision = this.#revision;
      const row = await this.#database.one(BY_DIGEST, [digest, digest, digest, digest]);
      if (row !== undefined) {
        const caller = callerRow.parse(row);
        if (revision === this.#revision) remember(this.#known, digest, caller, MAX_KNOWN);
        return caller;
      }
      if (revision === this.#revision) remember(this.#unknown, digest, true, MAX_UNKNOWN);
    }
    return new Refusal(
      "key_invalid",
      "Unknown API key. Check the key, or create a new one.",
    );
  }

  #fault(caller: Caller): Refusal | undefined {
    if (caller.revokedAtMs !== null) {
      return new Refusal("key_invalid", "This API key has been revoked. Use another key.");
    }
    if (caller.expiresAtMs !== null && caller.expiresAtMs <= this.#now()) {
      const when = new Date(caller.expiresAtMs).toISOString();
      return new Refusal("key_invalid", `This API key expired at ${when}. Use another key.`);
    }
    if (caller.secretUntilMs !== null && caller.secretUntilMs <= this.#now()) {
      return new Refusal(
        "key_invalid",
        "This API key was replaced by another secret. Use the new one.",
      );
    }
    if (caller.disabledAtMs !== null || caller.closed !== null) {
      return new AccountDisabled(caller);
    }
    return undefined;
  }

  async #poll(): Promise<void> {
    try {
      const row = await this.#database.one(REVISION);
      const revision = Number(row?.number ?? 0);
      this.#lastSeenMs = this.#tick();
      if (this.#lastSeenMs - this.#recentSinceTick > RECENT_MS) this.#forgetRecent();
      if (revision === this.#revision) return;
      this.#revision = revision;
      this.#forgetRecent();
      this.#known.clear();
      this.#unknown.clear();
    } catch {
      // the cache becomes stale and is not used; requests then get the database's own error
    }
  }

  #forgetRecent(): void {
    this.#recent.clear();
    this.#recentSinceTick = this.#lastSeenMs;
  }
}

/** Adds to a map of up to `max` entries; the oldest one goes. */
export function remember<T>(map: Map<string, T>, key: string, value: T, max: number): void {
  if (map.size >= max) map.delete(map.keys().next().value!);
  map.set(key, value);
}
