/**
 * Waits for work up to a time. What takes longer goes on, and nobody needs to wait for it.
 *
 * @param late Called when the time is over: what it returns, or throws, stands for what comes of the work.
 */
export async function within<T, Late>(
  ms: number,
  work: Promise<T>,
  late: () => Late,
): Promise<T | Late> {
  const over = Promise.withResolvers<void>();
  const timer = setTimeout(over.resolve, ms);
  try {
    return await Promise.race([work, over.promise.then(late)]);
  } finally {
    clearTimeout(timer);
  }
}
