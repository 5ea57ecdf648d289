/** What follows an aggregate that is of some rows only. */
export const only = (condition: string | undefined) =>
  condition === undefined ? "" : ` filter (where ${condition})`;

/** How an engine spells each function of `functions.ts`, of arguments that are expressions. */
export type Spelling = {
  least(...values: string[]): string;
  greatest(...values: string[]): string;
  iif(condition: string, then: string, otherwise: string): string;
  sumOf(number: string): string;
  clockMs(): string;
  randomHex(bytes: string): string;
  positionIn(text: string, part: string): string;
  lastCharacter(text: string): string;
  paddedHex(number: string, width: string): string;
  randomBelow(bound: string): string;
  wide(number: string): string;
  isWhole(number: string): string;
  isLike(text: string, pattern: string): string;
  isSame(left: string, right: string): string;
  isSameButForCase(left: string, right: string): string;
  textsOf(json: string): string;
  elementsOf(json: string, as: string): string;
  integersOf(json: string, as: string): string;
  membersOf(json: string, as: string): string;
  textAt(json: string, at: string): string;
  integerAt(json: string, at: string): string;
  parsedElementsOf(json: string): string;
  /** @param members Each a quoted name, a comma and an expression. */
  jsonObject(...members: string[]): string;
  jsonArray(...values: string[]): string;
  jsonArrayOfRows(value: string, condition?: string): string;
  jsonObjectOfRows(name: string, value: string): string;
  either(sqlite: string, postgres: string): string;
  isJson(text: string): string;
  jsonType(text: string): string;
  jsonOf(text: string): string;
  typeIfNeeded(type: string): string;
  hasChanged(): string;
  thenJoin(): string;
  row(): string;
  byIndex(table: string, index: string): string;
  wholeTable(table: string): string;
  withoutIndex(column: string): string;
};
