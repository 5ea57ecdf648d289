import { least, randomHex, type Rule, sumOf } from "../../../ground/database/mod.ts";
import { locks } from "./sql/locks.ts";
import { expireFirst, freeOf } from "./sql/lots.ts";
import type { Intake } from "./intake.ts";

/** Credits of a lot that are to be taken back. */
export const TAKE_BACK_REQUESTS = {
  view: "take_back_requests",
  columns: {
    id: "text",
    account_id: "text",
    lot_id: "text",
    // null for all that is left
    wanted: "integer",
    note: "text",
    at_ms: "integer",
  },
} as const satisfies Intake;

/** The account that the lot is of, and that of the inviter who got a bonus for it. */
const ACCOUNTS = `select new.account_id union
    select lots.account_id from first_payments
      join lots on lots.id = 'lot_payment_' || first_payments.account_id
    where first_payments.lot_id = new.lot_id`;

const TAKEN = least(
  "remaining - reserved",
  freeOf("id = new.lot_id"),
  "coalesce(new.wanted, remaining)",
);

const TAKEN_OF_BONUS = least("remaining", freeOf("models is null"));

/**
 * What is left of a lot and not held is taken back, or as much of it as is wanted; once per id. When a first
 * payment has been taken back whole, what is left of its bonus goes with it.
 */
export const TAKE_BACK: Rule = {
  name: "take_back",
  objects: [
    {
      trigger: "take_backs_insert_takes_credits",
      event: "after insert",
      on: "take_backs",
      statements: [
        `insert into entries (account_id, cause_id, lot_id, kind, credits, at_ms)
    values (new.account_id, new.id, new.lot_id, 'take_back', -new.credits, new.at_ms)`,
      ],
    },
    TAKE_BACK_REQUESTS,
    {
      trigger: "take_back_requests_decide",
      event: "instead of insert",
      on: TAKE_BACK_REQUESTS.view,
      when: "not exists (select 1 from take_backs where id = new.id)",
      locks: locks({ accounts: ACCOUNTS }),
      statements: [
        expireFirst(`'expiry_' || new.id || '_' || ${randomHex(4)}`),
        `insert into take_backs (id, account_id, lot_id, credits, wanted, note, at_ms)
    select new.id, new.account_id, new.lot_id, taken, new.wanted, new.note, new.at_ms
    from (
      select ${TAKEN} as taken
      from lots join balances on balances.account_id = lots.account_id
      where lots.id = new.lot_id and lots.account_id = new.account_id
    ) as lot
    where taken > 0`,
        `insert into take_backs (id, account_id, lot_id, credits, note, at_ms)
    select new.id || '_bonus', account_id, lot_id, taken, 'The payment that earned it was taken back',
      new.at_ms
    from (
      select lots.account_id, lots.id as lot_id, ${TAKEN_OF_BONUS} as taken
      from first_payments join lots on lots.id = 'lot_payment_' || first_payments.account_id
        join balances on balances.account_id = lots.account_id
      where first_payments.lot_id = new.lot_id
    ) as bonus
    where taken > 0 and exists (select 1 from take_backs where id = new.id)
      and (select ${sumOf("credits")} from take_backs where lot_id = new.lot_id)
        = (select granted from lots where id = new.lot_id)`,
      ],
    },
  ],
};
