import * as z from "zod";
import { jsonText, rowOf } from "../../ground/row.ts";
import { ALERT_KINDS, type AlertKind } from "../../settings/config/mod.ts";
import type { JsonObject, Row } from "../../ground/database/mod.ts";
import { displayed, newId, wellFormedJson } from "../../ground/platform/mod.ts";

/** Characters of a title or a text that are kept. */
const MAX_CHARS = 1_000;

/** An alert that is to be raised. */
export interface NewAlert {
  /** What was reached, such as `budget_mark:key_1:life:80`. There is one alert for each mark, ever. */
  readonly mark: string;
  readonly kind: AlertKind;
  /** The account that sees it on its own pages. Default: none, only operators, and leads of the team. */
  readonly accountId?: string | null;
  /** The team whose leads see it. */
  readonly teamId?: string | null;
  readonly title: string;
  readonly text: string;
  /** For programs: what the text says, as numbers and IDs. */
  readonly data: JsonObject;
}

const alertRow = rowOf({
  id: z.string(),
  mark: z.string(),
  kind: z.enum(ALERT_KINDS),
  account_id: z.string().nullable(),
  team_id: z.string().nullable(),
  title: z.string(),
  text: z.string(),
  data: jsonText(z.record(z.string(), z.unknown())),
  created_at_ms: z.int(),
  /** When an operator read it. */
  read_at_ms: z.int().nullable(),
  /** When its account read it. */
  account_read_at_ms: z.int().nullable(),
});

/** An alert that was raised. Times are in milliseconds since the epoch. */
export type Alert = z.output<typeof alertRow>;

/** An alert as it is delivered; one of kind `test` is never kept. */
export type SentAlert =
  & Omit<Alert, "kind" | "readAtMs" | "accountReadAtMs">
  & { readonly kind: Alert["kind"] | "test" };

/** Columns of {@linkcode readAlert}. */
export const ALERT_COLUMNS =
  "alerts.id, mark, kind, account_id, team_id, title, text, data, alerts.created_at_ms, read_at_ms, account_read_at_ms";

/** Converts a row of the table to an alert. */
export function readAlert(row: Row): Alert {
  return alertRow.parse(row);
}

/** A new alert as the outbox takes it: its ID is random, its texts are safe to display and to store. */
export function newRow(alert: NewAlert): JsonObject {
  const text = (one: string) => displayed(one.slice(0, MAX_CHARS).toWellFormed());
  const { mark, kind, accountId = null, teamId = null, title, data } = alert;
  return {
    id: newId("alert"),
    mark: mark.toWellFormed(),
    kind,
    account: accountId,
    team: teamId,
    title: text(title),
    text: text(alert.text),
    data: wellFormedJson(data),
  };
}
