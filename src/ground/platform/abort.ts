/** A signal that follows others; disposing it stops following. */
export interface FollowingSignal extends Disposable {
  readonly signal: AbortSignal;
  /** Aborts it, unless one that it follows was first. */
  abort(reason?: unknown): void;
}

/**
 * Follows signals: aborts with the first of them that does, and with its reason.
 *
 * In place of `AbortSignal.any`, whose result is collected as garbage while only listeners refer to
 * it (Deno 2.4), so that nobody hears the abort.
 */
export function following(...signals: readonly AbortSignal[]): FollowingSignal {
  const controller = new AbortController();
  const follow = ({ target }: Event) => controller.abort((target as AbortSignal).reason);
  for (const signal of signals) {
    if (signal.aborted) controller.abort(signal.reason);
    else signal.addEventListener("abort", follow, { once: true });
  }
  return {
    signal: controller.signal,
    abort: (reason) => controller.abort(reason),
    [Symbol.dispose]() {
      for (const signal of signals) signal.removeEventListener("abort", follow);
    },
  };
}

/**
 * Waits for a promise, but not beyond a signal.
 *
 * The promise has a handler from the first moment, also when the signal is aborted already: what it rejects
 * with later is nobody's, and would end the process.
 *
 * @throws what the promise rejects with, or the signal's reason.
 */
export function until<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason);
    promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", abort));
    if (signal.aborted) abort();
    else signal.addEventListener("abort", abort, { once: true });
  });
}

/**
 * Does a piece of work for each item, a few at a time; stops beginning more after the first failure.
 *
 * @throws what the first work to fail throws, when all that were begun have ended.
 */
export async function forEachOf<Item>(
  items: Iterable<Item>,
  atOnce: number,
  work: (item: Item) => Promise<void>,
): Promise<void> {
  const rest = items[Symbol.iterator]();
  let failed: { error: unknown } | undefined;
  const worker = async () => {
    while (failed === undefined) {
      const { done, value } = rest.next();
      if (done) return;
      await work(value).catch((error) => failed ??= { error });
    }
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
  if (failed !== undefined) throw failed.error;
}
