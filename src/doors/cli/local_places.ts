import { type Config, type Place, userDirectory } from "../../settings/config/mod.ts";
import { writeFile } from "../../ground/files/mod.ts";
import { joinPath } from "../../ground/std/mod.ts";
import type { CommandContext } from "./context.ts";

/** In the user's state directory: the places of which somebody was told, one a line. */
const NOTICED = "noticed";

/**
 * Tells the user, once for each place, that a command uses settings or a database of the working directory: they
 * may have come with somebody else's repository.
 */
export async function noticeLocalPlaces(context: CommandContext, config: Config): Promise<void> {
  const own = userDirectory("state", context);
  if (own === undefined) return; // a service's directory is its own
  const { settings, data } = config.places;
  const notices: [Place, string][] = [
    [settings, "the settings of this directory"],
    [
      data,
      `an older data directory, ./data. New ones are kept in ${own}, the same for every directory; ` +
      "to move this one, stop the gateway and rename ./data to that path",
    ],
  ];
  for (const [{ path, isLocal }, text] of notices) {
    if (!isLocal || (path === settings.path && config.file === undefined)) continue;
    if (await remembers(own, path)) continue;
    context.err(`sluice: using ${text} (${path})\n`);
    await remember(own, path);
  }
}

/** Where the settings come from, for the start-up text. */
export function settingsPlaceText({ file, places: { settings } }: Config): string {
  return file === undefined
    ? `none; sluice init writes ${settings.path}`
    : `${file} (${settings.why})`;
}

async function remembers(own: string, path: string): Promise<boolean> {
  const text = await Deno.readTextFile(joinPath(own, NOTICED)).catch(() => "");
  return text.split("\n").includes(path);
}

/** A directory that cannot be written means that the next command tells it again. */
async function remember(own: string, path: string): Promise<void> {
  try {
    await Deno.mkdir(own, { recursive: true, mode: 0o700 });
    const file = joinPath(own, NOTICED);
    const before = await Deno.readTextFile(file).catch(() => "");
    await writeFile(file, `${before}${path}\n`, { mode: 0o600 });
  } catch {
    // told again
  }
}
