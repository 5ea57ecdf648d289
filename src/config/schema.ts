import * as z from "zod";
import { DIALECT_NAMES, EFFORTS } from "../dialects/mod.ts";
import { MAX_DIMENSIONS } from "../embeddings/mod.ts";
import { checkPrices, paymentSettings } from "./payment_settings.ts";
import { Secret } from "./secret.ts";

/** One of the wire formats. */
export const dialectName = z.enum(DIALECT_NAMES);

/** Known deviations of upstreams from their dialect, by name; see `upstreams/quirks.ts`. */
export const quirkName = z.enum([
  "none",
  "moonshot",
  "openai",
  "anthropic",
  "openrouter",
  "deepseek",
  "vllm",
  "ollama",
]);
/** Name of a known deviation. */
export type QuirkName = z.infer<typeof quirkName>;

const httpUrl = z.url({ protocol: /^https?$/, error: "must be an http:// or https:// URL" });
/** A key that fits in a header. Trimmed, since keys read from files often end with a line break. */
const secret = z.string().trim().min(1).regex(
  /^[\x20-\x7e]*$/,
  "must contain only printable ASCII characters",
)
  .transform((value) => new Secret(value));
/** A secret that nobody can guess. */
const sealSecret = z.string().trim().regex(/^.{32,1024}$/s, "must have at least 32 characters")
  .transform((value) => new Secret(value));
/** Max threads that serve requests. */
const MAX_WORKERS = 64;
const milliseconds = z.int().positive().max(24 * 3_600_000);
const count = z.int().nonnegative().max(Number.MAX_SAFE_INTEGER);
/** Thousands of such amounts still add up exactly. */
const credits = count.max(1e12, "must be at most 1,000,000,000,000 credits");
/** Schema of the names of upstreams and routes. */
export const identifier = z.string().regex(
  /^[A-Za-z0-9][A-Za-z0-9._:\/-]{0,127}$/,
  "must be 1 to 128 letters, digits or any of . _ : / -, starting with a letter or digit",
);

const weight = z.number().min(0).max(1_000_000);

const upstreamKey = z.union([
  secret,
  z.strictObject({
    key: secret.describe("The API key."),
    weight: weight.default(1).describe("Its share of the requests."),
  }),
], { error: 'must be an API key, or an object such as { "key": "${NAME}", "weight": 3 }' })
  .transform((one) => one instanceof Secret ? { key: one, weight: 1 } : one);

const timeouts = z.strictObject({
  connectMs: milliseconds.default(30_000).describe(
    "Maximum time to establish a connection, including TLS.",
  ),
  readMs: milliseconds.default(600_000).describe(
    "Maximum time from sending a request to the first byte of the response.",
  ),
  headersMs: milliseconds.default(60_000).describe(
    "Maximum time to the first output while the route has another target to fail over to. A " +
      "response that is not streamed gets as much again for each 2,000 permitted output tokens.",
  ),
  streamMs: milliseconds.default(600_000).describe(
    "Maximum time between two chunks of a response.",
  ),
  totalMs: milliseconds.default(3_600_000).describe("Maximum time for a whole response."),
});

const QUIRKS_HELP = "Known deviations of the upstream from its dialect. Default: those of the " +
  "provider whose host name is in `url`, otherwise none.";

