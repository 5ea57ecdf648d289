import { loadConfig, type Surroundings, userDirectory } from "../../../src/settings/config/mod.ts";
import { effectiveSettings } from "../../../src/settings/config/mod.ts";
import { assertEquals } from "../../assert.ts";
import { tempDir } from "../../fake/temp.ts";

const DIRECTORIES: readonly {
  system: typeof Deno.build.os;
  env: Record<string, string>;
  state: string | undefined;
  config: string | undefined;
}[] = [
  {
    system: "linux",
    env: { HOME: "/home/ada" },
    state: "/home/ada/.local/state/sluice",
    config: "/home/ada/.config/sluice",
  },
  {
    system: "linux",
    env: { HOME: "/home/ada", XDG_STATE_HOME: "/state", XDG_CONFIG_HOME: "/config" },
    state: "/state/sluice",
    config: "/config/sluice",
  },
  // the specification of these variables: relative paths are to be ignored
  {
    system: "linux",
    env: { HOME: "/home/ada", XDG_STATE_HOME: "state", XDG_CONFIG_HOME: "" },
    state: "/home/ada/.local/state/sluice",
    config: "/home/ada/.config/sluice",
  },
  {
    system: "darwin",
    env: { HOME: "/Users/ada" },
    state: "/Users/ada/Library/Application Support/sluice",
    config: "/Users/ada/Library/Application Support/sluice",
  },
  {
    system: "windows",
    env: { LOCALAPPDATA: "C:/Users/ada/AppData/Local", APPDATA: "C:/Users/ada/AppData/Roaming" },
    state: "C:/Users/ada/AppData/Local/sluice",
    config: "C:/Users/ada/AppData/Roaming/sluice",
  },
  {
    system: "windows",
    env: { USERPROFILE: "C:/Users/ada", HOME: "/c/Users/ada" },
    state: "C:/Users/ada/AppData/Local/sluice",
    config: "C:/Users/ada/AppData/Roaming/sluice",
  },
  { system: "linux", env: {}, state: undefined, config: undefined },
  { system: "linux", env: { HOME: "" }, state: undefined, config: undefined },
  { system: "linux", env: { HOME: "somewhere" }, state: undefined, config: undefined },
];

for (const { system, env, state, config } of DIRECTORIES) {
  Deno.test(`userDirectory on ${system} with ${JSON.stringify(env)}`, () => {
    const around = { env, directory: "/project", system };
    const slashes = (path: string | undefined) => path?.replaceAll("\\", "/");
    assertEquals(slashes(userDirectory("state", around)), state);
    assertEquals(slashes(userDirectory("config", around)), config);
  });
}

/** A project directory and a user's own directories beside it. */
async function home() {
  const dir = await tempDir();
  const project = `${dir.path}/project`;
  const env = { XDG_STATE_HOME: `${dir.path}/state`, XDG_CONFIG_HOME: `${dir.path}/config` };
  await Deno.mkdir(project);
  await Deno.mkdir(`${dir.path}/config/sluice`, { recursive: true });
  const load = (more: Partial<Surroundings> = {}) =>
    loadConfig({ directory: project, ...more, env: { ...env, ...more.env } });
  return {
    project,
    own: `${dir.path}/state/sluice`,
    ownSettings: `${dir.path}/config/sluice/sluice.jsonc`,
    load,
    [Symbol.asyncDispose]: () => dir[Symbol.asyncDispose](),
  };
}

const origin = (config: Awaited<ReturnType<typeof loadConfig>>) =>
  effectiveSettings(config).find(({ path }) => path === "data")!.origin;

