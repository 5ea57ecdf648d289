import fc from "fast-check";
import { assert, assertEquals, assertMatch, assertStringIncludes } from "../assert.ts";
import { exists, tempDir, until } from "../fake/temp.ts";
import { commandStep } from "./command_step.ts";
import { groupsOf } from "./groups.ts";
import type { Finished, Step } from "./outcome.ts";
import { report } from "./report.ts";
import { runSteps } from "./run_steps.ts";
import { runSuite, type Suite, suiteStep } from "./suite.ts";
import { readTestOutput } from "./test_output.ts";
import { Workplace } from "./workplace.ts";

const LINUX_ONLY = { ignore: Deno.build.os !== "linux" };
const FLAGS = [
  "test",
  "--no-check",
  "--no-lock",
  "--no-config",
  "--allow-read",
  "--allow-write",
  "--allow-env",
];

/** Test files with what the gate is to find. */
const FILES = {
  "good_test.ts": `Deno.test("good", () => {});`,
  "price_test.ts": `
    Deno.test("a price", () => { throw new Error("seed 77: 3 credits instead of 2") });
    Deno.test("a step", async (t) => { await t.step("within", () => { throw new Error("deep") }) });`,
  "unsteady_test.ts": `
    Deno.test("one time in two", () => {
      const mark = new URL("mark", import.meta.url);
      try { Deno.removeSync(mark) } catch { Deno.writeTextFileSync(mark, ""); throw new Error("not yet") }
    });`,
  // unlike the one before, it fails whenever its sample is the same
  "sample_test.ts": `
    Deno.test("a sample", () => {
      const mark = new URL("seed", import.meta.url);
      const seed = Deno.env.get("SLUICE_TEST_SEED");
      try {
        if (Deno.readTextFileSync(mark) !== seed) return;
      } catch { Deno.writeTextFileSync(mark, seed) }
      throw new Error("of this sample");
    });`,
  "outside_test.ts": `Deno.test("never", () => {}); throw new Error("outside of a test");`,
};

async function project(files: Readonly<Record<string, string>>) {
  const directory = await tempDir();
  for (const [name, text] of Object.entries(files)) {
    await Deno.writeTextFile(`${directory.path}/${name}`, text);
  }
  return directory;
}

/** Whether there is a process, and it has not only to be waited for. */
async function isRunning(pid: string): Promise<boolean> {
  const args = ["-o", "state=", "-p", pid];
  const { stdout } = await new Deno.Command("ps", { args }).output();
  return /^[^Z]/.test(new TextDecoder().decode(stdout));
}

/** The tests of a directory, run as the gate runs them. */
function suiteAt(path: string, all = [...FLAGS, "."]): Suite {
  const inside = ["-c", 'cd "$0" && exec "$@"', path, Deno.execPath()];
  return { deno: "bash", all: [...inside, ...all], only: [...inside, ...FLAGS] };
}

async function lookAt(suite: Suite) {
  await using outputs = await tempDir();
  await using workplace = await Workplace.open(outputs.path);
  return await runSuite(workplace, "tests", suite);
}

Deno.test(
  "one run reports a step that fails in the middle, a wrong price, a test that fails one time in two and what fails outside of tests",
  LINUX_ONLY,
  async () => {
    await using directory = await project(FILES);
    await using outputs = await tempDir();
    const lines: string[] = [];
    const step = (name: string, command: string) =>
      commandStep({ name, proves: `${name} passes` }, [command]);
    const steps = [
      step("first", "true"),
      step("middle", "false"),
      suiteStep({ name: "tests", proves: "all pass" }, suiteAt(directory.path)),
      step("last", "true"),
    ];
    const tell = (line: string) => lines.push(line);
    assertEquals(await runSteps(steps, { parent: outputs.path, tell }), false);
    const [, failures = "", unsteady = "", table = ""] = lines.at(-1)!.split(/^== .*\n/m);
    const titlesOf = (part: string) => part.match(/^[^ \n].*/gm)!.sort();
    assertEquals(titlesOf(failures), [
      "false",
      "outside_test.ts: (uncaught error)",
      "price_test.ts: a price",
      "price_test.ts: a step ... within",
      "sample_test.ts: a sample",
    ]);
    assertEquals(titlesOf(unsteady), ["unsteady_test.ts: one time in two"]);
    assertStringIncludes(failures, "a price\n    error: Error: seed 77: 3 credits instead of 2");
    assertEquals(failures.match(/output: \S+$/gm)?.length, 1);
    const twice = /output: \S+ \S+$/gm;
    assertEquals([failures, unsteady].map((part) => part.match(twice)?.length), [4, 1]);
    assertEquals(table.match(/^\w+ .*/gm)?.map((row) => row.replaceAll(/ +\d+ s +/g, " ")), [
      "ok first: first passes",
      "FAILED middle: middle passes",
      "FAILED tests: all pass (1 passed, 5 failed, 0 ignored)",
      "ok last: last passes",
      "3 passed, 5 failed",
    ]);
  },
);

