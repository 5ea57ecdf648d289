/**
 * The gateway with metering bypassed, to see what metering costs: `write` of the database resolves at once, with
 * what the ledger would have read for an admitted and settled request, and what is written behind is dropped. A write
 * that is not named here reaches the database as ever.
 */

import { assemble } from "../src/assemble/mod.ts";
import { loadConfig } from "../src/settings/config/mod.ts";
import type { Database, GroupWrite, JsonObject } from "../src/ground/database/mod.ts";
import { SILENT } from "../src/ground/telemetry/mod.ts";

/** Outcomes by name of the write; members that a write does not read do no harm. */
const OUTCOMES: Readonly<Record<string, JsonObject>> = {
  admission: {
    verdict: "admitted",
    credits: 1e6,
    asked: 1e6,
    balance: 1e12,
    lent_ms: null,
    budget: null,
    limits: new Array<number>(16).fill(1e12),
    used: new Array<number>(16).fill(0),
  },
  settlement: { charged_credits: 1, balance_credits: 1e12 },
  growth: { credits: 1e9 },
};

function complain(message: string, fields: unknown = ""): void {
  Deno.stderr.writeSync(new TextEncoder().encode(`${message} ${JSON.stringify(fields)}\n`));
}

function bypass<Item extends JsonObject, Outcome>(
  { name, read }: GroupWrite<Item, Outcome>,
  outcome: JsonObject,
): Promise<Outcome> {
  try {
    return Promise.resolve(read?.(outcome) as Outcome);
  } catch (error) {
    complain(`bench/unmetered.ts: '${name}' reads an outcome of another shape: ${error}`);
    Deno.exit(1);
  }
}

const write = (database: Database): Database["write"] => (group, item) => {
  const outcome = OUTCOMES[group.name];
  return outcome === undefined ? database.write(group, item) : bypass(group, outcome);
};

const [data = "", file = ""] = Deno.args;
const config = await loadConfig({ env: { SLUICE_DATA: data }, directory: data, file });
const gateway = await assemble(config, {
  log: { ...SILENT, error: complain },
  wrapDatabase: (database) =>
    new Proxy(database, {
      get(target, name) {
        if (name === "write") return write(target);
        if (name === "writeBehind") return () => Promise.resolve();
        const value = Reflect.get(target, name, target);
        return typeof value === "function" ? value.bind(target) : value;
      },
    }),
});
gateway.listen();
