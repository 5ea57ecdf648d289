import * as z from "zod";

type Issue = z.core.$ZodIssue;
type Schema = z.core.$ZodType;

/**
 * Validates a value by a schema and stops at the first fault, without building a copy.
 *
 * The schema library looks at every element of an array and collects a fault for each bad one, so that a few
 * megabytes of `[{},{},…]` take gigabytes. Here arrays, objects and unions are walked, and only what has no
 * parts is left to the library.
 *
 * @param schema Of objects, arrays, unions, `optional`, `nullable` and kinds without parts; without
 *   transformations, whose results would be lost.
 * @returns The first fault, its path included; undefined when the value is valid.
 *
 * @example
 * ```ts
 * import { assertEquals } from "@std/assert";
 * import * as z from "zod";
 * import { firstFault } from "./first_fault.ts";
 *
 * assertEquals(firstFault(z.array(z.looseObject({ role: z.string() })), [{}, {}])?.path, [0, "role"]);
 * ```
 */
export function firstFault(schema: z.ZodType, value: unknown): Issue | undefined {
  return fault(schema, value);
}

function fault(schema: Schema, value: unknown): Issue | undefined {
  const kinds = schema as z.core.$ZodTypes;
  const { def } = kinds._zod;
  switch (def.type) {
    case "optional":
      return value === undefined ? undefined : fault(def.innerType, value);
    case "nullable":
      return value === null ? undefined : fault(def.innerType, value);
    case "object":
      return isPlainObject(value)
        ? inShape(def.shape, value) ?? inChecks(schema, value)
        : ofLibrary(schema, value);
    case "array":
      return Array.isArray(value)
        ? inChecks(schema, value) ?? inElements(def.element, value)
        : ofLibrary(schema, value);
    case "union":
      return inOptions(kinds as z.core.$ZodUnion, value);
    case "string":
      return typeof value === "string" && !hasChecks(def) ? undefined : ofLibrary(schema, value);
    default:
      return ofLibrary(schema, value);
  }
}

/** Whether more is asked of a value than its kind. */
function hasChecks(def: z.core.$ZodStringDef): boolean {
  return "format" in def || (def.checks?.length ?? 0) > 0;
}

function isPlainObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function inShape(
  shape: Readonly<Record<string, Schema>>,
  value: Record<string, unknown>,
): Issue | undefined {
  for (const key in shape) {
    const own = Object.hasOwn(value, key) ? value[key] : undefined;
    const found = fault(shape[key]!, own);
    if (found !== undefined) return under(key, found);
  }
  return undefined;
}

function inElements(element: Schema, values: readonly unknown[]): Issue | undefined {
  for (let at = 0; at < values.length; at++) {
    const found = fault(element, values[at]);
    if (found !== undefined) return under(at, found);
  }
  return undefined;
}

function inOptions(schema: z.core.$ZodUnion, value: unknown): Issue | undefined {
  const { options, discriminator } = schema._zod.def as
    & Partial<z.core.$ZodDiscriminatedUnionDef>
    & z.core.$ZodUnionDef;
  if (discriminator !== undefined) {
    if (!isPlainObject(value)) return ofLibrary(schema, value);
    const kind = value[discriminator] as z.util.Primitive;
    const named = options.find((one) => one._zod.propValues?.[discriminator]?.has(kind));
    // no option has this kind: the library words that, and needs to see nothing else
    return named === undefined ? ofLibrary(schema, { [discriminator]: kind }) : fault(named, value);
  }
  // what an option rejects costs a hundred times what it accepts, and of 30,000 items each may be rejected by several
  for (const option of options) {
    if (mayBe(option, value) && fault(option, value) === undefined) return undefined;
  }
  const errors: Issue[][] = [];
  for (const option of options) {
    const found = fault(option, value);
    if (found === undefined) return undefined;
    errors.push([found]);
  }
  return { code: "invalid_union", errors, path: [], message: "Invalid input", input: value };
}

/** Whether a value is of the kind of a schema, and its literal properties are those of the schema, as far as that is seen at once. */
function mayBe(schema: Schema, value: unknown): boolean {
  const { def } = (schema as z.core.$ZodTypes)._zod;
  switch (def.type) {
    case "optional":
    case "nullable":
      return value === undefined || value === null || mayBe(def.innerType, value);
    case "string":
      return typeof value === "string";
    case "literal":
      return def.values.includes(value as z.util.Literal);
    case "enum":
      return Object.values(def.entries).includes(value as z.util.EnumValue);
    case "array":
      return Array.isArray(value);
    case "object":
      if (!isPlainObject(value)) return false;
      for (const key in def.shape) {
        const { type } = (def.shape[key] as z.core.$ZodTypes)._zod.def;
        if ((type === "literal" || type === "enum") && !mayBe(def.shape[key]!, value[key])) {
          return false;
        }
      }
      return true;
    default:
      return true;
  }
}

/** Checks of the whole, such as lengths. */
function inChecks(schema: Schema, value: unknown): Issue | undefined {
  const checks = schema._zod.def.checks ?? [];
  if (checks.length === 0) return undefined;
  const payload: z.core.ParsePayload = { value, issues: [] };
  for (const check of checks) {
    void (check as z.core.$ZodCheck<unknown>)._zod.check(payload);
    const [raw] = payload.issues;
    if (raw !== undefined) return z.util.finalizeIssue(raw, undefined, z.config());
  }
  return undefined;
}

function ofLibrary(schema: Schema, value: unknown): Issue | undefined {
  const parsed = z.safeParse(schema, value);
  return parsed.success ? undefined : parsed.error.issues[0];
}

function under(key: PropertyKey, issue: Issue): Issue {
  return { ...issue, path: [key, ...issue.path] };
}
