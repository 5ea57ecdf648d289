import * as z from "zod";
import { BACK_NAMES } from "../../wire/dialects/mod.ts";
import { QUIRK_NAMES } from "../known_providers/mod.ts";
import { boundSettings } from "./bound_settings.ts";
import { credentialSettings } from "./credential_settings.ts";
import { proxySetting, type ProxySettings } from "./proxy_settings.ts";
import { Secret } from "./secret.ts";
import { httpUrl, secret, timeLimit, weight } from "./values.ts";

/** One of the wire formats. */
export const dialectName = z.enum(BACK_NAMES);

/** Known deviations of upstreams from their dialect, by name; see `upstreams/quirks.ts`. */
export const quirkName = z.enum(QUIRK_NAMES);

/** A part of a provider's URL: one name, or a host. */
const urlPart = z.string().regex(
  /^[A-Za-z0-9][A-Za-z0-9._-]{0,252}$/,
  "must consist of letters, digits, dots, hyphens and underscores",
);

const upstreamKey = z.union([
  secret,
  z.strictObject({
    key: secret.describe("The API key."),
    weight: weight.default(1).describe("Its share of the requests."),
    limits: boundSettings.optional(),
  }),
], { error: 'must be an API key, or an object such as { "key": "${NAME}", "weight": 3 }' })
  .transform((one) => one instanceof Secret ? { key: one, weight: 1, limits: undefined } : one);

const timeouts = z.strictObject({
  connectMs: timeLimit(30_000, "Maximum time to establish a connection, including TLS."),
  readMs: timeLimit(
    600_000,
    "Maximum time from sending a request to the first byte of the response.",
  ),
  headersMs: timeLimit(
    60_000,
    "Maximum time to the first output while the route has another target to fail over to. A " +
      "response that is not streamed gets as much again for each 2,000 permitted output tokens.",
  ),
  streamMs: timeLimit(600_000, "Maximum time between two chunks of a response."),
  totalMs: timeLimit(3_600_000, "Maximum time for a whole response."),
});

/** Help on quirks. */
export const QUIRKS_HELP =
  "Known deviations of the upstream from its dialect. Default: those of the " +
  "provider whose host name is in `url`, otherwise none.";

/** Schema of one upstream. */
export const upstreamSettings = z.strictObject({
  provider: z.string().min(1).optional().describe(
    "A known provider, such as `groq`: `sluice providers` lists them. `url`, `dialect`, `quirks` and `key` are its own where they " +
      "are not set.",
  ),
  resource: urlPart.optional().describe(
    "What the URL of the provider has for `{resource}`: an account, a host, a resource of Azure.",
  ),
  project: urlPart.optional().describe("What the URL of the provider has for `{project}`."),
  region: urlPart.optional().describe("What the URL of the provider has for `{region}`."),
  url: httpUrl.describe(
    "Base URL that /chat/completions, /messages, /responses or /models/MODEL:generateContent is appended to, by the dialect. Required " +
      "without a `provider`.",
  ),
  path: z.string().regex(
    /^\/[\x21-\x7e]*$/,
    "must begin with / and have no spaces",
  ).optional().describe(
    "Path below `url` that requests are sent to, with `{model}` and `{method}`, for services that have the model there. Providers " +
      "that need one have it.",
  ),
  key: secret.optional().describe(
    "API key of the upstream. ${NAME} is replaced by the environment variable NAME.",
  ),
  keys: z.array(upstreamKey).min(1).optional().describe(
    "Several API keys of the upstream instead of `key`, used in turn. Each is a key, or " +
      '`{ "key", "weight" }` for another share than 1.',
  ),
  credentials: credentialSettings.optional().describe(
    "How requests prove who sends them, instead of an API key.",
  ),
  allowForwardedKeys: z.boolean().default(false).describe(
    "Whether requests may bring a key of the caller's own in the header `X-Sluice-Upstream-Key`, which they are then sent with.",
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
  pool: z.enum(["shared", "account", "none"]).default("shared").describe(
    "Whose requests a connection to the upstream is used for: `shared`, everybody's; `account`, those of one account, so that no " +
      "late reply of a broken upstream reaches another; `none`, one request.",
  ),
  proxy: proxySetting.optional().describe(
    "Proxy for this upstream and for getting its credentials, or `none`. Treated as a secret. Default: what `proxies` or the " +
      "environment says.",
  ),
  limits: boundSettings.optional(),
  betas: z.array(z.string().regex(/^[A-Za-z0-9._-]+\*?$/, "must be the name of a beta feature"))
    .optional()
    .describe(
      "Beta features (`anthropic-beta`) that go on to the upstream when clients ask for them; a name that ends with `*` is a beginning. " +
        "Others are left out. Default: all.",
    ),
  quirks: quirkName.optional().describe(QUIRKS_HELP),
  discover: z.boolean().default(false).describe(
    "Whether to serve the models that the upstream lists, by their own names.",
  ),
}).refine(({ key, keys }) => key === undefined || keys === undefined, {
  path: ["keys"],
  error: "cannot be combined with `key`: set one of them",
}).refine(
  ({ key, keys, credentials }) => credentials === undefined || (key ?? keys) === undefined,
  { path: ["credentials"], error: "cannot be combined with `key` or `keys`: set one of them" },
);
/** Settings of one upstream, with defaults. */
export type UpstreamSettings = z.output<typeof upstreamSettings> & {
  /** Proxies of all settings, which `proxy` wins over. */
  readonly proxies?: ProxySettings;
};
