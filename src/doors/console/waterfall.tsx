import type { RequestRecord } from "../../money/usage/mod.ts";
import { Table } from "./components.tsx";
import { duration, number } from "./format.ts";

/** One part of a request's time. */
export interface TimeStep {
  readonly name: string;
  readonly kind: "wait" | "failed" | "upstream" | "response";
  /** Milliseconds since the request began. */
  readonly fromMs: number;
  readonly untilMs: number;
}

/** A request's time, and what the record lacks. */
export interface Timeline {
  readonly steps: readonly TimeStep[];
  readonly totalMs: number;
  readonly notes: readonly string[];
}

/**
 * Divides the time of a request into what is recorded of it: attempts with their durations but without their beginnings, the
 * first output, the end.
 */
export function timelineOf(
  { attempts, attemptList, firstTokenMs, durationMs, streamed, ending }: Pick<
    RequestRecord,
    "attempts" | "attemptList" | "firstTokenMs" | "durationMs" | "streamed" | "ending"
  >,
): Timeline {
  const notes: string[] = [];
  const steps: TimeStep[] = [];
  const totalMs = Math.max(durationMs, firstTokenMs ?? 0, 1);
  const repliedMs = Math.min(firstTokenMs ?? totalMs, totalMs);
  if (attempts === 0) {
    steps.push({ name: "in the gateway", kind: "wait", fromMs: 0, untilMs: totalMs });
    return { steps, totalMs, notes: ["It was not sent to an upstream."] };
  }
  const listed = attemptList ?? [];
  const sum = listed.reduce((all, one) => all + one.durationMs, 0);
  if (listed.length === 0) {
    steps.push({
      name: firstTokenMs !== null
        ? "until the first output"
        : ending === "complete"
        ? "until the response"
        : "sent, no output",
      kind: firstTokenMs === null && ending !== "complete" ? "failed" : "upstream",
      fromMs: 0,
      untilMs: repliedMs,
    });
    notes.push(
      attempts === 1
        ? "Its attempt is recorded with the time of the first output only: limits, images and sending are part of the first step."
        : `The times of its ${number(attempts)} attempts are not recorded one by one.`,
    );
  } else {
    // their beginnings are not recorded: they end, one after the other, with the first output
    const isOneByOne = sum <= repliedMs;
    let fromMs = isOneByOne ? repliedMs - sum : 0;
    if (fromMs > 0) {
      steps.push({ name: "in the gateway", kind: "wait", fromMs: 0, untilMs: fromMs });
    }
    listed.forEach(({ upstream, outcome, durationMs: ms }, at) => {
      const untilMs = Math.min(fromMs + ms, totalMs);
      steps.push({
        name: `${at + 1}. ${upstream}: ${outcome}`,
        kind: outcome === "replied" ? "upstream" : "failed",
        fromMs,
        untilMs,
      });
      if (isOneByOne) fromMs = untilMs;
    });
    notes.push(
      isOneByOne
        ? "When attempts began is not recorded: they are drawn one after the other, and waits between them are in the first step."
        : "Attempts overlapped or went on after the first output; when each began is not recorded, so each is drawn from the start.",
    );
    if (attempts > listed.length) {
      notes.push(`${number(attempts - listed.length)} more attempts are not listed.`);
    }
  }
  if (totalMs > repliedMs) {
    steps.push({
      name: streamed ? "streaming" : "reading the reply",
      kind: "response",
      fromMs: repliedMs,
      untilMs: totalMs,
    });
  }
  notes.push("The settlement comes last and is not timed.");
  return { steps, totalMs, notes };
}

/** The time of a request as a waterfall: a bar for each step, in a table that has the numbers. */
export function Waterfall({ record }: { record: RequestRecord }) {
  const { steps, totalMs, notes } = timelineOf(record);
  const at = (ms: number) => Math.round(ms / totalMs * 100_000) / 1_000;
  return (
    <>
      <Table<TimeStep>
        caption={`Where the ${duration(totalMs)} went`}
        rows={steps}
        empty=""
        columns={[
          { name: "step", cell: ({ name }) => name },
          {
            name: "time",
            bare: true,
            cell: ({ kind, fromMs, untilMs }) => (
              <svg class="waterfall" width="100%" height="14" aria-hidden="true">
                <rect class="track" width="100%" height="14" rx="2" />
                <rect
                  class={kind}
                  x={`${at(fromMs)}%`}
                  width={`${Math.max(0.4, at(untilMs) - at(fromMs))}%`}
                  height="14"
                  rx="2"
                />
              </svg>
            ),
          },
          { name: "from", numeric: true, cell: ({ fromMs }) => duration(fromMs) },
          {
            name: "duration",
            role: "figure",
            cell: ({ fromMs, untilMs }) => duration(untilMs - fromMs),
          },
        ]}
      />
      <p class="quiet">{notes.join(" ")}</p>
    </>
  );
}
