import { type Config, leaves, type Origin } from "./load.ts";
import { isPrivate, maskAddress, Secret } from "./secret.ts";

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
      return { path, value: mask(segments, value), origin: originOf(path, config.origins) };
    });
}

function mask(segments: readonly string[], value: unknown): unknown {
  if (value instanceof Secret && ADDRESSES.test(segments.join("."))) {
    return maskAddress(value.reveal());
  }
  if (value instanceof Secret || isPrivate(segments)) return "[secret]";
  return typeof value === "string" ? maskAddress(value) : value;
}

function originOf(path: string, origins: ReadonlyMap<string, Origin>): Origin {
  const own = origins.get(path);
  if (own !== undefined) return own;
  const parent = path.lastIndexOf(".");
  return parent < 0 ? "default" : originOf(path.slice(0, parent), origins);
}
