import { announcedGateway, gatewayIdentity } from "../../../src/ground/database/mod.ts";
import { assert, assertEquals } from "../../assert.ts";
import { tempDir } from "../../fake/temp.ts";

Deno.test({
  name:
    "a gateway's threads have IDs, and those of an earlier run that are left over are abandoned",
  // before Deno 2.5 a lock can only be waited for: what was given up waits on until it is its turn
  sanitizeOps: "tryLock" in Deno.FsFile.prototype,
  fn: threadsHaveIds,
});

async function threadsHaveIds(): Promise<void> {
  await using dir = await tempDir();
  const read = async (options: { takeover?: boolean; threads?: number }) => {
    using identity = await gatewayIdentity(dir.path, options);
    return { ids: identity.ids, abandoned: identity.abandoned };
  };
  const { ids: [id] } = await read({ threads: 1 });
  const { ino } = await Deno.stat(`${dir.path}/gateway.id`);
  assertEquals(await Deno.readTextFile(`${dir.path}/gateway.id`), `${id} 1 inode ${ino}\n`);
  const threads = [id!, `${id}.2`, `${id}.3`];
  assertEquals(await read({ threads: 3 }), { ids: threads, abandoned: [] });
  // a command that takes the directory for a moment changes nothing
  assertEquals((await read({})).ids, threads);
  assertEquals(await read({ threads: 2 }), { ids: threads.slice(0, 2), abandoned: [`${id}.3`] });

  // of two processes, the one that takes over learns what the other has when that has ended
  {
    using first = await gatewayIdentity(dir.path, { threads: 2 });
    using next = await gatewayIdentity(dir.path, { takeover: true, threads: 4 });
    assertEquals(next.abandoned, []);
    assertEquals(first.ids.filter((one) => next.ids.includes(one)), []);
  }
  const { abandoned } = await read({ threads: 2 });
  assertEquals(abandoned.length, 4);
}

Deno.test({
  name:
    "a copied directory has an identity of its own, and what was announced in it is another gateway's",
  ignore: Deno.build.os === "windows",
  sanitizeOps: "tryLock" in Deno.FsFile.prototype,
  async fn() {
    await using dir = await tempDir();
    const [first, second] = [`${dir.path}/first`, `${dir.path}/second`];
    using original = await gatewayIdentity(first, { threads: 2 });
    const said = { url: "http://127.0.0.1:8787", pid: 1, workers: 2, settings: null, reload: null };
    original.announce(said);
    await Deno.mkdir(second);
    for (const name of ["gateway.id", "gateway.json"]) {
      await Deno.copyFile(`${first}/${name}`, `${second}/${name}`);
    }
    assertEquals((await announcedGateway(first))?.url, said.url);
    assertEquals(await announcedGateway(second), undefined);
    {
      using copy = await gatewayIdentity(second, {});
      assertEquals(copy.ids.length, 2);
      assertEquals(copy.ids.filter((id) => original.ids.includes(id)), []);
      assertEquals(copy.abandoned, [], "the original may run");
      assertEquals(copy.copied, original.ids);
      copy.announce(said);
      assert(await copy.prove("x") !== await original.prove("x"));
      assertEquals((await announcedGateway(second))?.url, said.url);
    }
    const idsIn = async (directory: string) => {
      using identity = await gatewayIdentity(directory, {});
      assertEquals(identity.copied, []);
      return identity.ids;
    };
    const ids = await idsIn(second);
    await Deno.rename(second, `${second}.moved`);
    assertEquals(await idsIn(`${second}.moved`), ids, "a directory that was moved is the same");
  },
});
