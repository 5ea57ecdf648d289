import type { Config, WayOut } from "../../settings/config/mod.ts";
import type { Database } from "../../ground/database/mod.ts";
import { paymentHealth, WEBHOOK_PATH } from "../../money/payments/mod.ts";
import { failed, type Finding, ok, warning } from "../../ground/finding.ts";
import { time } from "./format.ts";
import { hostAndWay } from "./way_out.ts";

/** Sweeps come every three minutes. */
const LATE_SWEEP_MS = 15 * 60_000;

/**
 * What there is to say about payments, without their secrets: mode, host, webhooks, orders and sweeps.
 *
 * @param config The settings; nothing is said if they sell nothing online.
 * @param options The time, and whether a gateway runs, which should have swept then.
 */
export async function paymentFindings(
  { settings }: Config,
  database: Database,
  { nowMs, isRunning }: { readonly nowMs: number; readonly isRunning: boolean },
): Promise<Finding[]> {
  const { stripe } = settings.payments;
  if (stripe === undefined) return [];
  const key = stripe.secretKey.reveal();
  const [, mode] = /^(?:sk|rk)_(test|live)_/.exec(key) ?? [];
  if (mode === undefined) {
    return [warning(
      "payments",
      "mode unknown: the variable of the secret key is not set in this shell",
      "the gateway has its own environment; run sluice doctor in the same one",
    )];
  }
  const hasWebhookSecret = stripe.webhookSecret.reveal().startsWith("whsec_");
  const livemode = mode === "live";
  const findings = [
    hasWebhookSecret ? ok("payments", `${mode} mode, webhook secret set`) : warning(
      "payments",
      `${mode} mode; the variable of the webhook secret is not set in this shell`,
      "the gateway has its own environment; run sluice doctor in the same one",
    ),
    hostFinding(stripe.apiBase, settings),
  ];
  const health = await paymentHealth(database, { livemode, nowMs });
  const { lastWebhookAtMs, lastSweepAtMs, orders, waiting, oldestWaitingAtMs, needLook } = health;
  findings.push(
    lastWebhookAtMs !== null
      ? ok("webhooks", `the last one came at ${time(lastWebhookAtMs)}`)
      : orders === 0
      ? ok("webhooks", "none yet, and no orders either")
      : warning(
        "webhooks",
        "none has come yet, although there are orders",
        `check the endpoint …${WEBHOOK_PATH} and its deliveries in Stripe's dashboard`,
      ),
  );
  findings.push(
    waiting === 0 ? ok("orders", "none has been open for more than a day") : warning(
      "orders",
      `${waiting} open for more than a day, since ${time(oldestWaitingAtMs)} the oldest`,
      "bank transfers take days; otherwise run: sluice payments reconcile",
    ),
  );
  if (needLook > 0) {
    findings.push(warning(
      "orders",
      `${needLook} with payments that differ from them`,
      "list them with: sluice payments list --look",
    ));
  }
  const swept = lastSweepAtMs === null
    ? "no sweep has succeeded yet"
    : `the last success was at ${time(lastSweepAtMs)}`;
  const isLate = isRunning && nowMs - (lastSweepAtMs ?? 0) > LATE_SWEEP_MS;
  findings.push(
    isLate
      ? warning(
        "sweep",
        swept,
        "a gateway that has just started needs three minutes; otherwise see its log for 'payments not swept'",
      )
      : ok("sweep", swept),
  );
  return findings;
}

/** The secret key is sent to this host. */
function hostFinding(apiBase: string, way: WayOut): Finding {
  const { hostname, host, protocol } = new URL(apiBase);
  if (protocol === "https:" && host === "api.stripe.com") {
    return ok("stripe", hostAndWay(apiBase, way));
  }
  if (["127.0.0.1", "[::1]", "localhost"].includes(hostname)) {
    return warning("stripe", `${host}: a test's, no money moves`, "remove payments.stripe.apiBase");
  }
  return failed(
    "stripe",
    `${host} is not Stripe's host api.stripe.com, and gets the secret key`,
    "remove payments.stripe.apiBase; roll the key if this was not intended",
  );
}
