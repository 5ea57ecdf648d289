import { Secret } from "../../src/settings/config/mod.ts";
import { assertEquals, assertRejects } from "../assert.ts";
import { loadConfig } from "../../src/settings/config/mod.ts";
import { receivedConfig, sentConfig } from "../../src/assemble/thread_config.ts";
import { tempDir } from "../fake/temp.ts";

Deno.test("workers: a number from 1 to 64 or auto, from file, environment and flag", async () => {
  await using dir = await tempDir();
  const file = `${dir.path}/sluice.jsonc`;
  const workers = async (env: Record<string, string> = {}, flag?: number | string) =>
    (await loadConfig({ env, directory: dir.path, file, flags: { workers: flag } })).settings
      .workers;
  await Deno.writeTextFile(file, "{}");
  assertEquals(await workers(), 1);
  await Deno.writeTextFile(file, '{ "workers": "auto" }');
  assertEquals(await workers(), "auto");
  assertEquals(await workers({ SLUICE_WORKERS: "8" }), 8);
  assertEquals(await workers({ SLUICE_WORKERS: "8" }, "auto"), "auto");
  for (const wrong of ["0", "65", "1.5", "all", "-1"]) {
    await assertRejects(() => workers({ SLUICE_WORKERS: wrong }), Error, "SLUICE_WORKERS");
  }
});

Deno.test("settings arrive in another thread as they are, secrets included", async () => {
  await using dir = await tempDir();
  const file = `${dir.path}/sluice.jsonc`;
  const upstream = { url: "https://a.example/v1", keys: ["key-1", { key: "key-2", weight: 3 }] };
  await Deno.writeTextFile(
    file,
    JSON.stringify({
      upstreams: { a: upstream },
      metricsToken: "token",
      aliases: { "a*": "svc-k2" },
    }),
  );
  const config = await loadConfig({ env: {}, directory: dir.path, file });
  const received = receivedConfig(structuredClone(sentConfig(config)));
  assertEquals(received.settings, config.settings);
  assertEquals(received.origins, config.origins);
  assertEquals(received.digest, config.digest);
  const keys = received.settings.upstreams.a!.keys!;
  assertEquals(keys.map(({ key }) => key instanceof Secret && key.reveal()), ["key-1", "key-2"]);
  assertEquals(received.settings.metricsToken?.reveal(), "token");
});
