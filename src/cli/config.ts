import type { Command } from "commander";
import { Catalog } from "../catalog/mod.ts";
import { effectiveSettings, settingsJsonSchema, settingsReference } from "../config/mod.ts";
import type { CommandContext } from "./context.ts";
import { table } from "./format.ts";
import { type PlaceOptions, print, readSettings, withJson, withPlace } from "./settings.ts";

interface Options extends PlaceOptions {
  readonly json?: boolean;
}

/** `sluice config …` */
export function configCommand(program: Command, context: CommandContext): void {
  const config = program.command("config").description("check and show the settings");

  withJson(withPlace(config.command("check").description("validate the settings")))
    .action(async (options: Options) => {
      const loaded = await readSettings(context, options);
      const { routes, warnings } = new Catalog(loaded.settings);
      const value = {
        ok: true,
        file: loaded.file ?? null,
        routes: routes.length,
        warnings: [...loaded.warnings, ...warnings],
      };
      print(
        context,
        options,
        value,
        ({ file, warnings }) =>
          `Settings OK (${file ?? "no settings file"}; ${routes.length} routes).\n` +
          warnings.map((warning) => `Warning: ${warning}\n`).join(""),
      );
    });

  withJson(withPlace(
    config.command("show").description(
      "show the effective settings and their origins; secrets are masked",
    ),
  )).action(async (options: Options) => {
    const effective = effectiveSettings(await readSettings(context, options));
    print(context, options, effective, (all) =>
      table(all.map(({ path, value, origin }) => ({
        setting: path,
        value: typeof value === "object" ? JSON.stringify(value) : String(value),
        from: origin,
      }))));
  });

  withJson(
    config.command("schema").description("print the JSON Schema of the settings file, for editors"),
  )
    .option("--markdown", "print a Markdown table instead")
    .addHelpText("after", "\nExample:\n  sluice config schema > sluice.schema.json")
    .action(({ markdown }: { markdown?: boolean }) =>
      context.out(
        markdown ? settingsReference() : `${JSON.stringify(settingsJsonSchema(), null, 2)}\n`,
      )
    );
}
