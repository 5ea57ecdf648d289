import type { KeyOwner } from "../../money/ledger/mod.ts";
import type { KeyPool } from "./key_pool.ts";

/** A key that is not the gateway's, with which a request is sent to one upstream. */
export interface OwnKey {
  readonly owner: KeyOwner;
  /** The key as a pool of one: how it has been doing is nobody's else. */
  readonly keys: KeyPool;
  /** Takes the key out of what an upstream says. */
  redact(text: string): string;
}
