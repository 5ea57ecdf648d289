import { only, type Spelling } from "./spelling.ts";

/**
 * What PostgreSQL gets before anything else, since it does not have it: the smaller and the larger of two values, null if one is
 * (`least` and `greatest` pass over nulls); the sum of whole numbers as one (of `bigint` it is `numeric`); whether a text is JSON.
 */
export const POSTGRES_FUNCTIONS: readonly string[] = [
  ...["bigint", "text"].flatMap((type) => {
    const family = type === "bigint" ? "int8" : "text_";
    return ["smaller", "larger"].map((which) =>
      `create function ${which}(${type}, ${type}) returns ${type}
    language sql immutable strict parallel safe return ${family}${which}($1, $2)`
    );
  }),
  `create aggregate whole_sum(bigint)
    (sfunc = int8pl, stype = bigint, msfunc = int8pl, minvfunc = int8mi, mstype = bigint, combinefunc = int8pl, parallel = safe)`,
  `create function is_json(text) returns boolean language plpgsql immutable strict parallel safe as $body$
begin
  perform $1::json;
  return true;
exception when others then
  return false;
end $body$`,
];

/** Calls of a function of two values, one within the other. */
function nested(name: string, [first, ...others]: readonly string[]): string {
  return others.length === 0 ? first! : `${name}(${first}, ${nested(name, others)})`;
}

/** Their type makes of what is parsed already the same. */
const textAt = (json: string, at: string) => `((${json})::jsonb ->> ${at})`;

/** As PostgreSQL spells it, from version 15 on. */
export const POSTGRES: Spelling = {
  least: (...values) => nested("smaller", values),
  greatest: (...values) => nested("larger", values),
  iif: (condition, then, otherwise) => `case when ${condition} then ${then} else ${otherwise} end`,
  sumOf: (number) => `whole_sum(${number})`,
  clockMs: () => "floor(extract(epoch from clock_timestamp()) * 1000)::bigint",
  randomHex: (bytes) => `left(replace(gen_random_uuid()::text, '-', ''), 2 * ${bytes})`,
  positionIn: (text, part) => `strpos(${text}, ${part})`,
  lastCharacter: (text) => `right(${text}, 1)`,
  paddedHex: (number, width) => `lpad(to_hex(${number}), ${width}, '0')`,
  randomBelow: (bound) => `floor(random() * ${bound})::bigint`,
  wide: (number) => `(${number})::numeric`,
  isWhole: (number) => `(${number}) between -9223372036854775808 and 9223372036854775807`,
  // of the patterns of `containing()`: between stars, letters in brackets and others that stand for themselves
  isLike: (text, pattern) =>
    `${text} collate "C" ~ regexp_replace(btrim(${pattern}, '*'), '([.\\\\^$(){}+|])', '\\\\\\1', 'g')`,
  isSame: (left, right) => `${left} = ${right} collate "C"`,
  isSameButForCase: (left, right) => `lower(${left} collate "C") = lower(${right} collate "C")`,
  textsOf: (json) =>
    `(select value from json_array_elements_text((${json})::json) as texts(value))`,
  elementsOf: (json, as) => `json_array_elements_text((${json})::json) as ${as}(value)`,
  integersOf: (json, as) =>
    `lateral (select value::bigint from json_array_elements_text((${json})::json) as texts(value)) as ${as}`,
  membersOf: (json, as) => `json_each_text((${json})::json) as ${as}`,
  textAt,
  integerAt: (json, at) => `${textAt(json, at)}::bigint`,
  parsedElementsOf: (json) => `select jsonb_array_elements((${json})::jsonb)`,
  jsonObject: (...members) => `json_build_object(${members.join(", ")})`,
  jsonArray: (...values) => `json_build_array(${values.join(", ")})`,
  jsonArrayOfRows: (value, condition) => `coalesce(json_agg(${value})${only(condition)}, '[]')`,
  jsonObjectOfRows: (name, value) => `coalesce(json_object_agg(${name}, ${value}), '{}')`,
  either: (_, postgres) => postgres,
  isJson: (text) => `is_json(${text})`,
  jsonType: (text) => `json_typeof((${text})::json)`,
  jsonOf: (text) => `(${text})::json`,
  typeIfNeeded: (type) => type,
  hasChanged: () =>
    "coalesce(nullif(current_setting('sluice.changed', true), ''), '0')::bigint > 0",
  thenJoin: () => "join",
  row: () => "ctid",
  byIndex: (table) => table,
  wholeTable: (table) => table,
  withoutIndex: (column) => column,
};
