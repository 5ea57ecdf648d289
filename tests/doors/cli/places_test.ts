import { assert, assertEquals, assertMatch, assertStringIncludes } from "../../assert.ts";
import { type Finished, homeIn, startCommand } from "../../fake/command.ts";
import { sluice } from "../../fake/shell.ts";
import { exists, tempDir } from "../../fake/temp.ts";

/** Two projects and a user's home beside them. */
async function home() {
  const dir = await tempDir();
  const projects = [`${dir.path}/one`, `${dir.path}/other`] as const;
  for (const one of projects) await Deno.mkdir(one);
  const env = homeIn(`${dir.path}/home`);
  const run = (directory: string, ...args: string[]) => sluice(args, { directory, env });
  return { dir, env, projects, run, [Symbol.asyncDispose]: () => dir[Symbol.asyncDispose]() };
}

const filesOf = (path: string) => Array.fromAsync(Deno.readDir(path), ({ name }) => name);

function succeeded({ code, out, err }: Finished): string {
  assertEquals(code, 0, out + err);
  return out;
}

Deno.test("commands in every project mean the same gateway, and write nothing there", async () => {
  await using at = await home();
  const [one, other] = at.projects;
  await using gateway = startCommand(["--port", "0"], { directory: one, env: at.env });
  const [, url] = await gateway.waitFor(/listening on (\S+)/);
  await gateway.waitFor(/curl/);
  const own = `${at.dir.path}/home/state/sluice`;
  assertStringIncludes(gateway.out(), `database  ${own}/sluice.db\n`);
  assertStringIncludes(gateway.out(), `In ${own}: your own state directory.`);
  assertMatch(
    gateway.out(),
    /settings {2}none; sluice init writes \S+\/config\/sluice\/sluice\.jsonc/,
  );
  assertEquals((await Deno.stat(own)).mode! & 0o777, 0o700);

  const printed = await at.run(other, "env");
  assertEquals(printed.err, "");
  assertStringIncludes(succeeded(printed), `OPENAI_BASE_URL='${url}/v1'`);
  const models = await at.run(
    other,
    "run",
    "--",
    "sh",
    "-c",
    'curl -sf "$OPENAI_BASE_URL/models" -H "Authorization: Bearer $OPENAI_API_KEY"',
  );
  assert(!models.err.includes("no gateway is running"), models.err);
  assertStringIncludes(succeeded(models), "svc-k3");
  assertEquals([await filesOf(one), await filesOf(other)], [[], []]);
});

Deno.test("an older ./data is used, and said so once", async () => {
  await using at = await home();
  const [one] = at.projects;
  succeeded(await sluice(["key", "create"], { directory: one })); // as an older program did
  const first = await at.run(one, "key", "list");
  succeeded(first);
  assertStringIncludes(
    first.err,
    `using an older data directory, ./data. New ones are kept in ${at.dir.path}/home/state/sluice`,
  );
  const again = await at.run(one, "key", "list");
  assertEquals([succeeded(again), again.err], [first.out, ""]);
  await using gateway = startCommand(["--port", "0"], { directory: one, env: at.env });
  await gateway.waitFor(/In \S+\/one\/data: \.\/data holds a sluice\.db\./);
});

Deno.test("settings of a project are read, and said so once", async () => {
  await using at = await home();
  const [one, other] = at.projects;
  await Deno.writeTextFile(`${one}/sluice.jsonc`, '{"upstream": {"url": "http://127.0.0.1:1"}}');
  const first = await at.run(one, "models");
  assertStringIncludes(first.err, `using the settings of this directory (${one}/sluice.jsonc)`);
  assertEquals((await at.run(one, "models")).err, "");
  assertEquals((await at.run(other, "models")).err, "");
  const shown = succeeded(await at.run(one, "config", "show"));
  assertStringIncludes(shown, `Settings file: ${one}/sluice.jsonc (found in this directory)`);
  assertMatch(shown, /^data +default: your own state directory +\S+\/home\/state\/sluice$/m);
});

Deno.test("init writes where settings are read from: the user's own, or with --here into this directory", async () => {
  await using at = await home();
  const [one, other] = at.projects;
  const own = `${at.dir.path}/home/config/sluice`;
  assertStringIncludes(succeeded(await at.run(one, "init", "--yes")), `Wrote ${own}/sluice.jsonc`);
  assertEquals((await filesOf(own)).toSorted(), ["sluice.jsonc", "sluice.schema.json"]);
  assertEquals((await Deno.stat(own)).mode! & 0o777, 0o700);
  assertEquals(await filesOf(one), []);
  assertStringIncludes(succeeded(await at.run(other, "config", "check")), `${own}/sluice.jsonc`);

  const again = await at.run(other, "init", "--yes");
  assertEquals(again.code, 1);
  assertStringIncludes(again.err, `${own}/sluice.jsonc already exists`);

  succeeded(await at.run(one, "init", "--yes", "--here"));
  assertEquals((await filesOf(one)).toSorted(), ["sluice.jsonc", "sluice.schema.json"]);
  assertStringIncludes((await at.run(one, "init", "--yes")).err, `${one}/sluice.jsonc already`);

  const named = `${at.dir.path}/named/settings.jsonc`;
  const env = { ...at.env, SLUICE_CONFIG: named };
  succeeded(await sluice(["init", "--yes"], { directory: other, env }));
  assert(await exists(named));
});

Deno.test("a home directory that cannot be written: what to do instead", async () => {
  await using at = await home();
  const state = `${at.dir.path}/file`;
  await Deno.writeTextFile(state, "");
  const env = { ...at.env, XDG_STATE_HOME: state };
  const { code, err } = await sluice(["--port", "0"], { directory: at.projects[0], env });
  assertEquals(code, 1);
  assertStringIncludes(err, `Cannot create the data directory ${state}/sluice`);
  assertStringIncludes(err, "--data");
});
