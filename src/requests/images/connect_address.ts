import { following, until } from "../../ground/platform/mod.ts";
import { isPublicAddress } from "./address.ts";
import { ImageFault, unreachable } from "./fault.ts";
import type { Resolve } from "./resolve.ts";
import type { Target } from "./target.ts";

const RESOLVE_MS = 5_000;

/** How names are resolved. */
interface ResolveOptions {
  readonly resolve: Resolve;
  /** Max time, in milliseconds. */
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

/**
 * Resolves the host of a checked URL.
 *
 * @param target The URL, as `checkAddress` returned it.
 * @param options How names are resolved, max time in milliseconds, and a signal that ends it early.
 * @returns The one IP address to connect to, so that no name is resolved a second time.
 * @throws {ImageFault} If the name has no address, or one that is not public although the host is not trusted.
 */
export async function connectAddress(
  target: Target,
  options: ResolveOptions,
): Promise<string> {
  if (target.address !== undefined) return target.address;
  const [first] = await checkedAddresses(target, options);
  if (first === undefined) throw unreachable("a host name without addresses");
  return first;
}

/**
 * Checks the host of a checked URL for a connection through a proxy, which resolves the name itself. A name that does not resolve
 * here passes: behind a proxy, names of the world often do not.
 *
 * @throws {ImageFault} If the name has an address that is not public although the host is not trusted.
 */
export async function checkName(target: Target, options: ResolveOptions): Promise<void> {
  if (target.address !== undefined) return;
  await checkedAddresses(target, options).catch((error) => {
    if (error instanceof ImageFault || options.signal.aborted) throw error;
  });
}

async function checkedAddresses(
  { url, trusted }: Target,
  { resolve, timeoutMs, signal }: ResolveOptions,
): Promise<readonly string[]> {
  const late = AbortSignal.timeout(Math.min(RESOLVE_MS, timeoutMs));
  using either = following(signal, late);
  const addresses = await until(
    resolve(url.hostname.replace(/\.$/, ""), either.signal),
    either.signal,
  );
  if (!trusted && !addresses.every(isPublicAddress)) {
    throw unreachable("a host name that is not public");
  }
  return addresses;
}
