import * as z from "zod";
import { isLargeNumber } from "../json/mod.ts";

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
  const param = pathOf(issue.path);
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
  return { ...issue, path, message: `must be ${kinds.map(article).join(" or ")}` };
}

function say(issue: z.core.$ZodIssue, value: unknown): string {
  if (value === undefined && issue.code === "invalid_type") return "is required.";
  const got = `: got ${show(value)}.`;
  switch (issue.code) {
    case "invalid_type":
      if (isLargeNumber(value)) return `is out of range${got}`;
      return issue.expected === "int"
        ? `must be a whole number${got}`
        : `must be ${article(issue.expected)}${got}`;
    case "too_small":
      return `${atLeast(issue)}${got}`;
    case "too_big":
      return `${atMost(issue)}${got}`;
    case "invalid_value":
      return `must be ${list(issue.values.map((one) => JSON.stringify(one)))}${got}`;
    case "invalid_union":
      return issue.message.startsWith("must")
        ? `${issue.message}${got}`
        : `does not match any accepted shape${got}`;
    default:
      return `${issue.message}${/[.:]$/.test(issue.message) ? "" : got}`;
  }
}

function atLeast(issue: z.core.$ZodIssueTooSmall): string {
  if (issue.origin === "array" || issue.origin === "string") {
    return issue.minimum === 1
      ? "must not be empty"
      : `must have at least ${issue.minimum} ${unit(issue.origin)}`;
  }
  return `must be at least ${issue.minimum}`;
}

function atMost(issue: z.core.$ZodIssueTooBig): string {
  return issue.origin === "array" || issue.origin === "string"
    ? `must have at most ${issue.maximum} ${unit(issue.origin)}`
    : `must be at most ${issue.maximum}`;
}

function unit(origin: string): string {
  return origin === "array" ? "items" : "characters";
}

function article(kind: string): string {
  return /^[aeio]/.test(kind) ? `an ${kind}` : `a ${kind}`;
}

function list(words: readonly string[]): string {
  return words.length < 2 ? words.join("") : `${words.slice(0, -1).join(", ")} or ${words.at(-1)}`;
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
  const message = `must be ${list(values.map((value) => JSON.stringify(value)))}`;
  return { error: (issue) => issue.code === "invalid_union" ? message : undefined };
}

/** `["messages", 0, "content"]` as `messages[0].content`. */
export function pathOf(path: readonly PropertyKey[]): string {
  return path.reduce<string>((text, key) => {
    if (typeof key === "number") return `${text}[${key}]`;
    return text === "" ? String(key) : `${text}.${String(key)}`;
  }, "");
}

function valueAt(body: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>(
    (value, key) =>
      typeof value === "object" && value !== null && Object.hasOwn(value, key)
        ? (value as Record<PropertyKey, unknown>)[key]
        : undefined,
    body,
  );
}
