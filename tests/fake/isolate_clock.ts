/**
 * Has another clock in place of this isolate's, for what asks no clock of a gateway's.
 *
 * @param now Milliseconds since 1970.
 * @returns Puts the isolate's own back when it is disposed of.
 */
export function isolateClock(now: () => number): Disposable {
  const own = Date.now;
  Date.now = now;
  return { [Symbol.dispose]: () => void (Date.now = own) };
}

/**
 * The same for the clock that only goes on.
 *
 * @param now Milliseconds since any moment.
 */
export function isolateTicks(now: () => number): Disposable {
  const own = performance.now;
  performance.now = now;
  return { [Symbol.dispose]: () => void (performance.now = own) };
}
