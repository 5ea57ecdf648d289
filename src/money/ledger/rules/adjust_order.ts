import { iif, least, randomHex, type Rule, sumOf } from "../../../ground/database/mod.ts";
import { locks, OF_ACCOUNT } from "./sql/locks.ts";
import { expireFirst, freeOf } from "./sql/lots.ts";
import type { Intake } from "./intake.ts";

/** What the provider says of a refund or a dispute of a payment. */
export const PAYMENT_CHANGES = {
  view: "payment_changes",
  columns: {
    id: "text",
    kind: "text",
    payment_id: "text",
    // in minor units
    amount: "integer",
    currency: "text",
    livemode: "integer",
    // of a refund 0 pending, 1 succeeded, 2 failed; of a dispute 0 inquiry, 1 withdrawn, 2 lost, 3 won
    rank: "integer",
    // the provider's event that brought it, or null
    event_id: "text",
    at_ms: "integer",
    // the provider's time of this state; null from older programs
    as_of_ms: "integer",
  },
} as const satisfies Intake;

/** Refunds and disputes that a paid order has not taken note of. */
export const ORDER_ADJUSTMENTS = {
  view: "order_adjustments",
  columns: { order_id: "text", fact_id: "text", event_id: "text", at_ms: "integer" },
} as const satisfies Intake;

/** Orders whose credits are to be brought in line with what is left of their payment. */
export const ORDER_COLLECTIONS = {
  view: "order_collections",
  columns: { order_id: "text", cause: "text", at_ms: "integer" },
} as const satisfies Intake;

/** One account's part in that: the buyer's, or that of the inviter who got a bonus. */
export const CREDIT_COLLECTIONS = {
  view: "credit_collections",
  columns: {
    order_id: "text",
    role: "text",
    account_id: "text",
    // credits that are to be gone, of how many
    target: "integer",
    size: "integer",
    // the end of those that come back
    expires_at_ms: "integer",
    cause: "text",
    at_ms: "integer",
  },
} as const satisfies Intake;

/** The kind of event that a row of `payment_facts` is for its order. */
export const FACT_KIND = `case payment_facts.kind
        when 'refund' then ${iif("rank = 2", "'refund_failed'", "'refunded'")}
        else case rank when 0 then 'inquiry' when 1 then 'disputed' when 2 then 'dispute_lost'
          else 'dispute_won' end
      end`;

/** What that event is caused by: the refund or dispute, and how often its decision was reversed. */
const FACT_CAUSE = `payment_facts.id || ${iif("reversals = 0", "''", "'/' || reversals")}`;

/** ID of the event that a row of `payment_facts` is for its order. */
export const FACT_EVENT = `${FACT_KIND} || ':' || ${FACT_CAUSE}`;

/** A condition: the row of `payment_facts` means that the money is gone. */
const IS_GONE = "(kind = 'refund' and rank < 2 or kind = 'dispute' and rank in (1, 2))";

/** A condition: the row of `payment_facts` is of the payment of the row of `orders`. */
export const IS_OF_ORDER = `payment_facts.payment_id = orders.payment_id
      and payment_facts.livemode = orders.livemode and payment_facts.currency = orders.currency`;

/** The part of an order's amount that was refunded or disputed. */
export const GONE = `coalesce(${
  least(
    "paid_amount",
    `(
      select coalesce(${sumOf("payment_facts.amount")}, 0) from payment_facts where ${IS_OF_ORDER}
        and ${IS_GONE}
    )`,
  )
}, 0)`;

/** The state of a paid order, from what is known of its payment. */
export const PAID_STATE = `case
      when exists (select 1 from payment_facts where ${IS_OF_ORDER} and kind = 'dispute' and rank = 1)
        then 'disputed'
      when exists (select 1 from payment_facts where ${IS_OF_ORDER} and kind = 'dispute' and rank = 2)
        then 'charged_back'
      when ${GONE} = 0 then 'paid'
      when ${GONE} >= paid_amount then 'refunded'
      else 'partly_refunded'
    end`;

