import * as z from "zod";
import type { Database } from "../../../ground/database/mod.ts";
import { BUDGET_PERIODS, isTimeZone, periodAt } from "../periods.ts";
import { HELD_BY_KEYS, QUARTER_MS } from "../rules/sql/budgets.ts";
import { UNLIMITED } from "../rules/sql/shared.ts";
import type { Check, Mismatch } from "./check.ts";
import { DAY_MS } from "../../../ground/time.ts";
import { greatest, iif, least, paddedHex, positionIn, sumOf } from "../../../ground/sql/mod.ts";

/** A request may wait for its admission as long as the database cannot be used. */
const MAX_WAIT_MS = 12 * 3_600_000;

/** A day before the first period of a budget. */
const FIRST_MS = `(select coalesce(min(starts_at_ms) - ${DAY_MS}, 0)
              from budget_periods where starts_at_ms > 0)`;

/** What the keys of budgets were charged, by the quarter of an hour in which their requests were admitted. */
const QUARTERS =
  `select key_id, coalesce(admitted_at_ms, started_at_ms) / ${QUARTER_MS} * ${QUARTER_MS}
            as at_ms, ${sumOf("charged_credits")} as credits
          from usage_records
          where request_id >= 'req_' || ${paddedHex(FIRST_MS, 12)}
            and key_id in (select key_id from budget_keys)
          group by 1, 2
          union all
          select key_id, quarter_at_ms, ${sumOf("credits")} from pruned_charges
          where key_id in (select key_id from budget_keys) group by 1, 2`;

/** From when on a budget is spent. */
const SINCE_MS = greatest("max(set_at_ms)", "min(starts_at_ms)");

/** A member's budget is that of `team:account`, as the rules have it. */
const COLON = positionIn("owner_id", "':'");
// an owner that is damaged may have no colon, and a negative length is an error on PostgreSQL
const TEAM_OF_MEMBER = `substr(owner_id, 1, case ${COLON} when 0 then 0 else ${COLON} - 1 end)`;
const ACCOUNT_OF_MEMBER = `substr(owner_id, ${COLON} + 1)`;

