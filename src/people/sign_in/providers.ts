import { proxyOf, type Settings } from "../../settings/config/mod.ts";
import { OidcProvider } from "./provider.ts";

/** The providers of the settings, by name. */
export class Providers {
  readonly #settings: () => Pick<Settings, "signIn" | "proxies">;
  readonly #now: () => number;
  readonly #known = new Map<string, OidcProvider>();

  /** @param settings As they are now. */
  constructor(settings: () => Pick<Settings, "signIn" | "proxies">, now: () => number) {
    this.#settings = settings;
    this.#now = now;
  }

  find(name: string): OidcProvider | undefined {
    const { signIn, proxies } = this.#settings();
    const settings = signIn?.oidc.find((one) => one.name === name);
    if (settings === undefined) return undefined;
    const known = this.#known.get(name);
    if (known?.settings === settings) return known;
    const made = new OidcProvider(settings, {
      now: this.#now,
      proxyFor: (url) => proxyOf(url, { proxies }),
    });
    this.#known.set(name, made);
    return made;
  }
}
