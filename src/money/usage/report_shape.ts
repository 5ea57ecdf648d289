import * as z from "zod";

const count = z.int();

const figures = {
  requests: count,
  errors: count.describe("Failed requests."),
  input_tokens: count,
  cached_tokens: count,
  cache_hit_rate: z.number().describe("Share of the input that upstreams had in their caches."),
  output_tokens: count,
  saved_credits: count.describe("What cached input saved."),
  credits: count,
  average_ms: z.number().describe("Mean duration of a request."),
};

const percent = z.number().nullable();
const change = z.object({
  requests: percent,
  errors: percent,
  input_tokens: percent,
  output_tokens: percent,
  credits: percent,
});

const compared = {
  ...figures,
  failures: z.record(z.string(), count).optional().describe("Failed requests by reason."),
  previous: z.looseObject(figures).optional().describe("The period before, with `compare`."),
  change: change.optional().describe("In percent; null where the period before had none."),
};

const row = {
  ...compared,
  group: z.record(z.string(), z.string()).describe("Values by grouping."),
  names: z.record(z.string(), z.string()).describe("Names of what the group has IDs of."),
  isOthers: z.boolean().describe("Whether it is the sum of all groups after the `top` ones."),
};

const range = {
  since: z.string(),
  until: z.string().describe("End, not part of the range."),
};

/** A report of usage: groups that had requests, in order of time, then those of most credits first. */
export const usageReportShape = z.strictObject({
  ...range,
  zone: z.string(),
  rounded: z.boolean().describe("Whether a bound was moved to the beginning of its hour."),
  by: z.array(z.string()),
  rows: z.array(z.looseObject(row)),
  totals: z.looseObject(compared),
  previous: z.strictObject(range).optional(),
});

type Members<Shape extends z.ZodRawShape> = Readonly<z.infer<z.ZodObject<Shape>>>;

/** Sums of requests. */
export type UsageFigures = Members<typeof figures>;

/** Figures, with those of the period before and the change if they are compared; by tag there are no reasons. */
export type ComparedFigures = Members<typeof compared>;

/** One group of a report. */
export type UsageRow = Members<typeof row>;

/** A report of usage. */
export interface UsageReport
  extends Omit<z.infer<typeof usageReportShape>, "by" | "rows" | "totals"> {
  readonly by: readonly string[];
  readonly rows: readonly UsageRow[];
  readonly totals: ComparedFigures;
}
