import { type Dialect, type DialectName, DIALECTS, type Front } from "../../wire/dialects/mod.ts";

const ALL = Object.entries(DIALECTS) as [DialectName, Dialect][];

/** Where requests of each dialect are sent. */
export const DIALECT_PATHS: readonly (readonly [path: string, dialect: DialectName])[] = ALL
  .flatMap(([name, { front }]) =>
    [front, ...front.further ?? []].map(({ path }) => [path, name] as const)
  );

/** Where requests of a dialect are counted without being sent. */
export const COUNTING: readonly NonNullable<Front["counting"]>[] = ALL
  .flatMap(([, { front: { counting } }]) => counting ?? []);

/** The dialect of errors at a path: that of the endpoint at or above it, else the first one. */
export function frontAt(path: string): Front {
  for (const [above, name] of DIALECT_PATHS) {
    if (path === above || path.startsWith(`${above}/`)) return DIALECTS[name].front;
  }
  return DIALECTS.chat.front;
}
