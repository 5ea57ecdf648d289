/**
 * Who somebody is by the word of a provider (OpenID Connect, and what groups give), or by a passkey (WebAuthn). Which jobs of CI get keys.
 *
 * Promise: nobody is signed in by an address alone; a provider makes nobody an owner; each visit to a provider, and each challenge to
 * a passkey, counts once, for the browser that made it; of a passkey, only the public half is kept; a job's token counts for what a rule
 * of the settings says. Its outward calls are encrypted, and go to the issuers of the settings and what is public beside them (P10).
 * Leaves to others: sessions, roles and teams (`accounts/`), budgets (`money/ledger`), pages (`doors/console`).
 *
 * @module
 */

export { challengeOf } from "./challenge.ts";
export { type Rights, rightsOf } from "./groups.ts";
export { forgetWays, Identities, type Link } from "./identities.ts";
export { type Passkey, Passkeys, type PasskeyUse } from "./passkeys.ts";
export type { Identity } from "./identity.ts";
export { OidcProvider } from "./provider.ts";
export { Providers } from "./providers.ts";
export { Vouchers } from "./vouchers.ts";
export { type Workload, WorkloadError, Workloads } from "./workloads.ts";
export { checkRecent } from "./recent.ts";
export { SignInError } from "./sign_in_error.ts";
export { SingleUses } from "./single_uses.ts";
export { WayError, type WaysOptions } from "./ways.ts";
export { checkProvider } from "./check_provider.ts";
export { type Site, siteOf } from "./webauthn.ts";
