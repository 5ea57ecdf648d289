import type { ListedModel, Listings } from "../../settings/catalog/mod.ts";
import type { UpstreamSettings } from "../../settings/config/mod.ts";
import { writeFile } from "../../ground/files/mod.ts";
import { joinPath } from "../../ground/std/mod.ts";
import type { Log } from "../../ground/telemetry/mod.ts";
import { probeUpstream } from "./probe.ts";

/** What an upstream has listed, and where: another address is another upstream. */
interface StoredList {
  readonly url: string;
  readonly models: readonly ListedModel[];
}

/** Dependencies of {@linkcode ModelLists}. */
export interface ModelListsOptions {
  /** Directory of the file that keeps the lists from one start to the next. */
  readonly directory: string;
  readonly log: Log;
  readonly now: () => number;
}

const EVERY_MS = 10 * 60_000;
/** Interval while an upstream that has never listed its models does not answer. */
const RETRY_MS = 30_000;
const PATIENCE_MS = 5_000;
const FILE = "models.json";

/**
 * The models that upstreams list (settings `discover`). One that does not answer keeps its last list, also after a
 * restart; one that cannot list its models has none.
 */
export class ModelLists {
  readonly #upstreams: ReadonlyMap<string, UpstreamSettings>;
  readonly #options: ModelListsOptions;
  #lists: ReadonlyMap<string, StoredList>;
  #nextMs = EVERY_MS;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #asking: Promise<void> = Promise.resolve();
  readonly #closing = new AbortController();

  private constructor(
    upstreams: ReadonlyMap<string, UpstreamSettings>,
    options: ModelListsOptions,
    lists: ReadonlyMap<string, StoredList>,
  ) {
    this.#upstreams = upstreams;
    this.#options = options;
    this.#lists = lists;
  }

  /**
   * Asks the upstreams for their models, and waits up to five seconds for each.
   *
   * @param upstreams All upstreams of the settings; those without `discover` are left out.
   * @param options Where lists are kept, log and clock; `mayWait`: whether kept lists of all upstreams will do, to be
   *   asked for again at once.
   * @returns The lists. That of an upstream that does not answer is the kept one.
   */
  static async open(
    upstreams: Readonly<Record<string, UpstreamSettings>>,
    options: ModelListsOptions & { readonly mayWait?: boolean },
  ): Promise<ModelLists> {
    const asked = new Map(Object.entries(upstreams).filter(([, { discover }]) => discover));
    const stored = await readLists(options.directory);
    const usable = [...stored].filter(([name, { url }]) => asked.get(name)?.url === url);
    const lists = new ModelLists(asked, options, new Map(usable));
    if (options.mayWait && usable.length === asked.size) lists.#nextMs = 0;
    else await lists.ask();
    return lists;
  }

  /** The models of each upstream that lists some. */
  get listings(): Listings {
    return new Map([...this.#lists].map(([name, { models }]) => [name, models]));
  }

  /** Upstreams that were asked and cannot list their models, or have not answered yet. */
  get without(): readonly string[] {
    return [...this.#upstreams.keys()].filter((name) => !this.#lists.has(name));
  }

  /**
   * Asks again every ten minutes, and sooner while an upstream without a list does not answer.
   *
   * @param changed Called when a list has changed.
   */
  watch(changed: () => void): void {
    if (this.#closing.signal.aborted || this.#upstreams.size === 0) return;
    this.#timer = setTimeout(() => {
      this.#asking = this.#askAgain(changed);
    }, this.#nextMs);
    Deno.unrefTimer(this.#timer);
  }

  /** Asks all upstreams now. Returns whether a list has changed. */
  async ask(): Promise<boolean> {
    const before = JSON.stringify([...this.#lists]);
    const lists = new Map(this.#lists);
    const silent: string[] = [];
    await Promise.all([...this.#upstreams].map(async ([name, settings]) => {
      const { lists: canList, models, status } = await probeUpstream(name, settings, {
        now: this.#options.now,
        patienceMs: PATIENCE_MS,
        closing: this.#closing.signal,
      });
      if (canList) lists.set(name, { url: settings.url, models });
      else if (status === 404 || status === 405 || status === 501) lists.delete(name);
      else if (!lists.has(name)) silent.push(name);
    }));
    this.#nextMs = silent.length > 0 ? RETRY_MS : EVERY_MS;
    if (this.#closing.signal.aborted) return false;
    this.#lists = new Map([...lists].toSorted(([a], [b]) => a < b ? -1 : 1));
    const hasChanged = JSON.stringify([...this.#lists]) !== before;
    if (hasChanged) await this.#store();
    return hasChanged;
  }

  /** Stops asking. Resolves when nothing is asked any more. */
  async close(): Promise<void> {
    this.#closing.abort();
    clearTimeout(this.#timer);
    await this.#asking;
  }

  async #askAgain(changed: () => void): Promise<void> {
    try {
      if (await this.ask()) changed();
    } catch (error) {
      this.#options.log.warn("upstreams could not be asked for their models", {
        error: String(error),
      });
    }
    this.watch(changed);
  }

  async #store(): Promise<void> {
    const { directory, log } = this.#options;
    const path = joinPath(directory, FILE);
    try {
      await writeFile(path, JSON.stringify([...this.#lists]), { mode: 0o600 });
    } catch (error) {
      log.warn("the upstreams' models could not be kept for the next start", {
        error: String(error),
      });
    }
  }
}

/**
 * Reads the lists that a gateway has kept, for commands.
 *
 * @param upstreams All upstreams of the settings.
 * @param directory The data directory.
 * @returns The models of each upstream that lists some.
 */
export async function keptListings(
  upstreams: Readonly<Record<string, UpstreamSettings>>,
  directory: string,
): Promise<Listings> {
  const lists = await readLists(directory);
  return new Map(
    [...lists].filter(([name, { url }]) => {
      const upstream = upstreams[name];
      return upstream?.discover === true && upstream.url === url;
    }).map(([name, { models }]) => [name, models]),
  );
}

/** Lists that are damaged are as good as none: the upstreams are asked anyway. */
async function readLists(directory: string): Promise<ReadonlyMap<string, StoredList>> {
  try {
    const text = await Deno.readTextFile(joinPath(directory, FILE));
    const lists = new Map<string, StoredList>(JSON.parse(text));
    const isWhole = [...lists.values()].every(({ models }) =>
      models.every(({ id }) => typeof id === "string")
    );
    return isWhole ? lists : new Map();
  } catch {
    return new Map();
  }
}
