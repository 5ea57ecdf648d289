/** A model that an upstream lists. */
export interface ListedModel {
  readonly id: string;
  /** Context window in tokens, if the upstream says so. */
  readonly context?: number | undefined;
  /** Max output tokens, if the upstream says so. */
  readonly maxOutput?: number | undefined;
}

/** The models of upstreams that were asked for them, by the upstream's name. One that cannot list any is missing. */
export type Listings = ReadonlyMap<string, readonly ListedModel[]>;

/** For a catalog without models that upstreams list. */
export const NO_LISTINGS: Listings = new Map();
