import type * as OAuth from "oauth4webapi";
import type { OidcSettings } from "../../settings/config/mod.ts";
import { type Claims, type Groups, groupsOf } from "./groups.ts";

/** Who a provider says that somebody is. */
export interface Identity {
  readonly issuer: string;
  /** By which, with the issuer, somebody is known. */
  readonly subject: string;
  /** A label, in lower case: who has an address may change. */
  readonly email: string | undefined;
  /** Whether the provider has verified the address. */
  readonly isVerified: boolean;
  readonly name: string;
  readonly groups: Groups;
  /** The provider's session, by which it ends ours. */
  readonly session: string | undefined;
  /** By which the provider is asked whether somebody may still sign in, where it gives one. */
  readonly refreshToken?: string;
}

/**
 * Reads who somebody is.
 *
 * @param claims Of an identity token that was checked.
 * @param more What the provider said besides, when it was asked.
 */
export function identityOf(
  claims: OAuth.IDToken,
  more: Claims,
  { groupsClaim }: Pick<OidcSettings, "groupsClaim">,
): Identity {
  const { email, email_verified: verified } = claims.email === undefined ? more : claims;
  const { name, sid, xms_edov: entraVerified } = { ...more, ...claims };
  return {
    issuer: claims.iss,
    subject: claims.sub,
    email: typeof email === "string" && email !== "" ? lowerAscii(email) : undefined,
    // some send it as text; Entra has one of its own (https://learn.microsoft.com/entra/identity-platform/optional-claims-reference)
    isVerified: ["true", ...(verified === undefined ? ["1"] : [])]
      .includes(String(verified ?? entraVerified)),
    name: typeof name === "string" ? name : "",
    groups: groupsOf(claims, groupsClaim) ?? groupsOf(more, groupsClaim) ?? [],
    session: typeof sid === "string" ? sid : undefined,
  };
}

/** Other capitals than ASCII's become letters of another address: of K, which is Kelvin's, a k. */
function lowerAscii(email: string): string {
  return email.replace(/[A-Z]+/g, (letters) => letters.toLowerCase());
}
