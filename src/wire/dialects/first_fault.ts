import * as z from "zod";

type Issue = z.core.$ZodIssue;
type Schema = z.core.$ZodType;

/**
 * Validates a value by a schema and stops at the first fault, without building a copy.
 *
 * The schema library looks at every element of an array and collects a fault for each bad one, so that a few
 * megabytes of `[{},{},…]` take gigabytes. Here arrays, objects and unions are walked, what is usual is seen at once, and the rest is
 * left to the library.
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
      return typeof value === "string" && !("format" in def)
        ? inChecks(schema, value)
        : ofLibrary(schema, value);
    case "number":
      return Number.isFinite(value) && !("format" in def)
        ? inChecks(schema, value)
        : ofLibrary(schema, value);
    case "literal":
    case "enum":
      return mayBe(schema, value) ? undefined : ofLibrary(schema, value);
    default:
      return ofLibrary(schema, value);
  }
}

function isPlainObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

type Shape = Readonly<Record<string, Schema>>;

/** Keys that an object must have, in the order of its shape. */
const REQUIRED = new WeakMap<Shape, readonly string[]>();

function requiredOf(shape: Shape): readonly string[] {
  const known = REQUIRED.get(shape);
  if (known !== undefined) return known;
  const required = Object.keys(shape).filter((key) => fault(shape[key]!, undefined) !== undefined);
  REQUIRED.set(shape, required);
  return required;
}

/** Looks at what is there: a request has a few of the dozens of keys that it may have. */
function inShape(shape: Shape, value: Record<string, unknown>): Issue | undefined {
  for (const key in value) {
    if (!Object.hasOwn(shape, key) || !Object.hasOwn(value, key)) continue;
    const found = fault(shape[key]!, value[key]);
    if (found !== undefined) return before(key, shape, value) ?? under(key, found);
  }
  const missing = requiredOf(shape).find((key) => !Object.hasOwn(value, key));
  return missing === undefined ? undefined : under(missing, fault(shape[missing]!, undefined)!);
}

/** The first fault among those keys of a shape that come before one: which one is told does not go by the order of a value's keys. */
function before(end: string, shape: Shape, value: Record<string, unknown>): Issue | undefined {
  for (const key in shape) {
    if (key === end) break;
    const found = fault(shape[key]!, Object.hasOwn(value, key) ? value[key] : undefined);
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
