import { z } from "zod";
import { Secret } from "./secret.ts";

/** One of the two wire formats. */
export const dialectName = z.enum(["chat", "messages"]);

/** Departures of an upstream from its dialect, by name; see `upstreams/quirks.ts`. */
export const quirkName = z.enum([
  "moonshot",
  "openai",
  "anthropic",
  "openrouter",
  "deepseek",
  "vllm",
  "ollama",
]);
export type QuirkName = z.infer<typeof quirkName>;

const httpUrl = z.url({ protocol: /^https?$/, error: "must be an http:// or https:// address" });
/** A key as a header can hold it; one that was read from a file often ends with a line's end. */
const secret = z.string().trim().min(1).regex(/^[\x20-\x7e]*$/, "must be plain characters")
  .transform((value) => new Secret(value));
const milliseconds = z.int().positive().max(24 * 3_600_000);
const count = z.int().nonnegative().max(Number.MAX_SAFE_INTEGER);
/** Thousands of such sums still add up exactly. */
const credits = count.max(1e12, "must be at most 1,000,000,000,000 credits");
const identifier = z.string().regex(
  /^[A-Za-z0-9][A-Za-z0-9._:\/-]{0,127}$/,
  "must be 1 to 128 letters, digits or . _ : / - and begin with a letter or digit",
);

const timeouts = z.strictObject({
  connectMs: milliseconds.default(30_000).describe(
    "Maximum time to establish a connection, TLS included.",
  ),
  readMs: milliseconds.default(600_000).describe(
    "Maximum time from a request to the first byte of its response.",
  ),
  headersMs: milliseconds.default(60_000).describe(
    "Maximum time to the first output while another target of the route can be asked instead; as " +
      "long again for each 2,000 output tokens of a response that is not streamed.",
  ),
  streamMs: milliseconds.default(600_000).describe(
    "Maximum time between two chunks of a response.",
  ),
  totalMs: milliseconds.default(3_600_000).describe("Maximum time for a whole response."),
});

