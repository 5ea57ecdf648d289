import { FACT_EVENT, GONE, IS_OF_ORDER, PAID_STATE, PARTS } from "../rules/adjust_order.ts";
import type { Check } from "./check.ts";
import { DAY_MS } from "../../../ground/time.ts";
import { greatest, iif, least, positionIn, sumOf } from "../../../ground/sql/mod.ts";

const NEVER = "9007199254740991";

/** Gateways at one server may have clocks that differ by this much. */
const CLOCKS_MS = 60_000;

/** Sums of what was booked for an account's part in an order. */
const BOOKED = `select order_id, role, account_id,
    ${
  sumOf(`case kind when 'taken' then credits when 'returned' then -credits
      when 'owed' then credits when 'forgiven' then -credits else 0 end`)
} as gone,
    ${
  sumOf(`case kind when 'owed' then credits when 'forgiven' then -credits
      when 'repaid' then -credits else 0 end`)
} as open,
    max(at_ms) as at_ms
  from order_credits group by order_id, role, account_id`;

/** The lots of an account's part in an order. */
const LOTS = `select lot_id from order_credits as granted
  where granted.order_id = parts.order_id and granted.role = parts.role
    and granted.kind in ('granted', 'returned')`;

/** When the lot of an order expires. */
const EXPIRES = least(`paid_at_ms + ${least("valid_days", "1000000000")} * ${DAY_MS}`, NEVER);
const SLASH = positionIn("cause_id", "'/'");

/** A condition: the row of `take_backs` was made for an order. */
const IS_OF_AN_ORDER = `(take_backs.id like 'take\\_back\\_%:%' escape '\\'
          or take_backs.id like 'take\\_back\\_ord\\_%' escape '\\')`;

