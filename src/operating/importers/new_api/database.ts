import type { ImportPlan } from "../plan.ts";
import { readChannels } from "./channels.ts";
import { Ratios } from "./ratios.ts";
import { SourceDatabase } from "./source_database.ts";
import { readUsers, type UserOptions } from "./users.ts";

/** What a database is read with. */
export type DatabaseOptions = Omit<UserOptions, "quotaPerUsd">;

const IMPORTED = ["abilities", "channels", "options", "tokens", "users"];

/**
 * Reads a SQLite database of New-API or One-API. It may be in use, and is not changed.
 *
 * @param options Group, value of a credit, time, and who takes notices.
 * @throws {Error} If it is not such a database.
 */
export async function readNewApi(path: string, options: DatabaseOptions): Promise<ImportPlan> {
  using source = await SourceDatabase.open(path);
  const { notices } = options;
  const ratios = new Ratios(source, options);
  const { upstreams, routes } = readChannels(source, { ...options, ratios });
  const { accounts, keys } = readUsers(source, { ...options, quotaPerUsd: ratios.quotaPerUsd });
  for (const [table, count] of source.counts()) {
    if (!IMPORTED.includes(table)) {
      notices.notImported(`table ${table}`, `its ${count.toLocaleString("en-US")} rows stay there`);
    }
  }
  return { upstreams, routes, aliases: new Map(), accounts, keys };
}
