import type { Command } from "commander";
import {
  latestRecords,
  outcomeOf,
  repliedBy,
  type RequestRecord,
  requestRecord,
  shortReasonOf,
} from "../../money/usage/mod.ts";
import { describeRequest } from "../../operating/operations/mod.ts";
import type { CommandContext, CommandParts } from "./context.ts";
import { argument, defineCommand, option } from "./define_command.ts";
import { parseCount, table } from "./format.ts";

const MAX_LIMIT = 1_000;

/** `sluice requests` and `sluice requests show` */
export function requestsCommand(program: Command, context: CommandContext): void {
  const requests = defineCommand<{ account?: string; failed?: true; limit: string }>(
    program,
    context,
    {
      name: "requests",
      description: "list the latest requests, and why they failed",
      options: [
        option("--account <email>", "only requests of this account (default: all accounts)"),
        option("--failed", "only requests that were not complete"),
        option("--limit <n>", `max number of requests, up to ${MAX_LIMIT}`, "20"),
      ],
      help: "\nRequests that are rejected before they are admitted have no record: see the log." +
        "\n\nExamples:\n  sluice requests --failed\n  sluice requests show req_019a…",
      opens: "database",
      async run({ options: { account, failed = false, limit: text }, parts, print }) {
        const limit = parseCount("--limit", text, { min: 1, max: MAX_LIMIT });
        const { database, accounts } = parts;
        const accountId = account === undefined ? undefined : (await accounts.get(account)).id;
        const records = await latestRecords(database, { accountId, failed, limit });
        const emails = await emailsOf(records, parts);
        const emailOf = (one: RequestRecord) => emails.get(one.accountId) ?? one.accountId;
        print(
          records.map((one) => describeRequest(one, emailOf(one))),
          () => table(records.map((one) => row(one, emailOf(one)))),
        );
      },
    },
  );

  defineCommand<{ id: string }>(requests, context, {
    name: "show",
    description: "show one request: reason, message and attempts",
    arguments: [argument("<id>", "request ID (req_…), as in the response header request-id")],
    opens: "database",
    async run({ options: { id }, parts, print }) {
      const record = await requestRecord(parts.database, id);
      if (record === undefined) {
        throw new Error(
          `Request '${id}' not found: it was not admitted, is still in flight, or its record was ` +
            "pruned. The gateway's log has more",
        );
      }
      const email = (await emailsOf([record], parts)).get(record.accountId) ?? record.accountId;
      print(describeRequest(record, email), () => facts(record, email));
    },
  });
}

async function emailsOf(
  records: readonly RequestRecord[],
  { accounts }: CommandParts,
): Promise<ReadonlyMap<string, string>> {
  const emails = new Map<string, string>();
  for (const id of new Set(records.map(({ accountId }) => accountId))) {
    const found = await accounts.byId(id);
    if (found !== undefined) emails.set(id, found.email);
  }
  return emails;
}

/** To the second, as requests come faster than minutes. */
function timeOf({ startedAtMs }: RequestRecord): string {
  return `${new Date(startedAtMs).toISOString().slice(0, 19).replace("T", " ")} UTC`;
}

function row(record: RequestRecord, email: string) {
  return {
    time: timeOf(record),
    request: record.requestId,
    account: email,
    model: record.route,
    outcome: outcomeOf(record),
    status: String(record.status),
    reason: shortReasonOf(record),
    ms: record.durationMs,
  };
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
    ["started", timeOf(record)],
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
