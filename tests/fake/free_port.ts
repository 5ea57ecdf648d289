/**
 * Ports for programs that are told theirs.
 *
 * They lie below those that Linux gives to all that ask for any, servers at port 0 and connections: between the look and the
 * program's start, another test would get one of those.
 */
const [FIRST, COUNT] = [16_384, 16_384];

/** A port on loopback that nothing listens at now. */
export function freePort(): number {
  while (true) {
    const port = FIRST + Math.floor(Math.random() * COUNT);
    try {
      Deno.listen({ hostname: "127.0.0.1", port }).close();
      return port;
    } catch (error) {
      if (!(error instanceof Deno.errors.AddrInUse)) throw error;
    }
  }
}