Deno.test(
  "what fails outside of a test is traced to its file among those that shared an isolate",
  LINUX_ONLY,
  async () => {
    await using directory = await tempDir();
    const { path } = directory;
    await Deno.mkdir(`${path}/tests/wing`, { recursive: true });
    await Deno.writeTextFile(`${path}/deno.json`, "{}");
    for (const [name, text] of Object.entries(FILES)) {
      await Deno.writeTextFile(`${path}/tests/wing/${name}`, text);
    }
    const grouped = `${import.meta.dirname}/grouped.ts`;
    const config = `--config=${import.meta.dirname}/../../deno.json`;
    const { faults, unsteady } = await lookAt(
      suiteAt(path, ["run", "--no-lock", config, "-A", grouped]),
    );
    assertEquals(faults.map(({ title }) => title).sort(), [
      "tests/wing/outside_test.ts: (uncaught error)",
      "tests/wing/price_test.ts: a price",
      "tests/wing/price_test.ts: a step ... within",
      "tests/wing/sample_test.ts: a sample",
      "tests/wing/unsteady_test.ts: one time in two", // the first run did not come to it
    ]);
    assertEquals(unsteady, []);
  },
);

Deno.test("what outlives a test is a failure only where this version of Deno looks by itself", async () => {
  const leaks =
    `Deno.test({ name: "leaks", sanitizeOps: true, fn: () => void setTimeout(() => {}, 60_000) });`;
  await using directory = await project({ "leaks_test.ts": leaks });
  const suite = suiteAt(directory.path);
  const [asked, unasked] = await Promise.all([
    lookAt(suite),
    lookAt({ ...suite, hasLeakChecks: true }),
  ]);
  assertEquals(asked.faults.map(({ title }) => title), ["leaks_test.ts: leaks"]);
  assertEquals([unasked.faults, unasked.unsteady], [[], []]);
  assertEquals([asked, unasked].map(({ tests }) => [tests?.passed, tests?.failed]), [[0, 1], [
    1,
    0,
  ]]);
  await Deno.writeTextFile(`${directory.path}/price_test.ts`, FILES["price_test.ts"]);
  const { faults } = await lookAt({ ...suite, hasLeakChecks: true });
  assertEquals(faults.map(({ title }) => title).sort(), [
    "price_test.ts: a price",
    "price_test.ts: a step ... within",
  ]);
});

Deno.test("each test file is in one group, long ones alone, those of small wings together", () => {
  const wing = fc.integer({ min: 1, max: 40 });
  fc.assert(fc.property(fc.array(wing, { maxLength: 12 }), (sizes) => {
    const files = sizes.flatMap((size, at) =>
      Array.from({ length: size }, (_, file) => `tests/${at}/${file}_test.ts`)
    );
    const walk = "tests/doors/console/walk_test.ts";
    const [first, ...groups] = groupsOf([...files, walk]);
    assertEquals(first, [walk]);
    assertEquals(groups.flat().sort(), files.sort());
    assert(groups.every(({ length }) => length >= 1 && length <= 32));
    const wingsOf = (group: string[]) => [...new Set(group.map((file) => file.split("/")[1]!))];
    const mixed = groups.filter((group) => wingsOf(group).length > 1);
    assert(mixed.flatMap(wingsOf).every((at) => sizes[Number(at)]! < 6));
    const alone = groups.filter((group) => sizes[Number(wingsOf(group)[0])]! < 6);
    assert(alone.filter(({ length }) => length < 6).length <= 1);
  }));
});

Deno.test("more than five unsteady files fail", LINUX_ONLY, async () => {
  const unsteady = FILES["unsteady_test.ts"];
  const files = Array.from({ length: 6 }, (_, index) => [
    `${index}_test.ts`,
    unsteady.replace('"mark"', `"mark${index}"`),
  ]);
  await using directory = await project(Object.fromEntries(files));
  const outcome = await lookAt(suiteAt(directory.path));
  assertEquals(outcome.faults.map(({ title }) => title), ["6 unsteady test files"]);
  assertEquals(outcome.unsteady?.length, 6);
});

Deno.test("a module that cannot be loaded fails the tests", LINUX_ONLY, async () => {
  await using directory = await project({ "a_test.ts": `import "./nowhere.ts";` });
  const { faults } = await lookAt(suiteAt(directory.path));
  assertEquals(faults.length, 1);
  assertStringIncludes(faults[0]!.message, "nowhere.ts");
});

