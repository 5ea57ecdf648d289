import { type Config, leaves, type Origin } from "./load.ts";
import { maskAddress, Secret } from "./secret.ts";

/** Settings that may contain secrets, besides those of type `Secret`. */
const PRIVATE_PATHS: readonly RegExp[] = [
  /^upstreams\.[^.]+\.headers\./,
  /^alerts\.receivers\.[^.]+\.url$/,
  /^payments\.stripe\.(?:secretKey|webhookSecret)$/,
];

/** Secrets of which all but user name and password is shown. */
const ADDRESSES = /^proxies\.https?$|(?:^|\.)proxy$/;

/** An effective setting with its dotted path and origin. */
export interface EffectiveSetting {
  readonly path: string;
  readonly value: unknown;
  readonly origin: Origin;
}

/**
 * Lists the effective settings.
 *
 * @param config The loaded settings.
 * @returns Every setting with its value and origin. Secrets are masked.
 */
export function effectiveSettings(config: Config): EffectiveSetting[] {
  return leaves(config.settings)
    .filter(([, value]) => value !== undefined)
    .map(([segments, value]) => {
      const path = segments.join(".");
      return { path, value: mask(path, value), origin: originOf(path, config.origins) };
    });
}

function mask(path: string, value: unknown): unknown {
  if (value instanceof Secret && ADDRESSES.test(path)) return maskAddress(value.reveal());
  if (value instanceof Secret || PRIVATE_PATHS.some((secret) => secret.test(path))) {
    return "[secret]";
  }
  return typeof value === "string" ? maskAddress(value) : value;
}

function originOf(path: string, origins: ReadonlyMap<string, Origin>): Origin {
  const own = origins.get(path);
  if (own !== undefined) return own;
  const parent = path.lastIndexOf(".");
  return parent < 0 ? "default" : originOf(path.slice(0, parent), origins);
}
