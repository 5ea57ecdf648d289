import { endedGateways } from "../../src/assemble/store.ts";
import { type GatewayIdentity, gatewayIdentity } from "../../src/ground/database/mod.ts";
import { assert, assertEquals } from "../assert.ts";
import { tempDir } from "../fake/temp.ts";

// before Deno 2.5 a lock can only be waited for: what was given up waits on until it is its turn
const sanitizeOps = "tryLock" in Deno.FsFile.prototype;

/** A gateway that has taken over from another one on its directory, and the other one. */
async function scene(database: "file" | "file elsewhere" | "server") {
  const stack = new AsyncDisposableStack();
  const { path: directory } = stack.use(await tempDir());
  const first = new DisposableStack();
  stack.use(first);
  const { ids } = first.use(await gatewayIdentity(directory, { threads: 2 }));
  const identity = stack.use(await gatewayIdentity(directory, { takeover: true }));
  const file = {
    file: `${directory}/sluice.db`,
    "file elsewhere": `${directory}/other-disk/sluice.db`,
    server: undefined,
  }[database];
  const outboxes = `${directory}/${file === undefined ? "gateway.server" : "sluice.db"}`;
  return {
    first: { ids, end: () => first.dispose() },
    identity,
    ended: (ids: readonly string[], alone?: GatewayIdentity) =>
      endedGateways(ids, { identity, alone, file, directory }),
    /** Leaves a file of an outbox, as a gateway does that is killed. */
    keep: (id: string) => Deno.writeTextFile(`${outboxes}-outbox-${id}-0123abcd`, ""),
    read: (id: string) => Deno.remove(`${outboxes}-outbox-${id}-0123abcd`),
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

Deno.test({
  name: "of a server's gateways, that on the same directory is known to have ended, and no other",
  sanitizeOps,
  async fn() {
    await using at = await scene("server");
    const { ids: [own] } = at.identity;
    const [id, thread] = at.first.ids as [string, string];
    const all = [own!, id, thread, "gw_elsewhere"];
    assertEquals(await at.ended(all), [], "it runs");
    at.first.end();
    await at.keep(thread);
    assertEquals(await at.ended(all), [id], "one of its threads has kept something");
    await at.read(thread);
    assertEquals(await at.ended(all), [id, thread]);
    assertEquals(await at.ended(["gw_elsewhere"]), []);
  },
});

for (const database of ["file", "file elsewhere"] as const) {
  Deno.test({
    name:
      `of the gateways of a ${database}, all have ended but those that run beside this one or have kept something`,
    sanitizeOps,
    async fn() {
      await using at = await scene(database);
      await using elsewhere = await tempDir();
      const { ids: [own] } = at.identity;
      const all = [own!, ...at.first.ids, "gw_of_a_backup"];
      assertEquals(await at.ended(all), [], "one of them runs, and nobody knows which");
      at.first.end();
      await at.keep("gw_of_a_backup");
      assertEquals(await at.ended(all), [...at.first.ids]);
      await at.read("gw_of_a_backup");
      assertEquals(await at.ended(all), [...at.first.ids, "gw_of_a_backup"]);
      // one with another data directory uses the same file, until it has handed over
      using _other = await gatewayIdentity(elsewhere.path);
      using alone = await gatewayIdentity(elsewhere.path, { takeover: true });
      assert(await alone.hasSuccessor());
      assertEquals(await at.ended(all, alone), []);
    },
  });
}
