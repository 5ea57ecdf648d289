import {
  type Account,
  type Accounts,
  can,
  type Key,
  type KeyRing,
  type Keys,
  type Scope,
} from "../../people/accounts/mod.ts";
import { OperationError } from "../../people/operation_log/mod.ts";
import type { RateLimit } from "../../ground/rate_limits/mod.ts";
import { Refusal } from "../../ground/refusal.ts";
import { presentedKeys } from "./guard.ts";

/** What the role of an account must allow for a scope of its keys: a key can do no more than its account. */
const ACTION_OF_SCOPE = { admin: "key.admin", read: "key.read", scim: "key.scim" } as const;

/**
 * Finds whose key a request to an API for operators came with: the account and key are read again, as a permission may just have been
 * taken away.
 *
 * @param scopes Those that may ask, of which the key must have one, and its account's role must allow it.
 * @throws {Refusal | OperationError} If it may not ask, or has asked too often.
 */
export async function keyFor(
  request: Request,
  { scopes, keyRing, rate, rateOf = "", accounts, keys }: {
    readonly scopes: readonly Scope[];
    readonly keyRing: KeyRing;
    /** Requests of each account per minute. */
    readonly rate: RateLimit;
    /** What is counted apart from the rest. */
    readonly rateOf?: string;
    readonly accounts: Accounts;
    readonly keys: Keys;
  },
): Promise<{ readonly account: Account; readonly key: Key }> {
  const caller = await keyRing.identify(presentedKeys(request.headers));
  const counted = `${rateOf}${caller.accountId}`;
  const waitMs = rate.waitMs(counted);
  if (waitMs > 0) {
    throw new Refusal(
      "rate_exceeded",
      `Too many requests to the operator's API: the limit is ${rate.limit} per minute and account.`,
      { retryAfterMs: waitMs },
    );
  }
  rate.add(counted);
  const [account, key] = await Promise.all([
    accounts.byId(caller.accountId),
    keys.byId(caller.keyId),
  ]);
  if (account === undefined || key === undefined || key.revokedAtMs !== null) {
    throw new Refusal("key_invalid", "This API key has been revoked. Use another key.");
  }
  if (account.disabledAtMs !== null) {
    const message = "The account of this API key is disabled. Contact the operator.";
    throw new Refusal("permission_denied", message);
  }
  const allowed = scopes.filter((scope): scope is Exclude<Scope, "inference"> =>
    scope !== "inference" && key.scopes.includes(scope)
  );
  if (allowed.length === 0) {
    const named = scopes.map((scope) => `'${scope}'`).join(" or ");
    throw new OperationError(
      "permission_denied",
      `This API key does not have the scope ${named}: it has ${key.scopes.join(", ")}.`,
    );
  }
  const holder = { account, teams: new Map() };
  if (!allowed.some((scope) => can(holder, ACTION_OF_SCOPE[scope]))) {
    throw new OperationError(
      "permission_denied",
      `The role '${account.role}' of this key's account does not allow the operator's API.`,
    );
  }
  return { account, key };
}