/** Orders: from their events, from what is known of their payments, and from the credits that they moved. */
export const ORDERS: readonly Check[] = [
  // Each order has the one outcome that its events and its payment's refunds and disputes make.
  {
    noun: "order",
    name: "outcomes of orders",
    id: "orders.id",
    pairs: {
      payments: ["count(paid.id)", iif("paid_at_ms is null", "0", "1")],
      payment: ["payment_id", "max(paid.cause_id)"],
      paid_at: ["paid_at_ms", "max(paid.at_ms)"],
      paid_amount: ["paid_amount", "max(paid.amount)"],
      closings: [
        `(select count(*) from order_events where order_id = orders.id
            and kind in ('expired', 'failed')) > 1`,
        "false",
      ],
      order_state: [
        "state",
        `case when paid_at_ms is not null then ${PAID_STATE} else coalesce((
            select kind from order_events where order_id = orders.id
              and kind in ('expired', 'failed')
          ), 'open') end`,
      ],
      gone: ["gone_amount", GONE],
      underpaid: [
        `provider = 'stripe' and paid_at_ms is not null
            and (orders.amount is null or paid_amount is null or paid_amount < orders.amount)`,
        "false",
      ],
      provider: [
        iif("paid_at_ms is null", "'stripe'", "provider"),
        `case when paid_at_ms is null then 'stripe'
            when payment_id like 'manual\\_lot\\_%' escape '\\' then 'manual'
            when payment_id like 'gift\\_lot\\_%' escape '\\' then 'gift'
            when payment_id like 'earlier\\_lot\\_%' escape '\\' then 'earlier'
            else 'stripe' end`,
      ],
      has_receipt: [
        "receipt is not null",
        "paid_at_ms is not null and provider in ('stripe', 'manual')",
      ],
      needs_look: [
        "needs_look <> ''",
        `exists (select 1 from order_events as review where review.order_id = orders.id
            and kind = 'review' and not exists (select 1 from order_events as looked
              where looked.id = 'looked:' || review.cause_id))`,
      ],
      order_account: ["orders.account_id", "max(accounts.id)"],
    },
    from: `orders left join order_events as paid on paid.order_id = orders.id and paid.kind = 'paid'
        left join accounts on accounts.id = orders.account_id`,
    groupBy: "orders.id",
  },
  // Receipts are numbered without a gap.
  {
    noun: "order",
    name: "receipts",
    id: "id",
    pairs: { receipt: ["receipt", "place"] },
    from: `(select id, receipt, row_number() over (order by receipt) as place from orders
        where receipt is not null) as numbered`,
  },
  // Each package is the lot of an order, and each paid order has one: of its account, its size, its payment's time.
  {
    noun: "order",
    name: "lots of orders",
    id: "coalesce(order_id, lots.id)",
    pairs: {
      order_lot: ["lots.id", "order_credits.id"],
      order_lot_account: ["lots.account_id", "order_credits.account_id"],
      order_lot_size: ["granted", "order_credits.credits"],
      order_lot_at: ["lots.created_at_ms", "order_credits.at_ms"],
      order_lot_id: ["order_credits.lot_id", "order_credits.id"],
      order_lot_source: [
        "source",
        `case order_credits.role || order_credits.kind when 'bonusgranted' then 'invite_payment'
            when 'bonusreturned' then 'grant' else 'package' end`,
      ],
    },
    from: `(select * from lots where source in ('package', 'invite_payment')
          or id like 'lot\\_%:%' escape '\\') as lots
        full join order_credits on order_credits.id = lots.id
          and order_credits.kind in ('granted', 'returned')
        where lots.id is not null or order_credits.kind in ('granted', 'returned')`,
  },
  {
    noun: "order",
    name: "terms of orders",
    id: "orders.id",
    pairs: {
      granted_once: ["count(order_credits.id)", iif("paid_at_ms is null", "0", "1")],
      order_lot: ["orders.lot_id", iif("paid_at_ms is null", "orders.lot_id", "max(lots.id)")],
      owner: [
        "orders.account_id",
        iif("paid_at_ms is null", "orders.account_id", "max(lots.account_id)"),
      ],
      credits: ["orders.credits", iif("paid_at_ms is null", "orders.credits", "max(granted)")],
      models: ["orders.models", iif("paid_at_ms is null", "orders.models", "max(lots.models)")],
      order_note: [
        "orders.note",
        iif("paid_at_ms is null", "orders.note", "max(lots.note)"),
      ],
      expires: [
        `case when paid_at_ms is not null and provider <> 'earlier' then coalesce(${EXPIRES}, ${NEVER}) end`,
        iif("paid_at_ms is null or provider = 'earlier'", "null", "max(lots.expires_at_ms)"),
      ],
    },
    from: `orders left join order_credits on order_credits.order_id = orders.id
          and role = 'purchase' and kind = 'granted'
        left join lots on lots.id = order_credits.lot_id`,
    groupBy: "orders.id",
  },
  // What orders took back, or paid off debts with, they took by a take-back.
  {
    noun: "order",
    name: "take-backs of orders",
    id: "coalesce(order_id, take_backs.id)",
    pairs: {
      taken_id: ["order_credits.id", "take_backs.id"],
      taken: ["order_credits.credits", "take_backs.credits"],
      taken_lot: ["order_credits.lot_id", "take_backs.lot_id"],
      taken_account: ["order_credits.account_id", "take_backs.account_id"],
      taken_at: ["order_credits.at_ms", "take_backs.at_ms"],
    },
    from: `(select * from order_credits where kind in ('taken', 'repaid')) as order_credits
        full join take_backs on take_backs.id = order_credits.id and ${IS_OF_AN_ORDER}
        where order_credits.id is not null or ${IS_OF_AN_ORDER}`,
  },
  // Each of them has a cause, at its time; only lots and take-backs name a lot.
  {
    noun: "order",
    name: "causes of credits",
    id: "order_credits.order_id",
    pairs: {
      cause: [
        `case when cause like 'collected:%' then cause like 'collected:' || order_credits.order_id || '.%'
            else order_events.at_ms is not null and (order_credits.kind = 'repaid'
              or order_events.order_id = order_credits.order_id) end`,
        "true",
      ],
      cause_at: [
        iif("cause like 'collected:%'", "null", "order_credits.at_ms"),
        iif("cause like 'collected:%'", "null", "order_events.at_ms"),
      ],
      names_lot: [
        "order_credits.lot_id is not null",
        "order_credits.kind not in ('owed', 'forgiven')",
      ],
      debt_id: [
        iif("order_credits.kind in ('owed', 'forgiven')", "order_credits.id", "null"),
        `case order_credits.kind when 'owed' then 'debt_' || cause || '_' || role
            when 'forgiven' then 'forgiven_' || cause || '_' || role end`,
      ],
      debtor: [
        "order_credits.account_id",
        `case role when 'purchase' then orders.account_id else (
            select invited_by from accounts where id = orders.account_id) end`,
      ],
    },
    from: `order_credits left join order_events on order_events.id = cause
        left join orders on orders.id = order_credits.order_id`,
  },
  // As many credits are gone as go with the gone part of the amount, but for those that nobody spent and nobody has.
  {
    noun: "order",
    name: "credits of refunds",
    id: "parts.order_id",
    pairs: {
      too_many: [greatest("0", "coalesce(gone, 0) - target"), "0"],
      too_few: [
        `target - coalesce(gone, 0)
            - (select coalesce(${sumOf("remaining")}, 0) from lots where id in (${LOTS}))
            - (select coalesce(${sumOf("-credits")}, 0) from entries
                where account_id = parts.account_id and lot_id in (${LOTS})
                  and (kind = 'expire' or kind = 'charge' and at_ms >= booked.at_ms - ${CLOCKS_MS}
                    or kind = 'take_back' and cause_id not in (select id from order_credits))) > 0`,
        "false",
      ],
      not_returned: ["target = 0 and coalesce(gone, 0) <> 0", "false"],
      overpaid_debt: [least("0", "coalesce(open, 0)"), "0"],
    },
    from: `(select * from (${PARTS}) as all_parts where order_id in (
          select order_id from order_credits where kind <> 'granted'
          union select id from orders where gone_amount > 0
        )) as parts left join (${BOOKED}) as booked on booked.order_id = parts.order_id
          and booked.role = parts.role and booked.account_id = parts.account_id`,
  },
  // Each event of a refund or dispute is one that is known, and what is known of an order's payment has its event.
  {
    noun: "order",
    name: "refunds and disputes",
    id: "order_id",
    pairs: {
      known: ["max(told_id)", "max(known_id)"],
    },
    from: `(
          select order_id, cause_id, cause_id as told_id, null as known_id from (
            select order_id, case when ${SLASH} = 0 then cause_id
                else substr(cause_id, 1, ${SLASH} - 1) end as cause_id from order_events
            where kind in ('refunded', 'refund_failed', 'inquiry', 'disputed', 'dispute_lost',
              'dispute_won') group by 1, 2
          ) as found
          union all
          select orders.id, payment_facts.id, null, payment_facts.id
          from payment_facts join orders on (${IS_OF_ORDER})
        ) as facts`,
    groupBy: "order_id, cause_id",
  },
  {
    noun: "order",
    name: "newest refunds and disputes",
    id: "orders.id",
    pairs: {
      newest: [
        `exists (select 1 from order_events where order_id = orders.id
            and order_events.id = ${FACT_EVENT})`,
        "true",
      ],
      newest_amount: [
        `(select amount from order_events where order_events.id = ${FACT_EVENT})`,
        "payment_facts.amount",
      ],
    },
    from: `payment_facts join orders on (${IS_OF_ORDER})`,
  },
  {
    noun: "order",
    name: "payments of refunds",
    id: "payment_facts.id",
    pairs: {
      payment_of: [
        "orders.id is not null and orders.currency is distinct from payment_facts.currency",
        "false",
      ],
      mode_of: [
        "orders.id is not null and orders.livemode is distinct from payment_facts.livemode",
        "false",
      ],
      fact_kind: ["payment_facts.kind in ('refund', 'dispute')", "true"],
    },
    from: "payment_facts left join orders on orders.payment_id = payment_facts.payment_id",
  },
  // Each event of an order is of an order, has a name that follows from what it says, and the provider's event is known.
  {
    noun: "order",
    name: "events of orders",
    id: "order_events.id",
    pairs: {
      event_order: ["order_events.order_id", "orders.id"],
      event_name: ["order_events.id", "order_events.kind || ':' || cause_id"],
      event_source: ["event_id", "payment_events.id"],
      source_order: [
        iif("payment_events.order_id is null", "null", "order_events.order_id"),
        "payment_events.order_id",
      ],
    },
    from: `order_events left join orders on orders.id = order_events.order_id
        left join payment_events on payment_events.id = event_id`,
  },
  // An event that was applied left something of its order.
  {
    noun: "order",
    name: "provider's events",
    id: "payment_events.id",
    pairs: {
      source_of: ["payment_events.order_id", "orders.id"],
      applied_to: [
        iif("outcome in ('applied', 'review')", "payment_events.order_id", "null"),
        iif("outcome in ('applied', 'review')", "order_events.order_id", "null"),
      ],
      applied: ["outcome in ('applied', 'review') and order_events.id is null", "false"],
    },
    from: `payment_events left join orders on orders.id = payment_events.order_id
        left join order_events on order_events.event_id = payment_events.id`,
  },
  // A redeemed code has its lot, of the account that redeemed it.
  {
    noun: "code",
    name: "redemption codes",
    id: "coalesce(codes.id, lots.id)",
    pairs: {
      redeemed: ["lots.id", "'lot_' || codes.id"],
      redeemed_by: ["codes.redeemed_by", "lots.account_id"],
      redeemed_at: ["codes.redeemed_at_ms", "lots.created_at_ms"],
      redeemed_credits: ["codes.credits", "granted"],
      redeemed_models: ["codes.models", "lots.models"],
      redeemed_revoked: ["codes.revoked_at_ms", "cast(null as bigint)"],
    },
    from: `(select * from redemption_codes where redeemed_at_ms is not null
          or redeemed_by is not null) as codes
        full join lots on lots.id = 'lot_' || codes.id and lots.id like 'lot\\_code\\_%' escape '\\'
        where codes.id is not null or lots.id like 'lot\\_code\\_%' escape '\\'`,
  },
];
