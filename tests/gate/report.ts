import type { Fault, Finished } from "./outcome.ts";

/** The last screen: what failed in any step, what was unsteady, and the steps with their seconds. */
export function report(finished: readonly Finished[]): string {
  const faults = finished.flatMap(({ faults }) => faults);
  const unsteady = finished.flatMap(({ unsteady = [] }) => unsteady);
  const tests = finished.flatMap(({ tests }) => tests === undefined ? [] : [tests]);
  const passed = tests.reduce((sum, one) => sum + one.passed, 0) +
    finished.filter((one) => one.tests === undefined && stateOf(one) === "ok").length;
  return [
    ...(faults.length > 0 ? ["", "== Failures", ...faults.flatMap(shown)] : []),
    ...(unsteady.length > 0
      ? ["", "== Unsteady: failed, and passed when run alone", ...unsteady.flatMap(shown)]
      : []),
    "",
    "== Steps",
    ...finished.map(row),
    "",
    `${passed} passed, ${faults.length} failed`,
  ].join("\n");
}

/** A step in one line. */
export function row(one: Finished): string {
  const { step: { name, proves }, seconds, skipped, tests } = one;
  const what = skipped ??
    (tests === undefined
      ? proves
      : `${proves} (${tests.passed} passed, ${tests.failed} failed, ${tests.ignored} ignored)`);
  return `${stateOf(one).padEnd(8)}${`${Math.round(seconds)} s`.padStart(7)}  ${name}: ${what}`;
}

function stateOf({ faults, unsteady = [], skipped }: Finished): string {
  if (faults.length > 0) return "FAILED";
  if (skipped !== undefined) return "skipped";
  return unsteady.length > 0 ? "unsteady" : "ok";
}

function shown({ title, message, outputs, again }: Fault): string[] {
  return [
    "",
    title,
    ...message.split("\n").map((line) => `    ${line}`),
    `  output: ${outputs.join(" ")}`,
    `  again:  ${again}`,
  ];
}
