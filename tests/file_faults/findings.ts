import { type Call, type CallCount, CALLS, type FaultControl } from "./control.ts";

const MAX_ERRORS = 15;
const MAX_NAMED = 12;

/** What a run found: failures, and numbers that describe it. */
export class Findings {
  readonly failures: string[] = [];
  rounds = 0;
  kills = 0;
  checks = 0;
  /** From the end of faults to the first of the charges that were not followed by a failure. */
  readonly backMs: number[] = [];
  /** The same where the gateway was killed, from the moment at which it was started again. */
  readonly backAfterKillMs: number[] = [];
  /** Rounds after which only a restart brought the gateway back. */
  notBack = 0;
  readonly contradictions = new Map<string, number>();
  charges = 0;
  lateUnknown = 0;
  unansweredCharges = 0;
  readonly #errors = new Map<string, number>();

  fail(what: string): void {
    this.failures.push(what);
  }

  count(contradiction: string): void {
    this.contradictions.set(contradiction, (this.contradictions.get(contradiction) ?? 0) + 1);
  }

  /** Counts the errors of a log, by their words. */
  readLog(log: string): void {
    for (const line of log.split("\n")) {
      if (line === "" || !line.startsWith("{")) continue;
      const { level, message, error } = parse(line);
      if (level !== "error" && level !== "warn") continue;
      const words = `${level}: ${message}: ${String(error ?? "").split("\n")[0]}`
        .replaceAll(/(?:req|acc|key|lot)_\w+/g, "ID").slice(0, 160);
      this.#errors.set(words, (this.#errors.get(words) ?? 0) + 1);
    }
  }

  /** The numbers of the run, as lines. */
  report(control: FaultControl, outcomes: Readonly<Record<string, number>>): string[] {
    const said = Object.entries(outcomes).map(([name, count]) => `${count} ${name}`).join(", ");
    const counts = CALLS.map((call) => [call, control.count(call)] as const);
    const errors = [...this.#errors].sort(([, one], [, other]) => other - one);
    return [
      `rounds ${this.rounds}, kills ${this.kills}, checks at rest ${this.checks}`,
      `requests: ${said}`,
      `charges ${this.charges}: ${this.unansweredCharges} of requests that got no reply, ` +
      `${this.lateUnknown} of requests refused after all tries (documented as unknown)`,
      `back in service after faults: ${
        spread(this.backMs)
      }; not without a restart: ${this.notBack}`,
      `back in service after a kill: ${spread(this.backAfterKillMs)}`,
      ...[...this.contradictions].map(([what, count]) => `/readyz: ${what}: ${count}`),
      `faults: ${control.faults} in all`,
      ...counts.filter(([, { calls }]) => calls > 0).map(line),
      ...errors.slice(0, MAX_ERRORS).map(([words, count]) => `log: ${count} × ${words}`),
    ];
  }

  /** The last line of a run. */
  get verdict(): string {
    const named = this.failures.slice(0, MAX_NAMED).join(" | ");
    const more = this.failures.length > MAX_NAMED
      ? ` | and ${this.failures.length - MAX_NAMED} more`
      : "";
    return this.failures.length === 0 ? "passed" : `failed: ${named}${more}`;
  }
}

function line([call, { calls, faults }]: readonly [Call, CallCount]): string {
  return `  ${call.padEnd(9)} ${String(faults).padStart(8)} of ${calls} calls`;
}

function spread(ms: readonly number[]): string {
  const sorted = ms.toSorted((one, other) => one - other);
  const at = (part: number) => Math.round(sorted[Math.floor(part * (sorted.length - 1))] ?? 0);
  return `median ${at(0.5)} ms, worst ${at(1)} ms (${ms.length} times)`;
}

function parse(line: string): Record<string, unknown> {
  try {
    return JSON.parse(line);
  } catch {
    return {}; // cut off where the process ended
  }
}
