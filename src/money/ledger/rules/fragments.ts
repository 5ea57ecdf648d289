import { ROLL_UPS, type RollUp, SUMS } from "../roll_ups.ts";

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

/** The time zones of the world are whole quarters of an hour from UTC, so that periods of budgets begin with one. */
export const QUARTER_MS = 900_000;

/** The bound of what has no bound: more credits than anybody has. */
export const UNLIMITED = "9007199254740991";

/**
 * The database's clock, in milliseconds. Leases go by it, as gateways at one server may have clocks that
 * differ by more than a lease.
 */
export const DATABASE_CLOCK = "cast(unixepoch('subsec') * 1000 as integer)";

/**
 * A condition for a `join`: the row of `budget_periods` is the period of a time that a budget has.
 *
 * @param ofBudget An expression for the budget's id.
 * @param atMs An expression for the time.
 */
export function periodOf(ofBudget: string, atMs: string): string {
  return `budget_periods.budget_id = ${ofBudget}
        and starts_at_ms = (
          select max(those.starts_at_ms) from budget_periods as those
          where those.budget_id = ${ofBudget} and those.starts_at_ms <= ${atMs}
        ) and ends_at_ms > ${atMs}`;
}

/**
 * Credits that a budget has left: those of its period that were not spent, less what in-flight requests hold.
 *
 * @param nowMs An expression for the time: until the end of a raise, that counts too.
 */
export function leftOfBudget(nowMs: string): string {
  return `budgets.credits + iif(${nowMs} < raise_until_ms, raise_credits, 0) - spent - held`;
}

/**
 * Credits that all budgets of `new.key_id` have left for a request.
 *
 * @param admittedAtMs An expression for the time of its admission: it belongs to the periods of that time.
 * @param nowMs An expression for the time at which a raise must last.
 */
export function budgetLeft(
  { admittedAtMs, nowMs }: { readonly admittedAtMs: string; readonly nowMs: string },
): string {
  return `coalesce((
      select min(${leftOfBudget(nowMs)})
      from budget_keys join budgets on budgets.id = budget_keys.budget_id
        join budget_periods on (${periodOf("budget_keys.budget_id", admittedAtMs)})
      where budget_keys.key_id = new.key_id
    ), ${UNLIMITED})`;
}

/**
 * A condition: the row of `budget_periods` is one that a request of a key counts in.
 *
 * @param keyId An expression for the key.
 * @param atMs An expression for the time of its admission.
 */
export function countsIn(keyId: string, atMs: string): string {
  return `ends_at_ms > ${atMs} and (budget_id, starts_at_ms) in (
        select budget_id, (
          select max(those.starts_at_ms) from budget_periods as those
          where those.budget_id = budget_keys.budget_id and those.starts_at_ms <= ${atMs}
        ) from budget_keys where key_id = ${keyId}
      )`;
}

const DAY_MS = 86_400_000;

/**
 * Credits that requests of a budget's keys were charged which were admitted from one time on and before another; of its
 * whole life all that they ever were.
 */
export function spentIn(budgetId: string, fromMs: string, untilMs: string): string {
  const keys = `(select key_id from budget_keys where budget_keys.budget_id = ${budgetId})`;
  const accounts = `(select account_id from keys where id in ${keys})`;
  const admittedAt = "coalesce(admitted_at_ms, started_at_ms)";
  return `iif(${untilMs} = ${UNLIMITED}, (
        select coalesce(sum(credits), 0) from usage_hours
        where account_id in ${accounts} and key_id in ${keys}
      ), (
        select coalesce(sum(charged_credits), 0) from usage_records
        where account_id in ${accounts} and key_id in ${keys}
          and started_at_ms between ${fromMs} - ${DAY_MS} and ${untilMs} + ${DAY_MS}
          and ${admittedAt} >= ${fromMs} and ${admittedAt} < ${untilMs}
      ) + (
        select coalesce(sum(credits), 0) from pruned_charges
        where key_id in ${keys} and hour_at_ms between ${fromMs} - ${DAY_MS} and ${untilMs} + ${DAY_MS}
          and quarter_at_ms >= ${fromMs} and quarter_at_ms < ${untilMs}
      ))`;
}

/** Credits that in-flight requests of a budget's keys hold which were admitted between two times. */
export function heldIn(budgetId: string, fromMs: string, untilMs: string): string {
  return `(
        select coalesce(sum(credits), 0) from holds
        where key_id in (select key_id from budget_keys where budget_keys.budget_id = ${budgetId})
          and created_at_ms >= ${fromMs} and created_at_ms < ${untilMs}
      )`;
}

/** A budget in its period, as the columns of a join of `budgets` and `budget_periods`. */
export const BUDGET_JSON = `json_object('id', budgets.id, 'owner', owner, 'owner_id', owner_id,
          'period', period, 'zone', zone, 'credits', budgets.credits, 'raise_credits', raise_credits,
          'raise_until_ms', raise_until_ms, 'marks', json(marks), 'set_at_ms', set_at_ms,
          'starts_at_ms', starts_at_ms, 'ends_at_ms', ends_at_ms, 'spent', spent, 'held', held)`;

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

const ADD_SUMS = SUMS.map((sum) => `${sum} = ${sum} + excluded.${sum}`).join(",\n      ");

/** The sums of requests, in the order of {@linkcode SUMS}. */
const SUMMED = `count(*), sum(ending <> 'complete'), sum(input_tokens), sum(cached_tokens),
      sum(output_tokens), sum(duration_ms), sum(credits), sum(${savedMillionths("")})`;

