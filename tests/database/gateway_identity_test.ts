import { gatewayIdentity } from "../../src/database/mod.ts";
import { assertEquals } from "../assert.ts";
import { tempDir } from "../fake/temp.ts";

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
  assertEquals(await Deno.readTextFile(`${dir.path}/gateway.id`), `${id}\n`);
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
