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
  ["credits show --account ada@example.com", "/credits?account=ada@example.com", ["owed"]],
  ["credits show --team Platform", "/credits?team=Platform", ["owed"]],
  ["payments list", "/orders?limit=50", ["debts"]],
  ["payments show ORDER", "/orders/ORDER"],
  ["payments dismiss ORDER", "POST /orders/ORDER/dismiss"],
  ["requests", "/requests?limit=20"],
  ["requests --failed --account ada@example.com", "/requests?failed=true&account=ada@example.com"],
  ["requests show REQUEST", "/requests/REQUEST"],
  ["codes list", "/codes?limit=500"],
  ["upstream-key list", "/upstream-keys?limit=500"],
  ["alerts list", "/alerts?limit=20"],
  ["alerts list --limit 2 --state given-up --unread", "/alerts?limit=2&state=given_up&unread=true"],
  ["usage --all --until 2100-01 --by model,key", "/usage?until=2100-01&by=model,key"],
  [
    "usage --team Platform --since 2020-01 --until 2100-01 --compare --top 1",
    "/usage?team=Platform&since=2020-01&until=2100-01&compare&top=1&by=member,model",
  ],
  ["log --limit 3 --about Platform", "/log?limit=3&about=TEAM"],
  ["team list", "/teams?limit=500"],
  ["team show Platform", "/teams/Platform", ["budgets", "members"]],
  ["team update Platform --own-keys last", "/teams/Platform", ["budgets"]],
  ["team disable Platform", "/teams/Platform"],
];

function requestOf(text: string): [method: string, path: string] {
  const [method, path] = text.split(" ");
  return path === undefined ? ["GET", method!] : [method!, path];
}

/** Values that operations reject, and the option that is named. */
const WRONG: readonly (readonly [command: string, says: string])[] = [
  ["account list --kind nobody", "--kind"],
  ["key create --models gone", "--models: Unknown model"],
  ["key create --models ,", "--models is an empty list"],
  ["key create --scopes root", "--scopes"],
  ["key list --account a@example.com --team Platform", "pass either --account or --team"],
  ["codes create --credits 5.5", "--credits must be a whole number"],
  ["codes create --package starter --valid 5d", "--valid: The package sets the lifetime"],
  ["payments list --state lost", "--state"],
  ["payments list --limit 0", "--limit must be a whole number"],
  ["payments refund ORDER --amount 4.999", "--amount must be"],
  ["credits checkout --package starter", "pass either --account or --team"],
  ["usage --by moon", "--by must be one of day, hour"],
  ["usage --by day,hour", "Cannot group by day and hour"],
  ["usage --top 0 --by key", "--top must be"],
  ["alerts list --state lost", "--state"],
  ["upstream-key set --upstream one", "pass either --account or --team"],
  ["upstream-key remove --upstream one", "pass either --account or --team"],
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
  const CODE = (await printed("codes create --credits 5 --count 2")).codes[0].id;
  await printed("credits grant --account ada@example.com --package starter --paid");
  const ORDER = (await printed("payments list")).data[0].id;
  const { headers, body } = await gateway.chat("Hi");
  await body?.cancel();
  const REQUEST = headers.get("request-id")!;
  const TEAM = (await printed("team show Platform")).id;
  const ids: Record<string, string> = { KEY, CODE, ORDER, REQUEST, TEAM };
  const named = (text: string) => text.replaceAll(/\b[A-Z]{3,}\b/g, (name) => ids[name] ?? name);
  for (const [command, path, besides = []] of SAME) {
    const shown = await printed(named(command));
    for (const name of besides) {
      assertEquals(name in shown, true, `${command}: ${name}`);
      delete shown[name];
    }
    const { status, json } = await client(...requestOf(named(path)));
    assertEquals([status, shown], [200, json], command);
    assertEquals((await run(named(command))).code, 0, command);
  }
  for (const [command, says] of WRONG) {
    const { code, err } = await run(named(command));
    assertEquals(code, 2, `${command}: ${err}`);
    assertStringIncludes(err, says);
  }
});
