import { following, until } from "../../ground/platform/mod.ts";
import { isPublicAddress } from "./address.ts";
import { unreachable } from "./fault.ts";
import type { Resolve } from "./resolve.ts";
import type { Target } from "./target.ts";

const RESOLVE_MS = 5_000;

/**
 * Resolves the host of a checked URL.
 *
 * @param target The URL, as `checkAddress` returned it.
 * @param options How names are resolved, max time in milliseconds, and a signal that ends it early.
 * @returns The one IP address to connect to, so that no name is resolved a second time.
 * @throws {ImageFault} If the name has no address, or one that is not public although the host is not trusted.
 */
export async function connectAddress(
  { url, trusted, address }: Target,
  { resolve, timeoutMs, signal }: {
    readonly resolve: Resolve;
    readonly timeoutMs: number;
    readonly signal: AbortSignal;
  },
): Promise<string> {
  if (address !== undefined) return address;
  const late = AbortSignal.timeout(Math.min(RESOLVE_MS, timeoutMs));
  using either = following(signal, late);
  const addresses = await until(
    resolve(url.hostname.replace(/\.$/, ""), either.signal),
    either.signal,
  );
  const [first] = addresses;
  if (first === undefined) throw unreachable("a host name without addresses");
  if (!trusted && !addresses.every(isPublicAddress)) {
    throw unreachable("a host name that is not public");
  }
  return first;
}
