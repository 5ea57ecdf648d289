import { lockedFile } from "../../../src/ground/files/mod.ts";
import { assert, assertEquals } from "../../assert.ts";
import { tempDir, until } from "../../fake/temp.ts";
import { sized } from "../../tier.ts";

Deno.test("of many who lock and remove a file, one at a time has the file that is there", async () => {
  await using dir = await tempDir();
  const path = `${dir.path}/file.lock`;
  let holders = 0;
  let locked = 0;
  await Promise.all(Array.from({ length: 8 }, async (_, at) => {
    for (let round = 0; round < sized(100, 2_000); round++) {
      const file = await lockedFile(path, { create: at % 2 === 0 }).catch((error) => {
        assert(error instanceof Deno.errors.NotFound);
        return undefined;
      });
      if (file === undefined) continue;
      assertEquals(++holders, 1);
      locked++;
      assertEquals((await Deno.stat(path)).ino, (await file.stat()).ino);
      holders--;
      await Deno.remove(path);
      file.close();
    }
  }));
  assert(locked > 0);
});

Deno.test("a file that somebody has locked is nobody else's, until it is closed", async () => {
  await using dir = await tempDir();
  const path = `${dir.path}/file.lock`;
  const first = await lockedFile(path);
  // Deno 2.4 has 32 threads for files: who waited for the lock in each would leave none
  for (let times = 0; times < 100; times++) assertEquals(await lockedFile(path), undefined);
  first!.close();
  // a program that another test starts just now has the file until it runs
  let again: Deno.FsFile | undefined;
  await until(async () => (again = await lockedFile(path)) !== undefined, { what: "the lock" });
  again!.close();
});
