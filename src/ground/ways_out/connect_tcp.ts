import { lookup as lookUp } from "node:dns/promises";
import { following, until } from "../platform/mod.ts";

/** How long an address may take before the next one is tried as well, in milliseconds (RFC 8305, section 5). */
const NEXT_ADDRESS_MS = 250;

/** Looks up all addresses of a host name, the preferred one first. An address is its own. */
export type Lookup = (hostname: string) => Promise<readonly string[]>;

/** How hosts are connected to. */
export interface TcpOptions {
  readonly port: number;
  /** Ends the attempts. */
  readonly signal: AbortSignal;
  /** Tests replace it. */
  readonly lookup?: Lookup | undefined;
}

/**
 * Connects to a host by "happy eyeballs" (RFC 8305): its addresses are tried in turn, IPv6 and IPv4 by turns, the next one as soon as one
 * fails or takes long. The first connection wins. Not left to the platform: Deno 2.4 tries only the first address, and later versions
 * wait for one that is silent.
 *
 * @throws What the first address failed with, after all have; `ENOTFOUND` and the like when there is none; or the signal's reason.
 */
export async function connectTcp(
  hostname: string,
  { port, signal, lookup = systemLookup }: TcpOptions,
): Promise<Deno.TcpConn> {
  const addresses = byTurns(await until(lookup(hostname), signal));
  if (addresses.length === 0) throw unknownHost(hostname);
  using attempts = following(signal);
  const first = Promise.withResolvers<Deno.TcpConn>();
  const failures: unknown[] = [];
  let tried = 0;
  let failed = 0;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const tryNext = () => {
    clearTimeout(timer);
    if (tried === addresses.length || attempts.signal.aborted) return;
    const at = tried++;
    timer = setTimeout(tryNext, NEXT_ADDRESS_MS);
    Deno.connect({ hostname: addresses[at]!, port, signal: attempts.signal }).then(
      (connection) => {
        if (attempts.signal.aborted) return connection.close(); // it came too late
        attempts.abort();
        first.resolve(connection);
      },
      (error) => {
        failures[at] = error;
        if (++failed === addresses.length) first.reject(failures[0]);
        else tryNext();
      },
    );
  };
  tryNext();
  try {
    return await until(first.promise, signal);
  } finally {
    clearTimeout(timer);
  }
}

/** Asks the system: its hosts file, and DNS. */
async function systemLookup(hostname: string): Promise<readonly string[]> {
  return (await lookUp(hostname, { all: true, verbatim: true })).map(({ address }) => address);
}

/** Puts addresses of the two families in turn, so that one family that leads nowhere costs one wait only. */
export function byTurns(addresses: readonly string[]): readonly string[] {
  const isSameFamily = (address: string) => address.includes(":") === addresses[0]!.includes(":");
  const same = addresses.filter(isSameFamily);
  const other = addresses.filter((address) => !isSameFamily(address));
  return Array.from({ length: addresses.length }, (_, at) => [same[at], other[at]]).flat()
    .filter((address) => address !== undefined);
}

function unknownHost(hostname: string): Error {
  return Object.assign(new Error(`no address of ${hostname}`), { code: "ENOTFOUND" });
}
