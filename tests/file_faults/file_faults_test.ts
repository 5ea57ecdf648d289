import { assertStringIncludes } from "../assert.ts";
import { tempDir } from "../fake/temp.ts";
import { Harness } from "./harness.ts";
import { assertEquals } from "../assert.ts";
import { testSeed } from "../fake/random.ts";
import { sized } from "../tier.ts";

const canCompile = Deno.build.os === "linux" &&
  await new Deno.Command("cc", { args: ["--version"] }).output()
    .then(({ success }) => success, () => false);

Deno.test({
  name: "file calls that fail: what is acknowledged is charged once, and no file is damaged",
  ignore: !canCompile,
  async fn() {
    await using dir = await tempDir();
    const seed = testSeed();
    const said: string[] = [];
    await using harness = await Harness.create({
      seed,
      seconds: sized(8, 15),
      faults: 1_000,
      plans: {
        calls: ["read", "write", "sync", "open"],
        kinds: ["EIO", "ENOSPC", "torn"],
        kills: false,
        neighbour: true,
      },
      directory: dir.path,
      say: (line) => said.push(line),
    });
    await harness.run();
    const report = said.join("\n");
    assertEquals(harness.findings.verdict, "passed", `seed ${seed}:\n${report}`);
    assertStringIncludes(report, "acknowledged");
  },
});
