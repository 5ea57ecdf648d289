import type { Caller } from "../../people/accounts/mod.ts";
import type { Front, HeaderLookup } from "../../wire/dialects/mod.ts";
import type { AccountStatus } from "../../money/ledger/mod.ts";

/**
 * One request on its way through the app; who finds something out about it notes it here. These are Hono's
 * bindings and not its variables: all of it is there before routing, and none of it takes a map for each request.
 */
export interface RequestState {
  readonly requestId: string;
  /** What the caller calls the request. */
  readonly clientRequestId: string | undefined;
  /** Path without the query. */
  readonly path: string;
  /** Headers of every response: request ids, and CORS for browsers. */
  readonly headers: Readonly<Record<string, string>>;
  /** The client's end of the connection. */
  readonly peer: Deno.Addr | undefined;
  /** The client's header fields. */
  readonly header: HeaderLookup;
  /** Whether the client shows the caller's status by headers of its own. */
  readonly isCodex: boolean;
  /** The model as the client named it, once the body is read. */
  model?: string | undefined;
  /** Whose key it came with, once that is known. */
  caller?: Caller;
  /** The dialect of its errors, where the path does not say. */
  front?: Front;
  /** Credits that were granted to a caller whose tool shows what is left of them, as far as they are known. */
  granted?: number | undefined;
  /** The caller's credits and request windows, once they are known. */
  accountStatus?: AccountStatus;
}
