/**
 * Resolves a host name.
 *
 * @param name The host name.
 * @param signal Aborted when resolution takes too long.
 * @returns All IPv4 and IPv6 addresses; empty if there are none.
 */
export type Resolve = (name: string, signal: AbortSignal) => Promise<string[]>;

/** Resolves A and AAAA records with the system's resolver. */
export const systemResolve: Resolve = async (name, signal) => {
  const ask = async (type: "A" | "AAAA") => {
    try {
      return await Deno.resolveDns(name, type, { signal });
    } catch (error) {
      if (error instanceof Deno.errors.NotFound) return []; // a name without such records
      throw error;
    }
  };
  return (await Promise.all([ask("A"), ask("AAAA")])).flat();
};
