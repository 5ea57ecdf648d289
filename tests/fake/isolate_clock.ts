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
