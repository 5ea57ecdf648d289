import { foldLog, openDatabase } from "../../src/ground/database/mod.ts";
import { RULES } from "../../src/money/ledger/mod.ts";
import { dirname } from "../../src/ground/std/mod.ts";
import { tempDir } from "./temp.ts";

let bytes: Promise<Uint8Array<ArrayBuffer>> | undefined;

/**
 * Writes a database without rows to `file`, for a test that is not about the first start. It is made once for all
 * tests of a file, since that takes as long as the rest of a start.
 */
export async function writeEmptyDatabase(file: string): Promise<void> {
  bytes ??= migrated();
  await Deno.mkdir(dirname(file), { recursive: true, mode: 0o700 });
  await Deno.writeFile(file, await bytes, { createNew: true, mode: 0o600 });
}

async function migrated(): Promise<Uint8Array<ArrayBuffer>> {
  await using dir = await tempDir();
  const file = `${dir.path}/sluice.db`;
  const database = await openDatabase({ file, durability: "normal", rules: RULES, now: () => 1 });
  await foldLog(database);
  await database.close();
  return await Deno.readFile(file);
}