/** Columns of a request that roll-ups are made of. */
const ROLLED_UP = [
  "account_id",
  "key_id",
  "route",
  "started_at_ms",
  "ending",
  "reason",
  "tags",
  "input_tokens",
  "cached_tokens",
  "output_tokens",
  "duration_ms",
  "input_price",
  "cached_price",
];

/**
 * Requests that are added to roll-ups, as a subquery.
 *
 * @param from A table, or undefined for the row of a trigger.
 * @param credits The column that says what a request was charged.
 */
export function rolledUp(credits: string, from?: string): string {
  const of = from === undefined ? "new." : "";
  return `(select ${ROLLED_UP.map((column) => `${of}${column} as ${column}`).join(", ")},
      ${of}${credits} as credits${from === undefined ? "" : ` from ${from}`})`;
}

/** The values of a roll-up's key, of those that are not columns of a request. */
const VALUES: Readonly<Record<string, string>> = {
  hour_at_ms: "started_at_ms / 3600000 * 3600000",
  day_at_ms: `started_at_ms / ${DAY_MS} * ${DAY_MS}`,
  span_ms: "ms",
  at_ms: "started_at_ms / ms * ms",
  value: "kept_value",
};

/** Adds requests to a roll-up. */
function addTo(table: RollUp, requests: string): string {
  const key = ROLL_UPS[table];
  return `insert into ${table} (${[...key, ...SUMS].join(", ")})
    select ${key.map((column) => VALUES[column] ?? column).join(", ")}, ${SUMMED}
    from ${requests} where true group by ${key.map((_, at) => at + 1).join(", ")}
    on conflict (${key.join(", ")}) do update set
      ${ADD_SUMS};`;
}

/**
 * Adds requests to the hours, and the days, of accounts, keys and routes, and to the hours of all accounts. Totals of their
 * days, if there are any, would no longer hold: they are added up again later.
 *
 * @param requests A subquery, {@linkcode rolledUp}.
 */
export function addToHours(requests: string): string {
  return `${addTo("usage_hours", requests)}
    ${addTo("usage_days", requests)}
    ${addTo("usage_totals", requests)}
    delete from usage_day_totals where day_at_ms in (
      select ${VALUES.day_at_ms} from ${requests}
    );`;
}

/** Tags that the roll-ups of an account and day have, and values of each that they tell apart. */
const MAX_TAG_NAMES = 20;
const MAX_TAG_VALUES = 100;

/** The value of the others. */
const OTHER_VALUE = "other";

/** The tag that only the records have: each session is another. */
export const UNSUMMED_TAG = "session";

/** Tags of requests, but for the one that is not summed up. */
function tagsOf(requests: string): string {
  return `(
        select distinct account_id, started_at_ms / ${DAY_MS} * ${DAY_MS} as day_at_ms,
          json_each.key as name, json_each.value as value
        from ${requests} as given, json_each(given.tags)
        where given.tags is not null and json_each.key <> '${UNSUMMED_TAG}'
      )`;
}

/** A condition: an account's roll-ups of a day tell a value apart. */
export function isToldApart(
  { accountId, dayAtMs, name, value }: {
    readonly accountId: string;
    readonly dayAtMs: string;
    readonly name: string;
    readonly value: string;
  },
): string {
  return `exists (
          select 1 from tag_values as known
          where known.account_id = ${accountId} and known.day_at_ms = ${dayAtMs}
            and known.name = ${name} and known.value = ${value}
        )`;
}

/**
 * Adds requests to the hours and days of their tags, and of why they failed.
 *
 * @param requests A subquery, {@linkcode rolledUp}.
 */
export function addToTags(requests: string): string {
  const ofGiven = { accountId: "given.account_id", dayAtMs: "given.day_at_ms" };
  const ofRequest = { accountId: "given.account_id", dayAtMs: `given.${VALUES.day_at_ms}` };
  const isNamed = (of: typeof ofGiven, name: string) =>
    isToldApart({ ...of, name: "':names'", value: name });
  const kept = (name: string, max: number) =>
    `n + (
      select count(*) from tag_values as kept
      where kept.account_id = fresh.account_id and kept.day_at_ms = fresh.day_at_ms
        and kept.name = ${name}
    ) <= ${max}`;
  const tagged = `(
      select given.*, json_each.key as name, iif(${
    isToldApart({ ...ofRequest, name: "json_each.key", value: "json_each.value" })
  }, json_each.value, '${OTHER_VALUE}') as kept_value
      from ${requests} as given, json_each(given.tags)
      where given.tags is not null and json_each.key <> '${UNSUMMED_TAG}'
        and ${isNamed(ofRequest, "json_each.key")}
      union all
      select given.*, ':reason', coalesce(reason, 'unknown') from ${requests} as given
      where ending <> 'complete'
    ), (select ${SPANS.hour} as ms union all select ${SPANS.day})
   `;
  return `insert into tag_values (account_id, day_at_ms, name, value)
    select account_id, day_at_ms, ':names', name from (
      select account_id, day_at_ms, name,
        row_number() over (partition by account_id, day_at_ms order by name) as n
      from (select distinct account_id, day_at_ms, name from ${tagsOf(requests)}) as given
      where not ${isNamed(ofGiven, "given.name")}
    ) as fresh where ${kept("':names'", MAX_TAG_NAMES)};
    insert into tag_values (account_id, day_at_ms, name, value)
    select account_id, day_at_ms, name, value from (
      select account_id, day_at_ms, name, value,
        row_number() over (partition by account_id, day_at_ms, name order by value) as n
      from ${tagsOf(requests)} as given
      where ${isNamed(ofGiven, "given.name")}
        and not ${isToldApart({ ...ofGiven, name: "given.name", value: "given.value" })}
    ) as fresh where ${kept("fresh.name", MAX_TAG_VALUES)};
    ${addTo("usage_tags", tagged)}`;
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
