import { type Command, Option } from "commander";
import { describeTargets, type Route } from "../catalog/mod.ts";
import {
  cacheHitRate,
  GROUPINGS,
  monthStart,
  TEAM_GROUPINGS,
  type TeamGrouping,
  teamReport,
  usageReport,
} from "../usage/mod.ts";
import { settingsDrift } from "./address.ts";
import { servedCatalog } from "./served_catalog.ts";
import { type CommandContext, type CommandParts, UsageError } from "./context.ts";
import { defineCommand, option } from "./define_command.ts";
import { table } from "./format.ts";
import { modelsSyncCommand } from "./models_sync.ts";
import { accountOrOwner } from "./settings.ts";

/** `sluice usage`, `sluice models` and `sluice models sync`. */
export function reportCommands(program: Command, context: CommandContext): void {
  defineCommand<{ account?: string; team?: string; by?: string }>(program, context, {
    name: "usage",
    description: "show the usage of an account, or of a team this month",
    options: [
      option("--account <email>", "account email (default: owner)"),
      option("--team <team>", "name or ID of a team: what its keys used this month (UTC)"),
      new Option("--by <grouping>", "group by (default: day; member of a team)").choices(
        [...new Set([...GROUPINGS, ...TEAM_GROUPINGS])],
      ),
    ],
    help:
      "\nsaved_credits is what cached input tokens saved by the prices of each charge, rounded down." +
      "\n\nExample:\n  sluice usage --account ada@example.com --by model\n" +
      "  sluice usage --team Platform --by member",
    opens: "database",
    async run({ options: { account, team, by: asked }, parts, print }) {
      if (team !== undefined) {
        if (account !== undefined) throw new UsageError("pass either --account or --team");
        const by = TEAM_GROUPINGS.find((one) => one === asked) ?? "member";
        return print(await teamRows(parts, team, by), table);
      }
      const by = GROUPINGS.find((one) => one === (asked ?? "day"));
      if (by === undefined) throw new UsageError(`--by ${asked} goes with --team`);
      const { id } = await accountOrOwner(parts, account);
      const rows = await usageReport(parts.database, { accountId: id, by });
      print(
        rows.map(({ group, requests, errors, input_tokens, cached_tokens, ...rest }) => ({
          [by]: group,
          requests,
          errors,
          input_tokens,
          cached_tokens,
          cache_hit_rate: cacheHitRate({ input_tokens, cached_tokens }),
          ...rest,
        })),
        table,
      );
    },
  });

  const models = defineCommand(program, context, {
    name: "models",
    description: "list the models with limits, prices and targets",
    opens: "settings",
    serving: false,
    async run({ config, print }) {
      const catalog = await servedCatalog(config, context);
      print(catalog.routes, (routes) => {
        const guessed = routes.filter(({ origin }) => origin === "guess").map(({ id }) => id);
        return table(routes.map(modelRow)) + guessNote(guessed);
      });
      for (const warning of catalog.warnings) context.err(`sluice: ${warning}\n`);
      const drift = await settingsDrift(config);
      if (drift !== undefined) context.err(`sluice: ${drift.text}: ${drift.advice}\n`);
    },
  });
  modelsSyncCommand(models, context);
}

/** What a team's keys used this month; by member, with a row for each model of a member. */
async function teamRows(parts: CommandParts, name: string, by: TeamGrouping) {
  const { accounts, clock, database, teamKeys, teams } = parts;
  const team = await teams.get(name);
  const keys = await teamKeys.list(team);
  const sinceMs = monthStart(clock.now());
  const rows = await teamReport(database, { team, keys, by, sinceMs });
  const ids = new Set(rows.map(({ memberId }) => memberId));
  const emails = new Map<string | null, string>();
  for (const id of ids) if (id !== null) emails.set(id, (await accounts.byId(id))?.email ?? id);
  if (by !== "member") {
    return rows.map(({ group, memberId: _none, ...sums }) => ({ [by]: group, ...sums }));
  }
  return rows.map(({ group, memberId, ...sums }) => ({
    member: emails.get(memberId) ?? null,
    model: group,
    ...sums,
  })).toSorted((a, b) => (a.member ?? "").localeCompare(b.member ?? ""));
}

/** A model as a row of a table. */
export function modelRow(route: Route) {
  const isGeneration = route.kind === "generation";
  return {
    model: route.id,
    context: route.context,
    output: isGeneration ? route.maxOutput : null,
    images: isGeneration ? route.images : null,
    reasoning: isGeneration ? route.reasoning : null,
    minimum: route.minimum,
    "in/cached/out per M": isGeneration
      ? Object.values(route.prices).join(" / ")
      : String(route.prices.input),
    kind: route.kind,
    from: route.origin,
    targets: describeTargets(route.targets),
  };
}

function guessNote(guessed: readonly string[]): string {
  if (guessed.length === 0) return "";
  const names = guessed.slice(0, 3).join(", ") + (guessed.length > 3 ? ", …" : "");
  return `\nNothing is known about ${names}: limits and prices marked "guess" are cautious. Set them in routes.\n`;
}
