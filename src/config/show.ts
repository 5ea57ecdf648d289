import { type Config, leaves, type Origin } from "./load.ts";
import { Secret } from "./secret.ts";

/** Settings besides the `Secret` ones whose values may hold secrets. */
const PRIVATE_PATHS: readonly RegExp[] = [/^upstreams\.[^.]+\.headers\./, /^payments\./];

/** One effective setting. */
export interface EffectiveSetting {
  readonly path: string;
  readonly value: unknown;
  readonly origin: Origin;
}

/** Every effective setting and where it came from, secrets masked. */
export function effectiveSettings(config: Config): EffectiveSetting[] {
  return leaves(config.settings)
    .filter(([, value]) => value !== undefined)
    .map(([segments, value]) => {
      const path = segments.join(".");
      return { path, value: mask(path, value), origin: originOf(path, config.origins) };
    });
}

function mask(path: string, value: unknown): unknown {
  if (value instanceof Secret || PRIVATE_PATHS.some((secret) => secret.test(path))) {
    return "[secret]";
  }
  return maskAddress(value);
}

/** An address may carry a password, or a key in its query. */
function maskAddress(value: unknown): unknown {
  if (typeof value !== "string" || !/^[a-z]+:\/\//.test(value)) return value;
  return value.replace(/^([a-z]+:\/\/)[^/?#@]*@/, "$1[secret]@")
    .replace(/([?&][^=&#]*=)[^&#]*/g, "$1[secret]");
}

function originOf(path: string, origins: ReadonlyMap<string, Origin>): Origin {
  const own = origins.get(path);
  if (own !== undefined) return own;
  const parent = path.lastIndexOf(".");
  return parent < 0 ? "default" : originOf(path.slice(0, parent), origins);
}
