/**
 * Runs tests again and again, every other time on a machine that is busy, and prints which failed how often.
 *
 *   deno task steady 6                   all tests, six times
 *   deno task steady 20 tests/flow       those of a folder or file
 *
 * Exit code 1 if any has failed.
 */

import { runSteps, say } from "./run_steps.ts";
import { runTests } from "./suite.ts";
import type { Fault, Outcome } from "./outcome.ts";
import type { Workplace } from "./workplace.ts";

const deno = Deno.execPath();
const DEADLINE_MS = 3 * 60 * 60_000;

const [count = "", ...paths] = Deno.args;
const times = Number(count);
if (!Number.isInteger(times) || times < 1) {
  say("usage: deno task steady TIMES [PATH…]");
  Deno.exit(2);
}
const args = paths.length === 0 ? ["task", "test"] : ["task", "test:only", "--parallel", ...paths];
const options = { deadlineMs: DEADLINE_MS };

/** A busy loop for each core, until disposed of. */
function busyLoops(): Disposable {
  const loops = Array.from(
    { length: navigator.hardwareConcurrency },
    () => new Deno.Command("bash", { args: ["-c", "while kill -0 $PPID; do :; done"] }).spawn(),
  );
  return { [Symbol.dispose]: () => loops.forEach((loop) => loop.kill("SIGKILL")) };
}

async function repeat(workplace: Workplace): Promise<Outcome> {
  const failures = new Map<string, { messages: string[]; outputs: string[]; file: string }>();
  for (let time = 1; time <= times; time++) {
    const isBusy = time % 2 === 0;
    using _loops = isBusy ? busyLoops() : { [Symbol.dispose]() {} };
    const how = isBusy ? "busy" : "quiet";
    const { ended, failed, counts, isWhole } = await runTests(
      workplace,
      how,
      { deno, options },
      args,
    );
    say(
      `${time} ${how}: ${counts.passed} passed, ${counts.failed} failed in ${
        Math.round(ended.seconds)
      } s`,
    );
    const all = isWhole ? failed : [...failed, {
      file: "tests/",
      name: "the run did not come to its end",
      message: `exit code ${ended.code}`,
    }];
    for (const { file, name, message } of all) {
      const title = `${file}: ${name}`;
      const one = failures.get(title) ?? { messages: [], outputs: [], file };
      failures.set(title, one);
      one.messages.push(`${how}: ${message}`);
      one.outputs.push(ended.output);
    }
  }
  const faults = [...failures].map(([title, { messages, outputs, file }]): Fault => ({
    title: `${title}: ${messages.length} of ${times} times`,
    message: messages[0]!.split("\n").slice(0, 24).join("\n"),
    outputs,
    again: `deno task steady 10 ${file}`,
  }));
  return { faults };
}

const step = { name: "steady", proves: `no test failed in ${times} runs`, run: repeat };
Deno.exit(await runSteps([step]) ? 0 : 1);
