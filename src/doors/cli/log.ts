import type { Command } from "commander";
import { isoOf, LOG_LIST } from "../../operating/operations/mod.ts";
import { type CommandContext, type CommandParts, UsageError } from "./context.ts";
import { dateIn, instantIn, isDuration } from "../../ground/amounts/mod.ts";
import { parseDuration, table } from "./format.ts";
import { operationCommand } from "./operation_command.ts";

/** `sluice log` */
export function logCommand(program: Command, context: CommandContext): void {
  operationCommand(program, context, LOG_LIST, {
    name: "log",
    description: "list what operators changed: who, what, from where, before and after",
    fields: {
      since: [
        "--since <time>",
        "a date (2026-11-20), a time (RFC 3339), or how long ago, e.g. 7d",
        (text, _flag, { now }) => isoOf(sinceOf(text, now())),
      ],
      by: ["--by <actor>", "email address, account ID or key ID, or user of the system"],
      about: [
        "--about <object>",
        "email address, name of a team, or ID of an account, team or key",
        { find: (text, _flag, { parts }) => idOf(parts, text) },
      ],
    },
    limit: 20,
    help: "\nExamples:\n  sluice log --since 7d --by ada@example.com\n" +
      "  sluice log --about Platform --json",
    text: ({ data }) =>
      table(data.map((one) => ({
        time: `${one.at.slice(0, 19).replace("T", " ")} UTC`,
        actor: one.actor,
        from: one.address === null ? one.door : `${one.door} ${one.address}`,
        operation: one.operation,
        object: one.object_id,
        outcome: one.error ?? one.outcome,
      }))),
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
