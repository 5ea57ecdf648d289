import type { FairShare, Share } from "../../ground/fair_share/mod.ts";
import type { Caller } from "../../people/accounts/mod.ts";
import type { Connections } from "./connections.ts";

/** Places for requests, or for WebSockets, that are open at the same time. */
export interface Places {
  readonly accounts: FairShare;
  readonly keys: FairShare;
}

/**
 * Takes a place of the key and one of its account, and marks the connection as in use.
 *
 * @param caller The key and its account.
 * @returns A function that gives all of it back; called again, it does nothing.
 * @throws {Refusal} If there is no place.
 */
export function takePlace(
  { accountId, keyId }: Pick<Caller, "accountId" | "keyId">,
  { accounts, keys }: Places,
  { peer, connections, released }: {
    readonly peer: Deno.Addr | undefined;
    readonly connections: Pick<Connections, "occupy">;
    /** Called once, when it is given back. */
    readonly released?: () => void;
  },
): () => void {
  const ofKey = keys.takeNow(keyId, 1);
  let ofAccount: Share;
  try {
    ofAccount = accounts.takeNow(accountId, 1);
  } catch (error) {
    ofKey.release();
    throw error;
  }
  const freeConnection = peer && connections.occupy(peer);
  let isOver = false;
  return () => {
    if (isOver) return;
    isOver = true;
    ofKey.release();
    ofAccount.release();
    freeConnection?.();
    released?.();
  };
}
