import { ImageFault, type Resolve, systemResolve, wayTo } from "../../requests/images/mod.ts";
import { WayError, type WaysOptions } from "../../people/sign_in/mod.ts";
import { proxyOf, type Settings } from "../../settings/config/mod.ts";

const TIMEOUT_MS = 10_000;

/** How the addresses of sign-in's providers are reached: the issuer's host and private ones as the settings say, any other behind the guard (P10). */
export function providerWays(
  { proxies }: Pick<Settings, "proxies">,
  resolve: Resolve = systemResolve,
): WaysOptions {
  return {
    proxyFor: (url) => proxyOf(url, { proxies }),
    async wayTo({ href, origin }, trust) {
      const options = { ...trust, proxies, resolve, timeoutMs: TIMEOUT_MS };
      try {
        return await wayTo(href, options);
      } catch (error) {
        if (!(error instanceof ImageFault)) throw error;
        const why = error.kind === "address"
          ? error.message.split(": ").at(-1)
          : "it is not public";
        throw new WayError(`names an address that is not asked: ${origin}, as ${why}`, {
          cause: error,
        });
      }
    },
  };
}
