import { Circuit } from "./circuit.ts";

/** How an upstream has been doing. */
export class Health {
  readonly #now: () => number;
  /** What went wrong last, without secrets; undefined while nothing did. */
  lastFailure: { readonly detail: string; readonly atMs: number } | undefined;
  /** From the last request that got a response to the beginning of that, in milliseconds. */
  lastLatencyMs: number | undefined;
  /** Models that gave fewer choices than they were asked for: each choice is asked for on its own from then on. */
  readonly singleChoiceModels = new Set<string>();
  /** By the upstream's model: one may be overloaded while the others work. */
  readonly #circuits = new Map<string, Circuit>();

  constructor(now: () => number) {
    this.#now = now;
  }

  /** The circuit of one of the upstream's models. */
  circuit(model: string): Circuit {
    let circuit = this.#circuits.get(model);
    if (circuit === undefined) this.#circuits.set(model, circuit = new Circuit(this.#now));
    return circuit;
  }

  /** Whether every model that was asked for lately fails. */
  get resting(): boolean {
    return this.#circuits.size > 0 && [...this.#circuits.values()].every(({ isOpen }) => isOpen);
  }

  /** Notes a response. */
  succeeded(latencyMs: number): void {
    this.lastLatencyMs = latencyMs;
  }

  /** Notes a failure. */
  failed(detail: string): void {
    this.lastFailure = { detail, atMs: this.#now() };
  }
}
