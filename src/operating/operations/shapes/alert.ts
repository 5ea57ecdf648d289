import * as z from "zod";
import type { Notice } from "../../alerts/mod.ts";
import { describer, iso, timestamp } from "./common.ts";

const deliveryShape = z.strictObject({
  receiver: z.string(),
  state: z.enum(["waiting", "delivered", "given_up"]),
  attempts: z.int(),
  status: z.int().nullable(),
  error: z.string().nullable(),
  next_at: timestamp.nullable(),
  delivered_at: timestamp.nullable(),
});

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
  deliveries: z.array(deliveryShape),
});

const describeDelivery = describer(
  deliveryShape,
  ({ state, dueAtMs }: Notice["deliveries"][number]) => ({
    next_at: state === "waiting" ? iso(dueAtMs) : null,
  }),
);

/** Describes an alert with its deliveries. */
export const describeAlert = describer(alertShape, ({ data, deliveries }: Notice) => ({
  data: { ...data },
  deliveries: deliveries.map(describeDelivery),
}));