/** Budgets, the keys that they apply to, and what was spent and is held in their periods. */
export const BUDGETS: readonly Check[] = [
  // Each budget is its owner's; a key that is made with one has it.
  {
    noun: "budget",
    name: "budgets",
    before: `with allowed as materialized (
        select 'key:' || id || ':life' as budget_id, budget_credits from keys
        where budget_credits is not null
      )`,
    id: "coalesce(budgets.id, allowed.budget_id)",
    pairs: {
      budget_id: [
        "budgets.id",
        iif("budgets.id is null", "null", "owner || ':' || owner_id || ':' || period"),
      ],
      budget_owner: [
        "owner_id",
        `case owner when 'key' then (select id from keys where id = owner_id)
          when 'account' then (select id from accounts where id = owner_id)
          when 'team' then (select id from teams where id = owner_id)
          else (select teams.id || ':' || accounts.id from teams, accounts
            where teams.id = ${TEAM_OF_MEMBER} and accounts.id = ${ACCOUNT_OF_MEMBER}) end`,
      ],
      allowed: [
        iif("budgets.id is null or owner = 'key' and period = 'life'", "budgets.credits", "null"),
        "allowed.budget_credits",
      ],
    },
    from: "allowed full join budgets on budgets.id = allowed.budget_id",
  },
  // A budget applies to exactly the keys of its owner, each of which says how many budgets it has.
  {
    noun: "budget",
    name: "keys of budgets",
    before: `with expected as materialized (
        select owner_id as key_id, id as budget_id from budgets where owner = 'key'
        union all
        select keys.id, budgets.id from budgets join keys on keys.account_id = owner_id
        where owner = 'account'
        union all
        select keys.id, budgets.id from budgets join keys on keys.team_id = owner_id
        where owner = 'team'
        union all
        select keys.id, budgets.id from budgets join keys
          on keys.team_id = ${TEAM_OF_MEMBER} and keys.member_id = ${ACCOUNT_OF_MEMBER}
        where owner = 'member'
      )`,
    id: `coalesce(budget_keys.key_id, expected.key_id) || ' '
      || coalesce(budget_keys.budget_id, expected.budget_id)`,
    pairs: { applies: ["budget_keys.key_id", "expected.key_id"] },
    from: `expected full join budget_keys on budget_keys.key_id = expected.key_id
      and budget_keys.budget_id = expected.budget_id`,
  },
  {
    noun: "key",
    name: "budgets of keys",
    id: "id",
    pairs: {
      budgets: ["budgets", "(select count(*) from budget_keys where key_id = keys.id)"],
    },
    from: "keys",
  },
  // What was spent in a period is the sum of its requests' charges, what is held that of their holds.
  {
    noun: "budget",
    name: "periods of budgets",
    before: `with quarters as materialized (${QUARTERS}), charged as materialized (
        select budget_periods.budget_id, starts_at_ms, ${sumOf("credits")} as credits
        from budget_periods join budget_keys on budget_keys.budget_id = budget_periods.budget_id
          join quarters on quarters.key_id = budget_keys.key_id and at_ms >= starts_at_ms
            and at_ms < ends_at_ms
        where ends_at_ms < ${UNLIMITED}
        group by 1, 2
        union all
        select budget_id, 0, ${sumOf("credits")} from budget_keys
          join (select key_id, ${sumOf("credits")} as credits from usage_hours group by 1) as used
            on used.key_id = budget_keys.key_id
        where budget_id like '%:life' group by 1
      ), held_now as materialized (
        select budget_periods.budget_id, starts_at_ms, ${sumOf("credits")} as credits
        from ${HELD_BY_KEYS} as holders join budget_keys on budget_keys.key_id = holders.key_id
          join budget_periods on budget_periods.budget_id = budget_keys.budget_id
            and created_at_ms >= starts_at_ms and created_at_ms < ends_at_ms
        group by 1, 2
      ), lives as materialized (select id as budget_id from budgets where period = 'life')`,
    id: `coalesce(budget_periods.budget_id, lives.budget_id) || ' '
      || coalesce(budget_periods.starts_at_ms, 0)`,
    pairs: {
      period_row: [
        "coalesce(budget_periods.budget_id, '')",
        `coalesce(lives.budget_id, (select id from budgets where id = budget_periods.budget_id),
          'none')`,
      ],
      spent: ["spent", iif("spent is null", "null", "coalesce(charged.credits, 0)")],
      budget_held: [
        "budget_periods.held",
        iif("spent is null", "null", "coalesce(held_now.credits, 0)"),
      ],
    },
    from: `lives full join budget_periods on budget_periods.budget_id = lives.budget_id
      left join charged on charged.budget_id = budget_periods.budget_id
        and charged.starts_at_ms = budget_periods.starts_at_ms
      left join held_now on held_now.budget_id = budget_periods.budget_id
        and held_now.starts_at_ms = budget_periods.starts_at_ms`,
  },
  // Since a budget was set, no request of its keys was admitted without a period. What was admitted after the last one, which
  // is opened ahead of its time, is of a clock that was ahead: it counts once its period is opened.
  {
    noun: "budget",
    name: "charges without a period",
    before: `with quarters as materialized (${QUARTERS}), firsts as materialized (
        select budget_id, ${SINCE_MS} as since_ms, max(ends_at_ms) as until_ms
        from budget_periods join budgets on budgets.id = budget_id
        where period <> 'life' group by 1
      )`,
    id: "firsts.budget_id || ' ' || at_ms",
    pairs: { no_period: ["credits", "0"] },
    from: `firsts join budget_keys on budget_keys.budget_id = firsts.budget_id
      join quarters on quarters.key_id = budget_keys.key_id
        and at_ms >= since_ms and at_ms < until_ms
      where credits > 0 and not exists (
        select 1 from budget_periods where budget_periods.budget_id = firsts.budget_id
          and starts_at_ms <= at_ms and ends_at_ms > at_ms
      )`,
  },
  // Charges of pruned records are those of their hours, of requests that were admitted when they began.
  {
    noun: "pruned",
    name: "pruned charges",
    before: `with kept as materialized (
        select key_id, hour_at_ms, ${sumOf("credits")} as credits, min(quarter_at_ms) as first_ms,
          max(quarter_at_ms) as last_ms, max(quarter_at_ms % ${QUARTER_MS}) as rest
        from pruned_charges group by 1, 2
      ), hours as materialized (
        select key_id, hour_at_ms, ${sumOf("credits")} as credits from pruned_hours
        group by 1, 2 having ${sumOf("credits")} > 0
      )`,
    id: "key_id || ' ' || hour_at_ms",
    pairs: {
      pruned_charges: ["kept_credits", "credits"],
      pruned_quarter: ["rest", iif("rest is null", "null", "0")],
      admitted_from: ["first_ms", greatest("first_ms", "hour_at_ms - 3600000")],
      admitted_until: ["last_ms", least("last_ms", `hour_at_ms + ${MAX_WAIT_MS}`)],
    },
    from: `(
      select key_id, hour_at_ms, max(kept_credits) as kept_credits, max(credits) as credits,
        max(first_ms) as first_ms, max(last_ms) as last_ms, max(rest) as rest
      from (
        select key_id, hour_at_ms, credits as kept_credits, null as credits, first_ms, last_ms,
          rest from kept
        union all select key_id, hour_at_ms, null, credits, null, null, null from hours
      ) as both_sides group by 1, 2
    ) as hourly`,
  },
];

