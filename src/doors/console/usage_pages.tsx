import { can, type Session } from "../../people/accounts/mod.ts";
import { issueWords } from "../../ground/issue_words.ts";
import { STATUS_CODE } from "../../ground/std/mod.ts";
import {
  entriesCsv,
  ReportError,
  reportUsage,
  requestsCsv,
  usageCsv,
  type UsageParts,
  type UsageQuery,
  usageQuery,
  type UsageReport,
  type UsageScope,
} from "../../money/usage/mod.ts";
import { UsagePage } from "./pages/usage.tsx";
import { type ChartProps, MAX_SERIES } from "./chart.tsx";
import { type ConsoleParts, page, pageOf, type PageRequest } from "./request.tsx";
import { csvReply } from "./csv_reply.ts";
import { type GuardedApp, may } from "./guard.ts";
import { groupName, reportChart, spanFor } from "./usage_chart.ts";
import type { UsageChoices } from "./usage_choices.tsx";

const MAX_CHARS = 200;
/** What the form calls the parts of an address. */
const CHOICE_NAMES: Readonly<Record<string, string>> = {
  by: "Group by",
  since: "From",
  until: "Before",
  zone: "Time zone",
  tag: "Tag",
};

/** What a page is asked for, and what of it the visitor may see. */
interface Wanted {
  readonly choices: UsageChoices;
  readonly query: UsageQuery;
  readonly scope: UsageScope;
}

/** Adds the usage of the visitor's account; of all accounts for those who may see it. */
export function usageRoutes(app: GuardedApp, parts: ConsoleParts): void {
  app.get(
    "/console/usage",
    may("self.use", async (c, session) => {
      const choices = choicesOf(c);
      const isOfTeam = can(session, "team.usage", { teamId: choices.team });
      const shown = {
        page: pageOf(c),
        nowMs: parts.now(),
        choices,
        team: isOfTeam ? await parts.teams.byId(choices.team) : undefined,
        seesAll: can(session, "usage.read"),
        lastMonth: monthsUntil(parts.now()),
      };
      const show = (
        more: { report: UsageReport | undefined; chart?: ChartProps | undefined; error?: string },
        status = 200,
      ) => page(c, <UsagePage {...shown} {...more} />, status);
      try {
        const wanted = wantedBy(choices, session);
        const report = await reportUsage(parts, wanted.query, wanted.scope, { reasons: "totals" });
        return await show({ report, chart: await chartOf(parts, wanted, report) });
      } catch (error) {
        if (!(error instanceof ReportError)) throw error;
        return await show({ report: undefined, error: error.message }, STATUS_CODE.BadRequest);
      }
    }),
  );
  const addCsv = (
    path: string,
    make: (wanted: Wanted) => Promise<[text: string | AsyncGenerator<string>, file: string]>,
  ) =>
    app.get(
      path,
      may("self.use", async (c, session) => {
        try {
          const [text, file] = await make(wantedBy(choicesOf(c), session));
          return csvReply(file, text);
        } catch (error) {
          if (!(error instanceof ReportError)) throw error;
          return c.text(`${error.message}\n`, STATUS_CODE.BadRequest);
        }
      }),
    );
  addCsv("/console/usage.csv", async ({ query, scope }) => {
    const report = await reportUsage(parts, query, scope, { reasons: "rows" });
    return [usageCsv(report), `usage-by-${query.by.join("-").replaceAll(":", "-")}.csv`];
  });
  addCsv("/console/usage/requests.csv", async ({ query, scope }) => {
    // what a lead may see is what members spent, not each of their requests
    if (scope.teamId !== undefined) {
      throw new ReportError("Requests are shown to those who made them.");
    }
    return [await requestsCsv(parts, query, scope), "requests.csv"];
  });
  addCsv(
    "/console/usage/entries.csv",
    async ({ query, scope }) => [await entriesCsv(parts, query, scope), "entries.csv"],
  );
}

/** Groups by time, too, what the page has by a noun only, and adds the period before if it is compared. */
async function chartOf(
  parts: UsageParts,
  { query, scope }: Wanted,
  report: UsageReport,
): Promise<ChartProps | undefined> {
  const { previous } = report;
  const { by } = query;
  const named = by.find((one) => one === "hour" || one === "day" || one === "month");
  if (by.length > 2 || (named === undefined && by.length > 1)) return undefined;
  if (by.includes("tag:session")) return undefined; // sessions are only in the records
  const span = named ?? spanFor(report);
  if (span === undefined) return undefined;
  const topGroups = report.rows.flatMap(({ group, isOthers }) =>
    isOthers ? [] : group[by[0]!] ?? []
  );
  const overTime = named !== undefined ? report : await reportUsage(
    parts,
    // others are one series: a thousand keys by 90 days are more groups than a report may have
    { ...query, by: [span, ...by], compare: false, top: query.top ?? MAX_SERIES },
    scope,
    { reasons: "none", topGroups },
  );
  const before = previous === undefined ? undefined : await reportUsage(
    parts,
    {
      ...query,
      by: by.includes("reason") ? [span, "reason"] : [span], // of failed requests only, as the report
      since: previous.since,
      until: previous.until,
      compare: false,
      top: undefined,
    },
    scope,
    { reasons: "none" },
  );
  const noun = by.find((one) => one !== named);
  const labels = noun === undefined
    ? []
    : report.rows.filter(({ isOthers }) => !isOthers).map((row) =>
      [row.group[noun] ?? "", groupName(row, noun)] as const
    );
  return reportChart(overTime, before, new Map(labels));
}

/** The UTC month before that of a time, and that of the time, as bounds of a report. */
function monthsUntil(nowMs: number): readonly [since: string, until: string] {
  const now = new Date(nowMs);
  const before = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - 1));
  return [before.toISOString().slice(0, 7), now.toISOString().slice(0, 7)];
}

function choicesOf(c: PageRequest): UsageChoices {
  const text = (name: string) => (c.req.query(name) ?? "").trim().slice(0, MAX_CHARS);
  const by = text("by") || "day";
  return {
    by,
    since: text("since") || (by.split(",").includes("hour") ? "48h" : "30d"),
    until: text("until"),
    zone: text("zone"),
    tag: text("tag"),
    team: text("team"),
    account: text("account"),
    compare: text("compare") === "1",
    all: text("all") === "1",
  };
}

/**
 * Says what the visitor may see of what the address asks for: a lead sees their team, by its ID.
 *
 * @throws {ReportError} If the address asks for what does not exist, or for a team that the visitor may not see.
 */
function wantedBy(choices: UsageChoices, session: Session): Wanted {
  const { all, compare, account, team, ...texts } = choices;
  const seesAll = can(session, "usage.read");
  const teamId = seesAll || team === "" ? undefined : team;
  if (teamId !== undefined && !can(session, "team.usage", { teamId })) {
    throw new ReportError(
      "You can see your own usage, and that of teams that you lead: open it from the team's page.",
    );
  }
  const named = Object.entries({ ...texts, ...seesAll ? { account, team } : {} })
    .filter(([, value]) => value !== "");
  const { success, data: query, error } = usageQuery.safeParse({
    ...Object.fromEntries(named),
    compare,
  }, { error: issueWords });
  if (!success) {
    const [issue] = error.issues;
    const name = String(issue?.path[0]);
    throw new ReportError(`${CHOICE_NAMES[name] ?? name}: ${issue?.message}.`);
  }
  const isOfOthers = seesAll && (all || account !== "" || team !== "");
  const scope = isOfOthers
    ? {}
    : teamId === undefined
    ? { accountId: session.account.id }
    : { teamId };
  return { choices, query, scope };
}
