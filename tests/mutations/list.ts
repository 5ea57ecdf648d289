import { ACCESS } from "./list/access.ts";
import { AUDIT } from "./list/audit.ts";
import { CARELESS_UPSTREAMS } from "./list/careless_upstreams.ts";
import { COMMANDS } from "./list/commands.ts";
import { CONSOLE } from "./list/console.ts";
import { CONSOLE_SIGN_IN } from "./list/console_sign_in.ts";
import { DATABASE } from "./list/database.ts";
import { GENERATE } from "./list/generate.ts";
import { LEDGER } from "./list/ledger.ts";
import { LIMITS } from "./list/limits.ts";
import { OPERATORS } from "./list/operators.ts";
import { PASSKEY_MUTATIONS } from "./list/passkeys.ts";
import { PAYMENTS_MUTATIONS } from "./list/payments.ts";
import { PROXIES } from "./list/proxies.ts";
import { PREFIX } from "./list/prefix.ts";
import { RELAY } from "./list/relay.ts";
import { RESPONSES_DIALECT } from "./list/responses.ts";
import { SERVICES } from "./list/services.ts";
import { SIGN_IN } from "./list/sign_in.ts";
import { BOUND_CREDITS } from "./list/bound_credits.ts";
import { SIGN_IN_THEFTS } from "./list/sign_in_thefts.ts";
import { SCIM } from "./list/scim.ts";
import { TEAM_BUDGETS } from "./list/team_budgets.ts";
import { TOOLS } from "./list/tools.ts";
import { AUTHORIZATION } from "./list/authorization.ts";
import { UPSTREAMS } from "./list/upstreams.ts";
import { WILD } from "./list/wild.ts";
import type { Mutation } from "./mutation.ts";

/** All mutations. */
export const MUTATIONS: readonly Mutation[] = [
  ...LEDGER,
  ...TEAM_BUDGETS,
  ...AUDIT,
  ...DATABASE,
  ...PAYMENTS_MUTATIONS,
  ...RELAY,
  ...GENERATE,
  ...WILD,
  ...RESPONSES_DIALECT,
  ...CARELESS_UPSTREAMS,
  ...UPSTREAMS,
  ...PROXIES,
  ...LIMITS,
  ...ACCESS,
  ...SERVICES,
  ...SIGN_IN,
  ...SIGN_IN_THEFTS,
  ...PASSKEY_MUTATIONS,
  ...CONSOLE,
  ...CONSOLE_SIGN_IN,
  ...PREFIX,
  ...COMMANDS,
  ...OPERATORS,
  ...BOUND_CREDITS,
  ...SCIM,
  ...TOOLS,
  ...AUTHORIZATION,
];
