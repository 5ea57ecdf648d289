/** Roll-ups by tag, as SQL that several rules share. `new` is the row that a trigger decides on. */

import { iif, membersOf } from "../../../../ground/database/mod.ts";
import { addTo, VALUES } from "./roll_ups.ts";
import { DAY_MS } from "../../../../ground/time.ts";
import { SPANS } from "./windows.ts";

/** Tags that the roll-ups of an account and day have, and values of each that they tell apart. */
const MAX_TAG_NAMES = 20;
const MAX_TAG_VALUES = 100;

/** The value of the others. */
const OTHER_VALUE = "other";

/** The tag that only the records have: each session is another. */
export const UNSUMMED_TAG = "session";

/** Tags of requests, but for the one that is not summed up. */
function tagsOf(requests: string): string {
  return `(
        select distinct account_id, started_at_ms / ${DAY_MS} * ${DAY_MS} as day_at_ms,
          tag.key as name, tag.value as value
        from ${requests} as given, ${membersOf("given.tags", "tag")}
        where given.tags is not null and tag.key <> '${UNSUMMED_TAG}'
      )`;
}

/** A condition: an account's roll-ups of a day tell a value apart. */
export function isToldApart(
  { accountId, dayAtMs, name, value }: {
    readonly accountId: string;
    readonly dayAtMs: string;
    readonly name: string;
    readonly value: string;
  },
): string {
  return `exists (
          select 1 from tag_values as known
          where known.account_id = ${accountId} and known.day_at_ms = ${dayAtMs}
            and known.name = ${name} and known.value = ${value}
        )`;
}

/**
 * Statements that add requests to the hours and days of their tags, and of why they failed.
 *
 * @param requests A subquery, {@linkcode rolledUp}.
 */
export function addToTags(requests: string): string[] {
  const ofGiven = { accountId: "given.account_id", dayAtMs: "given.day_at_ms" };
  const ofRequest = { accountId: "given.account_id", dayAtMs: `given.${VALUES.day_at_ms}` };
  const isNamed = (of: typeof ofGiven, name: string) =>
    isToldApart({ ...of, name: "':names'", value: name });
  const kept = (name: string, max: number) =>
    `n + (
      select count(*) from tag_values as kept
      where kept.account_id = fresh.account_id and kept.day_at_ms = fresh.day_at_ms
        and kept.name = ${name}
    ) <= ${max}`;
  const tagged = `(
      select given.*, tag.key as name, ${
    iif(
      isToldApart({ ...ofRequest, name: "tag.key", value: "tag.value" }),
      "tag.value",
      `'${OTHER_VALUE}'`,
    )
  } as kept_value
      from ${requests} as given, ${membersOf("given.tags", "tag")}
      where given.tags is not null and tag.key <> '${UNSUMMED_TAG}'
        and ${isNamed(ofRequest, "tag.key")}
      union all
      select given.*, ':reason', coalesce(reason, 'unknown') from ${requests} as given
      where ending <> 'complete'
    ) as tagged, (select ${SPANS.hour} as ms union all select ${SPANS.day}) as spans where true`;
  return [
    `insert into tag_values (account_id, day_at_ms, name, value)
    select account_id, day_at_ms, ':names', name from (
      select account_id, day_at_ms, name,
        row_number() over (partition by account_id, day_at_ms order by name) as n
      from (select distinct account_id, day_at_ms, name from ${
      tagsOf(requests)
    } as all_tags) as given
      where not ${isNamed(ofGiven, "given.name")}
    ) as fresh where ${kept("':names'", MAX_TAG_NAMES)}`,
    `insert into tag_values (account_id, day_at_ms, name, value)
    select account_id, day_at_ms, name, value from (
      select account_id, day_at_ms, name, value,
        row_number() over (partition by account_id, day_at_ms, name order by value) as n
      from ${tagsOf(requests)} as given
      where ${isNamed(ofGiven, "given.name")}
        and not ${isToldApart({ ...ofGiven, name: "given.name", value: "given.value" })}
    ) as fresh where ${kept("fresh.name", MAX_TAG_VALUES)}`,
    addTo("usage_tags", tagged),
  ];
}