/** The credits of an order that go with the gone part of its amount: all with all of it. No product exceeds 64 bits. */
export const TARGET = `case
        when gone_amount = 0 then 0
        when gone_amount >= paid_amount then orders.credits
        else orders.credits / paid_amount * gone_amount
          + orders.credits % paid_amount * gone_amount / paid_amount
      end`;

/** Whose credits are looked at: expressions for an order and a role. */
interface Part {
  readonly order: string;
  readonly role: string;
}

const NEW: Part = { order: "new.order_id", role: "new.role" };

/** Sums of what was booked. */
function booked({ order, role }: Part): string {
  return `(
        select coalesce(${
    sumOf(`case kind when 'taken' then credits when 'returned' then -credits
            when 'owed' then credits when 'forgiven' then -credits else 0 end`)
  }, 0) as gone,
          coalesce(${
    sumOf(`case kind when 'owed' then credits when 'forgiven' then -credits
            else 0 end`)
  }, 0) as owed,
          coalesce(${
    sumOf(`case kind when 'owed' then credits when 'forgiven' then -credits
            when 'repaid' then -credits else 0 end`)
  }, 0) as open
        from order_credits where order_id = ${order} and role = ${role}
      ) as booked`;
}

/** The lots that were granted. */
function lotsOf({ order, role }: Part): string {
  return `(
        select lot_id from order_credits
        where order_id = ${order} and role = ${role} and kind in ('granted', 'returned')
      )`;
}

/** Credits of these lots that were charged, or paid off other debts. Neither what expired nor what was taken back. */
function spent(part: Part): string {
  return `(
        select coalesce(${
    sumOf(`granted - remaining
          - (select coalesce(${sumOf("credits")}, 0) from take_backs where lot_id = lots.id)
          + (select coalesce(${sumOf("credits")}, 0) from order_credits
              where lot_id = lots.id and kind = 'repaid')
          + (select coalesce(${sumOf("credits")}, 0) from entries
              where account_id = lots.account_id and at_ms >= lots.expires_at_ms
                and kind = 'expire' and lot_id = lots.id)`)
  }, 0)
        from lots where id in ${lotsOf(part)}
      )`;
}

const BOOKED = booked(NEW);
const LOTS = lotsOf(NEW);
const SPENT = spent(NEW);

/** The whole bonus goes with the whole payment. */
const BONUS_TARGET = iif("gone_amount > 0 and gone_amount >= paid_amount", "granted", "0");

/**
 * What each account's part in an order comes to: the credits that are to be gone, of how many. The text of each query has a name, as
 * PostgreSQL gives it one of its own when it reads its text of a view, after `pg_dump`.
 */
export const PARTS = `
    select orders.id as order_id, 'purchase' as role, orders.account_id, ${TARGET} as target,
      orders.credits as size, lots.expires_at_ms
    from orders join lots on lots.id = orders.lot_id
    union all
    select orders.id, 'bonus' as role, lots.account_id,
      ${BONUS_TARGET}, granted, lots.expires_at_ms
    from orders join order_credits on order_credits.order_id = orders.id
        and order_credits.role = 'bonus' and kind = 'granted'
      join lots on lots.id = order_credits.lot_id`;

const COLLECTED: Part = { order: "parts.order_id", role: "parts.role" };

/** What is free of them. */
const COLLECTABLE_CREDITS = least(
  `(select coalesce(${sumOf("remaining - reserved")}, 0) from lots where id in ${
    lotsOf(COLLECTED)
  })`,
  `(select ${
    freeOf(`id in ${lotsOf(COLLECTED)}`)
  } from balances where account_id = parts.account_id)`,
);

/** Parts of orders of which something can be collected now. */
const COLLECTABLE = `select distinct order_id from (
    select order_id, target - (select gone from ${booked(COLLECTED)}) as missing,
      ${COLLECTABLE_CREDITS} as free,
      target - (size - ${spent(COLLECTED)}) - (select owed from ${booked(COLLECTED)}) as unowed
    from (
      select * from (${PARTS}) as all_parts where order_id in (select id from orders where gone_amount > 0)
    ) as parts
  ) as missing_parts where missing > 0 and (free > 0 or unowed > 0)`;

