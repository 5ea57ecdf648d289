/**
 * Who somebody is by the word of a provider: OpenID Connect, and what groups give. Which jobs of CI get keys.
 *
 * Promise: nobody is signed in by an address alone; a provider makes nobody an owner; each visit to a provider counts once, for the
 * browser that made it; a job's token counts for what a rule of the settings says. Its outward calls go to addresses that the operator's
 * settings and their documents name, encrypted (P10).
 * Leaves to others: sessions, roles and teams (`accounts/`), budgets (`money/ledger`), pages (`doors/console`).
 *
 * @module
 */

export { type Groups, groupsOf, type Rights, rightsOf } from "./groups.ts";
export { Identities, type Link, type SignedIn } from "./identities.ts";
export {
  type Challenge,
  type Identity,
  OidcProvider,
  type ProviderOptions,
  SignInError,
} from "./provider.ts";
export { Providers } from "./providers.ts";
export { Vouchers } from "./vouchers.ts";
export { type Workload, WorkloadError, Workloads } from "./workloads.ts";
export { type Visit, Visits } from "./visits.ts";
