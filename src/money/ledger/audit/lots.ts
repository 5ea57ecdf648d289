import { paysFor } from "../rules/sql/lots.ts";
import type { Check } from "./check.ts";
import {
  greatest,
  iif,
  positionIn,
  sumOf,
  wholeTable,
  withoutIndex,
} from "../../../ground/sql/mod.ts";

/** Lots, from entries and from how they were granted. */
export const LOTS: readonly Check[] = [
  // Each lot has left what its entries add up to, and all of them are its account's; each account has
  // consumed what was charged. One scan of all entries for both.
  {
    noun: "lot",
    name: "entries",
    sql: `with sums as materialized (
        select lot_id, account_id, ${sumOf("credits")} as credits,
          ${sumOf(iif("kind = 'charge'", "-credits", "0"))} as charged
        from ${wholeTable("entries")} group by lot_id, ${withoutIndex("account_id")}
      ), charges as materialized (
        select account_id, ${sumOf("charged")} as charged from sums group by account_id
      )
      select 'lot' as noun, coalesce(lots.id, lot_id) as id,
        remaining as found_lot, coalesce(credits, 0) as expected_lot,
        lots.account_id as found_owner, coalesce(sums.account_id, lots.account_id) as expected_owner,
        null as found_consumed, null as expected_consumed
      from sums full join lots on lots.id = lot_id
      where remaining is distinct from coalesce(credits, 0)
        or lots.account_id is distinct from coalesce(sums.account_id, lots.account_id)
      union all
      select 'balance', coalesce(balances.account_id, charges.account_id), null, null, null, null,
        consumed, coalesce(charged, 0)
      from charges full join balances on balances.account_id = charges.account_id
      where consumed is distinct from coalesce(charged, 0)`,
  },
  // Each lot has one grant entry, of its size and its time.
  {
    noun: "lot",
    name: "grant entries",
    id: "lots.id",
    pairs: {
      granted: ["granted", "coalesce(credits, 0)"],
      granted_at: ["created_at_ms", "at_ms"],
    },
    from: `lots left join entries
      on cause_id = lots.id and lot_id = lots.id and kind = 'grant'`,
  },
  // A second grant of a lot, or one of another's.
  {
    noun: "entry",
    name: "second grants",
    id: "cause_id || ' ' || lot_id",
    pairs: { second_grant: ["cause_id", "lot_id"] },
    from: "entries where kind = 'grant'",
  },
  // Nothing expires before its time, and an expiry has an id of its own.
  {
    noun: "entry",
    name: "expiries",
    id: "lots.id",
    pairs: {
      expired: ["at_ms", greatest("at_ms", "expires_at_ms")],
      expiry_id: ["substr(cause_id, 1, 7)", "'expiry_'"],
    },
    from: "entries join lots on lots.id = lot_id where kind = 'expire'",
  },
  // A lot is as it was granted. Only what is left of it changes.
  {
    noun: "lot",
    name: "lots as granted",
    id: "coalesce(lots.id, lot_id)",
    pairs: {
      lot_account: ["lots.account_id", "grants.account_id"],
      source: ["lots.source", "grants.source"],
      note: ["lots.note", "grants.note"],
      size: ["granted", "credits"],
      created: ["lots.created_at_ms", "grants.created_at_ms"],
      expires: ["lots.expires_at_ms", "grants.expires_at_ms"],
      models: ["lots.models", "grants.models"],
    },
    from: "lots full join grants on lots.id = lot_id",
  },
  // Credits that are bound to models were charged to requests of those.
  {
    noun: "entry",
    name: "charges of bound lots",
    id: "cause_id || ' ' || lots.id",
    pairs: { charged_bound: ["route", iif(paysFor("route"), "route", "models")] },
    // few accounts have bound lots: their entries are found by the account
    from: `lots cross join entries join usage_records on request_id = cause_id
      where entries.account_id = lots.account_id and lot_id = lots.id and kind = 'charge'
        and models is not null`,
  },
  // A bonus goes to whom it is for: its lot's id says of which account.
  {
    noun: "lot",
    name: "bonuses",
    id: "lots.id",
    pairs: {
      bonus: [
        "lots.account_id",
        `case source
          when 'signup' then (select id from accounts where id = substr(lots.id, 12))
          when 'owner' then (select id from accounts where id = substr(lots.id, 11))
          when 'invite_signup' then
            (select invited_by from accounts where id = substr(lots.id, 12))
          else (select invited_by from accounts where id = substr(lots.id, 13)) end`,
      ],
      bonus_id: [
        `rtrim(substr(lots.id, 1, ${positionIn("substr(lots.id, 5)", "'_'")} + 4), '_')`,
        `case source when 'signup' then 'lot_signup' when 'owner' then 'lot_owner'
          when 'invite_signup' then 'lot_invite' else 'lot_payment' end`,
      ],
    },
    from: "lots where source in ('signup', 'owner', 'invite_signup', 'invite_payment')",
  },
  // Each take-back has one entry, which says the same; one that undoes a bonus follows from another.
  {
    noun: "entry",
    name: "take-backs",
    id: "coalesce(took.cause_id, take_backs.id)",
    pairs: {
      take_back: ["took.credits", "-take_backs.credits"],
      take_back_lot: ["took.lot_id", "take_backs.lot_id"],
      take_back_account: ["took.account_id", "take_backs.account_id"],
      taken_at: ["took.at_ms", "take_backs.at_ms"],
      // of its account, and a bonus is undone after what earned it
      take_back_id: [
        "substr(coalesce(took.cause_id, take_backs.id), 1, 10)",
        `case when take_backs.id like '%\\_bonus' escape '\\' and not exists (
          select 1 from take_backs as cause join first_payments on first_payments.lot_id = cause.lot_id
          where cause.id = substr(take_backs.id, 1, length(take_backs.id) - 6)
            and take_backs.lot_id = 'lot_payment_' || first_payments.account_id
        ) then null else 'take_back_' end`,
      ],
    },
    from: `(select * from entries where kind = 'take_back') as took
      full join take_backs on take_backs.id = took.cause_id`,
  },
  // A first payment is a package of its account; a bonus for one was given with it.
  {
    noun: "lot",
    name: "first payments",
    id: "coalesce(first_payments.account_id, substr(bonuses.id, 13))",
    pairs: {
      first_payment: [
        "first_payments.lot_id",
        `(select id from lots where id = first_payments.lot_id and source = 'package'
          and account_id = first_payments.account_id)`,
      ],
      first_payment_of: ["first_payments.account_id", "accounts.id"],
      bonus_of: [
        "bonuses.created_at_ms",
        `case when bonuses.id is not null then
          (select created_at_ms from lots where id = first_payments.lot_id) end`,
      ],
      first_payment_row: [
        "coalesce(first_payments.account_id, '')",
        "coalesce(first_payments.account_id, substr(bonuses.id, 13))",
      ],
    },
    from: `(select * from lots where source = 'invite_payment') as bonuses
      full join first_payments on first_payments.account_id = substr(bonuses.id, 13)
        and bonuses.id = 'lot_payment_' || first_payments.account_id
      left join accounts on accounts.id = first_payments.account_id`,
  },
  {
    noun: "lot",
    name: "owners of lots",
    id: "lots.id",
    pairs: { account: ["lots.account_id", "accounts.id"] },
    from: "lots left join accounts on accounts.id = lots.account_id",
  },
];
