import { createHash } from "node:crypto";
import type { Route, Target } from "../../settings/catalog/mod.ts";

/**
 * Makes the `system_fingerprint` of replies whose upstream names none: the same as long as the same target serves the
 * route, so that clients see when another one replies. It says nothing about the target.
 */
export function fingerprintOf({ id }: Pick<Route, "id">, target: Target): string {
  let byRoute = known.get(target);
  if (byRoute === undefined) known.set(target, byRoute = new Map());
  let fingerprint = byRoute.get(id);
  if (fingerprint === undefined) {
    const text = JSON.stringify([id, target.upstream, target.model]);
    fingerprint = `fp_${createHash("sha256").update(text).digest("hex").slice(0, 10)}`;
    byRoute.set(id, fingerprint);
  }
  return fingerprint;
}

/** A hash per configured target, not per request. */
const known = new WeakMap<Target, Map<string, string>>();
