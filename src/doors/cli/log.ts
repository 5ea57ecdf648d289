import type { Command } from "commander";
import { logEntries, type LogEntry } from "../../people/operation_log/mod.ts";
import { describeLogEntry } from "../../operating/operations/mod.ts";
import { type CommandContext, type CommandParts, UsageError } from "./context.ts";
import { defineCommand, option } from "./define_command.ts";
import { dateIn, instantIn, isDuration } from "../../ground/amounts/mod.ts";
import { parseCount, parseDuration, table } from "./format.ts";

const MAX_LIMIT = 1_000;

interface Options {
  readonly since?: string;
  readonly by?: string;
  readonly about?: string;
  readonly limit: string;
}

/** `sluice log` */
export function logCommand(program: Command, context: CommandContext): void {
  defineCommand<Options>(program, context, {
    name: "log",
    description: "list what operators changed: who, what, from where, before and after",
    options: [
      option("--since <time>", "a date (2026-11-20), a time (RFC 3339), or how long ago, e.g. 7d"),
      option("--by <actor>", "email address, account ID or key ID, or user of the system"),
      option("--about <object>", "email address, name of a team, or ID of an account, team or key"),
      option("--limit <n>", `max number of rows, up to ${MAX_LIMIT}`, "20"),
    ],
    help: "\nExamples:\n  sluice log --since 7d --by ada@example.com\n" +
      "  sluice log --about Platform --json",
    opens: "database",
    async run({ options, parts, print }) {
      const limit = parseCount("--limit", options.limit, { min: 1, max: MAX_LIMIT });
      const entries = await logEntries(parts.database, {
        sinceMs: options.since === undefined
          ? undefined
          : sinceOf(options.since, parts.clock.now()),
        by: options.by,
        about: options.about === undefined ? undefined : await idOf(parts, options.about),
        limit,
      });
      print(entries.map(describeLogEntry), () => table(entries.map(row)));
    },
  });
}

/** The ID of what a text names; the text itself if it names nothing else. */
async function idOf({ accounts, teams }: CommandParts, text: string): Promise<string> {
  return (await accounts.find(text) ?? await teams.find(text))?.id ?? text;
}

function sinceOf(text: string, nowMs: number): number {
  if (isDuration(text)) return nowMs - parseDuration("--since", text);
  const ms = dateIn(text) ?? instantIn(text);
  if (ms !== undefined) return ms;
  throw new UsageError(
    `invalid --since '${text}': use a date (2026-11-20), a time with its zone (RFC 3339) or a duration, e.g. 7d`,
  );
}

function row({ atMs, actor, door, address, operation, outcome, error, objectId }: LogEntry) {
  return {
    time: `${new Date(atMs).toISOString().slice(0, 19).replace("T", " ")} UTC`,
    actor,
    from: address === null ? door : `${door} ${address}`,
    operation,
    object: objectId,
    outcome: error ?? outcome,
  };
}