/** Accounts that have a part in orders: buyers, and inviters who got a bonus. */
function accountsOf(orders: string): string {
  return `select account_id from orders where id in ${orders} union
    select account_id from order_credits where order_id in ${orders}`;
}

/** What of a known refund or dispute is replaced: an amount only by that of another state. */
const AMOUNT = iif(
  "excluded.rank = payment_facts.rank",
  "payment_facts.amount",
  "excluded.amount",
);

/** Whether the news of it is later than what is known. */
const IS_LATER = iif(
  "payment_facts.kind = 'refund'",
  "excluded.rank > payment_facts.rank",
  `(excluded.rank > 0, excluded.as_of_ms, excluded.rank)
      > (payment_facts.rank > 0, payment_facts.as_of_ms, payment_facts.rank)`,
);

/** Credits that are taken of one of the lots: as much as those before it leave. */
const TAKEN = least(
  "remaining - reserved",
  `${least("new.target - gone", freeOf(`id in ${LOTS}`))} + remaining - reserved
          - ${sumOf("remaining - reserved")} over (order by expires_at_ms, created_at_ms, id)`,
);

/** Credits that are owed besides: spent ones, of those that are to be gone. */
const OWED = least("new.target - gone", `new.target - (new.size - ${SPENT}) - owed`);

/** A statement that books a row of `order_credits`. */
function book(id: string, kind: string, credits: string, from: string, lotId = "null"): string {
  return `insert into order_credits
      (id, cause, order_id, role, account_id, kind, credits, lot_id, at_ms)
    select ${id}, new.cause, new.order_id, new.role, new.account_id, '${kind}', ${credits}, ${lotId},
      new.at_ms
    ${from}`;
}

/**
 * Refunds and disputes take credits back, in proportion to the part of the payment that is gone: what is left of the
 * order's lots first, the spent rest as a debt. When a refund fails or a dispute is won, the debt is forgiven first, and
 * the rest comes back as a lot with the expiry of the first. The bonus that a payment earned goes and comes with the whole
 * of it. Of a refund the highest rank counts, of a dispute the provider's latest state, as a dispute that was won may be lost
 * later; an inquiry never replaces the withdrawal of money. So the order in which news arrive does not matter. What in-flight requests hold is left alone until they have ended.
 */