export const upstreamSettings = z.strictObject({
  url: httpUrl.describe("Base that /chat/completions or /messages is appended to."),
  key: secret.optional().describe("Sent as the upstream's API key; ${NAME} reads NAME."),
  dialect: dialectName.default("chat"),
  headers: z.record(
    z.string().regex(
      /^(?!(?:host|connection|content-length|transfer-encoding)$)[!#$%&'*+.^_`|~0-9A-Za-z-]+$/i,
      "must be the name of a header that is not the connection's own",
    ),
    z.string().regex(/^[\x20-\x7e\x80-\xff]*$/, "must be what a header can hold"),
  ).default({}).describe("Sent with every request."),
  timeouts: timeouts.prefault({}),
  caCert: z.string().optional().describe(
    "PEM text, or the path of a PEM file (from the settings file), to trust as well.",
  ),
  quirks: quirkName.optional().describe("Departures from the dialect."),
});
export type UpstreamSettings = z.output<typeof upstreamSettings>;

const target = z.strictObject({
  upstream: identifier.describe("A name under `upstreams`, or `simulator`."),
  model: z.string().min(1).describe("The model's name there."),
});

const prices = z.strictObject({
  input: count.describe("Credits per million uncached input tokens."),
  cached: count.describe("Credits per million cached input tokens."),
  output: count.describe("Credits per million output tokens."),
});

export const routeSettings = z.strictObject({
  targets: z.array(target).min(1).optional().describe("In failover order."),
  displayName: z.string().min(1).optional(),
  context: z.int().positive().optional().describe("Tokens of input and output together."),
  maxInput: z.int().positive().optional().describe("Tokens of input, when less than `context`."),
  maxOutput: z.int().positive().optional().describe("Tokens generated per answer."),
  minimum: count.optional().describe("Credits that any charged request costs at least."),
  prices: prices.optional(),
  images: z.enum(["none", "inline", "remote"]).optional(),
  reasoning: z.enum(["none", "thinking", "always", "effort"]).optional(),
});
export type RouteSettings = z.output<typeof routeSettings>;

const accountLimit = (span: string) =>
  z.int().positive().optional().describe(
    `Requests of an account over all its keys in ${span}; default: five times the key's.`,
  );

const tier = z.strictObject({
  above: count.describe("Holds for balances strictly above this many credits."),
  minute: z.int().positive().describe("Requests of one key in a minute of UTC."),
  hour: z.int().positive().describe("Requests of one key in an hour."),
  day: z.int().positive().describe("Requests of one key in a day."),
  account: z.strictObject({
    minute: accountLimit("a minute"),
    hour: accountLimit("an hour"),
    day: accountLimit("a day"),
  }).optional(),
});

const creditPackage = z.strictObject({
  id: identifier,
  name: z.string().min(1),
  credits: credits.nullable().describe("null: by agreement."),
  priceUsd: z.number().nonnegative().nullable(),
  validDays: z.int().positive().nullable().describe("null: never expires."),
});

/** The settings file as an operator writes it (`z.input`) and as the code uses it (`z.output`). */
export const settings = z.strictObject({
  $schema: z.string().optional().describe("For editors; not read."),
  host: z.string().min(1).default("127.0.0.1").describe("Address to listen on."),
  port: z.int().min(0).max(65_535).default(8787).describe("0 picks a free one."),
  data: z.string().min(1).default("./data").describe("Directory of the database."),
  database: z.strictObject({
    url: z.string().regex(
      /^(file|https?|libsql):/,
      "must begin with file:, http(s):// or libsql://",
    )
      .optional(),
    token: secret.optional(),
  }).prefault({}).describe("A libSQL server shared by several gateways, or another file."),
  durability: z.enum(["full", "normal"]).default("full").describe(
    "full: an acknowledged charge survives power loss; normal: only the death of the process.",
  ),
  owner: z.strictObject({
    email: z.email().or(z.literal("owner@localhost")).default("owner@localhost"),
    key: z.string().regex(
      /^sk-[A-Za-z0-9_-]{32,200}$/,
      "must be sk- and 32 to 200 of A-Z a-z 0-9 _ -",
    )
      .transform((value) => new Secret(value)).optional(),
  }).prefault({}),
  upstream: z.strictObject({
    url: httpUrl.optional(),
    key: secret.optional(),
    dialect: dialectName.default("chat"),
  }).prefault({}).describe("One upstream for every route that names no targets."),
  trustedProxies: z.array(z.union([z.ipv4(), z.ipv6(), z.cidrv4(), z.cidrv6()], {
    error: "must be an IP address, or a range such as 10.0.0.0/8",
  })).default([]).describe(
    "Addresses and ranges of reverse proxies whose X-Forwarded-For and X-Forwarded-Proto are believed.",
  ),
  log: z.enum(["pretty", "json"]).optional().describe("Default: pretty on a terminal, else json."),
  logLevel: z.enum(["debug", "info", "warn", "error"]).default("info"),
  publicUrl: httpUrl.optional().describe("Base address shown to users."),
  registration: z.enum(["open", "invite", "closed"]).default("invite"),
  metricsToken: secret.optional(),
  upstreams: z.record(identifier, upstreamSettings).default({}),
  routes: z.record(identifier, routeSettings).default({}),
  aliases: z.record(
    z.string().min(1).regex(/^[^*]*\*?$/, "must be a name, or a prefix that ends in *"),
    identifier,
  ).default({}).describe(
    "A name, or a prefix ending in *, to a route.",
  ),
  tiers: z.array(tier).min(1).refine(
    (all) => new Set(all.map(({ above }) => above)).size === all.length,
    "must have each `above` once",
  ).default([
    { above: 0, minute: 20, hour: 600, day: 5_000 },
    { above: 100, minute: 60, hour: 2_000, day: 20_000 },
    { above: 1_000, minute: 200, hour: 6_000, day: 50_000 },
    { above: 10_000, minute: 500, hour: 15_000, day: 100_000 },
  ]).describe("Request windows by balance; replaces the built-in list."),
  packages: z.array(creditPackage).refine(
    (all) => new Set(all.map(({ id }) => id)).size === all.length,
    "must have each `id` once",
  ).default([
    { id: "starter", name: "Starter", credits: 500, priceUsd: 4.99, validDays: null },
    { id: "standard", name: "Standard", credits: 5_000, priceUsd: 29.99, validDays: 30 },
    { id: "premium", name: "Premium", credits: 20_000, priceUsd: 59.99, validDays: 30 },
    { id: "enterprise", name: "Enterprise", credits: null, priceUsd: null, validDays: null },
  ]),
  credits: z.strictObject({
    signup: credits.default(10),
    inviteSignup: credits.default(50),
    inviteFirstPayment: credits.default(500),
    ownerGrant: credits.default(1_000_000),
  }).prefault({}),
  images: z.strictObject({
    maxBytes: z.int().positive().default(6 * 1_048_576).describe("Raw bytes of one image."),
    maxEncodedChars: z.int().positive().default(8 * 1_048_576).describe("base64 of one request."),
    maxPixels: z.int().positive().default(100_000_000).describe("Width times height of one image."),
    allowPrivateHosts: z.array(z.string().min(1)).default([]).describe(
      "Hosts (host or host:port) that may be private and on any port.",
    ),
    ports: z.array(z.int().min(1).max(65_535)).default([]).describe(
      "Ports of public hosts besides 80 and 443.",
    ),
    connectMs: milliseconds.default(5_000),
    totalMs: milliseconds.default(20_000).describe(
      "For names, redirects and transfer of one image.",
    ),
    maxImages: z.int().positive().default(100).describe("Maximum number of images in one request."),
    waitMs: milliseconds.default(10_000).describe(
      "Maximum time that an image waits to be fetched.",
    ),
    fetchesPerRequest: z.int().positive().default(4),
    fetches: z.int().positive().default(16).describe("Images fetched at once by the gateway."),
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
      "Minimum average speed of a request body once bodyIdleMs have passed.",
    ),
    bodyDepth: z.int().positive().max(200).default(100).describe(
      "Maximum nesting of arrays and objects in a request body.",
    ),
    bodyValues: z.int().positive().default(200_000).describe(
      "Maximum number of JSON values in a request body.",
    ),
    bodyKeys: z.int().positive().default(10_000).describe(
      "Maximum number of keys of one object in a request body.",
    ),
    unbilledBytesPerMinute: z.int().positive().default(256 * 1_048_576).describe(
      "Bytes of rejected request bodies and of count_tokens requests, per API key and minute.",
    ),
    largeBodiesBytes: z.int().positive().default(256 * 1_048_576).describe(
      "Memory (bytes) for request bodies over 1 MB and fetched images in progress; further ones " +
        "wait up to bodyIdleMs.",
    ),
    openRequests: z.int().positive().optional().describe(
      "Maximum number of API requests in progress. Default: what the limit of open files allows, " +
        "at most 16,384.",
    ),
    openRequestsPerKey: z.int().positive().optional().describe(
      "Maximum number of API requests in progress with one API key. Default: the account's share.",
    ),
    accountShare: z.number().gt(0).max(1).default(0.5).describe(
      "Part of each shared resource (openRequests, largeBodiesBytes, images.fetches) that one " +
        "account may use.",
    ),
    idleConnectionMs: milliseconds.default(120_000).describe(
      "How long a client's connection may stay open without a request; it is closed after one to " +
        "two times this. On Linux only.",
    ),
    pingMs: milliseconds.default(15_000).describe(
      "Time without anything for a stream's caller after which it is sent a ping.",
    ),
    countsPerMinute: z.int().positive().default(600).describe(
      "count_tokens requests per API key and minute.",
    ),
    followMs: milliseconds.default(60_000).describe(
      "How long an answer whose caller left is followed for its usage (onClientDisconnect: drain).",
    ),
    holdLeaseMs: milliseconds.default(60_000).describe(
      "How long credits of running requests are held after their gateway died.",
    ),
    drainMs: milliseconds.default(30_000).describe("For running requests when stopping."),
  }).prefault({}),
  replies: z.strictObject({
    bytes: z.int().positive().default(32 * 1_048_576).describe(
      "Maximum size of an upstream's response that is not streamed, in bytes.",
    ),
    values: z.int().positive().default(500_000).describe(
      "Maximum number of JSON values in such a response.",
    ),
    streamBytes: z.int().positive().default(256 * 1_048_576).describe(
      "Maximum size of a streamed response, decoded, in bytes.",
    ),
    events: z.int().positive().default(2_000_000).describe("Maximum number of events of a stream."),
    eventValues: z.int().positive().default(20_000).describe(
      "Maximum number of JSON values in one event.",
    ),
    silentBytes: z.int().positive().default(1_048_576).describe(
      "Maximum number of bytes without an event, such as comments.",
    ),
  }).prefault({}).describe("Bounds of what upstreams send; more is an upstream_unavailable error."),
  cors: z.strictObject({
    origins: z.array(z.string().min(1)).default(["*"]).describe("Browser origins served."),
  }).prefault({}),
  onClientDisconnect: z.enum(["abort", "drain"]).default("abort"),
  payments: z.strictObject({}).optional(),
  retention: z.strictObject({
    requestDays: z.int().positive().default(90),
    requestRows: z.int().positive().default(5_000_000),
  }).prefault({}).describe("How long single request records are kept; roll-ups stay."),
});

/** What an operator may write. */
export type SettingsInput = z.input<typeof settings>;
/** Every setting, defaults filled in. */
export type Settings = z.output<typeof settings>;
