import {
  columnsOf,
  either,
  greatest,
  least,
  type Rule,
  sumOf,
} from "../../../ground/database/mod.ts";
import { DAY_MS } from "../../../ground/time.ts";
import { lockDay } from "../roll_ups.ts";
import { locks } from "./sql/locks.ts";
import { addToHours, rolledUp } from "./sql/roll_ups.ts";
import { budgetsOf, has, ITEMS, lockInBlock, valueOf, valuesOf } from "./sql/sets.ts";
import { SET } from "./sql/shared.ts";
import { addToTags } from "./sql/tags.ts";
import { countRequests } from "./sql/windows.ts";
import type { Intake } from "./intake.ts";
import { OUTCOME, RECORDED, SETTLEMENTS } from "./settle.ts";

/** Settlements of one transaction. They are decided on when a row is inserted into `settlement_sets`. */
export const SETTLING = {
  view: "settling",
  columns: SETTLEMENTS.columns,
} as const satisfies Intake;

/**
 * Decides on what is in {@linkcode SETTLING}, and empties it; on PostgreSQL, where rows of a moment would stay until the table is vacuumed,
 * on settlements that it is given: a JSON array of arrays of their columns. What was charged, by request, comes back in place of them.
 */
const SETTLEMENT_SETS = {
  view: "settlement_sets",
  columns: { given: "text" },
} as const satisfies Intake;

/** Loans that cover all settlements which are to be charged to them. On PostgreSQL a set leaves budgets alone: those of loans, too. */
const COVERED = `(
      select loans.account_id, loans.loan_id from (
        select account_id, loan_id, ${sumOf("price_credits")} as credits
        from settling where lent is not null group by 1, 2
      ) as asked join loans
        on loans.account_id = asked.account_id and loans.loan_id = asked.loan_id
      where loans.credits >= asked.credits${
  either({ sqlite: "", postgres: " and length(loans.key_id) = 0" })
}
    )`;

/** Whether a request holds its price, of lots that are not bound. */
const HOLDS_PRICE = `${
  has(
    "holds",
    `request_id = settling.request_id and account_id = settling.account_id
        and credits >= price_credits`,
  )
} and not ${
  has("lots", "account_id = settling.account_id and models is not null and remaining > 0")
}`;

/** Whether a settlement is decided on alone. */
const IS_ALONE = `admitted_at_ms is null
      or case when lent is null then not (${HOLDS_PRICE})
        else price_credits > lent or (account_id, loan_id) not in ${COVERED}
          or ${has("holds", "request_id = settling.request_id")} end
      or ${has("usage_records", "request_id = settling.request_id")}
      or ${has("entries", "cause_id = settling.request_id")}
      or ${has("budget_keys", "key_id = settling.key_id")}`;

/**
 * Credits that each request takes from each lot that is not bound, which is what loans are lent of: where its share of the sum of
 * prices meets the lot's of the balance.
 *
 * Lots of 5 and 10 are the shares (0, 5] and (5, 15] of the balance; prices of 3, 4 and 6 are (0, 3], (3, 7] and (7, 13] of their
 * sum. What two shares have in common is taken:
 *
 * ```text
 *            0        3   5   7              13   15
 *   prices   ├── 3 ───┼── 4 ──┼────── 6 ──────┤
 *   lots     ├───── 5 ────┼────────── 10 ──────────┤
 *   taken    │ 3 of 1 │2,1│2,2│    6 of lot 2 │
 * ```
 *
 * The second request takes 2 of the first lot and 2 of the second; 2 of that are left.
 */
const SHARES = `(
      select account_id, request_id, settled_at_ms, price_credits,
        ${sumOf("price_credits")} over (partition by account_id order by request_id) as upto
      from settling where price_credits > 0
    ) as charges join (
      select account_id, id, remaining,
        ${
  sumOf("remaining")
} over (partition by account_id order by expires_at_ms, created_at_ms, id)
          as upto
      from lots where remaining > 0 and models is null
        and account_id in (select account_id from settling)
    ) as shares on shares.account_id = charges.account_id
      and shares.upto > charges.upto - price_credits
      and shares.upto - remaining < charges.upto`;

