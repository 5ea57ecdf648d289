import type { Command } from "commander";
import { compareWithKnown, DEFAULT_UPSTREAM } from "../../settings/catalog/mod.ts";
import {
  type Config,
  type EffectiveSetting,
  effectiveSettings,
  settingsJsonSchema,
  settingsReference,
} from "../../settings/config/mod.ts";
import { configuredUpstreams } from "../../requests/upstreams/mod.ts";
import type { CommandContext } from "./context.ts";
import { defineCommand, option } from "./define_command.ts";
import { table } from "./format.ts";
import { servedModels } from "./served_catalog.ts";
import { settingsPlaceText } from "./local_places.ts";

/** `sluice config …` */
export function configCommand(program: Command, context: CommandContext): void {
  const group = program.command("config").description("check and show the settings");

  defineCommand(group, context, {
    name: "check",
    description: "validate the settings",
    opens: "settings",
    serving: false,
    namesPlaces: true,
    async run({ config, print }) {
      const { catalog, listings } = await servedModels(config, { ...context, ask: false });
      const { routes, warnings } = catalog;
      const value = {
        ok: true,
        file: config.file ?? null,
        data: config.settings.data,
        routes: routes.length,
        warnings: [
          ...config.warnings,
          ...config.missingVariables.map((name) =>
            `environment variable ${name} is not set here; the gateway needs it`
          ),
          ...warnings,
          ...compareWithKnown(catalog, config.settings, listings),
        ],
      };
      print(
        value,
        ({ file, data, warnings }) =>
          `Settings OK (${
            file ?? "no settings file"
          }; ${routes.length} routes; data in ${data}).\n` +
          warnings.map((warning) => `Warning: ${warning}\n`).join(""),
      );
    },
  });

  defineCommand(group, context, {
    name: "show",
    description: "show the effective settings and their origins; secrets are masked",
    opens: "settings",
    serving: false,
    namesPlaces: true,
    run({ config, print }) {
      print(
        [...effectiveSettings(config), ...quirksOf(config)],
        (all) =>
          `Settings file: ${settingsPlaceText(config)}\n\n` +
          table(all.map(({ path, value, origin }) => ({
            setting: path,
            from: origin,
            // the last column: lists of it are wider than a terminal
            value: typeof value === "object" ? JSON.stringify(value) : String(value),
          }))),
      );
    },
  });

  defineCommand<{ markdown?: boolean }>(group, context, {
    name: "schema",
    description: "print the JSON Schema of the settings file, for editors",
    options: [option("--markdown", "print a Markdown table instead")],
    help: "\nExample:\n  sluice config schema > sluice.schema.json",
    run({ options: { markdown } }) {
      context.out(
        markdown ? settingsReference() : `${JSON.stringify(settingsJsonSchema(), null, 2)}\n`,
      );
    },
  });
}

/** Quirks that follow from the host name of an upstream. */
function quirksOf({ settings }: Config): EffectiveSetting[] {
  return Object.entries(configuredUpstreams(settings)).flatMap(([name, { quirks }]) => {
    const isOnlyOne = name === DEFAULT_UPSTREAM;
    const own = isOnlyOne ? settings.upstream : settings.upstreams[name];
    if (quirks === undefined || own?.quirks !== undefined) return [];
    const path = isOnlyOne ? "upstream.quirks" : `upstreams.${name}.quirks`;
    return [{ path, value: quirks, origin: "host name" }];
  });
}
