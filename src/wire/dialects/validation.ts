import * as z from "zod";
import { isLargeNumber } from "../json/mod.ts";
import {
  alternatives,
  issueWords,
  pathText,
  valueAt,
  withArticle,
} from "../../ground/issue_words.ts";
import { invalid, type Refusal } from "../../ground/refusal.ts";
import { firstFault } from "./first_fault.ts";

/**
 * Checks a value by a schema of this folder. The work ends at the first fault.
 *
 * @param at Where the value is in its body, for the message.
 * @throws {Refusal} `request_invalid` naming the field, what it was and what would be right.
 */
export function validate<S extends z.ZodType>(
  schema: S,
  value: unknown,
  at: readonly PropertyKey[] = [],
): asserts value is z.output<S> {
  const issue = firstFault(schema, value);
  if (issue !== undefined) throw refusalOf(issue, value, at);
}

function refusalOf(found: z.core.$ZodIssue, body: unknown, at: readonly PropertyKey[]): Refusal {
  const inner = deepest(found);
  const value = valueAt(body, inner.path);
  const issue = { ...inner, path: [...at, ...inner.path] };
  const param = pathText(issue.path);
  return invalid(
    param || undefined,
    `${param || "The body"} ${say(issue, value)}`,
  );
}

/** Of a union's alternatives, the fault that lies deepest: that is the one that was meant. */
function deepest(issue: z.core.$ZodIssue, above: readonly PropertyKey[] = []): z.core.$ZodIssue {
  const path = [...above, ...issue.path];
  if (issue.code !== "invalid_union" || issue.errors.length === 0) return { ...issue, path };
  const inner = issue.errors.map((issues) => issues[0]).filter((one) => one !== undefined)
    .map((one) => deepest(one, path));
  const best = inner.reduce((a, b) => (b.path.length > a.path.length ? b : a), inner[0] ?? issue);
  if (best.path.length > path.length) return best;
  const kinds = inner.flatMap((one) => one.code === "invalid_type" ? [one.expected] : []);
  if (kinds.length !== inner.length) {
    return inner.find((one) => one.code !== "invalid_type") ?? best;
  }
  return { ...issue, path, message: `must be ${kinds.map(withArticle).join(" or ")}` };
}

function say(issue: z.core.$ZodIssue, value: unknown): string {
  if (value === undefined && issue.code === "invalid_type") return "is required.";
  const { message, code } = issue;
  if (code === "invalid_type" && isLargeNumber(value)) {
    return `is out of range: got ${show(value)}.`;
  }
  const words = code === "invalid_union" && message.startsWith("must")
    ? undefined
    : issueWords(issue);
  return words === undefined && /[.:]$/.test(message)
    ? message
    : `${words ?? message}: got ${show(value)}.`;
}

/** A value as it may be quoted to its sender: kinds and small scalars, never texts of a prompt. */
function show(value: unknown): string {
  if (typeof value === "string") {
    return value.length <= 40 ? JSON.stringify(value) : "a long string";
  }
  if (isLargeNumber(value)) return JSON.stringify(value).slice(0, 40);
  if (Array.isArray(value)) return value.length === 0 ? "an empty array" : "an array";
  if (typeof value === "object" && value !== null) return "an object";
  return value === undefined ? "nothing" : String(value);
}

/** The message of a discriminated union whose discriminator matches none of `values`. */
export function oneOf(...values: readonly string[]): { error: z.core.$ZodErrorMap } {
  const message = `must be ${alternatives(values.map((value) => JSON.stringify(value)))}`;
  return { error: (issue) => issue.code === "invalid_union" ? message : undefined };
}
