import { type Command, Option } from "commander";
import { Catalog } from "../catalog/mod.ts";
import { type Grouping, GROUPINGS, usageReport } from "../usage/mod.ts";
import { settingsDrift } from "./address.ts";
import type { CommandContext } from "./context.ts";
import { defineCommand, option } from "./define_command.ts";
import { table } from "./format.ts";
import { accountOrOwner } from "./settings.ts";

/** `sluice usage` and `sluice models`. */
export function reportCommands(program: Command, context: CommandContext): void {
  defineCommand<{ account?: string; by: Grouping }>(program, context, {
    name: "usage",
    description: "show an account's usage",
    options: [
      option("--account <email>", "account email (default: owner)"),
      new Option("--by <grouping>", "group by").choices(GROUPINGS).default("day"),
    ],
    help: "\nExample:\n  sluice usage --account ada@example.com --by model",
    opens: "database",
    async run({ options: { account, by }, parts, print }) {
      const { id } = await accountOrOwner(parts, account);
      const rows = await usageReport(parts.database, { accountId: id, by });
      print(rows.map(({ group, ...rest }) => ({ [by]: group, ...rest })), table);
    },
  });

  defineCommand(program, context, {
    name: "models",
    description: "list the models with limits, prices and targets",
    opens: "settings",
    async run({ config, print }) {
      print(new Catalog(config.settings).routes, (routes) =>
        table(routes.map((route) => ({
          model: route.id,
          context: route.context,
          output: route.maxOutput,
          images: route.images,
          reasoning: route.reasoning,
          minimum: route.minimum,
          "in/cached/out per M": Object.values(route.prices).join(" / "),
          targets: route.targets.map(({ upstream, model }) => `${upstream}:${model}`).join(" → "),
        }))));
      const drift = await settingsDrift(config);
      if (drift !== undefined) context.err(`sluice: ${drift}; see sluice reload\n`);
    },
  });
}
