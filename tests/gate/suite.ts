import { endingOf, faultOf, leftRunning, printed } from "./command_step.ts";
import { type Fault, type Outcome, quoted, type Step } from "./outcome.ts";
import { type FailedTest, readTestOutput, type TestOutput } from "./test_output.ts";
import { testSeed } from "../fake/random.ts";
import type { Ended, RunOptions, Workplace } from "./workplace.ts";

/** More test files than this that failed once and passed alone are a failure. */
const MAX_UNSTEADY = 5;
/** With more failed files than this, something is broken, and running each alone would only take time. */
const MAX_SECOND_LOOKS = 12;
/** Lines of an error that are shown. */
const SHOWN_LINES = 24;

/** Tests to run. */
export interface Suite {
  /** The executable. */
  readonly deno: string;
  /** Arguments of it that run all tests, such as `task test`. */
  readonly all: readonly string[];
  /** Arguments of it that run the test files whose paths follow, one after the other, such as `task test:only`. */
  readonly only: readonly string[];
  /**
   * Whether its version of Deno fails a test for what outlives it. Newer ones do where a test asks for it; the HTTP client's
   * connections and timers are meant to be there for the next request, and the C library for the next call. Such a test has passed.
   */
  readonly hasLeakChecks?: boolean;
  readonly options?: RunOptions;
}

/** How the error begins of a test that has passed, but for what outlives it. */
const LEAK = "error: Leaks detected:";

/** One run of tests. */
export interface TestRun extends TestOutput {
  readonly ended: Ended;
  readonly command: readonly string[];
  readonly hasPassed: boolean;
}

/** A step that is a suite of tests, with a second look at files that failed. */
export function suiteStep(step: Pick<Step, "name" | "proves">, suite: Suite): Step {
  return { ...step, run: (workplace) => runSuite(workplace, step.name, suite) };
}

/** Runs tests once. */
export async function runTests(
  workplace: Workplace,
  name: string,
  { deno, hasLeakChecks = false, options }: Omit<Suite, "all" | "only">,
  args: readonly string[],
): Promise<TestRun> {
  const command = [deno, ...args];
  const ended = await workplace.run(name, command, options);
  const output = readTestOutput(await Deno.readTextFile(ended.output));
  const { failed: listed, isWhole } = output;
  const failed = listed.filter(({ message }) => !hasLeakChecks || !message.startsWith(LEAK));
  const leaks = listed.length - failed.length;
  const onlyLeaks = failed.length === 0 && leaks > 0;
  const counts = {
    ...output.counts,
    passed: output.counts.passed + leaks,
    failed: output.counts.failed - leaks,
  };
  const hasPassed = isWhole && (ended.code === 0 || onlyLeaks);
  return { failed, counts, isWhole, ended, command, hasPassed };
}

/**
 * Runs all tests, then each file that failed once more, alone. A file that passes then is unsteady: listed, and no failure
 * unless there are more than five of them. Both draw the same samples: what fails for its sample fails again.
 */
export async function runSuite(
  workplace: Workplace,
  name: string,
  unseeded: Suite,
): Promise<Outcome> {
  const suite = withSeed(unseeded);
  const first = await runTests(workplace, name, suite, suite.all);
  const faults: Fault[] = leftRunning(first.ended, first.command);
  const unsteady: Fault[] = [];
  const files = [...new Set(first.failed.map(({ file }) => file))].sort();
  if (!first.isWhole || (!first.hasPassed && files.length === 0)) {
    faults.push(await brokenRun(first));
  }
  const hasSecondLook = files.length <= MAX_SECOND_LOOKS;
  for (const file of files) {
    const before = first.failed.filter((one) => one.file === file);
    if (!hasSecondLook) {
      faults.push(...before.map((one) => testFault(one, suite, [first.ended.output])));
      continue;
    }
    const second = await runTests(workplace, `${name} again`, suite, [
      ...suite.only,
      ...file.split(" "),
    ]);
    const outputs = [first.ended.output, second.ended.output];
    faults.push(...leftRunning(second.ended, second.command));
    const failed = second.failed.length > 0 ? second.failed : before;
    (second.hasPassed ? unsteady : faults).push(
      ...failed.map((one) => testFault(one, suite, outputs)),
    );
  }
  const unsteadyFiles = new Set(unsteady.map(({ title }) => title.split(": ")[0]));
  if (unsteadyFiles.size > MAX_UNSTEADY) {
    faults.push({
      title: `${unsteadyFiles.size} unsteady test files`,
      message: `Up to ${MAX_UNSTEADY} files may fail once and pass alone. Repair those below.`,
      outputs: [first.ended.output],
      again: "deno task steady 2",
    });
  }
  return { faults, unsteady, tests: first.counts };
}

/** The seed of a suite's random tests. */
const SEED = "SLUICE_TEST_SEED";

function withSeed(suite: Suite): Suite {
  const env = { [SEED]: String(testSeed()), ...suite.options?.env };
  return { ...suite, options: { ...suite.options, env } };
}

/** A run without the list of what failed: killed, crashed, or a module could not be loaded. */
async function brokenRun({ ended, command, failed }: TestRun): Promise<Fault> {
  const lines = await printed(ended);
  const marked = lines.filter((line) => /\bFAILED\b/.test(line)).slice(0, SHOWN_LINES);
  const heading = failed.length > 0
    ? "ended early, or list failures that cannot be read"
    : "ended without a list of failures";
  return faultOf(ended, command, [
    `The tests ${heading}: ${endingOf(ended)}`,
    ...marked,
    ...lines.slice(-SHOWN_LINES),
  ]);
}

function testFault(
  { file, name, message }: FailedTest,
  { only, options }: Suite,
  outputs: readonly string[],
): Fault {
  return {
    title: `${file}: ${name}`,
    message: message.split("\n").slice(0, SHOWN_LINES).join("\n"),
    outputs,
    again: [`${SEED}=${options!.env![SEED]}`, "deno", ...only, ...file.split(" ")].map(quoted)
      .join(" "),
  };
}
