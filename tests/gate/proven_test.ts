import { assert, assertEquals } from "../assert.ts";
import { tempDir } from "../fake/temp.ts";
import type { Finished } from "./outcome.ts";
import { Proven } from "./proven.ts";

function finished(name: string, more: Partial<Finished> = {}): Finished {
  const run = () => Promise.reject(new Error("not run again"));
  return { step: { name, proves: "", run }, seconds: 1, faults: [], ...more };
}

Deno.test("what has passed is noted of a commit's files, and of no others", async () => {
  await using folder = await tempDir();
  const git = async (...args: string[]) => {
    const own = ["-c", "user.name=n", "-c", "user.email=e@localhost"];
    const ran = await new Deno.Command("git", { args: [...own, ...args], cwd: folder.path })
      .output();
    assert(ran.success, args.join(" "));
  };
  const open = () => Proven.open(folder.path);
  const change = (text: string) => Deno.writeTextFile(`${folder.path}/file`, text);
  assertEquals(await open(), undefined, "no repository");
  await git("init", "--quiet");
  await change("first");
  await git("add", ".");
  await git("commit", "--quiet", "-m", "first");
  const proven = (await open())!;
  await proven.ended(finished("green"));
  const fault = { title: "", message: "", outputs: [], again: "" };
  await proven.ended(finished("red", { faults: [fault] }));
  await proven.ended(finished("left out", { skipped: "not here" }));
  const has = async () => {
    const now = await open();
    return ["green", "red", "left out", "late"].filter((name) => now?.has(name));
  };
  assertEquals(await has(), ["green"]);
  await change("second");
  assertEquals(await open(), undefined, "files differ from the commit");
  await proven.ended(finished("late"));
  await git("commit", "--quiet", "--all", "-m", "second");
  assertEquals(await has(), []);
  await proven.ended(finished("late"));
  await git("checkout", "--quiet", "HEAD^");
  assertEquals(await has(), ["green"]);
});
