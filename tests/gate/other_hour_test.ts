import { assert } from "../assert.ts";
import { canCompile, compileLibrary } from "../fake/c_library.ts";
import { tempDir } from "../fake/temp.ts";

const DAY_S = 86_400;
const SCRIPT = `
  await Deno.writeTextFile("file", "");
  const { mtime } = await Deno.stat("file");
  await Deno.utime("file", 1, 1);
  const set = await Deno.stat("file");
  console.log(JSON.stringify([Date.now(), mtime.getTime(), set.mtime.getTime()]));
`;

Deno.test({
  name: "other hour: a program's time of day and its files' times are put elsewhere",
  ignore: !canCompile || Deno.env.has("HOUR_OFFSET"), // a proof runs the tests with it
  fn: async () => {
    await using dir = await tempDir();
    const source = new URL("other_hour.c", import.meta.url);
    const library = await compileLibrary(source, `${dir.path}/other_hour.so`);
    const earlierMs = Date.now();
    const { stdout } = await new Deno.Command(Deno.execPath(), {
      args: ["eval", SCRIPT],
      cwd: dir.path,
      env: { LD_PRELOAD: library, HOUR_OFFSET: String(1_000 * DAY_S), NO_COLOR: "1" },
    }).output();
    const [nowMs, madeMs, setMs] = JSON.parse(new TextDecoder().decode(stdout));
    const offsetMs = 1_000 * DAY_S * 1_000;
    const slackMs = DAY_S * 1_000; // the test may wait for the processor, though not for a day
    for (const time of [nowMs, madeMs]) {
      assert(Math.abs(time - earlierMs - offsetMs) < slackMs, `${time} beside ${earlierMs}`);
    }
    assert(setMs === 1_000, `${setMs}`);
  },
});
