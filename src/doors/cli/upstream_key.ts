import type { Command } from "commander";
import {
  type OwnUpstreamKey,
  upstreamKeyId,
  type UpstreamKeyOwner,
} from "../../people/accounts/mod.ts";
import {
  describeUpstreamKey,
  UPSTREAM_KEY_REMOVE,
  UPSTREAM_KEY_SET,
} from "../../operating/operations/mod.ts";
import { type CommandContext, type CommandParts, UsageError } from "./context.ts";
import { defineCommand, option, required } from "./define_command.ts";
import { table, time } from "./format.ts";
import { operate } from "./operate.ts";

interface OwnerOptions {
  readonly account?: string;
  readonly team?: string;
}

interface KeyOptions extends OwnerOptions {
  readonly upstream: string;
}

const OWNER = [
  option("--team <team>", "name or ID of the team that the key belongs to"),
  option("--account <email>", "email address of the account that the key belongs to"),
];
const UPSTREAM = required("--upstream <name>", "upstream of the settings");

/** `sluice upstream-key …` */
export function upstreamKeyCommand(program: Command, context: CommandContext): void {
  const upstreamKey = program.command("upstream-key").description(
    "manage keys of upstreams that belong to teams and accounts",
  );

  defineCommand<KeyOptions & { test: boolean }>(upstreamKey, context, {
    name: "set",
    description: "set a team's or account's own key, from standard input",
    options: [
      ...OWNER,
      UPSTREAM,
      option("--no-test", "set it without asking the upstream whether it accepts the key"),
    ],
    help:
      "\nThe key is stored encrypted. A running gateway uses it within a second, instead of an earlier one." +
      "\n\nExample:\n  sluice upstream-key set --team Platform --upstream openai < key.txt",
    opens: "database",
    async run({ options, parts, config, print }) {
      const { owner, named } = await ownerOf(parts, options);
      const { upstream, test } = options;
      const key = (await context.input("Paste the key, then press Enter and Ctrl-D:\n")).trim();
      if (key === "") throw new UsageError("no key on standard input");
      await operate({ context, parts, config }, UPSTREAM_KEY_SET, {
        ...named,
        upstream,
        key,
        test,
      });
      print(
        describeUpstreamKey((await parts.upstreamKeys.byId(upstreamKeyId(owner, upstream)))!),
        ({ hint }) =>
          `Set${hint === "" ? "" : ` …${hint}`} for ${upstream}. ` +
          "A running gateway uses it within a second.\n",
      );
    },
  });

  defineCommand<OwnerOptions>(upstreamKey, context, {
    name: "list",
    description: "list own keys by their last characters",
    options: OWNER,
    opens: "database",
    async run({ options, parts, print }) {
      const isAll = options.team === undefined && options.account === undefined;
      const found = await parts.upstreamKeys.list(
        isAll ? undefined : (await ownerOf(parts, options)).owner,
      );
      const rows = await Promise.all(found.map(async (one) => ({
        owner: await nameOf(parts, one),
        upstream: one.upstream,
        key: one.hint === "" ? "–" : `…${one.hint}`,
        set: time(one.setAtMs),
      })));
      print({ keys: found.map(describeUpstreamKey) }, () => table(rows));
    },
  });

  defineCommand<KeyOptions>(upstreamKey, context, {
    name: "remove",
    description: "remove a team's or account's own key",
    options: [...OWNER, UPSTREAM],
    opens: "database",
    async run({ options, parts, config, print }) {
      const { owner } = await ownerOf(parts, options);
      const { upstream } = options;
      const removed = await operate({ context, parts, config }, UPSTREAM_KEY_REMOVE, {
        upstream_key: upstreamKeyId(owner, upstream),
      });
      print(
        removed,
        () =>
          `Removed the key for ${upstream}. A running gateway uses it no more within a second.\n`,
      );
    },
  });
}

/** The owner that is named, also as the input of operations. @throws {UsageError} unless it is one. */
async function ownerOf(
  { accounts, teams }: CommandParts,
  { account, team }: OwnerOptions,
): Promise<{ owner: UpstreamKeyOwner; named: OwnerOptions }> {
  if ((account === undefined) === (team === undefined)) {
    throw new UsageError("pass either --team or --account");
  }
  if (team !== undefined) {
    const { id } = await teams.get(team);
    return { owner: { teamId: id }, named: { team: id } };
  }
  const { id } = await accounts.get(account!);
  return { owner: { accountId: id }, named: { account: id } };
}

async function nameOf(
  { accounts, teams }: CommandParts,
  { accountId, teamId }: OwnUpstreamKey,
): Promise<string> {
  return teamId === null
    ? (await accounts.byId(accountId!))?.email ?? accountId!
    : `team ${(await teams.byId(teamId))?.name ?? teamId}`;
}
