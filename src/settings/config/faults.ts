import * as z from "zod";
import { numberText } from "../../ground/amounts/mod.ts";
import { pathText, valueAt } from "../../ground/issue_words.ts";
import { closestString } from "../../ground/std/mod.ts";
import { type Settings, settings as settingsSchema } from "./schema.ts";
import { isPrivate, maskAddress } from "./secret.ts";
import type { Position, Written } from "./settings_file.ts";

/** Thrown for invalid settings, with all errors. */
export class ConfigError extends Error {
  override readonly name = "ConfigError";
  /** One line per error: where it is, the path of the setting, what is wrong. */
  readonly faults: readonly string[];

  constructor(faults: readonly string[]) {
    super(
      `Invalid settings: ${faults.length} ${faults.length === 1 ? "error" : "errors"}\n${
        faults.map((fault) => `  - ${fault}`).join("\n")
      }`,
    );
    this.faults = faults;
  }
}

/** What a settings file is called in messages, and what is written where in it. */
export interface FileText {
  readonly name: string;
  readonly written: ReadonlyMap<string, Written>;
}

/** Settings whose values are not repeated in messages. */
const SECRET =
  /^(keys?|token|metricsToken|secret|headers|payments|proxy|proxies|caCert|command|accessKeyId|secretAccessKey|sessionToken|environment)$/;
/** A value longer than this is cut. */
const MAX_VALUE_CHARS = 60;

/** Collects the errors of settings, and says where each is. */
export class Faults {
  readonly #origins: ReadonlyMap<string, string>;
  #file: FileText | undefined;
  readonly #found: { readonly position: Position | undefined; readonly line: string }[] = [];

  /** @param origins Where each value came from, by path. */
  constructor(origins: ReadonlyMap<string, string>) {
    this.#origins = origins;
  }

  /** Sets the file that positions are in. */
  setFile(file: FileText): void {
    this.#file = file;
  }

  /** Whether there are none. */
  get none(): boolean {
    return this.#found.length === 0;
  }

  /** Adds an error that is about no place. */
  add(line: string): void {
    this.#found.push({ position: undefined, line });
  }

  /** Adds an error at a place of the file. */
  addAt(position: Position, message: string): void {
    const line = `${this.#file?.name ?? ""}:${position.line}:${position.column}  ${message}`;
    this.#found.push({ position, line });
  }

  /** Adds an error of the setting at a path. */
  addOf(path: readonly PropertyKey[], message: string): void {
    const text = pathText(path);
    const origin = this.#givenBy(path);
    const position = origin === undefined ? positionOf(text, this.#file) : undefined;
    const named = `${text || "settings"}: ${message}`;
    if (position !== undefined) this.addAt(position, named);
    else this.add(origin === undefined ? named : `${origin}  ${named}`);
  }

  /** Adds what the schema says of merged settings. */
  addIssues(issues: readonly z.core.$ZodIssue[], merged: unknown): void {
    for (const issue of issues.flatMap(nearestIssues)) {
      if (issue.code === "unrecognized_keys") {
        const known = knownKeys(settingsSchema, issue.path);
        for (const key of issue.keys) this.addOf([...issue.path, key], unknownKey(key, known));
      } else if (issue.code === "invalid_key") {
        this.addOf(issue.path, `the name ${issue.issues[0]?.message || "must not be empty"}`);
      } else {
        this.addOf(issue.path, this.#explain(issue, merged));
      }
    }
  }

  /** All errors, one line each and none twice: those of the file first, from its beginning to its end. */
  lines(): string[] {
    const at = ({ position }: { position: Position | undefined }) =>
      position === undefined ? Infinity : position.line * 1e6 + position.column;
    // not a difference: Infinity less Infinity is no number
    const sorted = this.#found.toSorted((one, other) =>
      at(one) < at(other) ? -1 : at(one) > at(other) ? 1 : 0
    );
    return [...new Set(sorted.map(({ line }) => line))];
  }

  #explain(issue: z.core.$ZodIssue, merged: unknown): string {
    const right = issue.message || `must be ${ruleOf(schemaAt(settingsSchema, issue.path))}`;
    const value = valueAt(merged, issue.path);
    if (value === undefined) return `is missing: ${right}`;
    const isSecret = isPrivate(issue.path) || issue.path.some((key) => SECRET.test(String(key)));
    if (isSecret) return right;
    if (/: got /.test(right)) return right; // an amount's own words
    const written = this.#givenBy(issue.path) === undefined
      ? this.#file?.written.get(pathText(issue.path))?.text
      : undefined;
    return `${right}: got ${shown(written ?? textOf(value))}`;
  }

