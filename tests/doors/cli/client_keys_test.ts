import { openStore } from "../../../src/assemble/mod.ts";
import { ClientKeys } from "../../../src/doors/cli/client_keys.ts";
import { loadConfig } from "../../../src/settings/config/mod.ts";
import { assert, assertEquals, assertNotEquals } from "../../assert.ts";
import { tempDir } from "../../fake/temp.ts";

const DAY_MS = 86_400_000;
const LIFE_MS = 30 * DAY_MS;
const USE = {
  tool: "claude",
  directory: "/projects/a",
  name: "sluice run claude",
  lifeMs: LIFE_MS,
};

/** A store in a directory, at a time that the test sets, and the keys that are kept beside it. */
async function open(directory: string, clock: { ms: number }) {
  const config = await loadConfig({ env: {}, directory });
  const store = await openStore(config, { now: () => clock.ms });
  const { data } = config.settings;
  const warnings: string[] = [];
  const warn = (text: string) => void warnings.push(text);
  return {
    store,
    data,
    warnings,
    kept: new ClientKeys({ data, keys: store.keys, now: () => clock.ms, warn }),
    [Symbol.asyncDispose]: () => store[Symbol.asyncDispose](),
  };
}

/** The files that are kept, with their modes. */
async function filesIn(data: string) {
  const found: { path: string; mode: number }[] = [];
  for await (const { name: folder } of Deno.readDir(`${data}/client-keys`)) {
    for await (const { name } of Deno.readDir(`${data}/client-keys/${folder}`)) {
      const path = `${data}/client-keys/${folder}/${name}`;
      found.push({ path, mode: (await Deno.stat(path)).mode! & 0o777 });
    }
  }
  return found;
}

Deno.test("a program finds its key again; another program, directory, account or lifetime has its own", async () => {
  await using dir = await tempDir();
  const clock = { ms: Date.now() };
  await using opened = await open(dir.path, clock);
  const { store, kept, data } = opened;
  const owner = await store.owner();
  const ada = await store.accounts.create({ email: "ada@example.com" });
  const first = await kept.keyFor(owner, USE);
  assertEquals(await kept.keyFor(owner, USE), first);
  const others = [
    await kept.keyFor(owner, { ...USE, tool: "env" }),
    await kept.keyFor(owner, { ...USE, directory: "/projects/b" }),
    await kept.keyFor(owner, { ...USE, lifeMs: DAY_MS }),
    await kept.keyFor(ada, USE),
  ];
  assertEquals(new Set([first, ...others]).size, 5);
  assertEquals((await store.keys.list(owner)).length, 4);
  const files = await filesIn(data);
  assertEquals(files.map(({ mode }) => mode), [0o600, 0o600, 0o600, 0o600, 0o600]);
  assertEquals((await Deno.stat(`${data}/client-keys`)).mode! & 0o777, 0o700);
});

Deno.test("a name of a program leads to no other directory", async () => {
  await using dir = await tempDir();
  await using opened = await open(dir.path, { ms: Date.now() });
  const { store, kept, data } = opened;
  await kept.keyFor(await store.owner(), { ...USE, tool: "../../../x\0/y" });
  const path = (await filesIn(data))[0]!.path;
  assert(/client-keys\/xy-[0-9a-f]{24}\/key\.json$/.test(path), path);
});

Deno.test("a key is renewed before it expires, and the old one works on", async () => {
  await using dir = await tempDir();
  const clock = { ms: Date.now() };
  await using opened = await open(dir.path, clock);
  const { store, kept } = opened;
  const owner = await store.owner();
  const first = await kept.keyFor(owner, USE);
  clock.ms += 19 * DAY_MS;
  assertEquals(await kept.keyFor(owner, USE), first);
  clock.ms += 2 * DAY_MS;
  const second = await kept.keyFor(owner, USE);
  assertNotEquals(second, first);
  assertEquals((await store.keys.bySecret(first))?.revokedAtMs, null);
  assertEquals(await kept.keyFor(owner, USE), second);
});

Deno.test("a key that is revoked, expired or of another database is replaced", async () => {
  await using dir = await tempDir();
  await using elsewhere = await tempDir();
  const clock = { ms: Date.now() };
  await using opened = await open(dir.path, clock);
  const { store, kept, data } = opened;
  const owner = await store.owner();
  const revoked = await kept.keyFor(owner, USE);
  await store.keys.revoke((await store.keys.bySecret(revoked))!.id);
  const second = await kept.keyFor(owner, USE);
  assertNotEquals(second, revoked);
  clock.ms += 31 * DAY_MS;
  const third = await kept.keyFor(owner, USE);
  assertNotEquals(third, second);

  // the database was deleted, the files were not
  await using fresh = await open(elsewhere.path, clock);
  const other = new ClientKeys({ data, keys: fresh.store.keys, now: () => clock.ms, warn() {} });
  const fourth = await other.keyFor({ ...await fresh.store.owner(), id: owner.id }, USE)
    .catch(() => "no such account");
  assertNotEquals(fourth, third);
});

Deno.test("what is written by something else, or half, is replaced", async () => {
  await using dir = await tempDir();
  await using opened = await open(dir.path, { ms: Date.now() });
  const { store, kept } = opened;
  const owner = await store.owner();
  const path = kept.pathFor(owner, USE, "key.json");
  for (
    const text of ["", "{", '{"secret":1}', '{"secret":"sk-x","expiresAtMs":1,"more":1}', "\0"]
  ) {
    const before = await kept.keyFor(owner, USE);
    await Deno.writeTextFile(path, text);
    const after = await kept.keyFor(owner, USE);
    assertNotEquals(after, before);
    assertEquals(await kept.keyFor(owner, USE), after);
  }
});

Deno.test("programs that start at once all get a valid key, and one is kept whole", async () => {
  await using dir = await tempDir();
  await using opened = await open(dir.path, { ms: Date.now() });
  const { store, kept, data } = opened;
  const owner = await store.owner();
  const all = await Promise.all(Array.from({ length: 12 }, () => kept.keyFor(owner, USE)));
  for (const secret of all) assert(await store.keys.bySecret(secret) !== undefined);
  assert(all.includes(await kept.keyFor(owner, USE)));
  assertEquals((await filesIn(data)).length, 1, "no temporary file is left");
});

Deno.test("keys of directories where nobody works any more are forgotten when they have expired", async () => {
  await using dir = await tempDir();
  const clock = { ms: Date.now() };
  await using opened = await open(dir.path, clock);
  const { store, kept, data } = opened;
  const owner = await store.owner();
  await kept.keyFor(owner, USE);
  clock.ms += 31 * DAY_MS;
  await kept.keyFor(owner, { ...USE, directory: "/projects/b" });
  assertEquals((await filesIn(data)).length, 1);
});

Deno.test("a key that cannot be kept works, and that is said", async () => {
  await using dir = await tempDir();
  await using opened = await open(dir.path, { ms: Date.now() });
  const { store, kept, data, warnings } = opened;
  await Deno.writeTextFile(`${data}/client-keys`, "a file where a directory should be");
  const secret = await kept.keyFor(await store.owner(), USE);
  assert(await store.keys.bySecret(secret) !== undefined);
  assertEquals(warnings.length, 1);
});
