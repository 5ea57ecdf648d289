/** What a gateway notes of its disk and its targets each time it looks, in a database without a gateway. */

import { Alerts } from "../../../src/operating/alerts/mod.ts";
import { diskSpace } from "../../../src/operating/alerts/disk.ts";
import { conditionsOf } from "../../../src/operating/alerts/conditions.ts";
import { Accounts, Keys, Teams } from "../../../src/people/accounts/mod.ts";
import { openDatabase } from "../../../src/ground/database/mod.ts";
import { Metrics, SILENT } from "../../../src/ground/telemetry/mod.ts";
import { RULES } from "../../../src/money/ledger/mod.ts";
import type { UpstreamState } from "../../../src/requests/upstreams/mod.ts";
import { settings } from "../../../src/settings/config/mod.ts";
import { assert, assertEquals } from "../../assert.ts";
import { writeEmptyDatabase } from "../../fake/empty_database.ts";
import { tempDir } from "../../fake/temp.ts";

const FULL = { freeBytes: 0, allBytes: 1e12 };
const EMPTY = { freeBytes: 1e12, allBytes: 1e12 };
const OPEN = {
  name: "up",
  failingModels: ["m"],
  lastFailure: { detail: "status 500" },
} as unknown as UpstreamState;
const CLOSED = { ...OPEN, failingModels: [] } as unknown as UpstreamState;

Deno.test("a disk that is nearly full and open circuits are noted; a disk of unknown size keeps nothing else from it", async () => {
  await using directory = await tempDir();
  const file = `${directory.path}/sluice.db`;
  await writeEmptyDatabase(file);
  const now = () => 5;
  const database = await openDatabase({ file, durability: "normal", rules: RULES, now });
  const parts = [database, now] as const;
  const noted = async (
    space: () => Promise<typeof FULL>,
    upstreams: readonly UpstreamState[],
  ) => {
    await database.batch([{ sql: "delete from alert_conditions" }]);
    const alerts = new Alerts({
      database,
      accounts: new Accounts(...parts),
      keys: new Keys(...parts),
      teams: new Teams(...parts),
      served: () => ({ routes: [], settings: "", disputes: () => [] }),
      aside: (work) => work(database),
      settings: () => settings.parse({}).alerts,
      resolve: () => Promise.resolve([]),
      log: SILENT,
      metrics: new Metrics(() => {
        throw new Error("not read");
      }),
      now,
      directory: "/data",
      upstreams: () => Promise.resolve(upstreams),
      times: { diskSpace: space },
    });
    await alerts.watch.see();
    await alerts.close();
    await alerts.close(); // a second time without effect
    return (await conditionsOf(database)).map(({ name }) => name);
  };
  const unknown = () => Promise.reject(new Error("no statfs here"));
  for (const [upstreams, circuits] of [[[OPEN], ["circuit:up/m"]], [[CLOSED], []]] as const) {
    assertEquals(await noted(() => Promise.resolve(FULL), upstreams), [...circuits, "disk:/data"]);
    assertEquals(await noted(() => Promise.resolve(EMPTY), upstreams), [...circuits]);
    assertEquals(await noted(unknown, upstreams), [...circuits]);
  }
  await database.close();
  const { freeBytes, allBytes } = await diskSpace(directory.path);
  assert(freeBytes >= 0 && allBytes > 0 && freeBytes <= allBytes);
});
