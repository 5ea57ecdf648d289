import type { ByteSource, ReadyBytes, Waiter } from "./transport.ts";

/** Makes any source one that is waited for without a promise for each piece. */
export function readyBytes(source: ByteSource | ReadyBytes): ReadyBytes {
  return "take" in source ? source : new AwaitedBytes(source);
}

/** What a read came to. */
type Came = { readonly bytes: Uint8Array | undefined } | { readonly error: unknown };

/** A source that has nothing but promises. */
class AwaitedBytes implements ReadyBytes {
  readonly #source: ByteSource;
  #came: Came | undefined;
  #isReading = false;
  #waiter: Waiter | undefined;

  constructor(source: ByteSource) {
    this.#source = source;
  }

  take(): Uint8Array | null | undefined {
    const came = this.#came;
    if (came === undefined) return null;
    this.#came = undefined;
    if ("error" in came) throw came.error;
    return came.bytes;
  }

  whenReady(waiter: Waiter): void {
    if (this.#came !== undefined) return waiter.wake();
    this.#waiter = waiter;
    if (this.#isReading) return;
    this.#isReading = true;
    this.#source.read().then((bytes) => this.#note({ bytes }), (error) => this.#note({ error }));
  }

  read(): Promise<Uint8Array | undefined> {
    return readWhenReady(this);
  }

  #note(came: Came): void {
    this.#isReading = false;
    this.#came = came;
    const waiter = this.#waiter;
    this.#waiter = undefined;
    waiter?.wake();
  }
}

/** Reads once there is something. */
export async function readWhenReady(
  source: Pick<ReadyBytes, "take" | "whenReady">,
): Promise<Uint8Array | undefined> {
  while (true) {
    const bytes = source.take();
    if (bytes !== null) return bytes;
    await new Promise<void>((resolve) => source.whenReady({ wake: resolve }));
  }
}
