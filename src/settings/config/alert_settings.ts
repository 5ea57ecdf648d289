import * as z from "zod";
import { trustedHost } from "./hosts.ts";
import { credits, httpUrl, identifier, secret, timeLimit } from "./values.ts";

/** What alerts can be about. */
export const ALERT_KINDS = [
  "low_credits",
  "lot_expiring",
  "key_expiring",
  "budget_mark",
  "top_up_stopped",
  "circuit_opened",
  "circuit_closed",
  "usage_departs",
  "model_changed",
  "cache_share_fell",
  "price_disagrees",
  "audit_failed",
  "catalog_changed",
  "owner_signed_in",
  "disk_low",
  "database_down",
  "database_up",
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

/** Schema of the settings of alerts. */
export const alertSettings = z.strictObject({
  receivers: z.record(identifier, receiver).default({}).describe(
    "Where alerts are delivered, by name. The console shows them in any case.",
  ),
  allowPrivateHosts: z.array(trustedHost).default([]).describe(
    "Hosts (host or host:port) of receivers that may be private and on any port.",
  ),
  timeoutMs: timeLimit(10_000, "Maximum time for one delivery."),
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
});
