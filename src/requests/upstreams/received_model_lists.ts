import type { Listings } from "../../settings/catalog/mod.ts";

/** The models that upstreams list, and how they change. */
export interface UpstreamModels {
  /** The models of each upstream that lists some. */
  readonly listings: Listings;
  /** Upstreams that were asked and cannot list their models, or have not answered yet. */
  readonly without: readonly string[];
  /** @param changed Called when a list has changed. */
  watch(changed: () => void): void;
  close(): Promise<void>;
}

/** The lists at one moment. */
export type ListsNews = Pick<UpstreamModels, "listings" | "without">;

/** The lists as another thread tells them, which asks the upstreams for the whole process. */
export class ReceivedModelLists implements UpstreamModels {
  #news: ListsNews;
  #changed: () => void = () => {};

  constructor(news: ListsNews) {
    this.#news = news;
  }

  get listings(): Listings {
    return this.#news.listings;
  }

  get without(): readonly string[] {
    return this.#news.without;
  }

  watch(changed: () => void): void {
    this.#changed = changed;
  }

  /** Notes what the other thread tells. */
  onNews(news: ListsNews): void {
    this.#news = news;
    this.#changed();
  }

  close(): Promise<void> {
    this.#changed = () => {};
    return Promise.resolve();
  }
}
