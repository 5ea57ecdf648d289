import { type Fault, type Outcome, quoted, type Step } from "./outcome.ts";
import type { Ended, RunOptions, Workplace } from "./workplace.ts";

/** Lines of an output that the last screen shows. */
const SHOWN_LINES = 30;

/** A step that is one command, and has passed if that exits with 0 and leaves nothing running. */
export function commandStep(
  step: Pick<Step, "name" | "proves">,
  command: readonly string[],
  options: RunOptions = {},
): Step {
  return { ...step, run: (workplace) => runCommand(workplace, step.name, command, options) };
}

/** Runs a command as a step, or as a part of one. */
export async function runCommand(
  workplace: Workplace,
  name: string,
  command: readonly string[],
  options: RunOptions = {},
): Promise<Outcome> {
  const ended = await workplace.run(name, command, options);
  const faults: Fault[] = [];
  if (ended.code !== 0) {
    const lines = await printed(ended);
    faults.push(faultOf(ended, command, [endingOf(ended), ...lines.slice(-SHOWN_LINES)]));
  }
  faults.push(...leftRunning(ended, command));
  return { faults };
}

/** Lines that a command printed, without empty ones. */
export async function printed({ output }: Ended): Promise<string[]> {
  return (await Deno.readTextFile(output)).split("\n").filter((line) => line.trim() !== "");
}

/** The fault that processes are, which a command has left running. */
export function leftRunning(ended: Ended, command: readonly string[]): Fault[] {
  if (ended.left.length === 0) return [];
  return [faultOf(ended, command, ["left processes running, which were ended:", ...ended.left])];
}

export function faultOf(
  { output }: Ended,
  command: readonly string[],
  lines: readonly string[],
): Fault {
  const again = command.map(quoted).join(" ");
  return { title: again, message: lines.join("\n"), outputs: [output], again };
}

export function endingOf({ code, killed }: Ended): string {
  return killed ?? `exit code ${code}`;
}
