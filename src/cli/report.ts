import { type Command, Option } from "commander";
import { Catalog } from "../catalog/mod.ts";
import { type Grouping, GROUPINGS, usageReport } from "../usage/mod.ts";
import type { CommandContext } from "./context.ts";
import { table } from "./format.ts";
import {
  accountOrOwner,
  type PlaceOptions,
  print,
  readSettings,
  withJson,
  withParts,
  withPlace,
} from "./settings.ts";

interface Options extends PlaceOptions {
  readonly json?: boolean;
}

/** `sluice usage` and `sluice models`. */
export function reportCommands(program: Command, context: CommandContext): void {
  withJson(withPlace(
    program.command("usage").description("show an account's usage")
      .option("--account <email>", "account email (default: owner)")
      .addOption(new Option("--by <grouping>", "group by").choices(GROUPINGS).default("day")),
  )).addHelpText("after", "\nExample:\n  sluice usage --account ada@example.com --by model")
    .action((options: Options & { account?: string; by: Grouping }) =>
      withParts(context, options, async (parts) => {
        const { database } = parts;
        const { id } = await accountOrOwner(parts, options.account);
        const rows = await usageReport(database, { accountId: id, by: options.by });
        print(
          context,
          options,
          rows.map(({ group, ...rest }) => ({ [options.by]: group, ...rest })),
          table,
        );
      })
    );

  withJson(withPlace(
    program.command("models").description("list the models with limits, prices and targets"),
  )).action(async (options: Options) => {
    const { settings } = await readSettings(context, options);
    print(context, options, new Catalog(settings).routes, (routes) =>
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
  });
}
