import * as z from "zod";
import { DATABASE_URL, faultOfDatabaseUrl, faultOfReplicaUrl } from "./database_place.ts";
import { browserOrigin, listenHost } from "./hosts.ts";
import { alertSettings } from "./alert_settings.ts";
import { creditPackage, tier } from "./credit_settings.ts";
import {
  imageSettings,
  limitSettings,
  replySettings,
  responsesSettings,
} from "./limit_settings.ts";
import { checkPrices, paymentSettings } from "./payment_settings.ts";
import { proxySettings } from "./proxy_settings.ts";
import { routeSettings } from "./route_settings.ts";
import { Secret } from "./secret.ts";
import { signInSettings } from "./sign_in_settings.ts";
import { dialectName, quirkName, QUIRKS_HELP, upstreamSettings } from "./upstream_settings.ts";
import { credits, httpUrl, identifier, limit, publicUrl, routeId, secret } from "./values.ts";

/** A secret that nobody can guess. */
const sealSecret = z.string().trim().regex(/^.{32,1024}$/s, "must have at least 32 characters")
  .transform((value) => new Secret(value));
/** Max threads that serve requests. */
const MAX_WORKERS = 64;

/** Schema of the settings file. */
export const settings = z.strictObject({
  $schema: z.string().optional().describe("JSON Schema for editors; ignored by Sluice."),
  host: listenHost.default("127.0.0.1").describe(
    "Address or host name to listen on, without a port: `0.0.0.0` or `::` for all addresses.",
  ),
  port: z.int().min(0).max(65_535).default(8787).describe("Port to listen on; 0 picks a free one."),
  workers: z.union([z.int().min(1).max(MAX_WORKERS), z.literal("auto")], {
    error: `must be a whole number from 1 to ${MAX_WORKERS}, or "auto"`,
  }).default(1).describe(
    'Threads that serve requests; "auto" starts one per processor core. More than one needs Linux.',
  ),
  data: z.string().min(1).optional().transform((path) => path ?? "./data").describe(
    "Data directory, which holds the database. Default: ./data if it holds a sluice.db, otherwise " +
      "the user's own state directory. In the file, relative to it.",
  ),
  database: z.strictObject({
    url: z.string().regex(DATABASE_URL.pattern, DATABASE_URL.isNot).superRefine((url, context) => {
      const message = faultOfDatabaseUrl(url);
      if (message !== undefined) context.addIssue({ code: "custom", message });
    }).optional().describe(
      "PostgreSQL (`postgres://USER@HOST[,HOST]/DATABASE`) or a libSQL server, which several gateways share, or a file: URL. " +
        "Default: sluice.db in `data`.",
    ),
    token: secret.optional().describe(
      "Password for PostgreSQL, if the URL has none, or auth token for the libSQL server.",
    ),
    replicaUrl: z.string().optional().describe(
      "A standby of that PostgreSQL, for reports, exports and audits up to a minute behind.",
    ),
  }).superRefine(({ url, replicaUrl }, context) => {
    const message = replicaUrl === undefined ? undefined : faultOfReplicaUrl(replicaUrl, url);
    if (message !== undefined) context.addIssue({ code: "custom", path: ["replicaUrl"], message });
  }).prefault({}).describe("The database."),
  durability: z.enum(["full", "normal"]).default("full").describe(
    "full: a committed charge survives power loss; normal: it survives only a crash of the process.",
  ),
  owner: z.strictObject({
    email: z.email().or(z.literal("owner@localhost")).default("owner@localhost").describe(
      "Email address of the owner's account.",
    ),
    key: z.string().regex(
      /^sk-[A-Za-z0-9_-]{32,200}$/,
      "must be 'sk-' followed by 32 to 200 letters, digits, '_' or '-'",
    )
      .transform((value) => new Secret(value)).optional().describe(
        "API key of the owner. Default: generated and printed at the first start.",
      ),
  }).prefault({}),
  upstream: z.strictObject({
    url: httpUrl.optional().describe(
      "Base URL of one upstream.",
    ),
    key: secret.optional().describe("API key of that upstream."),
    dialect: dialectName.default("chat").describe("Wire format that the upstream speaks."),
    quirks: quirkName.optional().describe(QUIRKS_HELP),
    discover: z.boolean().default(true).describe(
      "Whether to serve the models that this upstream lists, by their own names.",
    ),
    model: z.string().min(1).optional().describe(
      "That upstream's model behind the built-in routes: one for all, or pairs such as svc-k2=a,svc-k3=b.",
    ),
  }).prefault({}).describe("One upstream, without a name."),
  trustedProxies: z.array(z.union([z.ipv4(), z.ipv6(), z.cidrv4(), z.cidrv6()], {
    error: "must be an IP address, or a range such as 10.0.0.0/8",
  })).default([]).describe(
    "IP addresses and ranges of reverse proxies whose X-Forwarded-For and X-Forwarded-Proto are trusted.",
  ),
  log: z.enum(["pretty", "json"]).optional().describe(
    "Log format. Default: pretty on a terminal, otherwise json.",
  ),
  logLevel: z.enum(["debug", "info", "warn", "error"]).default("info").describe(
    "Minimum level of logged messages.",
  ),
  publicUrl: publicUrl.optional().describe(
    "Base URL shown to users, with the path below which a reverse proxy serves the gateway, if there is one. Default: taken from the request.",
  ),
  registration: z.enum(["open", "invite", "closed"]).default("invite").describe(
    "Who may register in the console: anyone, people with an invite code, or nobody.",
  ),
  consoleComponents: z.boolean().default(false).describe(
    "Whether the console has the page /console/_components, which shows all of its components; for development.",
  ),
  metricsToken: secret.optional().describe("Bearer token required for /metrics."),
  secret: sealSecret.optional().describe(
    "Seals what clients keep for the gateway, and items kept in the database: at least 32 characters, the same in all gateways " +
      "that share a database. Default: a key made at the first start, in the data directory or on the shared server.",
  ),
  proxies: proxySettings.prefault({}).describe(
    "Proxies for upstreams, alerts' receivers and payments.",
  ),
  upstreams: z.record(identifier, upstreamSettings).default({}),
  routes: z.record(routeId, routeSettings).default({}),
  aliases: z.record(
    z.string().min(1).regex(/^[^*]*\*?$/, "must be a name, or a prefix ending in *"),
    routeId,
  ).default({}).describe(
    "Other names for models: maps a name, or a prefix ending in *, to a route.",
  ),
  tiers: z.array(tier).min(1).refine(
    (all) => new Set(all.map(({ above }) => above)).size === all.length,
    "must not repeat a value of `above`",
  ).default([
    { above: 0, minute: 20, hour: 600, day: 5_000 },
    { above: 100, minute: 60, hour: 2_000, day: 20_000 },
    { above: 1_000, minute: 200, hour: 6_000, day: 50_000 },
    { above: 10_000, minute: 500, hour: 15_000, day: 100_000 },
  ]).describe("Rate limits by balance. Replaces the built-in list."),
  packages: z.array(creditPackage).refine(
    (all) => new Set(all.map(({ id }) => id)).size === all.length,
    "must not repeat an `id`",
  ).default([
    { id: "starter", name: "Starter", credits: 500, priceUsd: 4.99, validDays: null },
    { id: "standard", name: "Standard", credits: 5_000, priceUsd: 29.99, validDays: 30 },
    { id: "premium", name: "Premium", credits: 20_000, priceUsd: 59.99, validDays: 30 },
    { id: "enterprise", name: "Enterprise", credits: null, priceUsd: null, validDays: null },
  ]).describe("Packages of credits shown in the console."),
  credits: z.strictObject({
    signup: credits.default(10).describe("Credits of a new account."),
    inviteSignup: credits.default(50).describe(
      "Bonus for the inviter when an account registers with their code.",
    ),
    signupsPerNetwork: z.int().nonnegative().default(10).describe(
      "Accounts that may register in the console from one network (IPv4 /24, IPv6 /48) within a day with free credits; further ones " +
        "begin without, and earn their inviter nothing before they pay.",
    ),
    unpaidInvites: z.int().nonnegative().default(10).describe(
      "Accounts that used an inviter's code and have not paid, up to which the inviter gets `inviteSignup` for another one.",
    ),
    inviteFirstPayment: credits.default(500).describe(
      "Bonus for the inviter at that account's first payment.",
    ),
    ownerGrant: credits.default(1_000_000).describe(
      "Credits of the owner's account at the first start.",
    ),
    perUsd: z.number().positive().max(1e9).default(1_000).describe(
      "Credits for one US dollar, in prices of discovered models.",
    ),
  }).prefault({}),
  images: imageSettings.prefault({}),
  limits: limitSettings.prefault({}),
  outage: z.strictObject({
    patienceMs: z.int().nonnegative().max(86_400_000).default(600_000).describe(
      "How long a gateway admits requests from credits that it was lent while the database does not answer. A server " +
        "gives nobody else what may still be spent so.",
    ),
  }).prefault({}),
  replies: replySettings.prefault({}).describe(
    "Limits on upstream responses. Exceeding one is an upstream_unavailable error.",
  ),
  cors: z.strictObject({
    origins: z.array(browserOrigin).default(["*"]).describe(
      "Browser origins allowed to call the API; * allows any.",
    ),
  }).prefault({}),
  defaultMaxOutput: limit(
    1_024,
    "Output limit, in tokens, of chat requests to the built-in routes that set no limit and offer no tools. " +
      "With tools, and on other routes, it is the route's maximum.",
  ),
  responses: responsesSettings.prefault({}),
  onClientDisconnect: z.enum(["abort", "drain"]).default("drain").describe(
    "When a client disconnects in the middle of a stream: drain the upstream's response for its usage, or abort the request.",
  ),
  payments: paymentSettings.prefault({}).describe("Buying packages."),
  retention: z.strictObject({
    requestDays: limit(90, "Days to keep request records."),
    requestRows: limit(5_000_000, "Maximum number of request records to keep."),
    logDays: limit(400, "Days to keep the log of operations."),
  }).prefault({}).describe(
    "How long request records and the log of operations are kept. Hourly roll-ups are kept always.",
  ),
  tags: z.strictObject({
    fromClients: z.boolean().default(true).describe(
      "Record what coding tools and SDKs say of tool, session and user as tags of a request.",
    ),
  }).prefault({}).describe("What requests are tagged with besides `X-Sluice-Tags`."),
  alerts: alertSettings.prefault({}).describe("Alerts: see docs/alerts.md."),
  signIn: signInSettings.optional().describe(
    "How people sign in to the console: see docs/sign_in.md. Default: with passwords, for 30 days.",
  ),
}).superRefine((all, context) =>
  checkPrices(
    all,
    (path, message) => context.addIssue({ code: "custom", path: [...path], message }),
  )
);

/** Settings as an operator writes them. */
export type SettingsInput = z.input<typeof settings>;
/** Settings as the code uses them, with defaults. */
export type Settings = z.output<typeof settings>;
