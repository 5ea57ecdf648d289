import type * as z from "zod";

/** Words for what a schema finds wrong: the same for settings, operations, forms and bodies of requests. */

/**
 * What would be right, where the schema has no words of its own; an error map for `safeParse(value, { error: issueWords })`.
 *
 * @returns Such as `must be at least 1`; undefined where the library's own words do.
 */
export function issueWords(issue: z.core.$ZodIssue | z.core.$ZodRawIssue): string | undefined {
  switch (issue.code) {
    case "invalid_type": {
      const right = `must be ${
        issue.expected === "int" ? "a whole number" : withArticle(issue.expected)
      }`;
      return "input" in issue && issue.input === undefined ? `is missing: ${right}` : right;
    }
    case "too_small":
      if (!isSized(issue)) {
        return `must be ${issue.inclusive ? "at least" : "above"} ${issue.minimum}`;
      }
      if (issue.minimum === 1) return "must not be empty";
      return `must have at least ${issue.minimum} ${unit(issue)}`;
    case "too_big":
      return isSized(issue)
        ? `must have at most ${issue.maximum} ${unit(issue)}`
        : `must be ${issue.inclusive ? "at most" : "below"} ${issue.maximum}`;
    case "invalid_value":
      return `must be ${alternatives(issue.values.map((one) => JSON.stringify(one)))}`;
    case "invalid_union":
      return "does not match any accepted shape";
    default:
      return undefined;
  }
}

function isSized({ origin }: { readonly origin: string }): boolean {
  return origin === "array" || origin === "string";
}

function unit({ origin }: { readonly origin: string }): string {
  return origin === "array" ? "items" : "characters";
}

/** A kind with its article. */
export function withArticle(kind: string): string {
  return /^[aeio]/.test(kind) ? `an ${kind}` : `a ${kind}`;
}

/** `["a", "b", "c"]` as `a, b or c`. */
export function alternatives(words: readonly string[]): string {
  return words.length < 2 ? words.join("") : `${words.slice(0, -1).join(", ")} or ${words.at(-1)}`;
}

/** `["messages", 0, "content"]` as `messages[0].content`. */
export function pathText(path: readonly PropertyKey[]): string {
  return path.reduce<string>((text, key) => {
    if (typeof key === "number") return `${text}[${key}]`;
    return text === "" ? String(key) : `${text}.${String(key)}`;
  }, "");
}

/** The value at a path; undefined where there is none. */
export function valueAt(root: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>(
    (value, key) =>
      typeof value === "object" && value !== null && Object.hasOwn(value, key)
        ? Reflect.get(value, key)
        : undefined,
    root,
  );
}
