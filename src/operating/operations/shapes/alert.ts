import * as z from "zod";
import type { Notice } from "../../alerts/mod.ts";
import { iso, timestamp } from "./common.ts";

/** An alert as commands and the API show it. */
export const alertShape = z.strictObject({
  id: z.string(),
  kind: z.string(),
  mark: z.string(),
  created_at: timestamp,
  read_at: timestamp.nullable(),
  account_id: z.string().nullable(),
  title: z.string(),
  text: z.string(),
  data: z.record(z.string(), z.unknown()),
  deliveries: z.array(z.strictObject({
    receiver: z.string(),
    state: z.enum(["waiting", "delivered", "given_up"]),
    attempts: z.int(),
    status: z.int().nullable(),
    error: z.string().nullable(),
    next_at: timestamp.nullable(),
    delivered_at: timestamp.nullable(),
  })),
});

/** Describes an alert with its deliveries. */
export function describeAlert(one: Notice): z.output<typeof alertShape> {
  return {
    id: one.id,
    kind: one.kind,
    mark: one.mark,
    created_at: iso(one.createdAtMs),
    read_at: iso(one.readAtMs),
    account_id: one.accountId,
    title: one.title,
    text: one.text,
    data: { ...one.data },
    deliveries: one.deliveries.map(({ receiver, state, attempts, status, error, ...times }) => ({
      receiver,
      state,
      attempts,
      status,
      error,
      next_at: state === "waiting" ? iso(times.dueAtMs) : null,
      delivered_at: iso(times.deliveredAtMs),
    })),
  };
}