export const ADJUST_ORDER: Rule = {
  name: "adjust_order",
  objects: [
    PAYMENT_CHANGES,
    ORDER_ADJUSTMENTS,
    ORDER_COLLECTIONS,
    CREDIT_COLLECTIONS,
    { view: "collectable_orders", query: COLLECTABLE },
    {
      trigger: "payment_changes_note",
      event: "instead of insert",
      on: PAYMENT_CHANGES.view,
      locks: locks({
        payments: true,
        accounts: accountsOf("(select id from orders where payment_id = new.payment_id)"),
      }),
      statements: [
        `insert into payment_facts (id, kind, payment_id, amount, currency, livemode, rank, at_ms,
      as_of_ms)
    values (new.id, new.kind, new.payment_id, new.amount, new.currency, new.livemode, new.rank,
      new.at_ms, coalesce(new.as_of_ms, new.at_ms))
    on conflict (id) do update set rank = excluded.rank, at_ms = excluded.at_ms,
      amount = ${AMOUNT}, as_of_ms = excluded.as_of_ms,
      reversals = payment_facts.reversals + ${iif("excluded.rank < payment_facts.rank", "1", "0")}
    where excluded.payment_id = payment_facts.payment_id and excluded.kind = payment_facts.kind
      and ${IS_LATER}`,
        `insert into order_adjustments (order_id, fact_id, event_id, at_ms)
    select id, new.id, new.event_id, new.at_ms from orders where payment_id = new.payment_id`,
      ],
    },
    {
      trigger: "order_adjustments_decide",
      event: "instead of insert",
      on: ORDER_ADJUSTMENTS.view,
      when: `exists (
      select 1 from payment_facts join orders on ${IS_OF_ORDER}
      where payment_facts.id = new.fact_id and orders.id = new.order_id
        and not exists (
          select 1 from order_events where order_events.id = ${FACT_EVENT}
        )
    )`,
      locks: locks({ payments: true, accounts: accountsOf("(new.order_id)") }),
      statements: [
        `insert into order_events (id, kind, cause_id, order_id, event_id, amount, at_ms)
    select ${FACT_EVENT}, ${FACT_KIND}, ${FACT_CAUSE}, new.order_id, new.event_id, amount,
      new.at_ms
    from payment_facts where id = new.fact_id`,
        `update orders set gone_amount = ${GONE}, state = ${PAID_STATE} where id = new.order_id`,
        `insert into order_collections (order_id, cause, at_ms)
    select new.order_id, ${FACT_EVENT}, new.at_ms
    from payment_facts where id = new.fact_id`,
      ],
    },
    {
      trigger: "order_collections_collect",
      event: "instead of insert",
      on: ORDER_COLLECTIONS.view,
      locks: locks({ accounts: accountsOf("(new.order_id)") }),
      statements: [
        `insert into credit_collections (order_id, role, account_id, target, size, expires_at_ms, cause,
      at_ms)
    select order_id, role, account_id, target, size, expires_at_ms, new.cause, new.at_ms
    from (${PARTS}) as parts where order_id = new.order_id order by role desc`,
      ],
    },
    {
      trigger: "credit_collections_decide",
      event: "instead of insert",
      on: CREDIT_COLLECTIONS.view,
      locks: locks({ accounts: OF_ACCOUNT }),
      statements: [
        expireFirst(`'expiry_' || ${randomHex(8)}`),
        book(
          "'take_back_' || new.role || '_' || new.cause || '_of_' || id",
          "taken",
          "taken",
          `from (
      select id, ${TAKEN} as taken
      from lots join balances on balances.account_id = lots.account_id, ${BOOKED}
      where id in ${LOTS} and remaining > 0
    ) as shares where taken > 0`,
          "id",
        ),
        `insert into take_backs (id, account_id, lot_id, credits, note, at_ms)
    select id, account_id, lot_id, credits, ${
          iif(
            "role = 'bonus'",
            "'The payment that earned it was refunded or disputed'",
            "'The payment was refunded or disputed'",
          )
        }, at_ms
    from order_credits
    where cause = new.cause and order_id = new.order_id and role = new.role and kind = 'taken'`,
        book(
          "'debt_' || new.cause || '_' || new.role",
          "owed",
          "more",
          `from (
      select ${OWED} as more from ${BOOKED}
    ) as debt where more > 0`,
        ),
        book(
          "'forgiven_' || new.cause || '_' || new.role",
          "forgiven",
          "less",
          `from (select ${
            least("gone - new.target", "open")
          } as less from ${BOOKED}) as debt where less > 0`,
        ),
        `insert into lots (id, account_id, source, note, granted, remaining, created_at_ms,
      expires_at_ms, models)
    select 'lot_' || new.role || '_' || new.cause, new.account_id,
      ${iif("new.role = 'bonus'", "'grant'", "'package'")},
      ${
          iif(
            "new.role = 'bonus'",
            "'The payment that earned it came back'",
            "'Payment came back'",
          )
        },
      gone - new.target, 0, new.at_ms, new.expires_at_ms,
      ${iif("new.role = 'bonus'", "null", "(select models from orders where id = new.order_id)")}
    from ${BOOKED} where gone > new.target`,
        book(
          "id",
          "returned",
          "granted",
          "from lots where id = 'lot_' || new.role || '_' || new.cause",
          "id",
        ),
        `insert into entries (account_id, cause_id, lot_id, kind, credits, at_ms)
    select account_id, id, id, 'grant', granted, created_at_ms
    from lots where id = 'lot_' || new.role || '_' || new.cause`,
      ],
    },
  ],
};
