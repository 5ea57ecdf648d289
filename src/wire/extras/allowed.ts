/** What a route allows to be asked for besides text and the caller's own tools, and what that costs. */
export interface AllowedExtras {
  /** Service tiers and speeds by name, each with the factor of the route's prices. */
  readonly tiers: Readonly<Record<string, number>>;
  /** Regions by name, each with the factor of the route's prices. */
  readonly regions: Readonly<Record<string, number>>;
  /** Tools that run at the upstream by name, each with its price of a call in credits. */
  readonly tools: Readonly<Record<string, number>>;
  /** Lifetimes of prompt caches, each with the factor of the input price for what is written. */
  readonly cache: Readonly<Record<string, number>>;
  /** The factor of writes to caches of a usual lifetime, where `cache` does not name it. */
  readonly cacheWrites: number;
  /** IDs of files, containers and the like that are kept with the upstream's provider. */
  readonly resources: readonly string[];
  /** Further fields of requests that are passed on at the plain price. */
  readonly fields: readonly string[];
}

/** Nothing that costs more. */
export const NO_EXTRAS: AllowedExtras = {
  tiers: {},
  regions: {},
  tools: {},
  cache: {},
  cacheWrites: 1,
  resources: [],
  fields: [],
};

/** What one request asks for, in figures. */
export interface UsedExtras {
  /** The factor of the prices of all tokens. */
  readonly factor: number;
  /** The fields that have a part in it, each with its own factor. */
  readonly asked: Readonly<Record<string, number>>;
  /** The factor of the input price for what is written to a cache, where the upstream does not tell for how long. */
  readonly writeFactor: number;
  /** The same where it tells: for the usual lifetime, and for an hour. */
  readonly writes: { readonly usual: number; readonly hour: number };
  /** Tools that run at the upstream, with the price of a call in credits. */
  readonly tools: Readonly<Record<string, number>>;
  /** Calls of them that one reply may have, as far as that is known; 0 without any. */
  readonly maxCalls: number;
  /** Whether all of the input is text: what an upstream says of sound and pictures in it is not charged. */
  readonly isText?: boolean | undefined;
}
