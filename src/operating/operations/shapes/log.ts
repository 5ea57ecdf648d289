import * as z from "zod";
import { DOORS } from "../../../people/operation_log/mod.ts";
import { describer, timestamp } from "./common.ts";

/** A row of the log as commands and the API show it. */
export const logShape = z.strictObject({
  id: z.string(),
  at: timestamp,
  operation: z.string(),
  door: z.enum(DOORS),
  address: z.string().nullable(),
  actor: z.string().describe("Email address, or the name of a user of the system."),
  actor_id: z.string().nullable(),
  key_id: z.string().nullable(),
  account_id: z.string().nullable(),
  team_id: z.string().nullable(),
  object_id: z.string().nullable(),
  before: z.unknown(),
  after: z.unknown(),
  outcome: z.enum(["done", "failed"]),
  error: z.string().nullable(),
});

/** Describes a row of the log. */
export const describeLogEntry = describer(logShape);
