import type { Secret } from "../../settings/config/mod.ts";
import { DatabaseError } from "../../ground/database/mod.ts";
import { BodyTooLong, readBounded } from "../../ground/web/mod.ts";
import { applyEvent } from "./apply_event.ts";
import type { NewsParts, Outcome } from "./apply_news.ts";
import { contactStatement } from "./health.ts";
import { stripeEvent } from "./stripe_objects.ts";
import { signatureFault } from "./webhook_signature.ts";

/** Path of the webhook endpoint. */
export const WEBHOOK_PATH = "/webhooks/stripe";

/** Max bytes of an event. */
const MAX_BODY_BYTES = 262_144;
/** Max time to receive an event. */
const BODY_MS = 10_000;

/** What became of a call of the webhook. */
export type WebhookOutcome =
  | Outcome
  | "refused_header"
  | "refused_time"
  | "refused_signature"
  | "refused_body"
  | "refused_size"
  | "unavailable";

/** Dependencies of the webhook. */
export interface WebhookParts extends NewsParts {
  readonly webhookSecret: Secret;
  /** Counts what became of calls. */
  readonly counted: (outcome: WebhookOutcome) => void;
}

/**
 * Handles a call of the webhook: verifies the bytes before anything reads them, and takes effect in one transaction.
 *
 * @returns 200 for every event that is genuine, whether it has an effect or not; 400 or 413 without details for what is
 *   not; 503 if the database cannot be used, so that it is sent again.
 */
export async function respondToWebhook(parts: WebhookParts, request: Request): Promise<Response> {
  const { counted, log, webhookSecret, now } = parts;
  const refused = (outcome: WebhookOutcome, status: number) => {
    counted(outcome);
    log.warn("webhook refused", { reason: outcome });
    return Response.json({ error: "invalid request" }, { status });
  };
  const body = await boundedBody(request);
  if (body === "too long") return refused("refused_size", 413);
  if (body === "incomplete") return refused("refused_body", 400);
  const fault = await signatureFault(body, request.headers.get("stripe-signature"), {
    secret: webhookSecret.reveal(),
    nowMs: now(),
  });
  if (fault !== undefined) return refused(`refused_${fault}`, 400);
  const event = stripeEvent.safeParse(parsed(body));
  if (!event.success) return refused("refused_body", 400);
  try {
    const { outcome } = await applyEvent(parts, event.data);
    const { livemode } = event.data;
    await parts.database.batch([contactStatement("webhook", { livemode, atMs: now() })]);
    counted(outcome);
    return Response.json({ received: true });
  } catch (error) {
    counted("unavailable");
    log.error("webhook failed: it will be sent again", {
      event: event.data.id,
      error: error instanceof DatabaseError ? error.message : String(error),
    });
    return Response.json({ error: "unavailable" }, {
      status: 503,
      headers: { "retry-after": "5" },
    });
  }
}

async function boundedBody(
  request: Request,
): Promise<Uint8Array | "too long" | "incomplete"> {
  try {
    return await readBounded(request, { maxBytes: MAX_BODY_BYTES, maxMs: BODY_MS });
  } catch (error) {
    return error instanceof BodyTooLong ? "too long" : "incomplete";
  }
}

function parsed(body: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(body));
  } catch {
    return undefined;
  }
}
