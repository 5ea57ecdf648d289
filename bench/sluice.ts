/** Sluice as it is served, or with metering bypassed, to see what it costs. */

import { assemble } from "../src/assemble/mod.ts";
import { loadConfig } from "../src/config/mod.ts";
import type { Json } from "../src/database/mod.ts";
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

/** What the database would have answered: admitted, settled. */
const BYPASSED: Readonly<Record<string, (key: Json) => readonly Json[]>> = {
  admission: (key) => [key, "admitted", 1e6, 1e12, 1e12, 0, 1e12, 0, 1e12, 0],
  settlement: (key) => [key, 1, 1e12],
  growth: (key) => [key, 1e9],
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
        value: (
          { name, read }: { name: string; read?: (row: readonly Json[]) => unknown },
          [key]: readonly [string],
        ) => Promise.resolve(read?.(BYPASSED[name]!(key))),
      },
    }),
});
await gateway.listen();
await Deno.writeTextFile(`${data}/key`, gateway.firstKey ?? "");