Deno.test("data: --data, then SLUICE_DATA, then the file, then ./data with a database, then the user's own", async () => {
  await using at = await home();
  const own = await at.load();
  assertEquals([own.settings.data, origin(own)], [at.own, "default: your own state directory"]);
  assertEquals(own.places.data.isLocal, false);

  // a project's own ./data is nobody's database
  await Deno.mkdir(`${at.project}/data`);
  await Deno.writeTextFile(`${at.project}/data/train.csv`, "");
  assertEquals((await at.load()).settings.data, at.own);

  await Deno.writeTextFile(`${at.project}/data/sluice.db`, "");
  const local = await at.load();
  assertEquals([local.settings.data, origin(local)], [
    `${at.project}/data`,
    "default: ./data holds a sluice.db",
  ]);
  assertEquals(local.places.data.isLocal, true);

  await Deno.writeTextFile(`${at.project}/sluice.jsonc`, '{"data": "here"}');
  const file = await at.load();
  assertEquals([file.settings.data, origin(file)], [`${at.project}/here`, "file sluice.jsonc"]);
  const env = await at.load({ env: { SLUICE_DATA: "there" } });
  assertEquals([env.settings.data, origin(env)], [
    `${at.project}/there`,
    "environment SLUICE_DATA",
  ]);
  const flag = await at.load({ env: { SLUICE_DATA: "there" }, flags: { data: "/elsewhere" } });
  assertEquals([flag.settings.data, origin(flag)], ["/elsewhere", "flag --data"]);
});

Deno.test("settings: --config, then SLUICE_CONFIG, then ./sluice.jsonc, then the user's own", async () => {
  await using at = await home();
  const none = await at.load();
  assertEquals([none.file, none.places.settings.path], [undefined, at.ownSettings]);

  await Deno.writeTextFile(at.ownSettings, '{"port": 1}');
  const own = await at.load();
  assertEquals([own.settings.port, own.file, own.places.settings.isLocal], [
    1,
    at.ownSettings,
    false,
  ]);
  await Deno.writeTextFile(`${at.project}/sluice.jsonc`, '{"port": 2}');
  const local = await at.load();
  assertEquals([local.settings.port, local.places.settings.isLocal], [2, true]);
  await Deno.writeTextFile(`${at.project}/env.jsonc`, '{"port": 3}');
  assertEquals((await at.load({ env: { SLUICE_CONFIG: "env.jsonc" } })).settings.port, 3);
  await Deno.writeTextFile(`${at.project}/flag.jsonc`, '{"port": 4}');
  const flag = await at.load({ env: { SLUICE_CONFIG: "env.jsonc" }, file: "flag.jsonc" });
  assertEquals([flag.settings.port, flag.places.settings.why], [4, "--config"]);
});

Deno.test("paths of the user's settings mean the same in every directory", async () => {
  await using at = await home();
  await Deno.writeTextFile(
    at.ownSettings,
    '{"data": "state of mine", "database": {"url": "file:base%20ment.db"}}',
  );
  const { settings } = await at.load();
  const directory = at.ownSettings.replace(/\/sluice\.jsonc$/, "");
  assertEquals(settings.data, `${directory}/state of mine`);
  assertEquals(settings.database.url, `file:${directory}/base%20ment.db`);
});

Deno.test("standing in the directory of the user's own settings is nothing special", async () => {
  await using at = await home();
  await Deno.writeTextFile(at.ownSettings, "{}");
  const directory = at.ownSettings.replace(/\/sluice\.jsonc$/, "");
  assertEquals((await at.load({ directory })).places.settings.isLocal, false);
});

Deno.test("without a home directory, state is kept in ./data", async () => {
  await using dir = await tempDir();
  const { settings, places } = await loadConfig({ env: {}, directory: dir.path });
  assertEquals([settings.data, places.data.why], [
    `${dir.path}/data`,
    "no home directory is set",
  ]);
});

Deno.test("a home directory that is no directory holds no settings", async () => {
  await using dir = await tempDir();
  const env = { HOME: `${dir.path}/file` };
  await Deno.writeTextFile(env.HOME, "");
  const { file, settings } = await loadConfig({ env, directory: dir.path, system: "linux" });
  assertEquals([file, settings.data], [undefined, `${env.HOME}/.local/state/sluice`]);
});
