import { joinPath } from "../../src/ground/std/mod.ts";
import { assert, assertEquals } from "../assert.ts";
import { until } from "../fake/temp.ts";
import { Copy, passedIn } from "./copies.ts";

Deno.test({
  name: "a run of tests that is killed leaves nothing running",
  ignore: Deno.build.os !== "linux",
  async fn() {
    const copy = await Copy.make(["deno.json", "tests/deno.lock"]);
    try {
      await Deno.writeTextFile(
        joinPath(copy.root, "left_test.ts"),
        `Deno.test("leaves", async () => {
          const { pid } = new Deno.Command("setsid", { args: ["sleep", "1000"], stdout: "null" }).spawn();
          await Deno.writeTextFile("pid", String(pid));
          Deno.kill(Deno.pid, "SIGKILL"); // as a run that is not over in its time
        });`,
      );
      const { failed } = await copy.run({ file: "left_test.ts" });
      assert(failed);
      const pid = await Deno.readTextFile(joinPath(copy.root, "pid"));
      const isGone = async () => {
        const asked = new Deno.Command("kill", { args: ["-0", pid], stderr: "null" });
        return !(await asked.output()).success;
      };
      await until(isGone, { what: "the end of what was left" });
    } finally {
      await copy.remove();
    }
  },
});

Deno.test("sets of tests of a file pass together when each has tests, and all pass", async () => {
  const copy = await Copy.make(["deno.json", "tests/deno.lock"]);
  try {
    const file = "some_test.ts";
    await Deno.writeTextFile(
      joinPath(copy.root, file),
      `Deno.test("one (first) / a+b", async (t) => void await t.step("inner", () => console.log("noise")));
      Deno.test("other", () => {});
      Deno.test("wrong", () => Promise.reject(new Error("wrong")));`,
    );
    const passing = ["(first) / a+", "other"].map((filter) => ({ file, filter }));
    assert(await copy.passTogether(passing));
    for (const filter of ["inner", "missing", "wrong"]) {
      assert(!await copy.passTogether([...passing, { file, filter }]), filter);
    }
    assert(!await copy.passTogether([...passing, { file }]), "all of them");
    const none = await copy.run({ file, filter: "missing" });
    assert(
      !none.failed && none.passed?.length === 0,
      "tests that were not run have noticed nothing",
    );
  } finally {
    await copy.remove();
  }
});

Deno.test("a test that runs for more than a minute has passed, too", () => {
  const said = [
    "running 2 tests from ./slow_test.ts",
    "slow (file, 10000 steps) ...'slow (file, 10000 steps)' has been running for over (1m0s)",
    "'slow (file, 10000 steps)' has been running for over (2m0s)",
    " ok (2m3s)",
    "wrong ... FAILED (14ms)",
    "quick ... ok (14ms)",
  ];
  assertEquals(passedIn(`${said.join("\n")}\n`), ["slow (file, 10000 steps)", "quick"]);
});
