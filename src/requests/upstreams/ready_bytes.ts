import { Promised } from "./promised.ts";
import type { ByteSource, ReadyBytes, Waiter } from "./transport.ts";

/** Makes any source one that is waited for without a promise for each piece. */
export function readyBytes(source: ByteSource | ReadyBytes): ReadyBytes {
  return "take" in source ? source : new AwaitedBytes(source);
}

/** A source that has nothing but promises. */
class AwaitedBytes implements ReadyBytes {
  readonly #source: ByteSource;
  readonly #promised = new Promised<Uint8Array | undefined>();

  constructor(source: ByteSource) {
    this.#source = source;
  }

  take(): Uint8Array | null | undefined {
    const came = this.#promised.take();
    return came === undefined ? null : came.value;
  }

  whenReady(waiter: Waiter): void {
    this.#promised.whenReady(waiter, () => this.#source.read());
  }

  read(): Promise<Uint8Array | undefined> {
    return readWhenReady(this);
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
