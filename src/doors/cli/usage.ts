import type { Command } from "commander";
import type * as z from "zod";
import {
  BOUND_WORDS,
  type ComparedFigures,
  DIMENSIONS,
  entriesCsv,
  ReportError,
  reportUsage,
  requestsCsv,
  usageCsv,
  type UsageQuery,
  usageQuery,
  type UsageReport,
  type UsageRow,
} from "../../money/usage/mod.ts";
import { type CommandContext, type CommandParts, UsageError } from "./context.ts";
import { defineCommand, option } from "./define_command.ts";
import { table } from "./format.ts";
import { reconcileCommand } from "./reconcile.ts";
import { accountOrOwner } from "./settings.ts";

interface UsageOptions {
  readonly account?: string;
  readonly team?: string;
  readonly member?: string;
  readonly key?: string;
  readonly model?: string;
  readonly tag?: string;
  readonly all?: true;
  readonly by?: string;
  readonly since?: string;
  readonly until?: string;
  readonly zone?: string;
  readonly compare?: true;
  readonly top?: string;
  readonly csv?: true;
  readonly requests?: true;
  readonly entries?: true;
  readonly json?: boolean;
}

/** `sluice usage` */
export function usageCommand(program: Command, context: CommandContext): void {
  const usage = defineCommand<UsageOptions>(program, context, {
    name: "usage",
    description: "report usage by time, model, key, account, member, team or tag",
    options: [
      option("--account <email>", "keys that this account pays for (default: the owner's)"),
      option("--team <team>", "keys of a team, by name or ID"),
      option("--member <email>", "keys of teams that were made for this member"),
      option("--key <id>", "one key"),
      option("--all", "all accounts"),
      option("--model <id>", "one model"),
      option("--tag <name=value>", "only requests with this tag"),
      option(
        "--by <groupings>",
        `one or two of ${
          DIMENSIONS.join(", ")
        }, tag:NAME, with a comma in between (default: day; of a team member,model)`,
      ).argParser(checkGroupings),
      option(
        "--since <bound>",
        "beginning of the range (default: the first request; of a team the month)",
      ),
      option("--until <bound>", "end of the range, which is not part of it (default: now)"),
      option("--zone <zone>", "time zone of days and months, such as Europe/Berlin (default: UTC)"),
      option("--compare", "add the period before, of the same length"),
      option("--top <n>", "only the groups of most credits; all others are one row"),
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
    opens: "database",
    async run({ options, parts, print }) {
      const usageParts = { ...parts, now: () => parts.clock.now() };
      try {
        const query = await queryOf(options, parts);
        if (options.requests || options.entries) {
          const write = options.requests ? requestsCsv : entriesCsv;
          for await (const piece of await write(usageParts, query)) context.out(piece);
          return;
        }
        const report = await reportUsage(usageParts, query);
        if (options.csv) return context.out(usageCsv(report));
        print(report.rows.map((row) => plain(row)), () => text(report));
        if (report.rounded && !options.json) {
          context.err("sluice: roll-ups are hourly: bounds were rounded down to the hour\n");
        }
      } catch (error) {
        if (!(error instanceof ReportError)) throw error;
        const message = error.message.replace(/\.$/, "");
        throw error.isMissing ? new Error(message) : new UsageError(message);
      }
    },
  });
  reconcileCommand(usage, context);
}

/** Before the database is opened. */
function checkGroupings(text: string): string {
  const { success, error } = usageQuery.shape.by.safeParse(text);
  if (success) return text;
  throw new UsageError(`invalid --by '${text}': ${wordsOf(error)}`);
}

/** @throws {UsageError} If options are not valid, or do not go together. */
async function queryOf(options: UsageOptions, parts: CommandParts): Promise<UsageQuery> {
  const { all, csv, requests, entries, json, account, team, member, key } = options;
  const outputs = Object.entries({ csv, requests, entries, json }).filter(([, is]) => is === true);
  if (outputs.length > 1) {
    throw new UsageError(`pass one of ${outputs.map(([name]) => `--${name}`).join(", ")}`);
  }
  const nouns = [account, team, member, key].filter((one) => one !== undefined);
  if (all && account !== undefined) throw new UsageError("pass either --account or --all");
  if (team !== undefined && account !== undefined) {
    throw new UsageError("pass either --account or --team");
  }
  const names = Object.keys(usageQuery.shape);
  const given = Object.fromEntries(
    Object.entries(options).filter(([name, value]) => names.includes(name) && value !== undefined),
  );
  // as members of a team use several models
  const byTeam = options.by === undefined || options.by === "member" ? "member,model" : options.by;
  const { success, data, error } = usageQuery.safeParse({
    ...given,
    ...team !== undefined && !requests && { by: byTeam, since: options.since ?? "month" },
    ...nouns.length === 0 && !all && { account: (await accountOrOwner(parts, undefined)).email },
  });
  if (success) return data;
  const [issue] = error.issues;
  const name = String(issue?.path[0] ?? "");
  throw new UsageError(`invalid --${name} '${Object(given)[name] ?? ""}': ${wordsOf(error)}`);
}

function wordsOf({ issues: [issue] }: z.ZodError): string {
  if (issue?.code === "too_small" && issue.origin === "string") return "must not be empty";
  return issue?.code === "too_big" || issue?.code === "too_small"
    ? issue.message.replace(/^(Too \w+: )?expected \w+/, "must be")
    : issue?.message ?? "";
}

/** Groupings by IDs that people know by another name. */
const NAMED = ["account", "member", "team"];

/** A row as JSON has it. */
function plain({ group, names, isOthers, ...figures }: UsageRow) {
  const { previous, change, failures, ...sums } = figures;
  return {
    ...Object.fromEntries(
      Object.entries(group).flatMap(([by, id]): [string, string | null][] => {
        const name = names[by];
        if (by === "key" && name !== undefined) return [[by, id], ["key_name", name]];
        if (!NAMED.includes(by) || isOthers && name === undefined) return [[by, id]];
        return [[by, id === "" ? null : name ?? id], [`${by}_id`, id === "" ? null : id]];
      }),
    ),
    ...sums,
    ...failures === undefined ? {} : { failures },
    ...previous === undefined ? {} : { previous, change },
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
