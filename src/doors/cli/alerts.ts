import type { Command } from "commander";
import { type Notice, notices } from "../../operating/alerts/mod.ts";
import {
  ALERT_RETRY,
  ALERT_TEST,
  alertTestShape,
  describeAlert,
} from "../../operating/operations/mod.ts";
import { type CommandContext, CommandStatus, UsageError } from "./context.ts";
import { argument, defineCommand, option } from "./define_command.ts";
import { parseCount, table, time } from "./format.ts";
import { operate } from "./operate.ts";

const MAX_LIMIT = 1_000;
const STATES = { waiting: "waiting", delivered: "delivered", "given-up": "given_up" } as const;

interface ListOptions {
  readonly account?: string;
  readonly unread?: true;
  readonly state?: string;
  readonly limit: string;
}

/** `sluice alerts …` */
export function alertsCommand(program: Command, context: CommandContext): void {
  const alerts = program.command("alerts").description("list, test and retry alerts");

  defineCommand<ListOptions>(alerts, context, {
    name: "list",
    description: "list the latest alerts, and what became of their deliveries",
    options: [
      option("--account <email>", "only alerts of this account (default: all)"),
      option("--unread", "only alerts that no operator has read in the console"),
      option("--state <state>", `only alerts with a delivery that is ${known()}`),
      option("--limit <n>", `max number of alerts, up to ${MAX_LIMIT}`, "20"),
    ],
    opens: "database",
    async run({ options, parts: { database, accounts }, print }) {
      const limit = parseCount("--limit", options.limit, { min: 1, max: MAX_LIMIT });
      const { account, unread = false, state } = options;
      const found = await notices(database, {
        accountId: account === undefined ? undefined : (await accounts.get(account)).id,
        isUnread: unread,
        state: state === undefined ? undefined : stateOf(state),
        limit,
      });
      print(found.map(describeAlert), () => table(found.map(row)));
    },
  });

  defineCommand<{ receiver?: string }>(alerts, context, {
    name: "test",
    description: "send a test alert to receivers, and print what they reply",
    arguments: [argument("[receiver]", "name of the receiver (default: all)")],
    help:
      "\nThe exit status is 1 if a delivery fails. A test alert is not kept, and not repeated; the log says who sent it.",
    opens: "new database",
    async run({ options: { receiver }, parts, config, print }) {
      const { receivers } = config.settings.alerts;
      const names = receiver === undefined ? Object.keys(receivers) : [receiver];
      if (names.length === 0) {
        throw new UsageError("no receivers: see alerts.receivers in docs/alerts.md");
      }
      const unknown = names.find((name) => !Object.hasOwn(receivers, name));
      if (unknown !== undefined) {
        throw new UsageError(
          `unknown receiver '${unknown}'. Receivers: ${
            Object.keys(receivers).join(", ") || "none"
          }`,
        );
      }
      const reply = await operate({ context, parts, config }, ALERT_TEST, {
        ...(receiver === undefined ? {} : { receiver }),
      });
      const { results } = alertTestShape.parse(reply);
      print(results, () =>
        table(results.map(({ receiver, ok, status, error, took_ms }) => ({
          receiver,
          result: ok ? `delivered (status ${status})` : error,
          time: `${took_ms} ms`,
        }))));
      if (results.some(({ ok }) => !ok)) throw new CommandStatus(1);
    },
  });

  defineCommand<{ id?: string; receiver?: string }>(alerts, context, {
    name: "retry",
    description: "deliver again what waits or was given up; a running gateway does so within 5 s",
    arguments: [argument("[id]", "alert ID (alert_…) (default: all)")],
    options: [option("--receiver <name>", "only deliveries to this receiver (default: all)")],
    opens: "database",
    async run({ options: { id, receiver }, parts, config, print }) {
      const reply = await operate({ context, parts, config }, ALERT_RETRY, {
        ...(id === undefined ? {} : { alert: id }),
        ...(receiver === undefined ? {} : { receiver }),
      });
      const deliveries = Number(reply.deliveries);
      print(
        { deliveries },
        () => `${deliveries} ${deliveries === 1 ? "delivery is" : "deliveries are"} due now.\n`,
      );
    },
  });
}

function known(): string {
  return Object.keys(STATES).join(", ");
}

function stateOf(text: string): typeof STATES[keyof typeof STATES] {
  const state = Object.entries(STATES).find(([name]) => name === text)?.[1];
  if (state === undefined) {
    throw new UsageError(`invalid state '${text}': choose from ${known()}`);
  }
  return state;
}

function row({ id, createdAtMs, kind, title, deliveries }: Notice) {
  return {
    id,
    time: time(createdAtMs),
    kind,
    title,
    deliveries:
      deliveries.map(({ receiver, state, error }) =>
        `${receiver}: ${state.replace("_", " ")}${error === null ? "" : ` (${error})`}`
      ).join(", ") || null,
  };
}
