import type { Command } from "commander";
import {
  ACCOUNT_GET,
  TEAM_GET,
  UPSTREAM_KEY_LIST,
  UPSTREAM_KEY_REMOVE,
  UPSTREAM_KEY_SET,
} from "../../operating/operations/mod.ts";
import { type CommandContext, UsageError } from "./context.ts";
import { option } from "./define_command.ts";
import { table, time } from "./format.ts";
import { operationCommand } from "./operation_command.ts";

const TEAM = ["--team <team>", "name or ID of the team that the key belongs to"] as const;
const ACCOUNT = [
  "--account <email>",
  "email address of the account that the key belongs to",
] as const;
const UPSTREAM = ["--upstream <name>", "upstream of the settings"] as const;

/** `sluice upstream-key …` */
export function upstreamKeyCommand(program: Command, context: CommandContext): void {
  const upstreamKey = program.command("upstream-key").description(
    "manage keys of upstreams that belong to teams and accounts",
  );

  operationCommand(upstreamKey, context, UPSTREAM_KEY_SET, {
    name: "set",
    description: "set a team's or account's own key, from standard input",
    fields: {
      team: TEAM,
      account: ACCOUNT,
      upstream: UPSTREAM,
      test: ["--no-test", "set it without asking the upstream whether it accepts the key"],
    },
    unnamed: "wrong",
    help:
      "\nThe key is stored encrypted. A running gateway uses it within a second, instead of an earlier one." +
      "\n\nExample:\n  sluice upstream-key set --team Platform --upstream openai < key.txt",
    async input() {
      const key = (await context.input("Paste the key, then press Enter and Ctrl-D:\n")).trim();
      if (key === "") throw new UsageError("no key on standard input");
      return { key };
    },
    text: ({ hint, upstream }) =>
      `Set${hint === "" ? "" : ` …${hint}`} for ${upstream}. ` +
      "A running gateway uses it within a second.\n",
  });

  operationCommand(upstreamKey, context, UPSTREAM_KEY_LIST, {
    name: "list",
    description: "list own keys by their last characters",
    fields: { team: TEAM, account: ACCOUNT },
    async text({ data }, { parts: { accounts, teams } }) {
      const rows = data.map(async ({ team_id, account_id, upstream, hint, set_at }) => ({
        owner: team_id === null
          ? (await accounts.byId(account_id!))?.email ?? account_id
          : `team ${(await teams.byId(team_id))?.name ?? team_id}`,
        upstream,
        key: hint === "" ? "–" : `…${hint}`,
        set: time(Date.parse(set_at)),
      }));
      return table(await Promise.all(rows));
    },
  });

  operationCommand(upstreamKey, context, UPSTREAM_KEY_REMOVE, {
    name: "remove",
    description: "remove a team's or account's own key",
    options: [option(...TEAM), option(...ACCOUNT), option(...UPSTREAM).makeOptionMandatory()],
    unnamed: "wrong",
    async input({ options: { team, account, upstream }, perform }) {
      if (team !== undefined && account !== undefined) {
        throw new UsageError("pass either --account or --team");
      }
      const { id } = team === undefined
        ? await perform(ACCOUNT_GET, { account })
        : await perform(TEAM_GET, { team });
      return { upstream_key: `${id}:${upstream}` };
    },
    text: ({ upstream }) =>
      `Removed the key for ${upstream}. A running gateway uses it no more within a second.\n`,
  });
}
