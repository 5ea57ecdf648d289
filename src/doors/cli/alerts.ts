import type { Command } from "commander";
import { ALERT_LIST, ALERT_RETRY, ALERT_TEST } from "../../operating/operations/mod.ts";
import { type CommandContext, UsageError } from "./context.ts";
import { failedText, table, time } from "./format.ts";
import { operationCommand } from "./operation_command.ts";

/** `sluice alerts …` */
export function alertsCommand(program: Command, context: CommandContext): void {
  const alerts = program.command("alerts").description("list, test and retry alerts");

  operationCommand(alerts, context, ALERT_LIST, {
    name: "list",
    description: "list the latest alerts, and what became of their deliveries",
    fields: {
      account: ["--account <email>", "only alerts of this account (default: all)"],
      unread: ["--unread", "only alerts that no operator has read in the console"],
      state: [
        "--state <state>",
        "only alerts with a delivery that is waiting, delivered or given-up",
        (text) => text.replace("-", "_"),
      ],
    },
    limit: 20,
    text: ({ data }) =>
      table(data.map(({ id, created_at, kind, title, deliveries }) => ({
        id,
        time: time(Date.parse(created_at)),
        kind,
        title,
        deliveries: deliveries.map(({ receiver, state, error }) =>
          `${receiver}: ${state.replace("_", " ")}${error === null ? "" : ` (${error})`}`
        ).join(", ") || null,
      }))),
  });

  operationCommand(alerts, context, ALERT_TEST, {
    name: "test",
    description: "send a test alert to receivers, and print what they reply",
    fields: { receiver: ["[receiver]", "name of the receiver (default: all)"] },
    help:
      "\nThe exit status is 1 if a delivery fails. A test alert is not kept, and not repeated; the log says who sent it.",
    opens: "new database",
    given({ options: { receiver }, config }) {
      const names = Object.keys(config.settings.alerts.receivers);
      if (receiver !== undefined && !names.includes(receiver)) {
        const known = names.join(", ") || "none";
        throw new UsageError(`unknown receiver '${receiver}'. Receivers: ${known}`);
      }
      if (names.length > 0) return {};
      throw new UsageError(
        'no receivers are configured: add one to the settings, such as "alerts": { "receivers": { "ops": { "url": "https://…", "secret": "…" } } }',
      );
    },
    text: ({ results }) =>
      table(results.map(({ receiver, ok, status, error, took_ms }) => ({
        receiver,
        result: ok ? `delivered (status ${status})` : error,
        time: `${took_ms} ms`,
      }))),
    ends({ results }) {
      const failed = results.filter(({ ok }) => !ok).length;
      if (failed > 0) throw new Error(failedText(failed, "delivery", "deliveries"));
    },
  });

  operationCommand(alerts, context, ALERT_RETRY, {
    name: "retry",
    description: "deliver again what waits or was given up; a running gateway does so within 5 s",
    fields: {
      alert: ["[id]", "alert ID (alert_…) (default: all)"],
      receiver: ["--receiver <name>", "only deliveries to this receiver (default: all)"],
    },
    text: ({ deliveries }) =>
      `${deliveries} ${deliveries === 1 ? "delivery is" : "deliveries are"} due now.\n`,
  });
}
