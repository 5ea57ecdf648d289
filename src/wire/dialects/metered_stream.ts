import { brokenOff } from "./upstream_error.ts";
import type { Usage } from "./usage.ts";
import { type PartialUsage, UsageReports } from "./usage_reports.ts";

/** What streams of every dialect know of their reply: the upstream's reports, beside what the gateway counts. */
export abstract class MeteredStream<
  Meter extends { readonly tokens: number; readonly overcounted: number },
> {
  hasOutput = false;
  /** Whether an end mark came, or all that must come before one. */
  protected hasEnded = false;
  protected readonly meter: Meter;
  protected readonly reports: UsageReports;
  #reportCount = 0;
  #countedAtReport = 0;

  constructor(meter: Meter, reports = new UsageReports()) {
    this.meter = meter;
    this.reports = reports;
  }

  abstract get endedChoices(): number;

  get hasFinishReason(): boolean {
    return this.endedChoices > 0;
  }

  get finished(): boolean {
    return this.hasEnded;
  }

  end(): void {
    if (this.finished) return;
    if (!this.hasFinishReason) throw brokenOff();
    this.hasEnded = true; // some upstreams send no end mark
  }

  get countedOutput(): number {
    return this.meter.tokens;
  }

  get overcounted(): number {
    return this.meter.overcounted;
  }

  get usage(): Usage | undefined {
    return this.reports.usage;
  }

  get partialUsage(): PartialUsage {
    const { input, outputTokens, kinds, told } = this.reports;
    const outputAfter = this.meter.tokens - this.#countedAtReport; // may follow the last report
    return { input, outputTokens, outputAfter, kinds, told };
  }

  /** Call when an event was counted and its report, if it had one, was added. */
  protected noteReport(): void {
    const { outputReports } = this.reports;
    if (outputReports === this.#reportCount) return;
    this.#reportCount = outputReports;
    this.#countedAtReport = this.meter.tokens;
  }
}
