import type { Row } from "../../src/ground/database/mod.ts";
import type { Exchange } from "./exchange.ts";
import type { Rule, Verdict } from "./oracle.ts";
import { isFurther, type Plan } from "./plan.ts";
import type { Taken } from "./reading.ts";

/** A run that is over. */
export interface Run {
  readonly plan: Plan;
  readonly exchanges: readonly Exchange[];
  readonly taken: Taken;
  /** Its usage record; undefined if there is none. */
  readonly record: Row | undefined;
}

/** What is wrong with a charge. */
export type Fault =
  | "rejected"
  | "no record"
  | "free"
  | "too low"
  | "too high"
  | "a break was charged"
  | "an unknown request was charged"
  | "not collected";

/** A run whose charge is not what it must be. */
export interface Violation {
  readonly fault: Fault;
  readonly run: Run;
  readonly verdict: Verdict;
}

/** How many runs of a kind there were. */
export interface Tally {
  runs: number;
  free: number;
  violations: number;
}

/** What came of a campaign. */
export class Report {
  readonly violations: Violation[] = [];
  /** By what they have in common, such as their rule. */
  readonly tallies = new Map<string, Tally>();
  /** Records of requests of which no caller knows the id. */
  unknown = 0;
  runs = 0;

  note(run: Run, verdict: Verdict): void {
    const { plan, record } = run;
    const fault = faultOf(run, verdict);
    if (fault !== undefined) this.violations.push({ fault, run, verdict });
    this.runs++;
    const kinds = [
      `rule: ${verdict.rule}`,
      `dialects: ${plan.front} to ${plan.back}, ${plan.stream ? "streamed" : "whole"}`,
      `caller: ${plan.manner}`,
      `upstream: ${plan.end}`,
      `usage: ${plan.usage}`,
      `limit: ${plan.limit}`,
      `choices: ${plan.choices}`,
      `logprobs: ${plan.logprobs}`,
      ...(plan.front === "socket" ? socketKinds(run) : []),
    ];
    for (const kind of kinds) {
      const tally = this.tallies.get(kind) ?? { runs: 0, free: 0, violations: 0 };
      this.tallies.set(kind, tally);
      tally.runs++;
      if (Number(record?.charged_credits ?? 0) === 0) tally.free++;
      if (fault !== undefined) tally.violations++;
    }
  }

  noteRecords(records: number, known: readonly unknown[]): void {
    this.unknown += Math.max(0, records - known.length);
  }

  /** Adds what came of another campaign. */
  add(other: Report): void {
    this.violations.push(...other.violations);
    this.unknown += other.unknown;
    this.runs += other.runs;
    for (const [kind, { runs, free, violations }] of other.tallies) {
      const tally = this.tallies.get(kind) ?? { runs: 0, free: 0, violations: 0 };
      this.tallies.set(kind, tally);
      tally.runs += runs;
      tally.free += free;
      tally.violations += violations;
    }
  }

  /** How often a rule decided. */
  runsBy(rule: Rule): number {
    return this.tallies.get(`rule: ${rule}`)?.runs ?? 0;
  }
}

function socketKinds({ plan, exchanges }: Run): string[] {
  const { turnsBefore, turnsAfter, sendsAhead, number } = plan;
  const turns = turnsBefore + turnsAfter + 1;
  const isContinued = exchanges.some(({ continuedChars }) => continuedChars > 0);
  return [
    `socket's caller: ${plan.manner}`,
    `socket: ${
      isFurther(number) ? "further turn" : `${turns} turns${sendsAhead ? ", ahead" : ""}`
    }`,
    `socket, continued: ${isContinued}`,
  ];
}

/** Whether nothing in a plan lets a request fail before its response begins. */
function isServed({ end, limit }: Plan, { leftTick }: Taken): boolean {
  const isWell = end === "proper" || end === "exceeds its limit";
  return isWell && limit === "none" && leftTick === undefined;
}

function faultOf({ taken, record, plan }: Run, verdict: Verdict): Fault | undefined {
  if (taken.status !== 200 && isServed(plan, taken)) return "rejected";
  if (record === undefined) {
    // a caller that left before it got anything may have been rejected, or never noticed
    return taken.requestId !== undefined && taken.status === 200 ? "no record" : undefined;
  }
  const charged = Number(record.charged_credits);
  if (charged !== Number(record.price_credits)) return "not collected";
  if (charged === 0) return verdict.mayBeFree ? undefined : "free";
  if (verdict.rule === "the upstream broke off" && plan.manner === "reads") {
    return "a break was charged";
  }
  if (charged < verdict.low) return "too low";
  return charged > verdict.high ? "too high" : undefined;
}

/** A violation on a few lines, with all that is needed to repeat it. */
export function describe({ fault, run, verdict }: Violation): string {
  const { plan, exchanges, taken, record } = run;
  const { seed, number } = plan;
  const shown = record === undefined ? "none" : [
    `${record.ending} ${record.status} ${record.usage_source}`,
    `${record.input_tokens} in (${record.cached_tokens} cached), ${record.output_tokens} out`,
    `${record.reason ?? ""} ${record.message ?? ""}`,
  ].join(", ");
  const { tail, ...rest } = taken;
  return [
    `${fault} (${verdict.rule}): charged ${record?.charged_credits}, must be in ` +
    `${verdict.low}..${verdict.high}${
      verdict.mayBeFree ? " or 0" : ""
    }; --seed ${seed} --only ${number}`,
    `  plan ${JSON.stringify(plan)}`,
    `  upstream ${JSON.stringify(exchanges)}`,
    `  caller ${JSON.stringify(rest)}`,
    `  tail ${JSON.stringify(tail)}`,
    `  record ${shown}`,
  ].join("\n");
}
