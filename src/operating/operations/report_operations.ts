import * as z from "zod";
import {
  entriesCsv,
  latestRecords,
  ReportError,
  reportUsage,
  requestRecord,
  requestsCsv,
  usageCsv,
  type UsageParts,
  usageQuery,
  usageReportShape,
} from "../../money/usage/mod.ts";
import { DOORS, logEntries, missing, OperationError } from "../../people/operation_log/mod.ts";
import {
  accountInput,
  accountOf,
  flagInput,
  msOf,
  pageInput,
  pageOf,
  timeInput,
} from "./lookup.ts";
import { defineRead, type OperationContext } from "./operation.ts";
import { describeLogEntry, logShape } from "./shapes/log.ts";
import { describeRequest, requestShape } from "./shapes/request.ts";

export const USAGE_REPORT = defineRead({
  input: usageQuery,
  output: usageReportShape,
}, {
  name: "usage.report",
  path: "/usage",
  summary: "Report the usage of any range",
  action: "usage.read",
  read: (c, query) => reported(c, async (parts) => ({ ...await reportUsage(parts, query) })),
  csv: {
    rows: (c, query) => reported(c, async (parts) => usageCsv(await reportUsage(parts, query))),
    requests: (c, query) => reported(c, (parts) => requestsCsv(parts, query)),
    entries: (c, query) => reported(c, (parts) => entriesCsv(parts, query)),
  },
});

/** Makes a report. @throws {OperationError} If it cannot be made of what was asked. */
async function reported<T>(
  { parts: { database, accounts, teams }, nowMs }: OperationContext,
  make: (parts: UsageParts) => Promise<T>,
): Promise<T> {
  try {
    return await make({ database, accounts, teams, now: () => nowMs });
  } catch (error) {
    if (!(error instanceof ReportError)) throw error;
    const code = error.isMissing ? "not_found" : "invalid_request";
    throw new OperationError(code, error.message, { cause: error });
  }
}

export const REQUEST_LIST = defineRead({
  input: z.strictObject({
    account: accountInput.optional().describe("Account ID or email address. Default: all."),
    failed: flagInput.optional().describe("`true`: only requests that were not complete."),
    ...pageInput,
  }),
  output: requestShape,
}, {
  name: "request.list",
  path: "/requests",
  summary: "List requests, newest first",
  action: "usage.read",
  isList: true,
  async read(c, { account, failed, limit, after }) {
    const { database, accounts } = c.parts;
    const records = await latestRecords(database, {
      accountId: account === undefined ? undefined : (await accountOf(c, account)).id,
      failed: failed === "true",
      after,
      limit: limit + 1,
    });
    const known = await accounts.byIds([...new Set(records.map(({ accountId }) => accountId))]);
    return pageOf(
      records.map((one) => describeRequest(one, known.get(one.accountId)?.email ?? one.accountId)),
      limit,
    );
  },
});

export const REQUEST_GET = defineRead({
  input: z.strictObject({ request: z.string().min(1).max(100).describe("Request ID.") }),
  output: requestShape,
}, {
  name: "request.get",
  path: "/requests/{request}",
  summary: "Get a request",
  action: "usage.read",
  async read({ parts: { database, accounts } }, { request }) {
    const record = await requestRecord(database, request);
    if (record === undefined) throw missing("Request", request);
    const email = (await accounts.byId(record.accountId))?.email ?? record.accountId;
    return describeRequest(record, email);
  },
});

export const LOG_LIST = defineRead({
  input: z.strictObject({
    since: timeInput.optional(),
    until: timeInput.optional(),
    by: z.string().min(1).max(320).optional().describe(
      "Email address, account ID or key ID of the actor, or name of a user of the system.",
    ),
    about: z.string().min(1).max(400).optional().describe(
      "ID of an account, a team, a key or another object.",
    ),
    operation: z.string().max(100).optional().describe("Such as `key.create`."),
    door: z.enum(DOORS).optional(),
    outcome: z.enum(["done", "failed"]).optional(),
    ...pageInput,
  }),
  output: logShape,
}, {
  name: "log.list",
  path: "/log",
  summary: "List the log of operations, newest first",
  action: "log.read",
  isList: true,
  async read({ parts: { database } }, { since, until, limit, ...filter }) {
    const entries = await logEntries(database, {
      ...filter,
      sinceMs: msOf(since),
      untilMs: msOf(until),
      limit: limit + 1,
    });
    return pageOf(entries.map(describeLogEntry), limit);
  },
});
