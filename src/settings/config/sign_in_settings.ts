import * as z from "zod";
import { credits, httpUrl, secret } from "./values.ts";

/** Roles that groups may give. An owner is made by an owner: otherwise the people who run the provider would own the gateway. */
const GROUP_ROLES = ["operator", "finance"] as const;

const issuer = z.url({ protocol: /^https?$/ }).refine(isSafe, {
  error: "must be an https:// address (http:// for this machine only)",
});

/** Whether an address is encrypted, or does not leave this machine. */
function isSafe(url: string): boolean {
  if (!URL.canParse(url)) return true; // which is another fault
  const { protocol, hostname } = new URL(url);
  return protocol === "https:" || hostname === "localhost" || hostname === "[::1]" ||
    /^127\./.test(hostname);
}

const domain = z.string().trim().toLowerCase().regex(
  /^(?=.{3,253}$)[a-z0-9-]+(\.[a-z0-9-]+)+$/,
  "must be a domain such as example.com",
);

/** What membership of a group gives. */
const groupRights = z.strictObject({
  role: z.enum(GROUP_ROLES, { error: 'must be "operator" or "finance": owners are made by owners' })
    .optional().describe("Role in the installation."),
  teams: z.record(z.string().min(1).max(200), z.enum(["lead", "member"])).default({}).describe(
    "Roles in teams, by the team's name or ID.",
  ),
  budget: z.strictObject({
    credits: credits.describe("Credits per period."),
    period: z.enum(["day", "week", "month", "life"]).default("month"),
  }).optional().describe("Budget of the account; of several the largest."),
});
/** Settings of what a group gives. */
export type GroupRights = z.output<typeof groupRights>;

const oidcProvider = z.strictObject({
  name: z.string().regex(/^[a-z0-9][a-z0-9-]{0,39}$/, "must be 1 to 40 of a-z, 0-9 and -").describe(
    "In addresses, in the log and on the button: `entra`, `google`, `okta`.",
  ),
  issuer: issuer.describe("As the provider's discovery document has it."),
  client: z.string().min(1).max(500).describe("The client ID."),
  secret: secret.optional().describe("The client's secret; none for a public client."),
  scopes: z.array(z.string().regex(/^[!#-[\]-~]+$/)).default(["openid", "email", "profile"])
    .describe("Scopes that are asked for; `openid` always."),
  domains: z.array(domain).default([]).describe(
    "Domains whose verified addresses may sign in: they get an account, or the one that has their address.",
  ),
  groupsClaim: z.string().min(1).max(200).default("groups").describe(
    "Claim that lists groups: a name, or a path such as `realm_access.roles`.",
  ),
  groups: z.record(z.string().min(1).max(500), groupRights).default({}).describe(
    "What groups give, by name or ID as the provider sends it. Members of one of them may sign in.",
  ),
});
/** Settings of one OpenID provider. */
export type OidcSettings = z.output<typeof oidcProvider>;

/** Settings of Claude Code, which it knows; nothing of them is read here. */
const toolSettings = z.looseObject({});

const managedSettings = z.strictObject({
  all: toolSettings.optional().describe("For everybody who is in none of the teams below."),
  teams: z.record(z.string().min(1).max(200), toolSettings).default({}).describe(
    "For the members of teams, by the team's name or ID: the first one counts that somebody is in.",
  ),
});

const toolTelemetry = z.strictObject({
  url: httpUrl.refine((text) => !/[?#]/.test(text), { error: "must have no query and no fragment" })
    .transform((text) => text.replace(/\/+$/, ""))
    .describe("Address of the collector, to which `/v1/traces` and the like are appended."),
  headers: z.record(z.string().regex(/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/), secret).default({}).describe(
    "Extra headers, such as `authorization`.",
  ),
});

/** Schema of the settings of sign-in. */
export const signInSettings = z.strictObject({
  oidc: z.array(oidcProvider).max(20).default([]).describe("OpenID providers: see docs/sign_in.md.")
    .refine((all) => new Set(all.map(({ name }) => name)).size === all.length, {
      error: "must not have two providers of one name",
    }),
  password: z.boolean().default(true).describe(
    "Whether people sign in with passwords. Owners always may: one way in must not depend on others.",
  ),
  passkeys: z.boolean().default(true).describe("Whether people sign in with passkeys."),
  sessionHours: z.int().min(1).max(24 * 30).default(12).describe(
    "How long a session lasts, in hours.",
  ),
  managedSettings: managedSettings.optional().describe(
    "Settings of Claude Code on all machines that are signed in.",
  ),
  telemetry: toolTelemetry.optional().describe(
    "OpenTelemetry collector for what signed-in tools report; without, it is dropped.",
  ),
});
/** Settings of sign-in. */
export type SignInSettings = z.output<typeof signInSettings>;
