import * as z from "zod";
import type { Database, Value } from "../../ground/database/mod.ts";
import { SUMS } from "../ledger/mod.ts";
import { ReportError, type UsageRange } from "./range.ts";
import type { SummedRow } from "./rows.ts";
import { greatest, jsonArray, least, textAt } from "../../ground/sql/mod.ts";

/** Records that a report by session reads, and how many at a time, so that nobody waits for it long. */
const MAX_RECORDS = 200_000;
const PAGE_RECORDS = 2_000;

const page = z.object({
  started_at_ms: z.int(),
  request_id: z.string(),
  session: z.string().nullable(),
  key_id: z.string(),
  route: z.string(),
  sums: z.string(),
});
const sums = z.array(z.int()).length(SUMS.length);

const SESSION = textAt("tags", "session");
const SAVED = least(
  `cached_tokens * ${greatest("input_price - cached_price", "0")}`,
  "1000000000000000",
);
/** In the order of {@linkcode SUMS}. */
const FIGURES = jsonArray(
  "1, case when ending <> 'complete' then 1 else 0 end, input_tokens, cached_tokens, output_tokens",
  `duration_ms, charged_credits, coalesce(${SAVED}, 0)`,
);

/**
 * Adds up the records of an account by session, which roll-ups do not tell apart: each session is another.
 *
 * @returns A row for each session, those of most credits first.
 * @throws {ReportError} Without an account, and for more than 200,000 records.
 */
export async function sessionRows(
  database: Database,
  { accountIds, keyIds, model, range }: {
    readonly accountIds: readonly string[] | undefined;
    readonly keyIds: readonly string[] | undefined;
    readonly model: string | undefined;
    readonly range: UsageRange;
  },
): Promise<SummedRow[]> {
  if (accountIds === undefined) {
    throw new ReportError("A report by session is of an account, a team or a key: choose one.");
  }
  const sessions = new Map<string, number[]>();
  let read = 0;
  for (const accountId of accountIds) {
    let last: readonly [number, string] = [range.sinceMs, ""];
    while (true) {
      const args: Value[] = [accountId, ...last, range.untilMs];
      const rows = (await database.all(
        `select started_at_ms, request_id, key_id, route, ${SESSION} as session, ${FIGURES} as sums
          from usage_records
          where account_id = ? and (started_at_ms, request_id) > (?, ?) and started_at_ms < ?
          order by started_at_ms, request_id limit ${PAGE_RECORDS}`,
        args,
      )).map((row) => page.parse(row));
      read += rows.length;
      if (read > MAX_RECORDS) {
        throw new ReportError(
          `Too many requests for a report by session: the limit is ${
            MAX_RECORDS.toLocaleString("en-US")
          }. Choose a shorter range.`,
        );
      }
      for (const { session, key_id: keyId, route, sums: text } of rows) {
        if (keyIds?.includes(keyId) === false || (model ?? route) !== route) continue;
        const own = sums.parse(JSON.parse(text));
        const before = sessions.get(session ?? "");
        if (before === undefined) sessions.set(session ?? "", own);
        else own.forEach((value, at) => before[at]! += value);
      }
      const end = rows.at(-1);
      if (rows.length < PAGE_RECORDS || end === undefined) break;
      last = [end.started_at_ms, end.request_id];
    }
  }
  return [...sessions].map(([session, values]) => ({
    ...Object.fromEntries(SUMS.map((name, at) => [name, values[at]!])) as Record<
      typeof SUMS[number],
      number
    >,
    group: [session],
  })).toSorted((a, b) =>
    b.credits - a.credits || b.requests - a.requests || (a.group[0]! < b.group[0]! ? -1 : 1)
  );
}
