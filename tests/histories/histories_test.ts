import { assert, assertEquals } from "../assert.ts";
import { Random, testSeed } from "../fake/random.ts";
import { tempDir } from "../fake/temp.ts";
import { isProof, sized } from "../tier.ts";
import { canHave, type DatabaseKind, DATABASES } from "./database.ts";
import { History } from "./history.ts";

/** Of primaries, one history each: the others have as many as their time allows. */
const OUTAGES = { failover: 10, loss: 5 };

const usable = new Set<DatabaseKind>();
for (const kind of DATABASES) if (await canHave(kind)) usable.add(kind);
/** In the gate one kind, another each run, and none of primaries: each of those makes two clusters again and again. */
const drawn = isProof
  ? usable
  : new Set([new Random(testSeed()).pick([...usable].filter((kind) => !(kind in OUTAGES)))]);

for (const kind of DATABASES) {
  // Proves P1, P2, P3, P4, P6, P8.
  Deno.test({
    name:
      `random histories (${kind}): kills, outages, clocks that are off, revoked keys and limits break no promise`,
    ignore: !drawn.has(kind),
    async fn() {
      await using dir = await tempDir();
      const seed = testSeed();
      const said: string[] = [];
      await using history = await History.open({
        kind,
        seed,
        seconds: sized(6, 60),
        outages: kind === "failover" || kind === "loss" ? OUTAGES[kind] : undefined,
        directory: dir.path,
        say: (line) => said.push(line),
      });
      const { failures, acknowledged } = await history.run();
      assertEquals(failures, [], `seed ${seed}:\n${said.join("\n")}`);
      assert(acknowledged > 0);
    },
  });
}
