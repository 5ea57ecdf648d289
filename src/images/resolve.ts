/**
 * All addresses of a name.
 *
 * @param signal Aborted when it takes too long.
 */
export type Resolve = (name: string, signal: AbortSignal) => Promise<string[]>;

/** Asks the system's resolver for A and AAAA records. */
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