const HOLDS = "delete from holds where request_id in (select request_id from settling)";

/** The sums of a batch by account. On PostgreSQL, where triggers of loans and holds leave that to the set, also what is no longer held. */
const SUMS = `(
      select settling.account_id, ${sumOf("price_credits")} as charged, count(*) as n, ${
  sumOf("input_tokens")
} as input,
        ${sumOf("output_tokens")} as output${
  either({
    sqlite: " from settling",
    postgres: `, ${sumOf("coalesce(holds.credits, price_credits)")} as released
      from settling left join holds on holds.request_id = settling.request_id`,
  })
} group by 1
    ) as sums`;

/** Requests that roll-ups are given: each is charged its whole price. */
const SETTLED = rolledUp("price_credits", "settling");

/** Credits of a charge that are taken of a lot: what the two shares have in common. */
const TAKEN = `${greatest("charges.upto - price_credits", "shares.upto - remaining")} - ${
  least("charges.upto", "shares.upto")
}`;

const COLUMNS = columnsOf(SETTLEMENTS).join(", ");

const ENTRIES = "insert into entries (account_id, cause_id, lot_id, kind, credits, at_ms)";

const RECORDS = `insert into usage_records (${
  RECORDED.join(", ")
}, ignored, extra_credits, charged_credits,
      balance_credits)
    select ${RECORDED.map((column) => `settling.${column}`).join(", ")}, coalesce(ignored, ''),
      coalesce(extra_credits, 0), price_credits,
      balance - ${
  sumOf("price_credits")
} over (partition by settling.account_id order by request_id)
    from settling join balances on balances.account_id = settling.account_id`;

const LOANS = `update loans set credits = loans.credits - sums.charged from (
      select account_id, loan_id, ${sumOf("price_credits")} as charged
      from settling where lent is not null group by 1, 2
    ) as sums where sums.account_id = loans.account_id and sums.loan_id = loans.loan_id`;

const BALANCES = `update balances set
      balance = balance - charged,${
  either({ sqlite: "", postgres: "\n      held = held - released," })
}
      consumed = consumed + charged,
      requests = requests + n,
      input_tokens = input_tokens + input,
      output_tokens = output_tokens + output
    from ${SUMS} where sums.account_id = balances.account_id`;

const KEY_USES = `insert into key_uses (key_id, last_used_at_ms)
    select key_id, max(started_at_ms) from settling where true group by 1
    on conflict (key_id) do update set
      last_used_at_ms = ${greatest("key_uses.last_used_at_ms", "excluded.last_used_at_ms")}`;

const ID = valueOf(SETTLEMENTS, "request_id");
/** Settlements as rows; of several of a request the first. */
const GIVEN = `select ${valuesOf(SETTLEMENTS)} from (
      select distinct on (${ID}) item from ${ITEMS} order by ${ID}, place
    ) as items`;

/** Settles, but for tags, those that were not settled alone: all in one statement, or none while some are to be settled alone first. */
const TOGETHER = `with given as materialized (
      select * from (${GIVEN}) as given where request_id <> all (ended)
    ), going_first as materialized (
      with settling as (
        select request_id, account_id, key_id, loan_id, lent, price_credits, admitted_at_ms from given
      )
      select request_id from settling where coalesce(${IS_ALONE}, true)
    ), settling as materialized (
      select * from given where not exists (select 1 from going_first)
    ), taken as materialized (
      select charges.account_id, request_id, shares.id as lot_id, settled_at_ms, ${TAKEN} as credits
      from ${SHARES}
    ), ${
  [
    `${ENTRIES} select account_id, request_id, lot_id, 'charge', credits, settled_at_ms from taken`,
    `update lots set remaining = remaining + sums.credits from (
      select lot_id, ${sumOf("credits")} as credits from taken group by 1
    ) as sums where sums.lot_id = lots.id`,
    LOANS,
    HOLDS,
    BALANCES,
    ...addToHours(SETTLED),
    KEY_USES,
    ...countRequests("settling where lent is not null"),
  ].map((statement, at) => `step_${at} as (${statement})`).join(", ")
}, recorded as (${RECORDS} returning request_id, charged_credits, balance_credits)
    select (select ${OUTCOME} from recorded), (select array_agg(request_id) from going_first),
      array_agg(request_id) filter (where tags is not null or ending <> 'complete')
    into outcomes, first, tagged from settling`;

