import { Catalog } from "../../settings/catalog/mod.ts";
import { type Config, loadConfig, SettingsEditor } from "../../settings/config/mod.ts";
import type { CommandContext } from "./context.ts";

/**
 * Opens the settings file of a command to add to it: the one that was read, or the one that would be if it existed.
 *
 * @throws {Error} If the file is not valid JSONC.
 */
export async function editSettings({ places }: Config): Promise<SettingsEditor> {
  return await SettingsEditor.open(places.settings.path);
}

/**
 * Writes what was added to a settings file, unless the settings would have errors then.
 *
 * @throws {ConfigError} With the errors; nothing is written.
 */
export async function writeSettings(
  { env, directory }: Pick<CommandContext, "env" | "directory">,
  editor: SettingsEditor,
): Promise<void> {
  await editor.write(async (file) => {
    const { settings } = await loadConfig({ env, directory, file, serving: false });
    new Catalog(settings); // throws what config check would
  });
}
