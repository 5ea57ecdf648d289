import type { Command } from "commander";
import {
  outcomeOf,
  repliedBy,
  type RequestRecord,
  requestRecord,
  shortReasonOf,
} from "../../money/usage/mod.ts";
import { REQUEST_GET, REQUEST_LIST } from "../../operating/operations/mod.ts";
import type { CommandContext } from "./context.ts";
import { table } from "./format.ts";
import { operationCommand } from "./operation_command.ts";

/** `sluice requests` and `sluice requests show` */
export function requestsCommand(program: Command, context: CommandContext): void {
  const requests = operationCommand(program, context, REQUEST_LIST, {
    name: "requests",
    description: "list the latest requests, and why they failed",
    fields: {
      account: ["--account <email>", "only requests of this account (default: all accounts)"],
      failed: ["--failed", "only requests that were not complete"],
    },
    limit: 20,
    help: "\nRequests that are rejected before they are admitted have no record: see the log." +
      "\n\nExamples:\n  sluice requests --failed\n  sluice requests show req_019a…",
    text: ({ data }) =>
      table(data.map((one) => ({
        time: timeOf(one.started_at),
        request: one.id,
        account: one.account,
        model: one.model,
        outcome: one.outcome,
        status: String(one.status),
        reason: shortReasonOf({ reason: one.reason, attemptList: one.attempt_list ?? [] }),
        ms: one.duration_ms,
      }))),
  });

  operationCommand(requests, context, REQUEST_GET, {
    name: "show",
    description: "show one request: reason, message and attempts",
    fields: { request: ["<id>", "request ID (req_…), as in the response header request-id"] },
    text: async ({ id, account }, { parts }) =>
      facts((await requestRecord(parts.database, id))!, account),
  });
}

/** To the second, as requests come faster than minutes. */
function timeOf(at: string): string {
  return `${at.slice(0, 19).replace("T", " ")} UTC`;
}

function tagsText(tags: RequestRecord["tags"]): string | null {
  if (tags === undefined) return null;
  return Object.entries(tags).map(([name, value]) => `${name}=${value}`).join(", ");
}

function facts(record: RequestRecord, email: string): string {
  const lines: [string, string | number | null][] = [
    ["request", record.requestId],
    ["account", email],
    ["key", record.keyId],
    ["started", timeOf(new Date(record.startedAtMs).toISOString())],
    ["model", record.route],
    ["dialect", `${record.dialect}${record.streamed ? ", streamed" : ""}`],
    ["upstream", repliedBy(record)],
    ["outcome", outcomeOf(record)],
    ["status", record.status],
    ["reason", record.reason],
    ["message", record.message],
    ["attempts", record.attempts],
    ["duration", `${record.durationMs} ms`],
    ["tokens", `${record.inputTokens} in, ${record.outputTokens} out`],
    ["credits", record.chargedCredits],
    ["own key", record.ownKey],
    ["tags", tagsText(record.tags)],
  ];
  const known = lines.filter(([, value]) => value !== null);
  const text = known.map(([name, value]) => `${name.padEnd(10)}${value}\n`).join("");
  if (record.attemptList === undefined) return text;
  const hasKeys = record.attemptList.some(({ key }) => key !== undefined);
  const attempts = record.attemptList.map(({ upstream, model, key, outcome, durationMs }) => ({
    upstream,
    model,
    ...(hasKeys ? { key } : {}),
    outcome,
    ms: durationMs,
  }));
  return `${text}\n${table(attempts)}`;
}
