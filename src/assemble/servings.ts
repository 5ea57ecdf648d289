import type { AdmissionSettings } from "../requests/admission/mod.ts";
import { type Config, locateFaults, type Settings } from "../settings/config/mod.ts";
import { TierList } from "../money/ledger/mod.ts";
import type { Retention, RetentionLimits } from "../money/usage/mod.ts";
import type { ListsNews } from "../requests/upstreams/mod.ts";
import type { Reload } from "./reload.ts";
import { type LastingParts, newsOf, openServing, type Serving } from "./serving.ts";
import { ensureOwner } from "./store.ts";

/** Settings that a running gateway keeps, as comparable text: where it listens, and where its state is. */
const KEPT: Readonly<Record<string, (settings: Settings) => unknown>> = {
  host: ({ host }) => host,
  port: ({ port }) => port,
  data: ({ data }) => data,
  "database.url": ({ database }) => database.url,
  "database.token": ({ database }) => database.token?.reveal(),
  "database.replicaUrl": ({ database }) => database.replicaUrl,
  durability: ({ durability }) => durability,
  workers: ({ workers }) => workers,
  secret: ({ secret }) => secret?.reveal(),
};

/** The other threads that serve, which use the same settings. */
export interface OtherThreads {
  /** Makes what the settings need in each of them; nothing changes yet. @throws {Error} If one cannot. */
  prepare(config: Config, lists: ListsNews): Promise<void>;
  /** Uses what was prepared. */
  apply(): Promise<void>;
  /** Forgets what was prepared. */
  discard(): Promise<void>;
  /** Tells them that the upstreams list other models. */
  listsChanged(lists: ListsNews): void;
}

/** What {@linkcode Servings} needs from the thread that it is in. */
export interface ServingsParts extends LastingParts {
  /** Only in the main thread. */
  readonly retention?: Retention | undefined;
}

/** The settings in use, and what they have made; replaced as a whole when they are read again. */
export class Servings implements AsyncDisposable {
  readonly #parts: ServingsParts;
  #current: Serving;
  /** What was prepared and is not used yet. */
  #next: Serving | undefined;
  /** The other threads that serve, which follow every change. */
  others: OtherThreads | undefined;
  #reloading: Promise<unknown> = Promise.resolve();
  #lastReload: Reload | undefined;
  #stopping = false;
  /** Earlier ones, until their last request has ended. */
  readonly #retiring = new Set<Promise<void>>();

  private constructor(first: Serving, parts: ServingsParts) {
    this.#current = first;
    this.#parts = parts;
  }

  /**
   * Opens the first.
   *
   * @param received What another thread has found that upstreams list; without, they are asked here.
   * @throws {ConfigError} If routes or aliases contradict each other.
   */
  static async open(
    config: Config,
    parts: ServingsParts,
    received?: ListsNews,
  ): Promise<Servings> {
    const changed = (news: ListsNews) => {
      if (servings.#current === first) servings.others?.listsChanged(news);
    };
    const options = { mayWait: true, received, listsChanged: changed };
    const first = await openServing(config, parts, options);
    const servings = new Servings(first, parts);
    return servings;
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
    this.#parts.sockets.drain(true);
  }

  /**
   * Reads the settings again and applies them. Requests in progress keep those that they began with. After a fault of
   * any kind, everything stays as it was.
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

  /** Replaces the settings in use. Returns the names of those that need a restart. */
  async #replace(config: Config): Promise<readonly string[]> {
    const { admission, store } = this.#parts;
    const kept = keep(this.#current.config.settings, config);
    await this.prepare(kept.config).catch((error) => {
      throw locateFaults(error, config.fileText);
    });
    const { settings } = kept.config;
    try {
      await this.others?.prepare(kept.config, newsOf(this.#next!.lists));
      await admission.configure(admissionSettings(settings));
      await ensureOwner({ ...store, config: kept.config });
    } catch (error) {
      await Promise.all([this.discard(), this.others?.discard()]);
      throw error;
    }
    const applied = this.others?.apply();
    this.apply();
    await applied;
    return kept.changed;
  }

  /**
   * Makes what other settings need. Nothing changes until {@linkcode apply}.
   *
   * @param received What another thread has found that upstreams list; without, they are asked here.
   * @throws {ConfigError} If routes or aliases contradict each other.
   */
  async prepare(config: Config, received?: ListsNews): Promise<void> {
    await this.discard();
    const next: Serving = await openServing(config, this.#parts, {
      mayWait: false,
      received,
      listsChanged: (news) => {
        if (this.#current === next) this.others?.listsChanged(news);
      },
    });
    this.#next = next;
  }

  /** Uses what was prepared, if anything was, for requests that come from now on. */
  apply(): void {
    const next = this.#next;
    if (next === undefined) return;
    this.#next = undefined;
    const { admission, bounds, retention } = this.#parts;
    const { settings } = next.config;
    void admission.use(admissionSettings(settings));
    bounds.configure(settings);
    if (retention !== undefined) retention.limits = retentionLimits(settings);
    if (this.#stopping) next.app.stopTaking();
    const before = this.#current;
    this.#current = next;
    this.#retire(before);
  }

  /** Forgets what was prepared. */
  async discard(): Promise<void> {
    const next = this.#next;
    this.#next = undefined;
    await next?.[Symbol.asyncDispose]();
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
    await this.discard();
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
  const { host, port, data, database, durability, workers, secret } = before;
  const settings = { ...next.settings, host, port, data, database, durability, workers, secret };
  return { config: { ...next, settings }, changed };
}

/** What admission takes from the settings. */
export function admissionSettings({ tiers, limits, outage }: Settings): AdmissionSettings {
  const { patienceMs } = outage;
  return { tierList: new TierList(tiers), leaseMs: limits.holdLeaseMs, patienceMs };
}

/** Whether settings name programs that print tokens of upstreams. */
export function runsPrograms({ settings }: Config): boolean {
  return Object.values(settings.upstreams).some(({ credentials }) =>
    credentials?.kind === "command"
  );
}

/** What retention takes from the settings. */
export function retentionLimits(
  { retention: { requestDays, requestRows, logDays } }: Settings,
): RetentionLimits {
  return { days: requestDays, rows: requestRows, logDays };
}
