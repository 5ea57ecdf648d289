import * as z from "zod";
import { DOORS, type LogEntry } from "../../../people/operation_log/mod.ts";
import { iso, timestamp } from "./common.ts";

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
export function describeLogEntry(entry: LogEntry): z.output<typeof logShape> {
  return {
    id: entry.id,
    at: iso(entry.atMs),
    operation: entry.operation,
    door: entry.door,
    address: entry.address,
    actor: entry.actor,
    actor_id: entry.actorId,
    key_id: entry.keyId,
    account_id: entry.accountId,
    team_id: entry.teamId,
    object_id: entry.objectId,
    before: entry.before,
    after: entry.after,
    outcome: entry.outcome,
    error: entry.error,
  };
}