/** Schema of one upstream. */
export const upstreamSettings = z.strictObject({
  url: httpUrl.describe(
    "Base URL that /chat/completions, /messages or /responses is appended to, by the dialect.",
  ),
  key: secret.optional().describe(
    "API key of the upstream. ${NAME} is replaced by the environment variable NAME.",
  ),
  keys: z.array(upstreamKey).min(1).optional().describe(
    "Several API keys of the upstream instead of `key`, used in turn. Each is a key, or " +
      '`{ "key", "weight" }` for another share than 1.',
  ),
  dialect: dialectName.default("chat").describe("Wire format that the upstream speaks."),
  headers: z.record(
    z.string().regex(
      /^(?!(?:host|connection|content-length|transfer-encoding)$)[!#$%&'*+.^_`|~0-9A-Za-z-]+$/i,
      "must be a valid header name other than Host, Connection, Content-Length, Transfer-Encoding",
    ),
    z.string().regex(/^[\x20-\x7e\x80-\xff]*$/, "must be a valid header value"),
  ).default({}).describe("Extra headers sent with every request. Values are treated as secrets."),
  timeouts: timeouts.prefault({}),
  caCert: z.string().optional().describe(
    "Additional certificate authority: PEM text, or the path of a PEM file relative to the " +
      "settings file.",
  ),
  quirks: quirkName.optional().describe(QUIRKS_HELP),
  discover: z.boolean().default(false).describe(
    "Whether to serve the models that the upstream lists, by their own names.",
  ),
}).refine(({ key, keys }) => key === undefined || keys === undefined, {
  path: ["keys"],
  error: "cannot be combined with `key`: set one of them",
});
/** Settings of one upstream, with defaults. */
export type UpstreamSettings = z.output<typeof upstreamSettings>;

const target = z.strictObject({
  upstream: identifier.describe("Name of an upstream under `upstreams`, or `simulator`."),
  model: z.string().min(1).describe("Name of the model at that upstream."),
  weight: weight.optional().describe(
    "Share of the route's conversations, in proportion to the other targets'. Without it, or with 0: " +
      "only failover, if another target has a weight.",
  ),
});

const prices = z.strictObject({
  input: count.describe("Credits per million uncached input tokens."),
  cached: count.optional().describe(
    "Credits per million cached input tokens. Required unless `kind` is `embeddings`.",
  ),
  output: count.optional().describe(
    "Credits per million output tokens. Required unless `kind` is `embeddings`.",
  ),
});

/** Schema of one route. */
export const routeSettings = z.strictObject({
  enabled: z.boolean().optional().describe(
    "Whether the model is served; `false` also for a built-in route or one that an upstream lists. " +
      "Requests for it are then those for an unknown model.",
  ),
  kind: z.enum(["generation", "embeddings"]).optional().describe(
    "What the targets' models are for. Default: `embeddings` if the first target's model is known for " +
      "them or its name says so, otherwise `generation`.",
  ),
  targets: z.array(target).min(1).optional().describe(
    "Upstreams and models to send requests to: in failover order, or shared out by `weight`.",
  ),
  displayName: z.string().min(1).optional().describe("Name shown in model lists."),
  context: z.int().positive().optional().describe(
    "Context window: maximum input and output tokens together. For embeddings: of each input.",
  ),
  dimensions: z.int().positive().max(MAX_DIMENSIONS).optional().describe(
    "Length of the vectors that the targets return, for `kind: embeddings`. Replies with vectors of " +
      "another length are rejected, unless the request asked for it.",
  ),
  maxInput: z.int().positive().optional().describe("Maximum input tokens, if less than `context`."),
  maxOutput: z.int().positive().optional().describe("Maximum output tokens per response."),
  minimum: count.optional().describe("Minimum charge of a request, in credits."),
  prices: prices.optional(),
  images: z.enum(["none", "inline", "remote"]).optional().describe(
    "Image input: none, only inline base64, or also remote URLs.",
  ),
  reasoning: z.enum(["none", "thinking", "always", "effort"]).optional().describe(
    "Reasoning: none, switched on by `thinking`, always on, or always on with effort levels.",
  ),
  efforts: z.array(z.enum(EFFORTS)).min(1).optional().describe(
    "Effort levels that the targets know, with `reasoning: effort`; others are mapped to the nearest one. " +
      "Default: low, medium and high; for svc-k3 low, high and max.",
  ),
});
/** Settings of one route; missing ones come from the built-in route, if there is one. */
export type RouteSettings = z.output<typeof routeSettings>;

const accountLimit = (span: string) =>
  z.int().positive().optional().describe(
    `Maximum requests per ${span} for all keys of an account. Default: five times the key's limit.`,
  );

const tier = z.strictObject({
  above: count.describe("The tier applies to balances above this many credits."),
  minute: z.int().positive().describe("Maximum requests per minute (UTC) for one key."),
  hour: z.int().positive().describe("Maximum requests per hour for one key."),
  day: z.int().positive().describe("Maximum requests per day for one key."),
  account: z.strictObject({
    minute: accountLimit("minute"),
    hour: accountLimit("hour"),
    day: accountLimit("day"),
  }).optional(),
});

const creditPackage = z.strictObject({
  id: identifier.describe("ID for `sluice credits grant --package`."),
  name: z.string().min(1).describe("Name shown in the console."),
  credits: credits.nullable().describe("Number of credits; null: by agreement."),
  priceUsd: z.number().nonnegative().nullable().describe(
    "Price shown, in US dollars; null: by agreement.",
  ),
  validDays: z.int().positive().nullable().describe(
    "Lifetime of the credits in days; null: never expires.",
  ),
  prices: z.record(z.string().regex(/^[a-z]{3}$/), z.number().nonnegative()).optional().describe(
    'Prices in other currencies, by their codes in lower case, such as `{ "eur": 4.59 }`.',
  ),
});

/** What alerts can be about. */
export const ALERT_KINDS = [
  "low_credits",
  "lot_expiring",
  "key_expiring",
  "budget_mark",
  "top_up_stopped",
  "circuit_opened",
  "circuit_closed",
  "audit_failed",
  "catalog_changed",
  "disk_low",
] as const;
/** What an alert is about. */
export type AlertKind = typeof ALERT_KINDS[number];

const receiver = z.strictObject({
  url: httpUrl.describe("URL that alerts are posted to. Treated as a secret."),
  kind: z.enum(["webhook", "slack"]).default("webhook").describe(
    'webhook: signed JSON; slack: `{ "text": … }`, which Slack, Mattermost and others take.',
  ),
  secret: secret.optional().describe(
    "Signs deliveries (`Sluice-Signature`). Required for `kind: webhook`.",
  ),
  alerts: z.array(z.enum(ALERT_KINDS)).min(1).default([...ALERT_KINDS]).describe(
    "Kinds of alerts to deliver. Default: all.",
  ),
}).refine(({ kind, secret }) => kind !== "webhook" || secret !== undefined, {
  path: ["secret"],
  error: "is required for a webhook: deliveries are signed with it",
});
/** Settings of one receiver of alerts. */
export type ReceiverSettings = z.output<typeof receiver>;

const percent = z.int().min(0).max(100);

/** Schema of the settings file. */
export const settings = z.strictObject({
  $schema: z.string().optional().describe("JSON Schema for editors; ignored by Sluice."),
  host: z.string().min(1).default("127.0.0.1").describe("Address to listen on."),
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
    url: z.string().regex(
      /^(file|https?|libsql):/,
      "must start with file:, http://, https:// or libsql://",
    )
      .optional().describe(
        "libSQL server shared by several gateways, or a file: URL. Default: sluice.db in `data`.",
      ),
    token: secret.optional().describe("Auth token for the libSQL server."),
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
  publicUrl: httpUrl.optional().describe(
    "Base URL shown to users. Default: taken from the request.",
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
      "that share a database. Default: a key made at the first start, in the data directory or on the libSQL server.",
  ),
  upstreams: z.record(identifier, upstreamSettings).default({}),
  routes: z.record(identifier, routeSettings).default({}),
  aliases: z.record(
    z.string().min(1).regex(/^[^*]*\*?$/, "must be a name, or a prefix ending in *"),
    identifier,
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
  images: z.strictObject({
    maxBytes: z.int().positive().default(6 * 1_048_576).describe(
      "Maximum size of one image, decoded, in bytes.",
    ),
    maxEncodedChars: z.int().positive().default(8 * 1_048_576).describe(
      "Maximum base64 characters of all images of a request.",
    ),
    maxPixels: z.int().positive().default(100_000_000).describe(
      "Maximum width times height of one image.",
    ),
    allowPrivateHosts: z.array(z.string().min(1)).default([]).describe(
      "Hosts (host or host:port) that images may be fetched from although private, and on any port.",
    ),
    ports: z.array(z.int().min(1).max(65_535)).default([]).describe(
      "Allowed ports of public hosts besides 80 and 443.",
    ),
    connectMs: milliseconds.default(5_000).describe(
      "Maximum time to connect to an image's host.",
    ),
    totalMs: milliseconds.default(20_000).describe(
      "Maximum time to fetch one image, including DNS and redirects.",
    ),
    maxImages: z.int().positive().default(100).describe("Maximum number of images in one request."),
    waitMs: milliseconds.default(10_000).describe(
      "Maximum time an image waits for a free download slot.",
    ),
    fetchesPerRequest: z.int().positive().default(4).describe(
      "Maximum concurrent image downloads of one request.",
    ),
    fetches: z.int().positive().default(16).describe(
      "Maximum concurrent image downloads of the gateway.",
    ),
  }).prefault({}),
  limits: z.strictObject({
    bodyBytes: z.int().positive().default(64 * 1_048_576).describe(
      "Maximum size of one request body, in bytes.",
    ),
    bodyIdleMs: milliseconds.default(30_000).describe(
      "Maximum time between two chunks of a request body.",
    ),
    bodyMs: milliseconds.default(900_000).describe("Maximum time for a whole request body."),
    bodyMinBytesPerSecond: z.int().nonnegative().default(1_024).describe(
      "Minimum average speed of a request body once `bodyIdleMs` has passed.",
    ),
    bodyDepth: z.int().positive().max(200).default(100).describe(
      "Maximum nesting depth of arrays and objects in a request body.",
    ),
    bodyValues: z.int().positive().default(200_000).describe(
      "Maximum number of JSON values in a request body.",
    ),
    bodyKeys: z.int().positive().default(10_000).describe(
      "Maximum number of keys in one object of a request body.",
    ),
    unbilledBytesPerMinute: z.int().positive().default(256 * 1_048_576).describe(
      "Maximum bytes of rejected request bodies and count_tokens requests per API key and minute.",
    ),
    adminRequestsPerMinute: z.int().positive().default(600).describe(
      "Maximum number of requests to `/admin/v1` per account and minute.",
    ),
    largeBodiesBytes: z.int().positive().default(256 * 1_048_576).describe(
      "Memory budget (bytes) for large bodies and fetched images in progress; further ones wait " +
        "up to `bodyIdleMs`.",
    ),
    openRequests: z.int().positive().optional().describe(
      "Maximum number of in-flight API requests. Default: derived from the open file limit, " +
        "up to 16,384.",
    ),
    openRequestsPerKey: z.int().positive().optional().describe(
      "Maximum number of in-flight API requests of one API key. Default: the account's share.",
    ),
    accountShare: z.number().gt(0).max(1).default(0.5).describe(
      "Fraction of each shared resource (`openRequests`, `largeBodiesBytes`, `images.fetches`) " +
        "that one account may use.",
    ),
    idleConnectionMs: milliseconds.default(120_000).describe(
      "Idle time after which a client connection without a request is closed; ten times that while " +
        "the client has not read everything it was sent. Linux only.",
    ),
    pingMs: milliseconds.default(15_000).describe(
      "Idle time of a stream after which the client is sent a ping.",
    ),
    countsPerMinute: z.int().positive().default(600).describe(
      "Maximum count_tokens requests per API key and minute.",
    ),
    followMs: milliseconds.default(60_000).describe(
      "Maximum time to wait for the upstream's usage after a client disconnects " +
        '(`onClientDisconnect: "drain"`).',
    ),
    holdLeaseMs: milliseconds.default(60_000).describe(
      "Time after which the holds of a crashed gateway's requests are released.",
    ),
    drainMs: milliseconds.default(30_000).describe(
      "Maximum time for in-flight requests to finish at shutdown.",
    ),
  }).prefault({}),
  replies: z.strictObject({
    bytes: z.int().positive().default(32 * 1_048_576).describe(
      "Maximum size of an upstream's non-streamed response, in bytes.",
    ),
    values: z.int().positive().default(500_000).describe(
      "Maximum number of JSON values in a non-streamed response.",
    ),
    streamBytes: z.int().positive().default(256 * 1_048_576).describe(
      "Maximum size of a streamed response, decoded, in bytes.",
    ),
    events: z.int().positive().default(2_000_000).describe("Maximum number of events in a stream."),
    eventValues: z.int().positive().default(20_000).describe(
      "Maximum number of JSON values in one event.",
    ),
    silentBytes: z.int().positive().default(16_777_216).describe(
      "Maximum number of bytes between two events: comments, or an event that is incomplete.",
    ),
  }).prefault({}).describe(
    "Limits on upstream responses. Exceeding one is an upstream_unavailable error.",
  ),
  cors: z.strictObject({
    origins: z.array(z.string().min(1)).default(["*"]).describe(
      "Browser origins allowed to call the API; * allows any.",
    ),
  }).prefault({}),
  defaultMaxOutput: z.int().positive().default(1_024).describe(
    "Output limit, in tokens, of chat requests to the built-in routes that set no limit and offer no tools. " +
      "With tools, and on other routes, it is the route's maximum.",
  ),
  responses: z.strictObject({
    keepItemsMs: z.int().nonnegative().max(3_600_000).default(3_600_000).describe(
      "Time for which a client can refer to an item of a reply by its ID (`item_reference`); 0 keeps none. Items of requests " +
        "with `store: false`, and prompts, are never kept.",
    ),
    socketIdleMs: milliseconds.default(600_000).describe(
      "Time without a response after which a WebSocket of GET /v1/responses is closed.",
    ),
    socketMs: milliseconds.default(3_600_000).describe(
      "Maximum time that such a WebSocket stays open; a response in progress is finished.",
    ),
    sockets: z.int().positive().optional().describe(
      "Maximum number of open WebSockets; one account may have `limits.accountShare` of them. Default: a quarter of the limit " +
        "of in-flight requests.",
    ),
    socketsPerKey: z.int().positive().default(16).describe(
      "Maximum number of open WebSockets of one API key.",
    ),
  }).prefault({}),
  onClientDisconnect: z.enum(["abort", "drain"]).default("abort").describe(
    "When a client disconnects: abort the upstream request, or drain it for its usage.",
  ),
  payments: paymentSettings.prefault({}).describe("Buying packages."),
  retention: z.strictObject({
    requestDays: z.int().positive().default(90).describe("Days to keep request records."),
    requestRows: z.int().positive().default(5_000_000).describe(
      "Maximum number of request records to keep.",
    ),
    logDays: z.int().positive().default(400).describe("Days to keep the log of operations."),
  }).prefault({}).describe(
    "How long request records and the log of operations are kept. Hourly roll-ups are kept always.",
  ),
  tags: z.strictObject({
    fromClients: z.boolean().default(true).describe(
      "Record what coding tools and SDKs say of tool, session and user as tags of a request.",
    ),
  }).prefault({}).describe("What requests are tagged with besides `X-Sluice-Tags`."),
  alerts: z.strictObject({
    receivers: z.record(identifier, receiver).default({}).describe(
      "Where alerts are delivered, by name. The console shows them in any case.",
    ),
    allowPrivateHosts: z.array(z.string().min(1)).default([]).describe(
      "Hosts (host or host:port) of receivers that may be private and on any port.",
    ),
    timeoutMs: milliseconds.default(10_000).describe("Maximum time for one delivery."),
    lowCredits: z.strictObject({
      percent: percent.default(20).describe(
        "An account's credits are low at this percentage of its newest grant.",
      ),
      credits: credits.default(0).describe("They are low at this balance, too."),
      accounts: z.record(z.string(), credits).default({}).describe(
        "Balances at which single accounts' credits are low, by email address, instead of the two above.",
      ),
    }).prefault({}),
    dailyAudit: z.boolean().default(true).describe(
      "Whether one gateway audits the credits once a day, as `sluice credits audit` does.",
    ),
  }).prefault({}).describe("Alerts: see docs/alerts.md."),
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
