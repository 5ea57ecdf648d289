import type { Database } from "../../src/ground/database/mod.ts";

/** How SQLite carries out a statement. */
export interface Plan {
  readonly sql: string;
  readonly steps: readonly string[];
}

/**
 * A database that notes how it carries out what it is asked. What a plan reads does not depend on how busy the machine is,
 * nor on how many rows a test has.
 */
export function watchPlans(database: Database): { database: Database; plans: readonly Plan[] } {
  const plans: Plan[] = [];
  const watched = new Proxy(database, {
    get(target, name) {
      const value = Reflect.get(target, name);
      if (typeof value !== "function") return value;
      if (name !== "all" && name !== "one") return value.bind(target);
      return async (...args: Parameters<Database["all"]>) => {
        const steps = await target.all(`explain query plan ${args[0]}`, args[1]);
        plans.push({ sql: args[0], steps: steps.map(({ detail }) => String(detail)) });
        return await value.apply(target, args);
      };
    },
  });
  return { database: watched, plans };
}

/** Steps that read all rows of a table, or of an index; lists that a statement makes itself have other names. */
export function scansIn(plans: readonly Plan[], tables: readonly string[]): string[] {
  return plans.flatMap(({ steps }) =>
    steps.filter((step) => tables.some((table) => new RegExp(`^SCAN ${table}\\b`).test(step)))
  );
}
