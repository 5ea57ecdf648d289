import { WEBHOOK_PATH } from "../../../money/payments/mod.ts";
import { errors, type Json } from "./operation.ts";

const REFUSED = "application/json";

function described(description: string): Json {
  return {
    description,
    content: { [REFUSED]: { schema: { type: "object" } } },
  };
}

/** The endpoint that Stripe calls. */
export function webhookPaths(): Record<string, Json> {
  return {
    [WEBHOOK_PATH]: {
      post: {
        operationId: "receiveStripeEvent",
        summary: "Receive an event of Stripe",
        description:
          "Only for Stripe: the body must be signed with the endpoint's secret, up to five " +
          "minutes ago, and be up to 256 kB long. Answers 404 unless `payments.stripe` is set.",
        tags: ["operation"],
        security: [],
        parameters: [{
          name: "Stripe-Signature",
          in: "header",
          required: true,
          description: "Time and signatures of the body.",
          schema: { type: "string" },
        }],
        requestBody: {
          required: true,
          content: { "application/json": { schema: { type: "object" } } },
        },
        responses: {
          200: described("The event is recorded, whether it has an effect or not."),
          400: described("The signature, its time or the body is not valid."),
          413: described("The body is too long."),
          503: described("The database cannot be used now. Stripe sends the event again."),
          ...errors("chat", ["path_unknown"]),
        },
      },
    },
  };
}
