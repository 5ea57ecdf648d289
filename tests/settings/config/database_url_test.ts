/** Where the database is, as settings say it. */

import { ConfigError, effectiveSettings, loadConfig } from "../../../src/settings/config/mod.ts";
import { assertEquals, assertRejects, assertStringIncludes } from "../../assert.ts";
import { tempDir } from "../../fake/temp.ts";

Deno.test("settings take a replica of PostgreSQL, and of nothing else", async () => {
  await using dir = await tempDir();
  const replica = "postgres://sluice:hunter2@b/sluice";
  const load = (url: string | undefined, replicaUrl: string) =>
    loadConfig({
      env: {
        ...(url === undefined ? {} : { SLUICE_DATABASE_URL: url }),
        SLUICE_DATABASE_REPLICA_URL: replicaUrl,
      },
      directory: dir.path,
    });
  const config = await load("postgres://a/sluice", replica);
  assertEquals(config.settings.database.replicaUrl, replica);
  assertEquals(JSON.stringify(effectiveSettings(config)).includes("hunter2"), false);
  for (
    const [url, replicaUrl, fault] of [
      [undefined, replica, "must not be set unless `database.url` is PostgreSQL"],
      ["file:/a.db", replica, "must not be set unless"],
      ["http://a", replica, "must not be set unless"],
      ["postgres://a/b", "http://sluice:hunter2@b", "must start with postgres://"],
      ["postgres://a/b", "postgres://a/b?ssl=hunter2", "must not have the parameter 'ssl'"],
    ] as const
  ) {
    const { faults } = await assertRejects(() => load(url, replicaUrl), ConfigError, fault);
    assertEquals(faults.length, 1);
    assertStringIncludes(faults[0]!, "SLUICE_DATABASE_REPLICA_URL  database.replicaUrl: ");
    assertEquals(faults[0]!.includes("hunter2"), false, faults[0]);
  }
});

Deno.test("settings take PostgreSQL, and show neither its password nor what may be one", async () => {
  await using dir = await tempDir();
  const load = (url: string) =>
    loadConfig({ env: { SLUICE_DATABASE_URL: url }, directory: dir.path });
  const config = await load("postgres://sluice:hunter2@a,b:5433/sluice?sslmode=verify-full");
  const shown = effectiveSettings(config).find(({ path }) => path === "database.url")!;
  assertStringIncludes(String(shown.value), "[secret]@a,b:5433/sluice");
  assertEquals(/hunter/.test(JSON.stringify(effectiveSettings(config))), false);
  for (
    const [url, fault] of [
      ["mysql://sluice:hunter2@a/d", "must start with file:, http://"],
      ["postgres://sluice:hunter/2@a/d", "database.url: must be postgres://[USER[:PASSWORD]@]HOST"],
      ["postgres://sluice:hun@ter?2@a/d", "percent-encoded"],
      ["postgresql://sluice:hunter2@a/d?ssl=1", "must not have the parameter 'ssl'"],
    ] as const
  ) {
    const { faults } = await assertRejects(() => load(url), ConfigError, fault);
    assertEquals(faults.length, 1);
    assertEquals(/hun|ter2/.test(faults.join()), false, faults.join());
  }
});
