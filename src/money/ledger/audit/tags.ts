import { isToldApart, UNSUMMED_TAG } from "../rules/sql/tags.ts";
import { type Check, differences } from "./check.ts";
import { COLUMNS, SUMS } from "./hours.ts";

const CELL = ["at_ms", "account_id", "key_id", "route"];
const KEY = ["name", ...CELL, "value"];
const same = (left: string, right: string) =>
  KEY.map((column) => `${left}.${column} = ${right}.${column}`).join(" and ");
const idOf = (left: string, right: string) =>
  KEY.map((column) => `coalesce(${left}.${column}, ${right}.${column})`).join(" || ' ' || ");

/** The column of `usage_hours`. */
const hourly = (column: string) => column === "at_ms" ? "hour_at_ms" : column;

const PARTS = ["account_id", "key_id", "route"];
const TOLD_APART = {
  accountId: "usage_records.account_id", // in a condition on `tag_values` it would be the column of that
  dayAtMs: "started_at_ms / 86400000 * 86400000",
};

/** Tags of records as roll-ups have them: with the value `other` for those that they do not tell apart. */
const TAGS_OF_RECORDS =
  `select usage_records.*, started_at_ms / 3600000 * 3600000 as at_ms, json_each.key as name,
            iif(${
    isToldApart({ ...TOLD_APART, name: "json_each.key", value: "json_each.value" })
  }, json_each.value, 'other') as value
          from usage_records, json_each(iif(json_valid(tags), tags, null))
          where tags is not null and json_each.key <> '${UNSUMMED_TAG}'
            and ${isToldApart({ ...TOLD_APART, name: "':names'", value: "json_each.key" })}
          union all
          select usage_records.*, started_at_ms / 3600000 * 3600000, ':reason',
            coalesce(reason, 'unknown')
          from usage_records where ending <> 'complete'`;

/** Whether records of a roll-up's hour, account, key and route were pruned: the sums of their tags are not kept. */
const isPruned = (rollUp: string) =>
  `exists (
              select 1 from pruned_hours as gone
              where gone.account_id = ${rollUp}.account_id and gone.hour_at_ms = ${rollUp}.at_ms
                and gone.key_id = ${rollUp}.key_id and gone.route = ${rollUp}.route
            )`;

/** Roll-ups of tags, and of why requests failed. */
export const TAGS: readonly Check[] = [
  // As far as no record was pruned, the roll-up of a tag is the sum of the records that have it.
  {
    noun: "tag",
    name: "roll-ups by tag",
    sql: differences({
      before: `with summed as materialized (
          select ${KEY.join(", ")}, ${
        Object.entries(SUMS).map(([name, sum]) => `${sum} as ${name}`).join(", ")
      }
          from (${TAGS_OF_RECORDS}) as given where not ${isPruned("given")}
          group by ${KEY.map((_, at) => at + 1).join(", ")}
        )`,
      id: idOf("hours", "summed"),
      pairs: Object.fromEntries(
        COLUMNS.map((name) => [`tag_${name}`, [`hours.${name}`, `summed.${name}`]] as const),
      ),
      from: `summed full join usage_tags as hours
          on hours.span_ms = 3600000 and ${same("summed", "hours")}
        where summed.name is not null or hours.span_ms = 3600000 and not ${isPruned("hours")}`,
    }),
  },
  // The roll-up of a day is the sum of its hours.
  {
    noun: "tag",
    name: "roll-ups by tag and day",
    sql: differences({
      before: `with summed as materialized (
          select name, at_ms / 86400000 * 86400000 as at_ms, ${PARTS.join(", ")}, value,
            ${COLUMNS.map((name) => `sum(${name}) as ${name}`).join(", ")}
          from usage_tags where span_ms = 3600000 group by 1, 2, 3, 4, 5, 6
        )`,
      id: idOf("days", "summed"),
      pairs: {
        tag_span: ["days.span_ms", "iif(summed.name is null, null, 86400000)"],
        ...Object.fromEntries(
          COLUMNS.map((name) => [`tag_day_${name}`, [`days.${name}`, `summed.${name}`]] as const),
        ),
      },
      from: `summed full join usage_tags as days
          on days.span_ms = 86400000 and ${same("summed", "days")}
        where summed.name is not null or days.span_ms <> 3600000`,
    }),
  },
  // Each failed request has a reason.
  {
    noun: "tag",
    name: "reasons of failures",
    sql: differences({
      before: `with failed as materialized (
          select at_ms, ${PARTS.join(", ")}, sum(requests) as requests, sum(errors) as errors
          from usage_tags where name = ':reason' and span_ms = 3600000 group by 1, 2, 3, 4
        )`,
      id: CELL.map((column) => `coalesce(failed.${column}, hours.${hourly(column)})`)
        .join(" || ' ' || "),
      pairs: {
        failures: ["failed.requests", "hours.errors"],
        failure_errors: ["failed.errors", "hours.errors"],
      },
      from: `failed full join usage_hours as hours on ${
        CELL.map((column) => `failed.${column} = hours.${hourly(column)}`).join(" and ")
      } and hours.errors > 0 where failed.requests is not null or hours.errors > 0`,
    }),
  },
  // A value that is told apart has a roll-up, and its tag is among those of the day.
  {
    noun: "tag",
    name: "values of tags",
    sql: differences({
      before: `with used as materialized (
          select distinct account_id, at_ms as day_at_ms, name, value from usage_tags
          where span_ms = 86400000 and name <> ':reason'
        )`,
      id: "account_id || ' ' || day_at_ms || ' ' || name || ' ' || value",
      pairs: {
        tag_value: [
          "1",
          `iif(name = ':names', exists (
            select 1 from used where used.account_id = tag_values.account_id
              and used.day_at_ms = tag_values.day_at_ms and used.name = tag_values.value
          ), exists (
            select 1 from used where used.account_id = tag_values.account_id
              and used.day_at_ms = tag_values.day_at_ms and used.name = tag_values.name
              and used.value = tag_values.value
          ) and exists (
            select 1 from tag_values as names where names.account_id = tag_values.account_id
              and names.day_at_ms = tag_values.day_at_ms and names.name = ':names'
              and names.value = tag_values.name
          ))`,
        ],
      },
      from: "tag_values",
    }),
  },
  // A roll-up's tag and value are those that its day tells apart.
  {
    noun: "tag",
    name: "tags of roll-ups",
    sql: differences({
      before: `with used as materialized (
          select distinct account_id, at_ms as day_at_ms, name, value from usage_tags
          where span_ms = 86400000 and name <> ':reason'
        ), named as (
          select account_id, day_at_ms, name, value from used where value <> 'other'
          union select account_id, day_at_ms, ':names', name from used
        )`,
      id: "account_id || ' ' || day_at_ms || ' ' || name || ' ' || value",
      pairs: {
        tag_told_apart: [
          "1",
          isToldApart({
            accountId: "named.account_id",
            dayAtMs: "named.day_at_ms",
            name: "named.name",
            value: "named.value",
          }),
        ],
      },
      from: "named",
    }),
  },
];
