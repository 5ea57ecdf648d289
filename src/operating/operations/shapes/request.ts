import * as z from "zod";
import { KEY_OWNERS } from "../../../money/ledger/mod.ts";
import { outcomeOf, type RequestRecord } from "../../../money/usage/mod.ts";
import { describer, timestamp } from "./common.ts";

const count = z.int();

/** A request's record as commands and the API show it. */
export const requestShape = z.strictObject({
  id: z.string(),
  account: z.string().describe("Email address."),
  key_id: z.string(),
  started_at: timestamp,
  dialect: z.string(),
  streamed: z.boolean(),
  model: z.string(),
  outcome: z.string(),
  status: count,
  reason: z.string().nullable(),
  message: z.string().nullable(),
  upstream: z.string().nullable(),
  upstream_model: z.string().nullable(),
  answered_model: z.string().nullable().describe(
    "The model that replied, as it calls itself; `null` if it does not say.",
  ),
  upstream_request_id: z.string().nullable().describe("The provider's own ID of the request."),
  service_tier: z.string().nullable().describe("Tier that the reply was served in, as it says."),
  speed: z.string().nullable(),
  region: z.string().nullable(),
  price_row: z.string().nullable().describe(
    "Published prices that the charge was made with; `null` where the settings say them.",
  ),
  extras: z.record(z.string(), z.tuple([z.number(), z.number()])).describe(
    "What `extra_credits` are of: count and price by kind; tokens per million, calls and requests per thousand.",
  ),
  attempts: count,
  attempt_list: z.array(z.looseObject({ upstream: z.string(), model: z.string(), ms: z.number() }))
    .nullable(),
  input_tokens: count,
  cached_tokens: count,
  output_tokens: count,
  extra_credits: count.describe(
    "What calls of tools, writes to a prompt cache and other kinds of tokens cost beyond the price of input and output; part of " +
      "the price.",
  ),
  own_key: z.enum(KEY_OWNERS).nullable().describe(
    "Whose key of the upstream the reply came with; `null` for the gateway's.",
  ),
  credits: count,
  first_token_ms: count.nullable(),
  duration_ms: count,
  tags: z.record(z.string(), z.string()),
});

/** Describes a record, with the email address of its account. */
export const describeRequest = describer(requestShape, (record: RequestRecord, email: string) => ({
  id: record.requestId,
  account: email,
  model: record.route,
  outcome: outcomeOf(record),
  answered_model: record.details.model ?? null,
  upstream_request_id: record.details.id ?? null,
  service_tier: record.details.tier ?? null,
  speed: record.details.speed ?? null,
  region: record.details.region ?? null,
  price_row: record.details.row ?? null,
  extras: record.details.extras ?? {},
  /** `null` if every attempt got a reply, and in records from before schema 10. */
  attempt_list: record.attemptList?.map(({ durationMs: ms, ...one }) => ({ ...one, ms })) ?? null,
  credits: record.chargedCredits,
  tags: record.tags ?? {},
}));
