import { createHash } from "node:crypto";
import type { Bound } from "./bound.ts";
import type { Pass } from "./circuit.ts";
import type { Failure } from "./failure.ts";
import type { KeyHealth } from "./key_health.ts";
import type { Turns, TurnTaker } from "./turns.ts";

/** One of several keys of an upstream. */
export interface UpstreamKey extends TurnTaker {
  /** A hash of the key, which tells it from the others when the settings change. */
  readonly id: string;
  /** Its place in the settings, which names it wherever it is named: `key 2 of 3`. */
  readonly position: number;
  /** All headers of a request with it. */
  readonly headers: Readonly<Record<string, string>>;
  readonly health: KeyHealth;
  /** Undefined for nothing. */
  readonly bound?: Bound | undefined;
}

/** A hash of a key. */
export function keyId(key: string): string {
  return createHash("sha256").update(key).digest("base64").slice(0, 22);
}

/** The keys of an upstream that has several. */
export class KeyPool {
  readonly all: readonly UpstreamKey[];
  readonly #turns: Turns;
  readonly #name: string | undefined;

  /** @param name What the only key is called. Default: keys are called by their places. */
  constructor(keys: readonly UpstreamKey[], turns: Turns, name?: string) {
    this.all = keys;
    this.#turns = turns;
    this.#name = name;
  }

  /** Whether no key can be used. */
  get resting(): boolean {
    return this.all.every(({ health }) => health.resting);
  }

  /** What a key is called in logs, errors and on pages. */
  nameOf({ position }: UpstreamKey): string {
    return this.#name ?? `key ${position} of ${this.all.length}`;
  }

  /** A request's way through the keys. */
  begin(preferredId: string | undefined): KeyWalk {
    return new KeyWalk(this.all, this.#turns, preferredId);
  }
}

/**
 * One request's way through an upstream's keys: the one that its conversation used last, or the one whose turn it is;
 * when that is rejected, exhausted or over its rate limit, the next one at once.
 */
export class KeyWalk {
  readonly #keys: readonly UpstreamKey[];
  readonly #turns: Turns;
  readonly #preferredId: string | undefined;
  readonly #tried = new Set<UpstreamKey>();
  /** 403s, until it is known whether they concern the keys or this request. */
  readonly #forbidden: Pass[] = [];
  #current: { readonly key: UpstreamKey; readonly pass: Pass } | undefined;

  constructor(keys: readonly UpstreamKey[], turns: Turns, preferredId: string | undefined) {
    this.#keys = keys;
    this.#turns = turns;
    this.#preferredId = preferredId;
  }

  /**
   * The key to send the request with.
   *
   * @returns `undefined` when no further key can be used. The first time, when all rest, the one that rests least long:
   *   the request has nowhere else to go.
   */
  next(): UpstreamKey | undefined {
    const usable = this.#keys.filter((key) => !this.#tried.has(key) && !key.health.resting);
    const key = usable.find(({ id }) => id === this.#preferredId) ?? this.#turns.next(usable) ??
      (this.#tried.size === 0 ? this.#leastResting() : undefined);
    if (key === undefined) return undefined;
    this.#tried.add(key);
    this.#current = { key, pass: key.health.pass() };
    return key;
  }

  /**
   * Notes what came of the key that was last returned.
   *
   * @param failure `undefined` when the upstream replied.
   * @returns Whether the next key is to be tried.
   */
  ended(failure: Failure | undefined): boolean {
    const { key, pass } = this.#current!;
    this.#current = undefined;
    switch (failure?.ofKey) {
      case "rejected":
      case "exhausted":
        pass.failed(true);
        return true;
      case "limited":
        if (failure.blame) {
          key.health.limited(failure.retryAfterMs);
          pass.succeeded(); // the key itself is good
        } else pass.abandoned(); // nothing was sent with it
        return true;
      case "forbidden":
        this.#forbidden.push(pass);
        return true;
    }
    // a request that was rejected for what is in it had a good key; one that was given up says nothing
    const isAccepted = failure === undefined ||
      !failure.blame && failure.refusal.reason !== "upstream_unavailable";
    if (isAccepted) pass.succeeded();
    else pass.abandoned();
    this.#judgeForbidden(isAccepted);
    return false;
  }

  /** Notes that the request tries no further key. */
  over(): void {
    this.#current?.pass.abandoned();
    this.#judgeForbidden(false);
  }

  /**
   * What one key was forbidden and another was not is the key's fault. What every key was forbidden may be the
   * request's, as with moderation: otherwise a client could put all keys to rest.
   */
  #judgeForbidden(isOfKey: boolean): void {
    for (const pass of this.#forbidden) pass.failed(isOfKey);
    this.#forbidden.length = 0;
  }

  #leastResting(): UpstreamKey | undefined {
    return this.#keys.reduce((best, key) =>
      key.health.usableAtMs < best.health.usableAtMs ? key : best
    );
  }
}
