import type { Settings } from "../../settings/config/mod.ts";
import { OidcProvider } from "./provider.ts";
import type { WaysOptions } from "./ways.ts";

/** What {@linkcode Providers} need. */
export interface ProvidersOptions {
  /** As they are now. */
  readonly settings: () => Pick<Settings, "signIn" | "proxies">;
  /** How their addresses are reached. */
  readonly waysOf: (settings: Pick<Settings, "proxies">) => WaysOptions;
  readonly now: () => number;
}

/** The providers of the settings, by name. */
export class Providers {
  readonly #options: ProvidersOptions;
  readonly #known = new Map<string, OidcProvider>();

  constructor(options: ProvidersOptions) {
    this.#options = options;
  }

  find(name: string): OidcProvider | undefined {
    const { waysOf, now } = this.#options;
    const all = this.#options.settings();
    const settings = all.signIn?.oidc.find((one) => one.name === name);
    if (settings === undefined) return undefined;
    const known = this.#known.get(name);
    if (known?.settings === settings) return known;
    const made = new OidcProvider(settings, { ...waysOf(all), now });
    this.#known.set(name, made);
    return made;
  }
}
