import { iif, least, type Rule, sumOf } from "../../../ground/database/mod.ts";
import { locks } from "./sql/locks.ts";
import { freeOf } from "./sql/lots.ts";
import { UNLIMITED } from "./sql/shared.ts";
import type { Intake } from "./intake.ts";
import { DAY_MS } from "../../../ground/time.ts";

/** Payments of orders. */
export const ORDER_PAYMENTS = {
  view: "order_payments",
  columns: {
    order_id: "text",
    payment_id: "text",
    // of a checkout that is not known yet, or null
    session_id: "text",
    // what was paid, in minor units; null where nobody wrote it down
    amount: "integer",
    // the provider's event that brought it, or null
    event_id: "text",
    // for the inviter, if it is the account's first payment; 0 for none
    bonus_credits: "integer",
    // 0 for a gift, which is no payment
    is_payment: "integer",
    at_ms: "integer",
  },
} as const satisfies Intake;

/** The end of its credits. */
const EXPIRES = `coalesce(${
  least(`new.at_ms + ${least("valid_days", "1000000000")} * ${DAY_MS}`, UNLIMITED)
}, ${UNLIMITED})`;

/** What the account owes for each order, oldest first, with what all before them add up to. */
const DEBTS = `(
        select order_id, role, owed, ${sumOf("owed")} over (order by since, order_id, role) as upto
        from (
          select order_id, role, min(at_ms) as since,
            ${
  sumOf(`case kind when 'owed' then credits when 'repaid' then -credits
              when 'forgiven' then -credits else 0 end`)
} as owed
          from order_credits
          where account_id = (select account_id from orders where id = new.order_id)
          group by order_id, role
        ) as debts where owed > 0
      )`;

/** The buyer's account, and the inviter's. */
const ACCOUNTS = `select account_id from orders where id = new.order_id union
    select accounts.invited_by from orders join accounts on accounts.id = orders.account_id
    where orders.id = new.order_id and invited_by is not null union
    select lots.account_id from orders join lots on lots.id = 'lot_payment_' || orders.account_id
    where orders.id = new.order_id`;

/** What the new lot pays of a debt: as much of it as those before it leave. */
const REPAID = least("owed", "available - (upto - owed)");

/**
 * An order is paid once, and a payment pays one order: its lot is granted, the inviter of an account that pays for the
 * first time gets a bonus, refunds and disputes that were known before are applied, and what the account owes from
 * earlier orders is paid off from the new lot. More news of the same payment changes nothing.
 */
export const PAY_ORDER: Rule = {
  name: "pay_order",
  objects: [
    ORDER_PAYMENTS,
    {
      trigger: "order_payments_pay",
      event: "instead of insert",
      on: ORDER_PAYMENTS.view,
      when: `exists (select 1 from orders where id = new.order_id and paid_at_ms is null)
      and not exists (select 1 from order_events where id = 'paid:' || new.payment_id)`,
      locks: locks({ payments: true, accounts: ACCOUNTS }),
      statements: [
        `insert into order_events (id, kind, cause_id, order_id, event_id, amount, at_ms)
    values ('paid:' || new.payment_id, 'paid', new.payment_id, new.order_id, new.event_id,
      new.amount, new.at_ms)`,
        `insert into lots (id, account_id, source, note, granted, remaining, created_at_ms,
      expires_at_ms, models)
    select lot_id, account_id, 'package', note, credits, 0, new.at_ms,
      ${EXPIRES}, models
    from orders where id = new.order_id`,
        `insert into entries (account_id, cause_id, lot_id, kind, credits, at_ms)
    select account_id, lot_id, lot_id, 'grant', credits, new.at_ms
    from orders where id = new.order_id`,
        `insert into order_credits (id, cause, order_id, role, account_id, kind, credits, lot_id, at_ms)
    select lot_id, 'paid:' || new.payment_id, id, 'purchase', account_id, 'granted', credits,
      lot_id, new.at_ms
    from orders where id = new.order_id`,
        `insert into lots (id, account_id, source, granted, remaining, created_at_ms)
    select 'lot_payment_' || buyer.id, inviter.id, 'invite_payment', new.bonus_credits, 0, new.at_ms
    from orders join accounts as buyer on buyer.id = orders.account_id
      join accounts as inviter on inviter.id = buyer.invited_by
    where orders.id = new.order_id and new.is_payment <> 0 and new.bonus_credits > 0
      and inviter.disabled_at_ms is null
      and not exists (select 1 from first_payments where account_id = buyer.id)
    on conflict (id) do nothing`,
        `insert into order_credits (id, cause, order_id, role, account_id, kind, credits, lot_id, at_ms)
    select lots.id, 'paid:' || new.payment_id, orders.id, 'bonus', lots.account_id, 'granted',
      granted, lots.id, new.at_ms
    from orders join lots on lots.id = 'lot_payment_' || orders.account_id
    where orders.id = new.order_id and new.is_payment <> 0
      and not exists (select 1 from order_credits where id = lots.id)`,
        `insert into entries (account_id, cause_id, lot_id, kind, credits, at_ms)
    select account_id, id, id, 'grant', credits, at_ms from order_credits
    where order_id = new.order_id and role = 'bonus' and kind = 'granted'`,
        `insert into first_payments (account_id, lot_id)
    select account_id, lot_id from orders where id = new.order_id and new.is_payment <> 0
    on conflict (account_id) do nothing`,
        `update orders set state = 'paid', payment_id = new.payment_id, paid_amount = new.amount,
      session_id = coalesce(session_id, new.session_id), paid_at_ms = new.at_ms,
      receipt = ${
          iif("new.is_payment <> 0", "(select coalesce(max(receipt), 0) + 1 from orders)", "null")
        }
    where id = new.order_id`,
        `insert into order_adjustments (order_id, fact_id, event_id, at_ms)
    select new.order_id, id, null, new.at_ms from payment_facts
    where payment_id = new.payment_id order by at_ms, id`,
        `insert into order_credits (id, cause, order_id, role, account_id, kind, credits, lot_id, at_ms)
    select 'take_back_' || order_id || '_' || role || '_by_' || new.order_id,
      'paid:' || new.payment_id, order_id, role, account_id, 'repaid',
      ${REPAID}, lot_id, new.at_ms
    from (
      select paid.account_id, paid.lot_id, debts.*, ${
          least("remaining - reserved", freeOf("lots.id = paid.lot_id"))
        } as available
      from orders as paid join lots on lots.id = paid.lot_id
        join balances on balances.account_id = paid.account_id, ${DEBTS} as debts
      where paid.id = new.order_id
    ) as repayments where upto - owed < available`,
        `insert into take_backs (id, account_id, lot_id, credits, note, at_ms)
    select id, account_id, lot_id, credits, 'Pays off what an earlier refund or dispute left owed',
      at_ms
    from order_credits where cause = 'paid:' || new.payment_id and kind = 'repaid'
      and account_id = (select account_id from orders where id = new.order_id)`,
      ],
    },
  ],
};