const periodRow = z.object({
  budget_id: z.string(),
  period: z.string(),
  zone: z.string(),
  starts_at_ms: z.int(),
  ends_at_ms: z.int(),
});

type PeriodRow = z.output<typeof periodRow>;

const periodName = z.enum(BUDGET_PERIODS);

/** Rows that are read at a time. */
const PAGE_ROWS = 5_000;
/** No period around a later time can be computed: dates end at 8.64e15 ms. */
const MAX_AT_MS = 8e15;
/** Mismatches after which it ends. */
const MAX_FOUND = 100;

const PAGE = `select budget_id, period, zone, starts_at_ms, ends_at_ms
  from budget_periods join budgets on budgets.id = budget_id
  where (budget_id, starts_at_ms) > (?, ?) order by budget_id, starts_at_ms limit ${PAGE_ROWS}`;

/**
 * Periods are those of their time zone, and do not overlap. Where the rules of a zone were changed meanwhile, one may begin
 * or end with its neighbour.
 */
export async function checkPeriods(database: Database): Promise<Mismatch[]> {
  const bounds = new Map<string, Bounds>();
  const mismatches: Mismatch[] = [];
  let before: PeriodRow | undefined;
  let row: PeriodRow | undefined;
  for await (const after of periodRows(database)) {
    if (row !== undefined) mismatches.push(...faultsOf(row, { before, after, bounds }));
    if (mismatches.length >= MAX_FOUND) return mismatches;
    [before, row] = [row, after];
  }
  return mismatches;
}

/** All rows in order, then undefined. */
async function* periodRows(database: Database): AsyncGenerator<PeriodRow | undefined> {
  for (let last: readonly [string, number] = ["", 0];;) {
    const rows = (await database.all(PAGE, last)).map((row) => periodRow.parse(row));
    yield* rows;
    const end = rows.at(-1);
    if (end === undefined) break;
    last = [end.budget_id, end.starts_at_ms];
  }
  yield undefined;
}

function faultsOf(
  row: PeriodRow,
  { before, after, bounds }: {
    readonly before: PeriodRow | undefined;
    readonly after: PeriodRow | undefined;
    readonly bounds: Map<string, Bounds>;
  },
): Mismatch[] {
  const { budget_id: id, period, zone, starts_at_ms: starts, ends_at_ms: ends } = row;
  const name = `${period} ${zone} ${starts}`; // many budgets have the same
  const expected = bounds.get(name) ?? boundsOf(row);
  bounds.set(name, expected);
  const all = [
    ["starts", starts, expected.startsAtMs, before?.budget_id === id ? before.ends_at_ms : null],
    ["ends", ends, expected.endsAtMs, after?.budget_id === id ? after.starts_at_ms : null],
  ] as const;
  return all.filter(([, found, own, next]) => found !== own && found !== next)
    .map(([kind, found, own]) => ({
      noun: "budget",
      kind: `period_${kind}`,
      id: `${id} ${starts}`,
      found,
      expected: own,
    }));
}

/** Null where there is no such period. */
interface Bounds {
  readonly startsAtMs: number | null;
  readonly endsAtMs: number | null;
}

function boundsOf({ period, zone, starts_at_ms: atMs }: PeriodRow): Bounds {
  const name = periodName.safeParse(period);
  const isKnown = name.success && isTimeZone(zone) && Math.abs(atMs) < MAX_AT_MS;
  return isKnown ? periodAt(name.data, zone, atMs) : { startsAtMs: null, endsAtMs: null };
}
