import { createHash } from "node:crypto";
import { render } from "../../sql/mod.ts";
import type { Value } from "../database.ts";
import type { Sent } from "./pipeline.ts";
import { toPostgres } from "./texts.ts";

/** A statement as PostgreSQL gets it, for arguments of certain types. */
interface Prepared extends Omit<Sent, "values"> {
  /** Places of the arguments that it takes. */
  readonly takes: readonly number[];
}

/** Statements that are kept prepared, by every connection as long as it lasts: they have room for the gateway's own ones. */
const MAX_KEPT = 2_000;
const kept = new Map<string, Prepared>();

/** What changes the schema runs once. */
const RUNS_ONCE = /^\s*(?:create|drop|alter)\b/;

/** A text, or the place of an argument. */
const ARGUMENT = /'(?:[^']|'')*'|\?(\d*)/g;

/**
 * A statement for PostgreSQL: its calls written out, its arguments numbered and with types, and a name by which it stays prepared. A null
 * is a part of the text: it has no type that would suit wherever it is.
 */
export function prepared(
  sql: string,
  args: readonly Value[],
): Prepared & { readonly values: readonly Value[] } {
  const key = `${args.map((value) => typeOf(value)?.[0] ?? "-").join("")} ${sql}`;
  let statement = kept.get(key);
  if (statement === undefined) {
    const isKept = kept.size < MAX_KEPT && !RUNS_ONCE.test(sql);
    statement = prepare(sql, args, isKept);
    if (isKept) kept.set(key, statement);
  }
  return { ...statement, values: statement.takes.map((place) => valueOf(args[place]!)) };
}

function valueOf(value: Value): Value {
  return typeof value === "string" ? toPostgres(value) : value;
}

function prepare(sql: string, args: readonly Value[], isKept: boolean): Prepared {
  const takes: number[] = [];
  let last = 0;
  const text = render(sql, "postgres").replace(ARGUMENT, (found, number: string | undefined) => {
    if (number === undefined) return found;
    last = number === "" ? last + 1 : Number(number);
    const type = typeOf(args[last - 1] ?? null);
    if (type === undefined) return "null";
    if (!takes.includes(last - 1)) takes.push(last - 1);
    return `$${takes.indexOf(last - 1) + 1}::${type}`;
  });
  const name = isKept ? nameOf(text) : undefined;
  return { name, text, takes, asksForChanges: text.includes("sluice.changed") };
}

/**
 * A name that no other statement has, in any program: a pooler may give a connection to one gateway that has what another one prepared,
 * and to read a balance must never be to charge it.
 */
function nameOf(text: string): string {
  return `sluice_${createHash("sha256").update(text).digest("hex").slice(0, 32)}`;
}

function typeOf(value: Value): string | undefined {
  if (value === null) return undefined;
  if (typeof value === "string") return "text";
  return Number.isInteger(value) ? "bigint" : "double precision";
}
