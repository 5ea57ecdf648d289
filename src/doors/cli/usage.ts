import type { Command } from "commander";
import {
  BOUND_WORDS,
  type ComparedFigures,
  DIMENSIONS,
  entriesCsv,
  requestsCsv,
  usageCsv,
  usageQuery,
  type UsageReport,
} from "../../money/usage/mod.ts";
import { type Json, USAGE_REPORT } from "../../operating/operations/mod.ts";
import { type CommandContext, UsageError } from "./context.ts";
import { option } from "./define_command.ts";
import { table } from "./format.ts";
import { asCommandError } from "./operate.ts";
import { operationCommand, type OperationRun } from "./operation_command.ts";
import { reconcileCommand } from "./reconcile.ts";

/** `sluice usage` */
export function usageCommand(program: Command, context: CommandContext): void {
  const usage = operationCommand(program, context, USAGE_REPORT, {
    name: "usage",
    description: "report usage by time, model, key, account, member, team or tag",
    fields: {
      account: ["--account <email>", "keys that this account pays for (default: the owner's)"],
      team: ["--team <team>", "keys of a team, by name or ID"],
      member: ["--member <email>", "keys of teams that were made for this member"],
      key: ["--key <id>", "one key"],
      model: ["--model <id>", "one model"],
      tag: ["--tag <name=value>", "only requests with this tag"],
      by: [
        "--by <groupings>",
        `one or two of ${
          DIMENSIONS.join(", ")
        }, tag:NAME, with a comma in between (default: day; of a team member,model)`,
      ],
      since: [
        "--since <bound>",
        "beginning of the range (default: the first request; of a team the month)",
      ],
      until: ["--until <bound>", "end of the range, which is not part of it (default: now)"],
      zone: [
        "--zone <zone>",
        "time zone of days and months, such as Europe/Berlin (default: UTC)",
      ],
      compare: ["--compare", "add the period before, of the same length"],
      top: "--top <n>",
    },
    options: [
      option("--all", "all accounts"),
      option("--csv", "print the report as CSV"),
      option(
        "--requests",
        "print the requests of the range as CSV instead, as long as they are kept",
      ),
      option("--entries", "print the ledger entries of the range as CSV instead"),
    ],
    help: `\nBounds are ${BOUND_WORDS}.` +
      "\nsaved_credits is what cached input tokens saved by the prices of each charge, rounded down." +
      "\n\nExamples:\n  sluice usage --account ada@example.com --by model --since 30d --compare\n" +
      "  sluice usage --team Platform --by member\n" +
      "  sluice usage --all --by tag:project,month --since 2026-01 --csv\n" +
      "  sluice usage --all --requests --since yesterday --until today > requests.csv",
    input: inputOf,
    async instead(input, { options, parts, perform }) {
      if (options.csv) return [usageCsv(await perform(USAGE_REPORT, input))];
      if (!options.requests && !options.entries) return undefined;
      const write = options.requests ? requestsCsv : entriesCsv;
      try {
        return await write({ ...parts, now: () => parts.clock.now() }, usageQuery.parse(input));
      } catch (error) {
        throw asCommandError(error);
      }
    },
    text(report) {
      if (report.rounded) {
        context.err("sluice: roll-ups are hourly: bounds were rounded down to the hour\n");
      }
      return text(report);
    },
  });
  reconcileCommand(usage, context);
}

/** What no option gives alone. @throws {UsageError} If options do not go together. */
async function inputOf({ options, parts }: OperationRun): Promise<Json> {
  const { all, account, team, member, key, requests, by, since = "month" } = options;
  const outputs = ["csv", "requests", "entries", "json"].filter((one) => Object(options)[one]);
  if (outputs.length > 1) {
    throw new UsageError(`pass one of ${outputs.map((name) => `--${name}`).join(", ")}`);
  }
  if (all && account !== undefined) throw new UsageError("pass either --account or --all");
  return {
    // as members of a team use several models
    ...team !== undefined && !requests && {
      by: by === undefined || by === "member" ? "member,model" : by,
      since,
    },
    ...!all && [account, team, member, key].every((one) => one === undefined) &&
      { account: (await parts.owner()).email },
  };
}

function text(report: UsageReport): string {
  const { rows, totals, by, since, until, zone, previous } = report;
  const range = `${since} to ${until}${zone === "UTC" ? "" : `, days of ${zone}`}`;
  if (rows.length === 0) return `(no requests from ${range})\n`;
  const groups = rows.map(({ group, names }) =>
    Object.fromEntries(by.map((one) => [one, names[one] ?? (group[one] || null)]))
  );
  const all = table([
    ...rows.map((row, at) => ({ ...groups[at], ...shown(row) })),
    ...rows.length === 1 ? [] : [{
      ...Object.fromEntries(by.map((one, at) => [one, at === 0 ? "total" : ""])),
      ...shown(totals),
    }],
  ]);
  const failed = Object.entries(totals.failures ?? {}).toSorted(([, a], [, b]) => b - a);
  const notes = [
    `From ${range}.`,
    ...previous === undefined ? [] : [`Compared with ${previous.since} to ${previous.until}.`],
    ...failed.length === 0
      ? []
      : [`Failed: ${failed.map(([reason, count]) => `${reason} ${count}`).join(", ")}.`],
  ];
  return `${all}\n${notes.join("\n")}\n`;
}

function shown({ previous: _previous, change, failures: _failures, ...figures }: ComparedFigures) {
  const { requests, errors, input_tokens, cached_tokens, cache_hit_rate, output_tokens } = figures;
  const { saved_credits, credits, average_ms } = figures;
  return {
    requests,
    ...change && { "±%": signed(change.requests) },
    errors,
    input_tokens,
    cached_tokens,
    cache_hit_rate,
    output_tokens,
    saved_credits,
    average_ms,
    credits,
    ...change && { "± %": signed(change.credits) },
  };
}

function signed(percent: number | null): string {
  return percent === null ? "-" : percent > 0 ? `+${percent}` : String(percent);
}
