import { only, type Spelling } from "./spelling.ts";

const elementsOf = (json: string, as: string) => `json_each(${json}) as ${as}`;
/** Elements and members have the types that they have in JSON. */
const textAt = (json: string, at: string) => `${json} ->> ${at}`;

/** As SQLite spells it, in a file and on a libSQL server. */
export const SQLITE: Spelling = {
  least: (...values) => `min(${values.join(", ")})`,
  greatest: (...values) => `max(${values.join(", ")})`,
  iif: (condition, then, otherwise) => `iif(${condition}, ${then}, ${otherwise})`,
  sumOf: (number) => `sum(${number})`,
  clockMs: () => "cast(unixepoch('subsec') * 1000 as integer)",
  randomHex: (bytes) => `lower(hex(randomblob(${bytes})))`,
  positionIn: (text, part) => `instr(${text}, ${part})`,
  lastCharacter: (text) => `substr(${text}, -1)`,
  paddedHex: (number, width) => `printf('%0${width}x', ${number})`,
  randomBelow: (bound) => `abs(random() % ${bound})`,
  wide: (number) => number,
  isWhole: (number) => `typeof(${number}) = 'integer'`,
  isLike: (text, pattern) => `${text} glob ${pattern}`,
  isSame: (left, right) => `${left} = ${right} collate binary`,
  isSameButForCase: (left, right) => `${left} = ${right} collate nocase`,
  textsOf: (json) => `(select value from json_each(${json}))`,
  elementsOf,
  integersOf: elementsOf,
  membersOf: elementsOf,
  textAt,
  integerAt: textAt,
  parsedElementsOf: (json) => `select jsonb(value) from json_each(${json})`,
  jsonObject: (...members) => `json_object(${members.join(", ")})`,
  jsonArray: (...values) => `json_array(${values.join(", ")})`,
  jsonArrayOfRows: (value, condition) => `json_group_array(${value})${only(condition)}`,
  jsonObjectOfRows: (name, value) => `json_group_object(${name}, ${value})`,
  either: (sqlite) => sqlite,
  isJson: (text) => `json_valid(${text})`,
  jsonType: (text) => `json_type(${text})`,
  jsonOf: (text) => `json(${text})`,
  typeIfNeeded: () => "",
  hasChanged: () => "changes() > 0",
  thenJoin: () => "cross join",
  row: () => "rowid",
  byIndex: (table, index) => `${table} indexed by ${index}`,
  wholeTable: (table) => `${table} not indexed`,
  withoutIndex: (column) => `+${column}`,
};
