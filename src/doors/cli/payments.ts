import type { Command } from "commander";
import { AccountError } from "../../people/accounts/mod.ts";
import { newReference } from "../../money/billing/mod.ts";
import { moneyText } from "../../settings/config/mod.ts";
import {
  creditsOfOrder,
  debtors,
  eventsOfOrder,
  listOrders,
  type Order,
  ORDER_STATES,
  orderById,
  type OrderState,
} from "../../money/payments/mod.ts";
import {
  describeHistory,
  describeOrder,
  isoOf,
  ORDER_CREATE,
  ORDER_DISMISS,
  ORDER_RECONCILE,
  ORDER_REFUND,
  type OrderOwner,
  PAYMENTS_RECONCILE,
  reconciledShape,
} from "../../operating/operations/mod.ts";
import { type CommandContext, type CommandParts, UsageError } from "./context.ts";
import { argument, defineCommand, option, required } from "./define_command.ts";
import { parseCount, parseDuration, parseMoney, table, time } from "./format.ts";
import { operate } from "./operate.ts";
import { payerOf, type PayerOptions } from "./settings.ts";

const DEFAULT_LIMIT = 50;

/** `sluice payments …` */
export function paymentsCommand(program: Command, context: CommandContext): void {
  const payments = program.command("payments").description("look after orders and their payments");

  defineCommand<
    { account?: string; team?: string; state?: string; look?: boolean; limit?: string }
  >(
    payments,
    context,
    {
      name: "list",
      description: "list orders, newest first, and accounts that owe credits",
      options: [
        option("--account <email>", "only those of an account"),
        option("--team <team>", "only those of a team's pool, by its name or ID"),
        option("--state <state>", `only those in a state: ${ORDER_STATES.join(", ")}`),
        option("--look", "only those whose payment differs from the order"),
        option("--limit <number>", `how many orders (default: ${DEFAULT_LIMIT})`),
      ],
      opens: "database",
      async run({ options, parts, print }) {
        const { database } = parts;
        const isOfOne = options.account !== undefined || options.team !== undefined;
        const account = isOfOne ? await payerOf(parts, options) : undefined;
        const orders = await listOrders(database, {
          accountId: account?.id,
          state: stateOf(options.state),
          needsLook: options.look ?? false,
          limit: options.limit === undefined
            ? DEFAULT_LIMIT
            : parseCount("--limit", options.limit, { min: 1, max: 1_000 }),
        });
        const owner = await ownersOf(parts);
        const owed = (await debtors(database, 1_000))
          .filter(({ accountId }) => account === undefined || accountId === account.id)
          .map(({ accountId, credits }) => ({ ...owner(accountId), owed_credits: credits }));
        print(
          { orders: orders.map((one) => describeOrder(one, owner(one.accountId))), debts: owed },
          ({ debts }) =>
            table(orders.map((one) => row(one, owner(one.accountId)))) +
            (debts.length === 0 ? "" : `\n${table(debts)}`),
        );
      },
    },
  );

  defineCommand<{ id: string }>(payments, context, {
    name: "show",
    description: "show an order, what happened to it, and the credits that it moved",
    arguments: [argument("<id>", "order ID (ord_…)")],
    opens: "database",
    async run({ options, parts, print }) {
      const order = await orderOf(parts, options.id);
      const owner = await ownersOf(parts);
      const own = owner(order.accountId);
      print(
        {
          ...describeOrder(order, own),
          ...describeHistory(
            await eventsOfOrder(parts.database, order.id),
            await creditsOfOrder(parts.database, order.id),
            (accountId) => owner(accountId).account,
          ),
        },
        ({ events, moved, ...all }) =>
          `${
            Object.entries({ ...all, ...row(order, own) })
              .map(([name, value]) => `${name.padEnd(16)} ${value ?? "-"}`).join("\n")
          }\n\n${table(events)}\n${table(moved)}`,
      );
    },
  });

  defineCommand<{ since?: string; id?: string }>(payments, context, {
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
    async run({ options, parts, config, print }) {
      const at = { context, parts, config };
      if (options.id !== undefined) {
        const before = await orderOf(parts, options.id);
        const after = await operate(at, ORDER_RECONCILE, { order: before.id });
        return print(
          { order: before.id, before: before.state, state: after.state },
          ({ before, state }) => before === state ? `Still ${state}.\n` : `Now ${state}.\n`,
        );
      }
      const sinceMs = parseDuration("--since", options.since ?? "26h", 30);
      const found = reconciledShape.parse(
        await operate(at, PAYMENTS_RECONCILE, {
          since: isoOf(parts.clock.now() - sinceMs),
          limit: 1_000,
        }),
      );
      print(
        found,
        ({ faults, ...counts }) => table([counts]) + faults.map((one) => `${one}\n`).join(""),
      );
      if (found.faults.length > 0) throw new Error("Some orders could not be asked about");
    },
  });

  defineCommand<{ id: string }>(payments, context, {
    name: "dismiss",
    description: "note that you have looked at an order whose payment differs from it",
    arguments: [argument("<id>", "order ID (ord_…)")],
    opens: "database",
    async run({ options, parts, config, print }) {
      const order = await orderOf(parts, options.id);
      await operate({ context, parts, config }, ORDER_DISMISS, { order: order.id });
      print({ order: order.id, dismissed: order.needsLook || null }, () => "Noted.\n");
    },
  });

  defineCommand<{ id: string; amount?: string; reference?: string }>(payments, context, {
    name: "refund",
    description: "refund an order, or a part of it, and take its credits back",
    arguments: [argument("<id>", "order ID (ord_…)")],
    options: [
      option(
        "--amount <number>",
        "such as 2.50, in the order's currency (default: all that is left)",
      ),
      option(
        "--reference <text>",
        "idempotency reference: the same reference never refunds twice",
      ),
    ],
    help: "\nA payment by hand is only recorded as refunded: pay the money back yourself.",
    opens: "database",
    async run({ options, parts, config, print }) {
      const order = await orderOf(parts, options.id);
      const reference = options.reference ?? newReference();
      const refunded = await operate({ context, parts, config }, ORDER_REFUND, {
        order: order.id,
        reference,
        ...(options.amount === undefined
          ? {}
          : { amount: parseMoney("--amount", options.amount, order.currency, 1) }),
      });
      const after = await orderOf(parts, order.id);
      print(
        refunded,
        () =>
          `${moneyText(after.goneAmount, after.currency)} of ${
            moneyText(after.paidAmount, after.currency)
          } are refunded: the order is ${after.state}.\n` +
          `To repeat this command safely, add: --reference ${reference}\n`,
      );
    },
  });
}

