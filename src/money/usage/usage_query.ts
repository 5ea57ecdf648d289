import * as z from "zod";
import { wholeQuery } from "../../ground/amounts/mod.ts";
import { BOUND_WORDS } from "./range.ts";

/** What a report can be grouped by, besides `tag:NAME`. */
export const DIMENSIONS = [
  "day",
  "hour",
  "model",
  "key",
  "month",
  "account",
  "member",
  "team",
  "reason",
] as const;
/** A grouping of a report: a noun, or `tag:NAME`. */
export type Dimension = typeof DIMENSIONS[number] | `tag:${string}`;

/** Groupings by time. */
export const TIMES: readonly Dimension[] = ["hour", "day", "month"];

/** Reported from records. */
export const SESSION = "tag:session";

const TAG_NAME = /^[a-z0-9_.-]{1,32}$/;
const MAX_TOP = 1_000;

const dimension = z.string().refine(isDimension, {
  error: `must be one of ${DIMENSIONS.join(", ")}, or tag:NAME`,
});

/** Whether a text is a grouping. */
function isDimension(text: string): text is Dimension {
  const isTag = text.startsWith("tag:") && TAG_NAME.test(text.slice(4));
  return isTag || (DIMENSIONS as readonly string[]).includes(text);
}

const text = z.string().min(1).max(200);

/**
 * Parameters of a report, as texts of a query or of options. Unknown ones are errors.
 */
export const usageQuery = z.strictObject({
  since: text.optional().describe(`Beginning, part of the range: ${BOUND_WORDS}.`),
  until: text.optional().describe("End, not part of the range; the same forms. Default: now."),
  zone: z.string().max(64).default("UTC").describe(
    "Time zone of days and months, such as `Europe/Berlin`.",
  ),
  by: z.string().default("day").transform((list) => list.split(",").map((one) => one.trim()))
    .pipe(z.array(dimension).min(1).max(2, "must be one or two, with a comma in between")).describe(
      `One or two of ${DIMENSIONS.join(", ")}, tag:NAME, with a comma in between.`,
    ),
  account: text.optional().describe("Email address of an account that pays."),
  key: text.optional().describe("Key ID."),
  team: text.optional().describe("Name or ID of a team."),
  member: text.optional().describe("Email address of a member of teams: only keys made for it."),
  model: text.optional().describe("Model ID."),
  tag: z.string().regex(/^[a-z0-9_.-]{1,32}=[\x20-\x7e]{1,64}$/, "must be NAME=VALUE").optional()
    .describe("Only requests with a tag, as `project=alpha`."),
  compare: z.union([
    z.boolean(),
    z.enum(["", "true", "false", "1", "0"]).transform((is) => !["false", "0"].includes(is)),
  ]).default(false).describe(
    "Adds the period before, of the same length. By hour, day or month, up to 4,000 days are compared.",
  ),
  top: wholeQuery({ min: 1, max: MAX_TOP, unit: "groups" }).optional().describe(
    "Only the groups of most credits; all others are one row.",
  ),
});

/** What a report is asked for. */
export type UsageQuery = z.output<typeof usageQuery>;
