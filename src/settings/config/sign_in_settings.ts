import * as z from "zod";
import { trustedHost } from "./hosts.ts";
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

const ruleName = z.string().regex(
  /^[a-z0-9][a-z0-9-]{0,39}$/,
  "must be 1 to 40 of a-z, 0-9 and -",
);

const allowPrivateHosts = z.array(trustedHost).max(20).default([]).describe(
  "Hosts (host or host:port) besides the issuer's that its document may name although they are private, and on any port.",
);

const oidcProvider = z.strictObject({
  name: ruleName.describe(
    "In addresses, in the log and on the button: `entra`, `google`, `okta`.",
  ),
  issuer: issuer.describe("As the provider's discovery document has it."),
  client: z.string().min(1).max(500).describe("The client ID."),
  secret: secret.optional().describe("The client's secret; none for a public client."),
  allowPrivateHosts,
  scopes: z.array(z.string().regex(/^[!#-[\]-~]+$/)).default(["openid", "email", "profile"])
    .describe("Scopes that are asked for; `openid` always."),
  domains: z.array(domain).default([]).describe(
    "Domains whose verified addresses may sign in: they get an account, or the one that has their address and no other way in.",
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
const pattern = z.string().min(1).max(500).regex(/^[^*]/, "must not begin with *");
const patterns = z.union([pattern.transform((one) => [one]), z.array(pattern).min(1).max(100)]);

/** Jobs that get a key by the token that their issuer gives them. */
const workload = z.strictObject({
  name: ruleName.describe("In the log, and in the names of keys."),
  issuer: issuer.describe("Of the tokens, such as `https://token.actions.githubusercontent.com`."),
  audience: z.string().min(1).max(500).describe(
    "Whom the tokens must be for, and nobody else: the job asks for a token with it.",
  ),
  allowPrivateHosts,
  claims: z.record(z.string().min(1).max(200), patterns).refine(
    (all) => Object.keys(all).length > 0,
    { error: "must name a claim: else every token of the issuer would do" },
  ).describe(
    "What a token must say: of each claim one of the texts; `*` stands for any characters.",
  ),
  account: z.string().min(1).max(254).optional().describe(
    "Who pays: the account with this address.",
  ),
  team: z.string().min(1).max(200).optional().describe(
    "Who pays: the pool of this team, by name or ID.",
  ),
  minutes: z.int().min(1).max(720).default(60).describe("How long a key is valid, in minutes."),
  models: z.array(z.string().min(1).max(200)).min(1).max(200).optional().describe(
    "Models that keys may use; all by default.",
  ),
}).refine(({ account, team }) => (account === undefined) !== (team === undefined), {
  error: "must have either account or team",
});
/** Settings of jobs that get a key by a token. */
export type WorkloadSettings = z.output<typeof workload>;

const redirect = z.url({ protocol: /^https?$/ }).max(500).refine(
  (url) => isSafe(url) && !url.includes("#"),
  { error: "must be an https:// address (http:// for this machine only), without #" },
);

/** A tool that signs in by a browser. */
const toolClient = z.strictObject({
  id: z.string().regex(/^[\w.:-]{1,100}$/, "must be 1 to 100 letters, digits and _ . : -").describe(
    "The client ID that it sends.",
  ),
  name: z.string().min(1).max(60).describe("What people call it."),
  redirects: z.array(redirect).min(1).max(20).describe(
    "Where the browser may be sent back to, exactly; on this machine at any port.",
  ),
});
/** Settings of a tool that signs in by a browser. */
export type ToolClientSettings = z.output<typeof toolClient>;

/** Whether no two of a list have the same value. */
const areUnique = (values: readonly string[]) => new Set(values).size === values.length;

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
  clients: z.array(toolClient).max(100).default([]).describe(
    "Tools that sign in by a browser, besides those that are known: see docs/sign_in.md.",
  ).refine((all) => areUnique(all.map(({ id }) => id)), {
    error: "must not have two clients of one ID",
  }),
  workloads: z.array(workload).max(100).default([]).describe(
    "Jobs of CI and clusters that get keys by tokens of their own: see docs/sign_in.md.",
  ).refine((all) => areUnique(all.map(({ name }) => name)), {
    error: "must not have two workloads of one name",
  }),
});
/** Settings of sign-in. */
export type SignInSettings = z.output<typeof signInSettings>;
