/**
 * Who somebody is by the word of a provider (OpenID Connect, and what groups give), or by a passkey (WebAuthn).
 *
 * Promise: nobody is signed in by an address alone; a provider makes nobody an owner; each visit to a provider, and each challenge to
 * a passkey, counts once, for the browser that made it; of a passkey, only the public half is kept. Its outward calls go to
 * addresses that the operator's settings and their documents name, encrypted (P10).
 * Leaves to others: sessions, roles and teams (`accounts/`), budgets (`money/ledger`), pages (`doors/console`).
 *
 * @module
 */

export { type Groups, groupsOf, type Rights, rightsOf } from "./groups.ts";
export { Identities, type Link, type SignedIn } from "./identities.ts";
export { type Passkey, Passkeys, type PasskeyUse } from "./passkeys.ts";
export {
  type Challenge,
  type Identity,
  OidcProvider,
  type ProviderOptions,
  SignInError,
} from "./provider.ts";
export { type Visit, Visits } from "./visits.ts";
export { ALGORITHMS, type Site, siteOf } from "./webauthn.ts";
