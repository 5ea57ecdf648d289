import { isToldApart, UNSUMMED_TAG } from "../rules/sql/tags.ts";
import type { Check } from "./check.ts";
import { ADDED, idOf, isSumOf, sameKey, SUMMED } from "./sums.ts";
import { iif, isJson, membersOf, sumOf } from "../../../ground/sql/mod.ts";

const CELL = ["hour_at_ms", "account_id", "key_id", "route"];
const TOLD_APART = {
  accountId: "usage_records.account_id", // in a condition on `tag_values` it would be the column of that
  dayAtMs: "started_at_ms / 86400000 * 86400000",
};

/** Tags of records as roll-ups have them: with the value `other` for those that they do not tell apart. */
const TAGS_OF_RECORDS =
  `select usage_records.*, started_at_ms / 3600000 * 3600000 as at_ms, tag.key as name,
            case when ${
    isToldApart({ ...TOLD_APART, name: "tag.key", value: "tag.value" })
  } then tag.value else 'other' end as value
          from usage_records, ${membersOf(iif(isJson("tags"), "tags", "null"), "tag")}
          where tags is not null and tag.key <> '${UNSUMMED_TAG}'
            and ${isToldApart({ ...TOLD_APART, name: "':names'", value: "tag.key" })}
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
  isSumOf("usage_tags", {
    noun: "tag",
    kind: "tag",
    name: "roll-ups by tag",
    sums: `select name, at_ms, account_id, key_id, route, value, ${SUMMED}
          from (${TAGS_OF_RECORDS}) as given where not ${isPruned("given")}
          group by 1, 2, 3, 4, 5, 6`,
    span: 3_600_000,
    where: `summed.name is not null
          or usage_tags.span_ms = 3600000 and not ${isPruned("usage_tags")}`,
  }),
  // The roll-up of a day is the sum of its hours.
  isSumOf("usage_tags", {
    noun: "tag",
    kind: "tag_day",
    name: "roll-ups by tag and day",
    sums:
      `select name, at_ms / 86400000 * 86400000 as at_ms, account_id, key_id, route, value, ${ADDED}
          from usage_tags where span_ms = 3600000 group by 1, 2, 3, 4, 5, 6`,
    span: 86_400_000,
    pairs: { tag_span: ["usage_tags.span_ms", iif("summed.name is null", "null", "86400000")] },
    where: "summed.name is not null or usage_tags.span_ms <> 3600000",
  }),
  // Each failed request has a reason.
  {
    noun: "tag",
    name: "reasons of failures",
    before: `with failed as materialized (
        select at_ms as hour_at_ms, account_id, key_id, route, ${sumOf("requests")} as requests, ${
      sumOf("errors")
    } as errors
        from usage_tags where name = ':reason' and span_ms = 3600000 group by 1, 2, 3, 4
      )`,
    id: idOf(CELL, "failed", "hours"),
    pairs: {
      failures: ["failed.requests", "hours.errors"],
      failure_errors: ["failed.errors", "hours.errors"],
    },
    from: `failed full join usage_hours as hours on ${sameKey(CELL, "failed", "hours")}
        and hours.errors > 0 where failed.requests is not null or hours.errors > 0`,
  },
  // A value that is told apart has a roll-up, and its tag is among those of the day.
  {
    noun: "tag",
    name: "values of tags",
    before: `with used as materialized (
        select distinct account_id, at_ms as day_at_ms, name, value from usage_tags
        where span_ms = 86400000 and name <> ':reason'
      )`,
    id: "account_id || ' ' || day_at_ms || ' ' || name || ' ' || value",
    pairs: {
      tag_value: [
        "true",
        `case when name = ':names' then exists (
          select 1 from used where used.account_id = tag_values.account_id
            and used.day_at_ms = tag_values.day_at_ms and used.name = tag_values.value
        ) else exists (
          select 1 from used where used.account_id = tag_values.account_id
            and used.day_at_ms = tag_values.day_at_ms and used.name = tag_values.name
            and used.value = tag_values.value
        ) and exists (
          select 1 from tag_values as names where names.account_id = tag_values.account_id
            and names.day_at_ms = tag_values.day_at_ms and names.name = ':names'
            and names.value = tag_values.name
        ) end`,
      ],
    },
    from: "tag_values",
  },
  // A roll-up's tag and value are those that its day tells apart.
  {
    noun: "tag",
    name: "tags of roll-ups",
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
        "true",
        isToldApart({
          accountId: "named.account_id",
          dayAtMs: "named.day_at_ms",
          name: "named.name",
          value: "named.value",
        }),
      ],
    },
    from: "named",
  },
];
