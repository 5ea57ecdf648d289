import type { AdmissionSettings } from "../admission/mod.ts";
import { type Config, locateFaults, type Settings } from "../config/mod.ts";
import { TierList } from "../ledger/mod.ts";
import type { Retention, RetentionLimits } from "../usage/mod.ts";
import { type LastingParts, openServing, type Serving } from "./serving.ts";
import { ensureOwner, type StoreOptions } from "./store.ts";

/** Settings that a running gateway keeps, as comparable text: where it listens, and where its state is. */
const KEPT: Readonly<Record<string, (settings: Settings) => unknown>> = {
  host: ({ host }) => host,
  port: ({ port }) => port,
  data: ({ data }) => data,
  "database.url": ({ database }) => database.url,
  "database.token": ({ database }) => database.token?.reveal(),
  durability: ({ durability }) => durability,
};

/** How a reload went. */
export interface Reload {
  /** How many there were, this one included. */
  readonly count: number;
  readonly atMs: number;
  /** Why the settings in use stayed; null if the new ones are used. */
  readonly fault: string | null;
  /** Changed settings that need a restart. */
  readonly needRestart: readonly string[];
}

/** The settings in use, and what they have made; replaced as a whole when they are read again. */
export class Servings implements AsyncDisposable {
  readonly #parts: LastingParts & { readonly retention: Retention };
  readonly #storeOptions: StoreOptions;
  #current: Serving;
  #reloading: Promise<unknown> = Promise.resolve();
  #lastReload: Reload | undefined;
  #stopping = false;
  /** Earlier ones, until their last request has ended. */
  readonly #retiring = new Set<Promise<void>>();

  private constructor(
    first: Serving,
    parts: LastingParts & { readonly retention: Retention },
    storeOptions: StoreOptions,
  ) {
    this.#current = first;
    this.#parts = parts;
    this.#storeOptions = storeOptions;
  }

  /**
   * Opens the first.
   *
   * @throws {ConfigError} If routes or aliases contradict each other.
   */
  static async open(
    config: Config,
    parts: LastingParts & { readonly retention: Retention },
    storeOptions: StoreOptions,
  ): Promise<Servings> {
    return new Servings(
      await openServing(config, parts, { ...storeOptions, mayWait: true }),
      parts,
      storeOptions,
    );
  }

  /** The one for new requests. */
  get current(): Serving {
    return this.#current;
  }

  /** How the last reload went; `undefined` before the first. */
  get lastReload(): Reload | undefined {
    return this.#lastReload;
  }

  /** Rejects new requests from now on, after a reload too. */
  stopTaking(): void {
    this.#stopping = true;
    this.#current.app.stopTaking();
  }

  /**
   * Reads the settings again and applies them. Requests in progress keep those that they began with. After a fault of
   * any kind, everything stays as it was.
   *
   * @param read Reads the settings.
   * @returns How it went.
   */
  reload(read: () => Promise<Config>): Promise<Reload> {
    const reloaded = this.#reloading.then(() => this.#reload(read));
    this.#reloading = reloaded;
    return reloaded;
  }

  async #reload(read: () => Promise<Config>): Promise<Reload> {
    const { log } = this.#parts;
    const count = (this.#lastReload?.count ?? 0) + 1;
    const outcome = { count, atMs: Date.now(), fault: null, needRestart: [] };
    try {
      const config = await read();
      const needRestart = await this.#replace(config);
      for (const warning of config.warnings) log.warn(warning);
      log.info("settings reloaded", {
        file: config.file,
        needs_restart: needRestart.length === 0 ? undefined : needRestart.join(", "),
      });
      this.#lastReload = { ...outcome, needRestart };
    } catch (error) {
      const fault = error instanceof Error ? error.message : String(error);
      log.error("settings not reloaded: those in use stay", { error: fault });
      this.#lastReload = { ...outcome, fault };
    }
    return this.#lastReload;
  }

  /** Puts new settings in the place of those in use. Returns the names of those that need a restart. */
  async #replace(config: Config): Promise<readonly string[]> {
    const { admission, bounds, retention, store } = this.#parts;
    const before = this.#current;
    const kept = keep(before.config.settings, config);
    const next = await openServing(kept.config, this.#parts, {
      ...this.#storeOptions,
      mayWait: false,
    }).catch((error) => {
      throw locateFaults(error, config.fileText);
    });
    const { settings } = kept.config;
    try {
      await admission.configure(admissionSettings(settings));
      await ensureOwner({ ...store, config: kept.config });
    } catch (error) {
      await next[Symbol.asyncDispose]();
      throw error;
    }
    bounds.configure(settings);
    retention.limits = retentionLimits(settings);
    if (this.#stopping) next.app.stopTaking();
    this.#current = next;
    this.#retire(before);
    return kept.changed;
  }

  /** Closes what earlier settings have made, once its last request has ended. */
  #retire(before: Serving): void {
    const retired = before.app.idle()
      .then(() => before[Symbol.asyncDispose]())
      .catch((error) => {
        this.#parts.log.warn("upstreams of earlier settings were not closed", {
          error: String(error),
        });
      })
      .finally(() => this.#retiring.delete(retired));
    this.#retiring.add(retired);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#reloading;
    await this.#current[Symbol.asyncDispose]();
    await Promise.all(this.#retiring);
  }
}

/** The settings of `next`, but what only a restart applies as it is. */
function keep(
  before: Settings,
  next: Config,
): { readonly config: Config; readonly changed: readonly string[] } {
  const changed = Object.keys(KEPT).filter((name) =>
    KEPT[name]!(before) !== KEPT[name]!(next.settings) &&
    !(name === "port" && next.settings.port === 0) // any will do
  );
  const { host, port, data, database, durability } = before;
  const settings = { ...next.settings, host, port, data, database, durability };
  return { config: { ...next, settings }, changed };
}

/** What admission takes from the settings. */
export function admissionSettings({ tiers, limits }: Settings): AdmissionSettings {
  return { tierList: new TierList(tiers), leaseMs: limits.holdLeaseMs };
}

/** What retention takes from the settings. */
export function retentionLimits(
  { retention: { requestDays, requestRows } }: Settings,
): RetentionLimits {
  return { days: requestDays, rows: requestRows };
}
