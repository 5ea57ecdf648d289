import {
  AccountDisabled,
  type Caller,
  checkScope,
  CLAUDE_CODE,
  type KeyRing,
} from "../../people/accounts/mod.ts";
import type { Admission } from "../../requests/admission/mod.ts";
import type { Granted } from "../tools/mod.ts";
import { presentedKeys } from "./guard.ts";
import type { RequestState } from "./request_state.ts";
import { accountStatusHeaders } from "./responses.ts";

/** What is asked about callers. */
export interface CallersParts {
  readonly keyRing: KeyRing;
  readonly admission: Admission;
  readonly now: () => number;
}

/** Finds the callers of requests by their keys, and what responses say about their accounts. */
export class Callers {
  readonly #parts: CallersParts;
  readonly #granted: Pick<Granted, "of">;

  constructor(parts: CallersParts, granted: Pick<Granted, "of">) {
    this.#parts = parts;
    this.#granted = granted;
  }

  /**
   * Whose key a request came with; noted for the response, whatever it will be.
   *
   * @throws {Refusal} `key_invalid`, or `permission_denied` for a disabled account.
   */
  async identify(request: Request, state: RequestState): Promise<Caller> {
    try {
      const caller = await this.#parts.keyRing.identify(presentedKeys(request.headers));
      // a directory's key is for its API alone
      if (caller.scopes.size === 1 && caller.scopes.has("scim")) checkScope(caller, "inference");
      if (showsBalance(caller)) state.granted = this.#granted.of(caller.accountId);
      return state.caller = caller;
    } catch (error) {
      if (error instanceof AccountDisabled) state.caller = error.caller;
      throw error;
    }
  }

  /** Headers of a response that any caller may have, with a key or without. */
  async publicHeaders(request: Request, state: RequestState): Promise<Record<string, string>> {
    if (presentedKeys(request.headers).length > 0) {
      await this.identify(request, state).catch(() => {}); // a bad key keeps nobody from what is public
    }
    return await this.headers(state);
  }

  /** Headers of a response, with the caller's credits and limits if there is one. */
  async headers(state: RequestState): Promise<Record<string, string>> {
    if (state.caller === undefined) return { ...state.headers };
    state.accountStatus ??= await this.#parts.admission.accountStatus(state.caller);
    return { ...state.headers, ...accountStatusHeaders(state.accountStatus, this.#parts.now()) };
  }
}

/** Whether a caller's tool shows what is left of the balance. Who pays by a team's pool does not see its lots. */
function showsBalance({ tool, hasBudget, teamId }: Caller): boolean {
  return tool === CLAUDE_CODE && !hasBudget && teamId === null;
}
