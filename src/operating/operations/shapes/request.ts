import * as z from "zod";
import { KEY_OWNERS } from "../../../money/ledger/mod.ts";
import { outcomeOf, type RequestRecord } from "../../../money/usage/mod.ts";
import { iso, timestamp } from "./common.ts";

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
  attempts: count,
  attempt_list: z.array(z.looseObject({ upstream: z.string(), model: z.string(), ms: z.number() }))
    .nullable(),
  input_tokens: count,
  cached_tokens: count,
  output_tokens: count,
  extra_credits: count.describe(
    "What hosted tools and writes to a prompt cache cost; part of the price.",
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
export function describeRequest(
  record: RequestRecord,
  email: string,
): z.output<typeof requestShape> {
  return {
    id: record.requestId,
    account: email,
    key_id: record.keyId,
    started_at: iso(record.startedAtMs),
    dialect: record.dialect,
    streamed: record.streamed,
    model: record.route,
    outcome: outcomeOf(record),
    status: record.status,
    reason: record.reason,
    message: record.message,
    upstream: record.upstream,
    upstream_model: record.upstreamModel,
    attempts: record.attempts,
    /** `null` if every attempt got a reply, and in records from before schema 10. */
    attempt_list:
      record.attemptList?.map(({ durationMs, ...one }) => ({ ...one, ms: durationMs })) ??
        null,
    input_tokens: record.inputTokens,
    cached_tokens: record.cachedTokens,
    output_tokens: record.outputTokens,
    extra_credits: record.extraCredits,
    own_key: record.ownKey,
    credits: record.chargedCredits,
    first_token_ms: record.firstTokenMs,
    duration_ms: record.durationMs,
    tags: record.tags ?? {},
  };
}
