/** Sluice as it is served, or with metering bypassed, to see what it costs. */

import { assemble } from "../src/assemble/mod.ts";
import { loadConfig } from "../src/config/mod.ts";
import type { JsonObject } from "../src/database/mod.ts";
import { SILENT } from "../src/telemetry/mod.ts";

const [port = "0", upstream = "", data = "", metering = "yes", dialect = "chat", more = "{}"] =
  Deno.args;

/** Nobody meets a window, and nobody runs out of credits. */
const settings = {
  tiers: [{ above: 0, minute: 1e12, hour: 1e12, day: 1e12 }],
  credits: { ownerGrant: 1e12 },
  ...JSON.parse(more),
};
const file = `${data}/sluice.jsonc`;
await Deno.writeTextFile(file, JSON.stringify(settings));

const UNLIMITED = new Array<number>(6).fill(1e12);

/** What the database would have answered: admitted, settled. */
const BYPASSED: Readonly<Record<string, JsonObject>> = {
  admission: {
    verdict: "admitted",
    credits: 1e6,
    balance: 1e12,
    limits: UNLIMITED,
    used: UNLIMITED.map(() => 0),
  },
  settlement: { charged_credits: 1, balance_credits: 1e12 },
  growth: { credits: 1e9 },
};

const config = await loadConfig({
  env: {
    SLUICE_PORT: port,
    SLUICE_DATA: data,
    SLUICE_UPSTREAM_URL: upstream,
    SLUICE_UPSTREAM_DIALECT: dialect,
  },
  directory: data,
  file,
});
const gateway = await assemble(config, {
  log: SILENT,
  wrapDatabase: (database) =>
    metering === "yes" ? database : Object.create(database, {
      all: { value: database.all.bind(database) },
      one: { value: database.one.bind(database) },
      batch: { value: database.batch.bind(database) },
      close: { value: database.close.bind(database) },
      waiting: { value: 0 },
      write: {
        value: ({ name, read }: { name: string; read?: (row?: JsonObject) => unknown }) =>
          Promise.resolve(read?.(BYPASSED[name]!)),
      },
    }),
});
gateway.listen();
await Deno.writeTextFile(`${data}/key`, gateway.firstKey ?? "");
