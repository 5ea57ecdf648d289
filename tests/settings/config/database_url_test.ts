/** Where the database is, as settings say it. */

import { ConfigError, effectiveSettings, loadConfig } from "../../../src/settings/config/mod.ts";
import { assertEquals, assertRejects, assertStringIncludes } from "../../assert.ts";
import { tempDir } from "../../fake/temp.ts";

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
