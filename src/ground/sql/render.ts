import { POSTGRES } from "./postgres.ts";
import { SQLITE } from "./sqlite.ts";
import type { Spelling } from "./spelling.ts";

/** What an engine understands, besides standard SQL. */
export type Dialect = "sqlite" | "postgres";

const SPELLINGS: Readonly<Record<Dialect, Spelling>> = { sqlite: SQLITE, postgres: POSTGRES };

/** A call within which there is no other one. None of its marks is in any statement otherwise: values are arguments of statements. */
const CALL = /«([a-zA-Z]+)((?:¦[^«»]*)?)»/g;

/** A call of a function in a statement, until {@linkcode render} writes it out for an engine. */
export function call(name: keyof Spelling, ...args: readonly string[]): string {
  return `«${[name, ...args].join("¦")}»`;
}

/** Writes out the calls in a statement as an engine spells them. */
export function render(sql: string, dialect: Dialect): string {
  const spelling: Readonly<Record<string, (...args: string[]) => string>> = SPELLINGS[dialect];
  let rendered = sql;
  while (rendered.includes("«")) {
    const inner = rendered;
    rendered = inner.replace(
      CALL,
      (_, name: string, args: string) => spelling[name]!(...args.split("¦").slice(1)),
    );
    if (rendered === inner) {
      throw new TypeError(`Cannot write out the calls of a statement: ${sql}`);
    }
  }
  return rendered;
}
