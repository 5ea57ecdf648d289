import type { Command } from "commander";
import { moneyText } from "../../settings/config/mod.ts";
import { debtors } from "../../money/payments/mod.ts";
import {
  CREDITS_GET,
  describeOwner,
  isoOf,
  ORDER_CREATE,
  ORDER_DISMISS,
  ORDER_GET,
  ORDER_LIST,
  ORDER_RECONCILE,
  ORDER_REFUND,
  PAYMENTS_RECONCILE,
  type ReplyOf,
} from "../../operating/operations/mod.ts";
import type { CommandContext } from "./context.ts";
import { argument, defineCommand, option } from "./define_command.ts";
import { parseDuration, parseMoney, table, time } from "./format.ts";
import { operationCommand } from "./operation_command.ts";

const ID = ["<id>", "order ID (ord_…)"] as const;

/** `sluice payments …` */
export function paymentsCommand(program: Command, context: CommandContext): void {
  const payments = program.command("payments").description("look after orders and their payments");

  operationCommand(payments, context, ORDER_LIST, {
    name: "list",
    description: "list orders, newest first, and accounts that owe credits",
    fields: {
      account: ["--account <email>", "only those of an account"],
      team: ["--team <team>", "only those of a team's pool, by its name or ID"],
      state: ["--state <state>", "only those in a state"],
      look: ["--look", "only those whose payment differs from the order"],
    },
    limit: 50,
    async carryOut(input, { options, parts, perform }) {
      const { account, team } = options;
      const isOfOne = account !== undefined || team !== undefined;
      const payer = isOfOne ? await perform(CREDITS_GET, { account, team }) : undefined;
      const orders = await perform(ORDER_LIST, input);
      const owed = (await debtors(parts.database, 1_000)).map(async ({ accountId, credits }) => ({
        ...await describeOwner(parts, accountId),
        owed_credits: credits,
      }));
      const debts = (await Promise.all(owed))
        .filter((one) => payer === undefined || one.account === payer.account);
      return { ...orders, debts };
    },
    text: ({ data, debts }) =>
      table(data.map(row)) + (debts.length === 0 ? "" : `\n${table(debts)}`),
  });

  operationCommand(payments, context, ORDER_GET, {
    name: "show",
    description: "show an order, what happened to it, and the credits that it moved",
    fields: { order: ID },
    text: ({ events, moved, ...order }) => {
      const lines = Object.entries(inWords(order))
        .map(([name, value]) => `${name.padEnd(9)} ${value ?? "-"}`);
      const happened = events.map(({ amount, at, ...one }) => ({
        ...one,
        amount: amount === null ? null : moneyText(amount, order.currency),
        at: time(Date.parse(at)),
      }));
      const credits = moved.map(({ at, ...one }) => ({ ...one, at: time(Date.parse(at)) }));
      return `${lines.join("\n")}\n\n${table(happened)}\n${table(credits)}`;
    },
  });

  defineCommand<{ since: string; id?: string }>(payments, context, {
    name: "reconcile",
    description: "ask Stripe about open orders, and apply what no webhook has brought",
    arguments: [
      argument("[id]", "one order, also if it expired or failed (default: all that are open)"),
    ],
    options: [
      option("--since <duration>", "how far back Stripe's events are read, up to 30d", "26h"),
    ],
    help: "\nUse it after an outage. Nothing takes effect twice.",
    opens: "database",
    async run({ options: { id: order, since }, parts, perform, print }) {
      if (order !== undefined) {
        const before = await perform(ORDER_GET, { order });
        return print(
          await perform(ORDER_RECONCILE, { order }),
          ({ state }) => before.state === state ? `Still ${state}.\n` : `Now ${state}.\n`,
        );
      }
      const found = await perform(PAYMENTS_RECONCILE, {
        since: isoOf(parts.clock.now() - parseDuration("--since", since, 30)),
        limit: 1_000,
      });
      print(
        found,
        ({ faults, orphans, ...counts }) =>
          table([counts]) +
          orphans.map((one) =>
            `${one} paid for an order that there is not: refund it at Stripe, or record it with ` +
            "sluice credits grant --paid\n"
          ).join("") +
          faults.map((one) => `${one}\n`).join(""),
      );
      if (found.faults.length > 0) throw new Error("Some orders could not be asked about");
    },
  });

  operationCommand(payments, context, ORDER_DISMISS, {
    name: "dismiss",
    fields: { order: ID },
    text: () => "Noted.\n",
  });

  operationCommand(payments, context, ORDER_REFUND, {
    name: "refund",
    fields: {
      order: ID,
      amount: [
        "--amount <number>",
        "such as 2.50, in the order's currency (default: all that is left)",
        {
          async find(text, flag, { options, perform }) {
            const { currency } = await perform(ORDER_GET, { order: options.id });
            return parseMoney(flag, text, currency, 1);
          },
        },
      ],
      reference: [
        "--reference <text>",
        "idempotency reference: the same reference never refunds twice",
      ],
    },
    help: "\nA payment by hand is only recorded as refunded: pay the money back yourself.",
    text: (one, { options }) =>
      `${moneyText(one.gone_amount, one.currency)} of ${
        moneyText(one.paid_amount, one.currency)
      } are refunded: the order is ${one.state.replaceAll("_", " ")}.\n` +
      (options.reference === undefined
        ? `To repeat this command safely, add: --reference ${one.reference}\n`
        : ""),
  });
}

/** `sluice credits checkout` */
export function checkoutCommand(credits: Command, context: CommandContext): void {
  operationCommand(credits, context, ORDER_CREATE, {
    name: "checkout",
    description: "start a checkout for an account or a team; prints where it is paid",
    fields: {
      account: ["--account <email>", "account email"],
      team: [
        "--team <team>",
        "name or ID of the team whose pool it is for, instead of an account",
      ],
      package: ["--package <id>", "package to buy"],
      reference: [
        "--reference <text>",
        "idempotency reference: the same reference makes one order",
      ],
    },
    unnamed: "wrong",
    text: ({ url }) => `${url}\n`,
  });
}

function row(order: ReplyOf<typeof ORDER_DISMISS>) {
  return {
    id: order.id,
    account: order.team === null ? order.account : `team ${order.team}`,
    state: order.state,
    package: order.package,
    credits: order.credits,
    amount: moneyText(order.amount, order.currency),
    created: time(Date.parse(order.created_at)),
    look: order.needs_look,
  };
}

/** An order with all that is known of it, each once. */
function inWords(order: ReplyOf<typeof ORDER_DISMISS>) {
  const { currency, paid_at: paidAt } = order;
  return {
    ...row(order),
    paid: paidAt === null
      ? null
      : `${moneyText(order.paid_amount, currency)}, ${time(Date.parse(paidAt))}`,
    returned: moneyText(order.gone_amount, currency), // by refunds and disputes
    provider: order.live ? order.provider : `${order.provider}, a test`,
    origin: order.origin,
    payment: order.payment,
    session: order.session,
    lot: order.lot,
    receipt: order.receipt,
  };
}