  /** Name of the variable or flag that gave the value at a path, if not the file did. */
  #givenBy(path: readonly PropertyKey[]): string | undefined {
    for (let length = path.length; length > 0; length--) {
      const origin = this.#origins.get(path.slice(0, length).map(String).join("."));
      if (origin === undefined) continue;
      return /^(?:environment|flag) (.*)$/.exec(origin)?.[1];
    }
    return undefined;
  }
}

/**
 * Puts the place in the settings file before errors that name a setting only, such as a target that leads nowhere.
 *
 * @param error What was thrown; anything else than a `ConfigError` is returned as it is.
 */
export function locateFaults(error: unknown, file: FileText | undefined): unknown {
  if (!(error instanceof ConfigError) || file === undefined) return error;
  return new ConfigError(error.faults.map((fault) => {
    const path = /^(\S+?): /.exec(fault)?.[1];
    const position = path === undefined ? undefined : positionOf(path, file);
    if (position === undefined) return fault;
    return `${file.name}:${position.line}:${position.column}  ${fault}`;
  }));
}

/** Of alternatives, the one that has the value's type says what is wrong inside. */
function nearestIssues(issue: z.core.$ZodIssue): z.core.$ZodIssue[] {
  if (issue.code !== "invalid_union") return [issue];
  if ("discriminator" in issue && issue.discriminator !== undefined) {
    return [{ ...issue, path: issue.path.slice(0, -1) }]; // what is wrong is the whole
  }
  const near = issue.errors.find((all) =>
    all.length > 0 &&
    (all.every(({ path }) => path.length > 0) ||
      all.every(({ code }) => code === "unrecognized_keys"))
  );
  if (near === undefined) return [issue];
  return near.flatMap((one) => nearestIssues({ ...one, path: [...issue.path, ...one.path] }));
}