/** The same on PostgreSQL: what was `first` has `ended` when the others are looked at again, and what is left of their loans covers them. */
const ON_POSTGRES = `declare
    all_given jsonb := new.given::jsonb;
    ended text[] := '{}';
    first text[];
    tagged text[];
    outcomes text;
    mode text;
  begin
    ${lockInBlock({ accounts: `select ${valueOf(SETTLEMENTS, "account_id")} from ${ITEMS}` })}
    perform ${lockDay("record", `day * ${DAY_MS}`)} from (
      select distinct ${valueOf(SETTLEMENTS, "started_at_ms")} / ${DAY_MS} as day from ${ITEMS}
    ) as days;
    loop
      mode := set_config('${SET}', 'on', true);
      ${TOGETHER};
      exit when first is null;
      mode := set_config('${SET}', 'off', true);
      ${
  lockInBlock({ budgets: budgetsOf(`select ${valueOf(SETTLEMENTS, "key_id")} from ${ITEMS}`) })
}
      insert into settlements (${COLUMNS})
        select ${COLUMNS} from (${GIVEN}) as given where request_id = any (first) order by request_id;
      ended := ended || first;
    end loop;
    mode := set_config('${SET}', 'off', true);
    if tagged is not null then
      ${
  addToTags(rolledUp("charged_credits", "usage_records where request_id = any (tagged)"))
    .map((statement) => `${statement};`).join("\n      ")
}
    end if;
    if ended <> '{}' then
      select ${OUTCOME} into outcomes from usage_records
        where request_id = any (array(select ${ID} from ${ITEMS}));
    end if;
    new.given := outcomes;
  end`;

/**
 * Settles requests together, a statement for each table, with the outcome that the rule `settle` has for one after the
 * other. It is so whatever their order is for those that were admitted from a loan, whose loan covers the prices of all of
 * them, and for those that hold their price: each is charged its whole price. All others are put to that rule first.
 *
 * In this order: who is settled alone; entries, and what they leave in lots; records; loans and holds; balances; roll-ups of
 * hours and tags; last uses of keys; windows. On PostgreSQL all of it but tags is one statement, which costs a third of the processor
 * time; `tests/money/ledger/settle_set_test.ts` holds that both leave the same rows.
 */
export const SETTLE_SET: Rule = {
  name: "settle_set",
  objects: [
    SETTLEMENT_SETS,
    {
      trigger: "settlement_sets_settle",
      event: "instead of insert",
      on: SETTLEMENT_SETS.view,
      locks: locks({
        accounts: "select account_id from settling",
        budgets: budgetsOf("select key_id from settling"),
      }),
      statements: [
        `update settling set alone = 1
    where ${IS_ALONE}`,
        `insert into settlements (${COLUMNS})
    select ${COLUMNS} from settling where alone = 1 order by request_id`,
        "delete from settling where alone = 1",

        `${ENTRIES}
    select charges.account_id, request_id, shares.id, 'charge', ${TAKEN}, settled_at_ms
    from ${SHARES}`,
        `update lots set remaining = remaining + taken.credits from (
      select lot_id, ${sumOf("credits")} as credits from entries
      where cause_id in (select request_id from settling) group by 1
    ) as taken where taken.lot_id = lots.id`,

        RECORDS,
        LOANS,
        HOLDS,
        BALANCES,
        ...addToHours(SETTLED),
        ...addToTags(SETTLED),
        KEY_USES,
        ...countRequests("settling where lent is not null"),
        "delete from settling",
      ],
      onPostgres: ON_POSTGRES,
    },
  ],
};
