import type { Check } from "./check.ts";
import { DAY_MS } from "../../../ground/time.ts";
import { greatest, iif, paddedHex, sumOf } from "../../../ground/sql/mod.ts";

/** Days from which on no window was pruned: gateways keep them for eight days. */
const FIRST_MS = greatest(`(select ms from since) - ${DAY_MS}`, "0");
const WHOLE = greatest(
  "(select coalesce(max(before_ms), 0) from pruned_windows)",
  `(select coalesce(max(at_ms), 0) - 6 * ${DAY_MS} from windows where span_ms = ${DAY_MS})`,
);

/** A longer span with what it counts, and what the shorter ones in it count. */
function parts(longMs: number, shortMs: number): string {
  return `select key_id, ${longMs} as span_ms, at_ms / ${longMs} * ${longMs} as at_ms,
      ${sumOf(`case when span_ms = ${longMs} then used else 0 end`)} as found,
      ${sumOf(`case when span_ms = ${shortMs} then used else 0 end`)} as expected
    from windows where span_ms in (${longMs}, ${shortMs}) group by 1, 3`;
}

/** Request windows, from each other and from records and holds. */
export const WINDOWS: readonly Check[] = [
  // Each request is counted once in its minute, its hour and its day.
  {
    noun: "window",
    name: "window spans",
    before: `with since as materialized (select ${WHOLE} as ms)`,
    id: "key_id || ' ' || span_ms || ' ' || at_ms",
    pairs: { span: ["found", "expected"] },
    from: `(${parts(DAY_MS, 3_600_000)} union all ${parts(3_600_000, 60_000)}) as spans
      where at_ms / ${DAY_MS} * ${DAY_MS} >= (select ms from since)`,
  },
  {
    noun: "window",
    name: "windows",
    id: "key_id || ' ' || span_ms || ' ' || at_ms",
    pairs: {
      begins: ["at_ms", "at_ms / span_ms * span_ms"],
      length: ["span_ms", iif(`span_ms in (60000, 3600000, ${DAY_MS})`, "span_ms", "null")],
      window_key: ["key_id", "keys.id"],
    },
    from: "windows left join keys on keys.id = key_id",
  },
  // An account's windows are the sums of its keys'.
  {
    noun: "window",
    name: "account windows",
    before: `with since as materialized (select ${WHOLE} as ms), summed as materialized (
        select account_id, span_ms, at_ms, ${sumOf("used")} as used
        from windows join keys on keys.id = key_id
        where at_ms / ${DAY_MS} * ${DAY_MS} >= (select ms from since) group by 1, 2, 3
      )`,
    id: `coalesce(counted.account_id, summed.account_id) || ' '
      || coalesce(counted.span_ms, summed.span_ms) || ' '
      || coalesce(counted.at_ms, summed.at_ms)`,
    pairs: { account_window: ["counted.used", "summed.used"] },
    from: `summed full join account_windows as counted on counted.account_id = summed.account_id
        and counted.span_ms = summed.span_ms and counted.at_ms = summed.at_ms
      where summed.at_ms is not null
        or counted.at_ms / ${DAY_MS} * ${DAY_MS} >= (select ms from since)`,
  },
  // A minute counts at least the requests whose records and holds say that they were admitted in it. It may
  // count more: requests whose gateway was killed leave neither.
  {
    noun: "window",
    name: "admissions",
    before: `with since as materialized (select ${WHOLE} as ms), admitted as materialized (
        select key_id, at_ms / 60000 * 60000 as at_ms, count(*) as n from (
          select key_id, admitted_at_ms as at_ms from usage_records
          where request_id >= 'req_' || ${paddedHex(FIRST_MS, 12)}
            and admitted_at_ms >= (select ms from since)
          union all
          select key_id, created_at_ms from holds
          where created_at_ms >= (select ms from since)
        ) as admissions group by 1, 2
      )`,
    id: "admitted.key_id || ' 60000 ' || admitted.at_ms",
    pairs: { admitted: ["coalesce(used, 0)", greatest("coalesce(used, 0)", "n")] },
    from: `admitted left join windows on windows.key_id = admitted.key_id
      and span_ms = 60000 and windows.at_ms = admitted.at_ms`,
  },
];
