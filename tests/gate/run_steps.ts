import type { Finished, Step } from "./outcome.ts";
import { report, row } from "./report.ts";
import { Workplace } from "./workplace.ts";

/**
 * Runs steps one after the other, all of them whatever fails, and prints what failed at the end.
 *
 * @param options `parent`: where outputs are kept, by default where temporary files are; `tell` takes each line, `ended` each step when
 * it has ended.
 * @returns Whether all have passed.
 */
export async function runSteps(
  steps: readonly Step[],
  { parent, tell = say, ended }: {
    readonly parent?: string;
    readonly tell?: (line: string) => void;
    readonly ended?: (step: Finished) => Promise<void> | undefined;
  } = {},
): Promise<boolean> {
  await using workplace = await Workplace.open(parent);
  tell(`outputs are in ${workplace.directory}`);
  const finished: Finished[] = [];
  for (const step of steps) {
    tell(`\n== ${step.name}`);
    const startedTick = performance.now();
    const outcome = await run(step, workplace);
    const seconds = (performance.now() - startedTick) / 1_000;
    finished.push({ ...outcome, step, seconds });
    tell(row(finished.at(-1)!));
    await ended?.(finished.at(-1)!);
  }
  const left = workplace.leftFiles();
  if (left.length > 0) tell(`\nleft in the directory for temporary files: ${left.join(", ")}`);
  tell(report(finished));
  return finished.every(({ faults }) => faults.length === 0);
}

/** A step that cannot even be begun is a fault like any other. */
async function run(step: Step, workplace: Workplace) {
  try {
    return await step.run(workplace);
  } catch (error) {
    const message = error instanceof Error ? error.stack ?? error.message : String(error);
    return { faults: [{ title: step.name, message, outputs: [], again: ".ci/run" }] };
  }
}

/** Prints a line. */
export function say(line: string): void {
  const bytes = new TextEncoder().encode(`${line}\n`);
  for (let at = 0; at < bytes.length;) at += Deno.stdout.writeSync(bytes.subarray(at));
}
