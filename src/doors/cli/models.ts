import type { Command } from "commander";
import { describeTargets, type Route } from "../../settings/catalog/mod.ts";
import { settingsDrift } from "./address.ts";
import { servedCatalog } from "./served_catalog.ts";
import type { CommandContext } from "./context.ts";
import { defineCommand } from "./define_command.ts";
import { table } from "./format.ts";
import { modelsSyncCommand } from "./models_sync.ts";
import { upstreamDrift } from "./tool_models.ts";

/** `sluice models` and `sluice models sync`. */
export function modelsCommands(program: Command, context: CommandContext): void {
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
      const drift = await settingsDrift(config) ?? await upstreamDrift(config);
      if (drift !== undefined) context.err(`sluice: ${drift.text}: ${drift.advice}\n`);
    },
  });
  modelsSyncCommand(models, context);
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
