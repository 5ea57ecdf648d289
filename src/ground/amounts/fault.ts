/** Thrown for a text that is no such amount. The message begins with `must be`: the name of the value belongs before it. */
export class AmountError extends Error {
  override readonly name = "AmountError";

  /**
   * @param rule What it must be, such as `a whole number from 1 to 10`.
   * @param value What was given.
   * @param why What is wrong with that, such as `is negative`.
   */
  constructor(rule: string, value: unknown, why: string) {
    super(`must be ${rule}: got ${given(value)}${value === "" ? "" : `, which ${why}`}`);
  }
}

/** Characters of a value that are repeated. */
const MAX_SHOWN = 40;

/** A value as a fault repeats it. */
export function given(value: unknown): string {
  if (value === "") return "nothing";
  if (typeof value === "number") {
    // JSON has lost the digits beyond
    return Math.abs(value) <= Number.MAX_SAFE_INTEGER ? String(value) : "a number beyond 2^53";
  }
  if (typeof value !== "string") return value === null ? "null" : `a value of another type`;
  const text = value.length > MAX_SHOWN ? `${value.slice(0, MAX_SHOWN)}…` : value;
  return /^[-+.,:\w]+$/.test(text) ? text : JSON.stringify(text);
}

/** A number of a rule: `65535`, `1,000,000`. */
export function numberText(value: number): string {
  return value < 1e6 ? String(value) : value.toLocaleString("en-US");
}

/** What is wrong with a text that is not written in plain digits. */
export function unplain(text: string): string {
  if (/^-\d/.test(text)) return "is negative";
  if (/^\+\d/.test(text)) return "has a sign";
  if (/^\s|\s$/.test(text)) return "has spaces around it";
  if (/^\d+,\d+$/.test(text)) return "has a comma";
  return "is not written in plain digits";
}
