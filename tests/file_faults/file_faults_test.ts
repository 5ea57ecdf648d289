import { assert, assertEquals, assertMatch, assertStringIncludes } from "../assert.ts";
import { environment, scriptArgs } from "../fake/command.ts";
import { testSeed } from "../fake/random.ts";
import { tempDir } from "../fake/temp.ts";
import { canCompile } from "../fake/c_library.ts";
import { FaultControl } from "./control.ts";
import { compileFaulty } from "./gateway.ts";
import { Harness } from "./harness.ts";
import { sized } from "../tier.ts";

Deno.test({
  name: "file calls that fail: what is acknowledged is charged once, and no file is damaged",
  ignore: !canCompile,
  async fn() {
    await using dir = await tempDir();
    const seed = testSeed();
    const said: string[] = [];
    await using harness = await Harness.create({
      seed,
      seconds: sized(6, 15),
      faults: 1_000,
      restMs: sized(30, 0),
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

Deno.test({
  name: "a failed read is noticed, and what the connection has in memory is given up with it",
  ignore: !canCompile,
  async fn() {
    await using dir = await tempDir();
    const control = `${dir.path}/control`;
    new FaultControl(control)[Symbol.dispose]();
    const { stdout, stderr } = await new Deno.Command(Deno.execPath(), {
      args: [
        ...scriptArgs("../file_faults/failed_reads.ts"),
        `${dir.path}/sluice.db`,
        control,
      ],
      clearEnv: true,
      env: {
        ...environment(),
        LD_PRELOAD: await compileFaulty(dir.path),
        FAULTY_CONTROL: control,
      },
    }).output();
    const text = new TextDecoder().decode(stdout);
    assert(text.startsWith("{"), new TextDecoder().decode(stderr));
    const { failed, ...others } = JSON.parse(text);
    assertMatch(failed, /^SQLITE_(IOERR|CORRUPT)/);
    assertEquals(others, { states: [false, true], length: 8_000_000 });
  },
});
