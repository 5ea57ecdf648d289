/** SQL that several rules share. `new` is the row that a trigger decides on. */

/** The lengths of rate windows, in milliseconds. */
export const SPANS = { minute: 60_000, hour: 3_600_000, day: 86_400_000 } as const;
export type Span = keyof typeof SPANS;

/** Whose requests a window counts. */
export const OWNERS = [
  { of: "key", table: "windows", prefix: "" },
  { of: "account", table: "account_windows", prefix: "account_" },
] as const;

/**
 * Whether `new.account_id` has not got credits since its balance last did not cover a charge.
 */
export const OWES = `exists (
          select 1 from usage_records
          where account_id = new.account_id and owed_credits > 0
            and settled_at_ms >=
              (select max(created_at_ms) from lots where account_id = new.account_id)
        )`;

/** The bound of what has no bound: more credits than anybody has. */
export const UNLIMITED = "9007199254740991";

/**
 * The database's clock, in milliseconds. Leases go by it, as gateways at one server may have clocks that
 * differ by more than a lease.
 */
export const DATABASE_CLOCK = "cast(unixepoch('subsec') * 1000 as integer)";

/** Credits that `new.key_id` may still spend, less what its in-flight requests hold. */
export const BUDGET_LEFT = `coalesce(
      (select credits - spent - held from budgets where key_id = new.key_id), ${UNLIMITED}
    )`;

/**
 * Takes what has expired out of the balance of `new.account_id` before it is looked at.
 *
 * @param causeId An expression for the id of that expiry.
 */
export function expireFirst(causeId: string): string {
  return `insert into expiries (account_id, at_ms, cause_id)
    select new.account_id, new.at_ms, ${causeId}
    where exists (
      select 1 from lots
      where account_id = new.account_id and remaining > 0 and expires_at_ms <= new.at_ms
    );`;
}

/**
 * Takes credits of `new.account_id` from its lots, an entry for each: from the lot that expires first, of
 * several from the oldest.
 *
 * @param credits An expression for how many to take.
 * @param from A condition on the lots; all that have something left by default.
 */
export function takeFromLots(
  { kind, causeId, credits, atMs, from = "true" }: {
    readonly kind: "charge" | "expire";
    readonly causeId: string;
    readonly credits: string;
    readonly atMs: string;
    readonly from?: string;
  },
): string {
  return `insert into entries (account_id, cause_id, lot_id, kind, credits, at_ms)
    select new.account_id, ${causeId}, id, '${kind}', -taken, ${atMs}
    from (
      select id, min(
        remaining,
        ${credits} + remaining
          - sum(remaining) over (order by expires_at_ms, created_at_ms, id)
      ) as taken
      from lots where account_id = new.account_id and remaining > 0 and ${from}
    )
    where taken > 0;`;
}

/**
 * Counts requests in the minutes, hours and days of a key and of its account.
 *
 * @param from A table, view or subquery with the columns `key_id`, `account_id` and `admitted_at_ms`, a row for each
 * request; and a condition.
 */
export function countRequests(from: string): string {
  return OWNERS.map(({ of, table }) =>
    `insert into ${table} (${of}_id, span_ms, at_ms, used)
    select ${of}_id, span_ms, admitted_at_ms / span_ms * span_ms, count(*)
    from (${
      Object.values(SPANS).map((ms) => `select ${ms} as span_ms`).join(" union all ")
    }), ${from}
    group by 1, 2, 3
    on conflict (${of}_id, span_ms, at_ms) do update set used = used + excluded.used;`
  ).join("\n    ");
}

const HOUR_SUMS = [
  "requests",
  "errors",
  "input_tokens",
  "cached_tokens",
  "output_tokens",
  "duration_ms",
  "credits",
  "saved_millionths",
];

/**
 * Adds to the hours of accounts, keys and routes.
 *
 * @param rows Values, or a selection with a condition: the account, hour, key and route, then the sums in their order.
 */
export function addToHours(rows: string): string {
  return `insert into usage_hours (account_id, hour_at_ms, key_id, route, ${
    HOUR_SUMS.join(", ")
  })${rows}
    on conflict (account_id, hour_at_ms, key_id, route) do update set
      ${HOUR_SUMS.map((sum) => `${sum} = ${sum} + excluded.${sum}`).join(",\n      ")};`;
}

/**
 * A condition: the row of this request is not written by a set of settlements, which keeps the sums itself
 * (`settle_set.ts`).
 */
export function notInSet(requestId: string): string {
  return `not exists (select 1 from settling where request_id = ${requestId} and alone = 0)`;
}

/** A trigger that refuses an event, with a message. */
export function refuse(event: "update" | "delete", table: string, message: string): string {
  return `create trigger ${table}_${event}_is_refused before ${event} on ${table} begin
    select raise(abort, '${message}');
  end`;
}

/**
 * What a record's cached input saved, in millionths of credits: its tokens times the difference of the two input prices
 * of its charge. Bounded, so that no price that an operator may set makes a settlement fail.
 *
 * @param record Qualifies the record's columns: `new.`, `old.` or nothing.
 */
export function savedMillionths(record: string): string {
  const [tokens, input, cached] = ["cached_tokens", "input_price", "cached_price"]
    .map((column) => record + column);
  return `coalesce(min(${tokens} * max(${input} - ${cached}, 0), 1000000000000000), 0)`;
}
