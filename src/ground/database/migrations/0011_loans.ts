/**
 * Credits and places in rate windows that are lent to gateways, which admit requests on them without asking; and
 * settlements as sets.
 */

const SPANS = ["minute", "hour", "day"];
const WINDOWS = ["", "account_"].flatMap((owner) => SPANS.map((span) => owner + span));

export const LOANS = [
  `create table loans (
    account_id text not null references accounts (id),
    gateway_id text not null,
    loan_id text not null,
    credits integer not null check (credits >= 0),
    -- requests that it covers in any one minute, hour and day
    ${SPANS.map((span) => `${span} integer not null check (${span} >= 0)`).join(",\n    ")},
    -- whether somebody needs what is lent
    recalled integer not null default 0 check (recalled in (0, 1)),
    lease_until_ms integer not null,
    primary key (account_id, gateway_id)
  ) strict, without rowid`,

  // Empty whenever no transaction is open. As before, but for the verdict 'recall'.
  `drop table decisions`,
  `create table decisions (
    request_id text primary key,
    verdict text not null check
      (verdict in ('admitted', 'recall', 'rate', 'uncollected', 'budget', 'credits')),
    credits integer not null,
    balance integer not null,
    ${
    WINDOWS.map((name) => `${name}_limit integer not null,\n    ${name}_used integer not null`)
      .join(",\n    ")
  }
  ) strict, without rowid`,

  // Settlements of a transaction, until it ends; their tables check the values.
  `create table settling (
    request_id text primary key,
    account_id, key_id, loan_id, dialect, route, upstream, upstream_model, attempts, status, ending,
    streamed, usage_source, input_tokens, cached_tokens, output_tokens, reasoning_tokens, started_at_ms,
    first_token_ms, duration_ms, price_credits, ignored, input_price, cached_price, output_price,
    minimum_credits, admitted_at_ms, settled_at_ms, reason, message, attempt_list, lent,
    -- whether it is decided on alone, by the rule 'settle'
    alone integer not null default 0
  ) without rowid`,
];
