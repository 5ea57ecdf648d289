import { brotliCompressSync } from "node:zlib";
import { assert, assertEquals } from "../assert.ts";
import { tempDir } from "../fake/temp.ts";

const LOADER = new URL("../../deploy/load_library.cjs", import.meta.url);
/** Not a library, so that loading it fails; where from is what is tested. */
const LIBRARY = new TextEncoder().encode("not a library");
const DIGEST = "0123456789abcdef".repeat(4);

/** A package as `compile.ts` makes it, and the directory for temporary files of who loads it. */
async function packed(path: string): Promise<{ load: () => Promise<string>; usual: string }> {
  const [home, temporary] = [`${path}/package`, `${path}/temporary`];
  await Deno.mkdir(home);
  await Deno.mkdir(temporary);
  await Deno.copyFile(LOADER, `${home}/index.cjs`);
  await Deno.writeFile(`${home}/library.br`, brotliCompressSync(LIBRARY));
  await Deno.writeTextFile(
    `${home}/library.json`,
    JSON.stringify({ digest: DIGEST, bytes: LIBRARY.length }),
  );
  const load = async () => {
    const { stderr } = await new Deno.Command(Deno.execPath(), {
      args: ["run", "--quiet", "--no-config", "--allow-all", `${home}/index.cjs`],
      env: { TMPDIR: temporary, NO_COLOR: "1" },
    }).output();
    return new TextDecoder().decode(stderr);
  };
  return { load, usual: `${temporary}/sluice-libsql-${Deno.uid()}-${DIGEST.slice(0, 16)}.node` };
}

const ignore = Deno.build.os === "windows";

Deno.test({
  name: "the library is unpacked once, for its user alone",
  ignore,
  async fn() {
    await using dir = await tempDir();
    const { load, usual } = await packed(dir.path);
    assert((await load()).includes(usual), "is loaded");
    const first = await Deno.lstat(usual);
    assertEquals(first.mode! & 0o777, 0o700);
    assertEquals(await Deno.readFile(usual), LIBRARY);
    await load();
    assertEquals((await Deno.lstat(usual)).ino, first.ino);
    assertEquals(Array.from(Deno.readDirSync(`${dir.path}/temporary`)).length, 1, "nothing else");
  },
});

Deno.test({
  name: "a file that is not as it was unpacked is replaced",
  ignore,
  async fn() {
    await using dir = await tempDir();
    const { load, usual } = await packed(dir.path);
    const other = new TextEncoder().encode("someone else.");
    assertEquals(other.length, LIBRARY.length);
    const faults: (() => Promise<void>)[] = [
      () => Deno.writeFile(usual, LIBRARY.subarray(1), { mode: 0o700 }),
      async () => {
        await Deno.writeFile(usual, other);
        await Deno.chmod(usual, 0o666);
      },
      async () => {
        await Deno.writeFile(`${dir.path}/elsewhere`, other);
        await Deno.symlink(`${dir.path}/elsewhere`, usual);
      },
    ];
    for (const fault of faults) {
      await Deno.remove(usual).catch(() => {});
      await fault();
      await load();
      assert((await Deno.lstat(usual)).isFile);
      assertEquals(await Deno.readFile(usual), LIBRARY);
    }
  },
});

Deno.test({
  name: "where the usual name is taken for good, the library is loaded from another",
  ignore,
  async fn() {
    await using dir = await tempDir();
    const { load, usual } = await packed(dir.path);
    await Deno.mkdir(`${usual}/full`, { recursive: true });
    const said = await load();
    assert(!said.includes(usual) && said.includes("libsql.node"), said);
  },
});
