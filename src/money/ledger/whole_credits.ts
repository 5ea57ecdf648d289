/**
 * Returns credits that go to the database or came from it. Its tables check the same; here it is asserted once more, so that a
 * fraction fails the request that it is of, not the batch that it would be written with, and nothing false is read (P3).
 *
 * @param value Whole credits, 0 or more.
 * @param what What they are, for the error.
 * @throws {TypeError} If they are anything else.
 */
export function wholeCredits(value: unknown, what: string): number {
  if (typeof value === "number" && Number.isInteger(value) && value >= 0) return value;
  throw new TypeError(`${what} must be whole credits, 0 or more: ${String(value)}`);
}
