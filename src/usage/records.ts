import type { Database, GroupWrite } from "../database/mod.ts";

/** How a request ended. */
export type Ending = "complete" | "refused" | "upstream_failed" | "client_left";

/** One request, as it is remembered: who, what, how much, how long. Never what was said. */
export interface UsageRecord {
  readonly requestId: string;
  readonly accountId: string;
  readonly keyId: string;
  readonly dialect: "chat" | "messages";
  readonly route: string;
  /** The upstream that answered or was asked last. */
  readonly upstream: string | null;
  readonly upstreamModel: string | null;
  readonly attempts: number;
  /** HTTP status of the answer. */
  readonly status: number;
  readonly ending: Ending;
  readonly streamed: boolean;
  /** Who counted the tokens; null when nothing is charged. */
  readonly usageSource: "upstream" | "counted" | null;
  readonly inputTokens: number;
  readonly cachedTokens: number;
  readonly outputTokens: number;
  readonly reasoningTokens: number;
  readonly startedAtMs: number;
  /** From the request's arrival to the first output. */
  readonly firstTokenMs: number | null;
  readonly durationMs: number;
}

type RecordItem = readonly (string | number | null)[];

const COLUMNS = [
  "request_id",
  "account_id",
  "key_id",
  "dialect",
  "route",
  "upstream",
  "upstream_model",
  "attempts",
  "status",
  "ending",
  "streamed",
  "usage_source",
  "input_tokens",
  "cached_tokens",
  "output_tokens",
  "reasoning_tokens",
  "started_at_ms",
  "first_token_ms",
  "duration_ms",
] as const;

const at = (column: typeof COLUMNS[number]) => `value ->> ${COLUMNS.indexOf(column)}`;

/** Before the records themselves, so that a record that is already there is not added up again. */
const ROLL_UP = `
  insert into usage_hours
    (account_id, hour_at_ms, key_id, route, requests, errors, input_tokens, cached_tokens,
     output_tokens, duration_ms)
  select ${at("account_id")}, (${at("started_at_ms")}) / 3600000 * 3600000, ${at("key_id")},
         ${at("route")}, count(*), sum((${at("ending")}) <> 'complete'),
         sum(${at("input_tokens")}), sum(${at("cached_tokens")}), sum(${at("output_tokens")}),
         sum(${at("duration_ms")})
  from json_each(?1)
  where ${at("request_id")} not in (select request_id from usage_records)
  group by 1, 2, 3, 4
  on conflict (account_id, hour_at_ms, key_id, route) do update set
    requests = requests + excluded.requests,
    errors = errors + excluded.errors,
    input_tokens = input_tokens + excluded.input_tokens,
    cached_tokens = cached_tokens + excluded.cached_tokens,
    output_tokens = output_tokens + excluded.output_tokens,
    duration_ms = duration_ms + excluded.duration_ms`;

const INSERT = `
  insert into usage_records (${COLUMNS.join(", ")})
  select ${COLUMNS.map(at).join(", ")} from json_each(?1) where true
  on conflict (request_id) do nothing`;

const RECORD_USAGE: GroupWrite<RecordItem> = {
  name: "usage record",
  statements: [ROLL_UP, INSERT],
};

/** Writes a record and adds it to its hour, once per request id. Resolves when it is durable. */
export function recordUsage(database: Database, record: UsageRecord): Promise<void> {
  return database.write(RECORD_USAGE, [
    record.requestId,
    record.accountId,
    record.keyId,
    record.dialect,
    record.route,
    record.upstream,
    record.upstreamModel,
    record.attempts,
    record.status,
    record.ending,
    record.streamed ? 1 : 0,
    record.usageSource,
    record.inputTokens,
    record.cachedTokens,
    record.outputTokens,
    record.reasoningTokens,
    record.startedAtMs,
    record.firstTokenMs,
    record.durationMs,
  ]);
}
