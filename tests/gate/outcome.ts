import type { Workplace } from "./workplace.ts";

/** Something that failed, with what it takes to look into it. */
export interface Fault {
  /** Where: a test's file and name, or a command. */
  readonly title: string;
  readonly message: string;
  /** Files that have all that was printed. */
  readonly outputs: readonly string[];
  /** A command that runs just this. */
  readonly again: string;
}

/** What came of a step. */
export interface Outcome {
  readonly faults: readonly Fault[];
  /** Test files that failed first and passed alone. */
  readonly unsteady?: readonly Fault[];
  readonly tests?: { readonly passed: number; readonly failed: number; readonly ignored: number };
  /** Why nothing was done. */
  readonly skipped?: string;
}

/** Something to run, such as a linter or all tests. */
export interface Step {
  readonly name: string;
  /** What holds once it has passed, in one line. */
  readonly proves: string;
  readonly run: (workplace: Workplace) => Promise<Outcome>;
}

/** A step that ran. */
export interface Finished extends Outcome {
  readonly step: Step;
  readonly seconds: number;
}

/** Quotes an argument for a shell, where it needs that. */
export function quoted(argument: string): string {
  return /^[\w./:=@%+,-]+$/.test(argument) ? argument : `'${argument.replaceAll("'", `'\\''`)}'`;
}