Deno.test("a runner that is killed in the middle fails the tests", () => {
  const text = `./a_test.ts => one ... ok (1ms)\n./b_test.ts => two ... FAILED (2ms)\n`;
  const { isWhole, failed } = readTestOutput(text);
  assertEquals([isWhole, failed], [false, []]);
});

Deno.test("a failure that cannot be read is not passed over, whatever else is", () => {
  const list = (titles: string) =>
    `\n ERRORS \n\n FAILURES \n\n${titles}\n\nFAILED | 1 passed | 2 failed (1s)\n`;
  const known = "one => ./a_test.ts:1:6";
  assertEquals(readTestOutput(list(known)).isWhole, true);
  const { isWhole, failed } = readTestOutput(list(`${known}\nin another form`));
  assertEquals([isWhole, failed.length], [false, 1]);
});

Deno.test("what a command leaves running is a failure, and is ended", LINUX_ONLY, async () => {
  await using outputs = await tempDir();
  await using workplace = await Workplace.open(outputs.path);
  const step = commandStep({ name: "leaves", proves: "" }, [
    "bash",
    "-c",
    "sleep 1000 & setsid sleep 1001 & echo $!",
  ]);
  const { faults } = await step.run(workplace);
  assertEquals(faults.length, 1);
  assertStringIncludes(faults[0]!.message, "sleep 1000");
  assertStringIncludes(faults[0]!.message, "sleep 1001");
  const again = await commandStep({ name: "after", proves: "" }, ["true"]).run(workplace);
  assertEquals(again.faults, [], "they have ended");
});

Deno.test("a command beyond its deadline is killed with what it started", LINUX_ONLY, async () => {
  await using outputs = await tempDir();
  await using workplace = await Workplace.open(outputs.path);
  const slow = ["bash", "-c", "sleep 1000 & sleep 1001"];
  const step = commandStep({ name: "slow", proves: "" }, slow, { deadlineMs: 300 });
  const { faults } = await step.run(workplace);
  assertStringIncludes(faults[0]!.message, "killed after");
});

Deno.test("a gate that is killed leaves no process and no temporary file", LINUX_ONLY, async () => {
  await using directory = await tempDir();
  const script = `
    import { Workplace } from "${new URL("workplace.ts", import.meta.url)}";
    const workplace = await Workplace.open();
    console.log(workplace.directory);
    const command = 'mktemp -d "/tmp/sluice-x-$SLUICE_GATE_RUN-XXXX" >"$0.folder"; echo $$ >"$0"; (sleep 1000 & wait)';
    await workplace.run("x", ["bash", "-c", command, "${directory.path}/pid"]);`;
  await Deno.writeTextFile(`${directory.path}/gate.ts`, script);
  await using gate = new Deno.Command(Deno.execPath(), {
    args: ["run", "--no-check", "--allow-all", "--no-config", `${directory.path}/gate.ts`],
    env: { TMPDIR: directory.path },
    stdout: "piped",
  }).spawn();
  const pidFile = async () => await Deno.readTextFile(`${directory.path}/pid`).catch(() => "");
  await until(async () => (await pidFile()).endsWith("\n"), { what: "the command" });
  const pid = (await pidFile()).trim();
  gate.kill("SIGKILL");
  const kept = new TextDecoder().decode((await gate.output()).stdout).trim();
  await until(async () => !await isRunning(pid), { what: "the end of the command" });
  await until(async () => !await exists(`${kept}/tmp`), { what: "the end of its files" });
  const outside = (await Deno.readTextFile(`${directory.path}/pid.folder`)).trim();
  assertMatch(outside, /^\/tmp\/sluice-x-[\w-]{36}-/);
  await until(async () => !await exists(outside), { what: "the end of those elsewhere" });
});

Deno.test("the last screen lists each failure with its outputs and how to run it again", () => {
  const step: Step = { name: "tests", proves: "all pass", run: () => Promise.reject() };
  const fault = {
    title: "a_test.ts: a",
    message: "seed 1\nat x",
    outputs: ["/o"],
    again: "deno x",
  };
  const finished: Finished[] = [
    {
      step,
      seconds: 3,
      faults: [fault],
      unsteady: [],
      tests: { passed: 7, failed: 1, ignored: 0 },
    },
    { step: { ...step, name: "lint" }, seconds: 1, faults: [] },
  ];
  const screen = report(finished);
  for (const part of ["a_test.ts: a", "    seed 1", "output: /o", "again:  deno x", "FAILED"]) {
    assertStringIncludes(screen, part);
  }
  assert(screen.endsWith("\n8 passed, 1 failed"));
});