interface CheckoutOptions extends PayerOptions {
  readonly package: string;
  readonly reference?: string;
}

/** `sluice credits checkout` */
export function checkoutCommand(credits: Command, context: CommandContext): void {
  defineCommand<CheckoutOptions>(credits, context, {
    name: "checkout",
    description: "start a checkout for an account or a team; prints where it is paid",
    options: [
      option("--account <email>", "account email"),
      option("--team <team>", "name or ID of the team whose pool it is for, instead of an account"),
      required("--package <id>", "package to buy"),
      option("--reference <text>", "idempotency reference: the same reference makes one order"),
    ],
    opens: "database",
    async run({ options, parts, config, print }) {
      const account = await payerOf(parts, options);
      const reply = await operate({ context, parts, config }, ORDER_CREATE, {
        ...(options.team === undefined ? { account: account.id } : { team: options.team }),
        package: options.package,
        reference: options.reference ?? newReference(),
      });
      print(
        { order: reply.id, state: reply.state, url: reply.url },
        ({ url }) => `${url}\n`,
      );
    },
  });
}

async function orderOf({ database }: CommandParts, id: string): Promise<Order> {
  const order = await orderById(database, id);
  if (order !== undefined) return order;
  throw new AccountError(
    `Unknown order ${JSON.stringify(id.slice(0, 60))}. List orders with: sluice payments list`,
  );
}

function stateOf(given: string | undefined): OrderState | undefined {
  if (given === undefined) return undefined;
  const found = ORDER_STATES.find((one) => one === given);
  if (found !== undefined) return found;
  throw new UsageError(`invalid state '${given}': use one of ${ORDER_STATES.join(", ")}`);
}

/** Whose credits something is about, by account ID. */
async function ownersOf(
  { accounts, teams }: CommandParts,
): Promise<(accountId: string) => OrderOwner> {
  const emails = new Map((await accounts.list()).map(({ id, email }) => [id, email]));
  const names = new Map((await teams.list()).map(({ poolId, name }) => [poolId, name]));
  return (id) => ({ account: emails.get(id) ?? id, team: names.get(id) ?? null });
}

function row(order: Order, { account, team }: OrderOwner) {
  return {
    id: order.id,
    account: team === null ? account : `team ${team}`,
    state: order.state,
    package: order.packageName,
    credits: order.credits,
    amount: moneyText(order.amount, order.currency),
    created: time(order.createdAtMs),
    look: order.needsLook || null,
  };
}