/** Where a setting is in the file, or else what it is in. */
function positionOf(path: string, file: FileText | undefined): Position | undefined {
  for (
    let text = path;
    text !== "";
    text = text.slice(0, Math.max(0, text.search(/[.[][^.[]*$/)))
  ) {
    const found = file?.written.get(text);
    if (found !== undefined) return found.position;
  }
  return undefined;
}

function unknownKey(key: string, known: string[]): string {
  const near = known.length === 0 ? undefined : closestString(key, known);
  return `unknown setting${near === undefined ? "" : `; did you mean '${near}'?`}`;
}

/** Says in words what a value of a schema is. */
function ruleOf(schema: z.core.$ZodType | undefined): string {
  if (schema instanceof z.ZodNullable) return `${ruleOf(schema.def.innerType)}, or null`;
  const inner = schema === undefined ? undefined : unwrap(schema);
  if (inner !== schema) return ruleOf(inner);
  if (inner instanceof z.ZodUnion) return ruleOf(inner.def.options[0]);
  if (inner instanceof z.ZodEnum) {
    return `one of ${inner.options.map((one) => JSON.stringify(one)).join(", ")}`;
  }
  if (inner instanceof z.ZodNumber) return numberRule(inner);
  if (inner instanceof z.ZodBoolean) return "true or false";
  if (inner instanceof z.ZodEmail) return "an email address";
  if (inner instanceof z.ZodArray) return "a list with at least one entry: [ … ]";
  if (inner instanceof z.ZodObject || inner instanceof z.ZodRecord) return "an object: { … }";
  return "text that is not empty";
}

function numberRule(schema: z.ZodNumber): string {
  const { minValue, maxValue, isInt } = schema;
  const min = minValue === null || minValue <= Number.MIN_SAFE_INTEGER ? undefined : minValue;
  const max = maxValue === null || maxValue >= Number.MAX_SAFE_INTEGER ? undefined : maxValue;
  const kind = isInt ? "a whole number" : "a number";
  if (min === undefined) return kind;
  if (schema.safeParse(min).success) return rangeText(kind, min, max);
  if (isInt) return rangeText(kind, min + 1, max);
  return `${kind} above ${min}${max === undefined ? "" : `, up to ${max}`}`;
}

function rangeText(kind: string, min: number, max: number | undefined): string {
  return max === undefined
    ? `${kind}, ${numberText(min)} or more`
    : `${kind} from ${numberText(min)} to ${numberText(max)}`;
}

function shown(text: string): string {
  const [, inside] = /^"(.*?)"?$/s.exec(text) ?? [];
  const masked = inside === undefined ? text : `"${maskAddress(inside)}"`;
  return masked.length > MAX_VALUE_CHARS ? `${masked.slice(0, MAX_VALUE_CHARS)}…` : masked;
}

function textOf(value: unknown): string {
  if (Array.isArray(value)) return "a list";
  if (typeof value === "object" && value !== null) return "an object";
  return JSON.stringify(value);
}

/** Finds the schema of a setting. */
function schemaAt(
  schema: z.core.$ZodType,
  path: readonly PropertyKey[],
): z.core.$ZodType | undefined {
  const [head, ...rest] = path;
  if (head === undefined) return schema;
  const inner = unwrap(schema);
  if (inner instanceof z.ZodUnion) {
    return inner.options.map((one) => schemaAt(one, path)).find((one) => one !== undefined);
  }
  const next: z.core.$ZodType | undefined = inner instanceof z.ZodObject
    ? inner.shape[String(head)]
    : inner instanceof z.ZodRecord
    ? inner.valueType
    : inner instanceof z.ZodArray
    ? inner.element
    : undefined;
  return next === undefined ? undefined : schemaAt(next, rest);
}

/** Lists the keys that the schema knows at a path. */
function knownKeys(schema: z.core.$ZodType, path: readonly PropertyKey[]): string[] {
  const found = schemaAt(schema, path);
  return found === undefined ? [] : keysOf(found);
}

function keysOf(schema: z.core.$ZodType): string[] {
  const inner = unwrap(schema);
  if (inner instanceof z.ZodUnion) return inner.options.flatMap(keysOf);
  return inner instanceof z.ZodObject
    ? Object.keys(inner.shape).filter((key) => key !== "$schema")
    : [];
}

function unwrap(schema: z.core.$ZodType): z.core.$ZodType {
  let inner = schema;
  while (true) {
    if (inner instanceof z.ZodPipe) inner = inner.def.in;
    else if (
      inner instanceof z.ZodDefault || inner instanceof z.ZodPrefault ||
      inner instanceof z.ZodOptional || inner instanceof z.ZodNullable
    ) inner = inner.def.innerType;
    else return inner;
  }
}

/**
 * Validates merged settings.
 *
 * @returns The settings with defaults filled in, or `undefined` after adding what is wrong to `faults`.
 */
export function validate(merged: unknown, faults: Faults): Settings | undefined {
  // an empty message is one that the schema has no words for
  const parsed = settingsSchema.safeParse(merged, { error: () => "" });
  if (parsed.success) return parsed.data;
  faults.addIssues(parsed.error.issues, merged);
  return undefined;
}
