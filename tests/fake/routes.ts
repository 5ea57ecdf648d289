import { Catalog, type Route } from "../../src/settings/catalog/mod.ts";
import { loadConfig, type SettingsInput } from "../../src/settings/config/mod.ts";
import { tempDir } from "./temp.ts";

/** A route as the gateway has it. @param routes What the settings say of routes. */
export async function routeOf(id: string, routes: SettingsInput["routes"] = {}): Promise<Route> {
  await using dir = await tempDir();
  const file = `${dir.path}/sluice.jsonc`;
  await Deno.writeTextFile(file, JSON.stringify({ routes }));
  const { settings } = await loadConfig({ env: {}, directory: dir.path, file });
  return new Catalog(settings).resolve(id);
}

/** A route with a price of a credit for each output token; nothing for input. */
export function tokenRoute(): Promise<Route> {
  const prices = { input: 0, cached: 0, output: 1_000_000 };
  return routeOf("token", {
    token: { context: 100_000, maxOutput: 50_000, minimum: 1, prices },
  });
}
