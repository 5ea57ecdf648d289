import { Activity } from "./activity.ts";
import { Circuit } from "./circuit.ts";
import type { KeyPool } from "./key_pool.ts";

/** `unknown` until the upstream has been sent a request and something came of it. */
export type HealthState = "unknown" | "ok" | "failing";

/** How an upstream has been doing. */
export class Health {
  readonly #now: () => number;
  /** What went wrong last, without secrets; undefined while nothing did. */
  lastFailure: { readonly detail: string; readonly atMs: number } | undefined;
  /** From the last request that got a response to the beginning of that, in milliseconds. */
  lastLatencyMs: number | undefined;
  /** Models that gave fewer choices than they were asked for: each choice is asked for on its own from then on. */
  readonly singleChoiceModels = new Set<string>();
  /** Models that reported reasoning which nobody had asked for and nothing showed: they may reason in any reply. */
  readonly hidingModels = new Set<string>();
  /** When something came of a request last, in milliseconds since the epoch; 0 before. */
  lastOutcomeAtMs = 0;
  #lastOutcome: "ok" | "failing" | undefined;
  readonly #keys: KeyPool | undefined;
  /** What became of what it was sent in the last hour. */
  readonly activity: Activity;
  /** By the upstream's model: one may be overloaded while the others work. */
  readonly #circuits = new Map<string, Circuit>();

  /**
   * @param keys The upstream's keys, if it has several.
   * @param activity What is known of its last hour.
   */
  constructor(now: () => number, keys?: KeyPool, activity = new Activity(now)) {
    this.#now = now;
    this.#keys = keys;
    this.activity = activity;
  }

  /** Notes that what it reported of a reply's tokens was not believed. */
  usageDeparted(): void {
    this.activity.departed();
  }

  /** How its last request ended; `failing` too while every model or every key is left alone. */
  get state(): HealthState {
    return this.resting ? "failing" : this.#lastOutcome ?? "unknown";
  }

  /** The circuit of one of the upstream's models. */
  circuit(model: string): Circuit {
    let circuit = this.#circuits.get(model);
    if (circuit === undefined) this.#circuits.set(model, circuit = new Circuit(this.#now));
    return circuit;
  }

  /** Whether every model that was asked for lately fails, or every key is rejected, exhausted or over its rate limit. */
  get resting(): boolean {
    if (this.#keys?.resting) return true;
    return this.#circuits.size > 0 && [...this.#circuits.values()].every(({ isOpen }) => isOpen);
  }

  /** Models whose circuits are open or half open. */
  get failingModels(): string[] {
    return [...this.#circuits].filter(([, circuit]) => !circuit.isClosed).map(([model]) => model);
  }

  /** Notes that it rejected a request for what was in it: it works. */
  responded(): void {
    this.#ended("ok");
  }

  /** Notes a response. */
  succeeded(latencyMs: number): void {
    this.#ended("ok");
    this.lastLatencyMs = latencyMs;
  }

  /** Notes that a stream of a model was complete. */
  streamCompleted(model: string): void {
    this.circuit(model).streamCompleted();
  }

  /** Notes that a stream of a model broke off, and not for anything that its client did. */
  streamBroke(model: string): void {
    this.circuit(model).streamBroke();
    this.activity.broke();
    this.failed("a stream broke off");
  }

  /** Notes a failure. */
  failed(detail: string): void {
    this.#ended("failing");
    this.lastFailure = { detail, atMs: this.#now() };
  }

  #ended(outcome: "ok" | "failing"): void {
    this.#lastOutcome = outcome;
    this.lastOutcomeAtMs = this.#now();
  }
}
