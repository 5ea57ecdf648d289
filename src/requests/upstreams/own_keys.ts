import {
  type Caller,
  checkUpstreamKey,
  type OwnUpstreamKey,
  type UpstreamKeyCipher,
  upstreamKeyHint,
} from "../../people/accounts/mod.ts";
import type { KeyOwner } from "../../money/ledger/mod.ts";
import { invalid, Refusal } from "../../ground/refusal.ts";
import { KeyHealth } from "./key_health.ts";
import { keyId, KeyPool } from "./key_pool.ts";
import type { OwnKey } from "./own_key.ts";
import type { TargetPlan } from "./routing.ts";
import type { RoutingMemory } from "./routing_memory.ts";
import { Turns } from "./turns.ts";
import type { Upstream } from "./upstream.ts";

/** Header with a key of the caller's own, which is sent once and kept nowhere. */
export const FORWARDED_KEY_HEADER = "x-sluice-upstream-key";

/** A plan that can be sent with a key of the caller's own. */
export interface OwnKeyPlan<Self> extends TargetPlan {
  /** The same request with that key. */
  withOwnKey(ownKey: OwnKey): Self;
}

/** What a caller sends requests with. */
export interface OwnKeyCaller extends Pick<Caller, "ownKeys" | "ownKeyUse" | "teamName"> {
  /** The key that came with the request. */
  readonly forwarded: string | undefined;
}

/** Decides which of a request's plans are sent with keys of the caller's own. */
export class OwnKeys {
  readonly #cipher: UpstreamKeyCipher;
  readonly #memory: RoutingMemory;
  readonly #now: () => number;

  constructor(
    { cipher, memory, now }: {
      readonly cipher: UpstreamKeyCipher;
      readonly memory: RoutingMemory;
      readonly now: () => number;
    },
  ) {
    this.#cipher = cipher;
    this.#memory = memory;
    this.#now = now;
  }

  /**
   * Puts a request's plans into the order in which keys are tried: the caller's own alone, before the gateway's or after them.
   * A key that came with the request is used alone, at the first upstream of the route that allows it.
   *
   * @param plans One for each target.
   * @returns Plans with own keys, and those that the gateway has a key for.
   * @throws {Refusal} `permission_denied` or `request_invalid` if none is left.
   */
  order<Plan extends OwnKeyPlan<Plan>>(
    plans: readonly Plan[],
    caller: OwnKeyCaller,
  ): readonly Plan[] {
    const { forwarded, ownKeys, ownKeyUse } = caller;
    if (forwarded !== undefined) return this.#forwarded(plans, forwarded);
    const shared = plans.filter(({ upstream }) => upstream.hasKey);
    if (ownKeys.length === 0 && ownKeyUse !== "only" && shared.length > 0) return shared;
    const own = plans.flatMap((plan) => {
      const key = this.#stored(plan.upstream, ownKeys);
      return key === undefined ? [] : [plan.withOwnKey(key)];
    });
    const all = ownKeyUse === "only"
      ? own
      : ownKeyUse === "first"
      ? [...own, ...shared]
      : [...shared, ...own];
    if (all.length === 0) throw missingKey(plans, caller);
    return all;
  }

  #forwarded<Plan extends OwnKeyPlan<Plan>>(
    plans: readonly Plan[],
    forwarded: string,
  ): readonly Plan[] {
    const [, name, named] = NAMED_KEY.exec(forwarded) ?? [];
    const first = plans.find(({ upstream }) =>
      upstream.takesForwardedKeys && (name === undefined || upstream.name === name)
    );
    if (first === undefined) {
      const what = name === undefined
        ? "The upstreams of this model take no keys that come with requests"
        : `This model has no upstream ${name} that takes keys which come with requests`;
      throw invalid(FORWARDED_KEY_HEADER, `${what}. Leave X-Sluice-Upstream-Key out.`);
    }
    const { upstream } = first;
    const ownKey = this.#ownKey("request", upstream, checkedKey(named ?? forwarded));
    return plans.filter((plan) => plan.upstream === upstream).map((plan) =>
      plan.withOwnKey(ownKey)
    );
  }

  #stored(upstream: Upstream, ownKeys: readonly OwnUpstreamKey[]): OwnKey | undefined {
    const stored = ownKeys.find((one) => one.upstream === upstream.name);
    const key = stored && this.#cipher.open(stored);
    if (stored === undefined || key === undefined || !upstream.takesKeys) return undefined;
    const health = this.#memory.ownKeyHealth(`${stored.id} ${stored.setAtMs}`);
    return this.#ownKey(stored.teamId === null ? "account" : "team", upstream, key, health);
  }

  #ownKey(
    owner: KeyOwner,
    upstream: Upstream,
    key: string,
    health = new KeyHealth(this.#now),
  ): OwnKey {
    const hint = upstreamKeyHint(key);
    const name = `${NAMES[owner]}${hint === "" ? "" : ` …${hint}`}`;
    const one = {
      id: keyId(key),
      position: 0,
      weight: 1,
      headers: upstream.headersWith(key),
      health,
    };
    return {
      owner,
      keys: new KeyPool([one], new Turns(), name),
      redact: (text) => text.replaceAll(key, "[secret]"),
    };
  }
}

/** A key with the name of the upstream that it is for. No provider's keys look so: base64 has its signs of equality at the end. */
const NAMED_KEY = /^([A-Za-z0-9][A-Za-z0-9_.-]{0,63})=([^=].*)$/;

const NAMES: Readonly<Record<KeyOwner, string>> = {
  account: "own key",
  team: "the team's key",
  request: "the request's key",
};

/** @throws {Refusal} `request_invalid`, without the key. */
function checkedKey(key: string): string {
  try {
    return checkUpstreamKey(key);
  } catch (error) {
    throw invalid(FORWARDED_KEY_HEADER, `X-Sluice-Upstream-Key: ${(error as Error).message}.`);
  }
}

function missingKey(
  plans: readonly TargetPlan[],
  { ownKeyUse, teamName }: OwnKeyCaller,
): Refusal {
  const upstreams = [...new Set(plans.map(({ upstream }) => upstream.name))].join(" or ");
  const whose = teamName === null ? "of your own" : `of the team ${teamName}`;
  const why = ownKeyUse === "only"
    ? `The team ${teamName} uses its own keys only`
    : "This model is used with keys of one's own only";
  return new Refusal(
    "permission_denied",
    `${why}: a key ${whose} for ${upstreams} is missing, or cannot be read any more. Set it: sluice upstream-key set.`,
  );
}
