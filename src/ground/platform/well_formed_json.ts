/** JSON without the escape of half a character, which not every reader takes: U+FFFD is in its place. */
export function wellFormedJson(value: unknown): string {
  const json = JSON.stringify(value);
  if (!json.includes("\\ud")) return json;
  return JSON.stringify(value, (_, one) => typeof one === "string" ? one.toWellFormed() : one);
}
