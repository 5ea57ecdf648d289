import type { Waiter } from "./transport.ts";

/** Values that come by promises, one at a time, and are had without a promise for each. */
export class Promised<T> {
  #came: { readonly value: T } | { readonly error: unknown } | undefined;
  #isReading = false;
  #waiter: Waiter | undefined;

  /** Whether nothing is read, and nothing has come that was not taken. */
  get isQuiet(): boolean {
    return this.#came === undefined && !this.#isReading;
  }

  /**
   * Takes what has come.
   *
   * @returns The value; undefined if nothing has come yet.
   * @throws What the read threw.
   */
  take(): { readonly value: T } | undefined {
    const came = this.#came;
    if (came === undefined) return undefined;
    this.#came = undefined;
    if ("error" in came) throw came.error;
    return came;
  }

  /**
   * Has a waiter woken once there is something to take, maybe at once. One waits at a time.
   *
   * @param read Called if nothing is being read.
   */
  whenReady(waiter: Waiter, read: () => Promise<T>): void {
    if (this.#came !== undefined) return waiter.wake();
    this.#waiter = waiter;
    if (this.#isReading) return;
    this.#isReading = true;
    read().then((value) => this.#note({ value }), (error) => this.#note({ error }));
  }

  #note(came: { readonly value: T } | { readonly error: unknown }): void {
    this.#isReading = false;
    this.#came = came;
    const waiter = this.#waiter;
    this.#waiter = undefined;
    waiter?.wake();
  }
}
