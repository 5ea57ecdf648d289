/** Commands that are made from operations: `--json` prints what the operator's API replies, and a fault names the option. */

import { assertEquals, assertStringIncludes } from "../../assert.ts";
import { ownersClient } from "../../fake/admin_client.ts";
import { startGateway } from "../../fake/gateway.ts";
import { keptOpen } from "../../fake/kept_open.ts";
import { sluice } from "../../fake/shell.ts";

/** Commands, and the requests that read the same. `KEY` and others are IDs of the place. */
const SAME: readonly (readonly [command: string, path: string, besides?: readonly string[]])[] = [
  ["account list", "/accounts?limit=500"],
  ["account list --kind pool", "/accounts?limit=500&kind=pool"],
  ["account show ada@example.com", "/accounts/ada@example.com", ["budgets"]],
  ["key list --account ada@example.com", "/keys?limit=500&account=ada@example.com"],
  ["key list --team Platform --all", "/keys?limit=500&team=Platform&all=true"],
  ["key update KEY --budget 50 --reset daily", "/keys/KEY"],
  ["key update KEY --name desk --expires never", "/keys/KEY"],
  ["key revoke KEY", "/keys/KEY"],
  ["team list", "/teams?limit=500"],
  ["team show Platform", "/teams/Platform", ["budgets", "members"]],
  ["team update Platform --own-keys last", "/teams/Platform", ["budgets"]],
  ["team disable Platform", "/teams/Platform"],
];

/** Values that operations reject, and the option that is named. */
const WRONG: readonly (readonly [command: string, says: string])[] = [
  ["account list --kind nobody", "--kind"],
  ["key create --models gone", "--models: Unknown model"],
  ["key create --models ,", "empty list"],
  ["key create --scopes root", "--scopes"],
  ["key list --account a@example.com --team Platform", "pass either --account or --team"],
  ["key rotate KEY --keep 91d", "--keep must be"],
  ["key rotate KEY --keep 1.5h", "--keep must be"],
];

Deno.test("commands from operations print what the API replies, and name the option of a wrong value", async () => {
  await using gateway = await startGateway();
  await using kept = keptOpen();
  const client = await ownersClient(gateway);
  const run = (command: string) =>
    sluice([...command.split(" "), "--config", `${gateway.directory}/sluice.jsonc`], {
      directory: gateway.directory,
      openParts: kept.openParts,
    });
  const printed = async (command: string) => {
    const { code, out, err } = await run(`${command} --json`);
    assertEquals([code, err], [0, ""], command);
    return JSON.parse(out);
  };
  await printed("account create --email ada@example.com --name Ada");
  await printed("team create --name Platform");
  const { id: KEY } = await printed(
    "key create --account ada@example.com --name laptop --expires 3d",
  );
  const ids: Record<string, string> = { KEY };
  const named = (text: string) => text.replaceAll(/\b[A-Z]{3,}\b/g, (name) => ids[name] ?? name);
  for (const [command, path, besides = []] of SAME) {
    const shown = await printed(named(command));
    for (const name of besides) {
      assertEquals(name in shown, true, `${command}: ${name}`);
      delete shown[name];
    }
    const { status, json } = await client("GET", named(path));
    assertEquals([status, shown], [200, json], command);
    assertEquals((await run(named(command))).code, 0, command);
  }
  for (const [command, says] of WRONG) {
    const { code, err } = await run(named(command));
    assertEquals(code, 2, `${command}: ${err}`);
    assertStringIncludes(err, says);
  }
});
