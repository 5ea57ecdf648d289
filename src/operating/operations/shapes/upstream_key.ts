import * as z from "zod";
import { describer, timestamp } from "./common.ts";

/** An own key of an upstream as commands and the API show it, without the key. */
export const upstreamKeyShape = z.strictObject({
  id: z.string(),
  account_id: z.string().nullable().describe("The account that it belongs to, if it is no team's."),
  team_id: z.string().nullable(),
  upstream: z.string(),
  hint: z.string().describe("Last characters of the key; empty for a short one."),
  set_at: timestamp,
});

/** Describes an own key of an upstream. */
export const describeUpstreamKey = describer(upstreamKeyShape);
