/** Sluice as it is served, or with its writes left out, to see what they cost. */

import { assemble } from "../src/assemble.ts";
import { loadConfig } from "../src/config/mod.ts";
import { SILENT } from "../src/telemetry/mod.ts";

const [port = "0", upstream = "", data = "", writes = "yes", dialect = "chat"] = Deno.args;

const config = await loadConfig({
  env: {
    SLUICE_PORT: port,
    SLUICE_DATA: data,
    SLUICE_UPSTREAM_URL: upstream,
    SLUICE_UPSTREAM_DIALECT: dialect,
  },
  directory: data,
});
const gateway = await assemble(config, {
  log: SILENT,
  wrapDatabase: (database) =>
    writes === "yes" ? database : Object.create(database, {
      all: { value: database.all.bind(database) },
      one: { value: database.one.bind(database) },
      batch: { value: database.batch.bind(database) },
      close: { value: database.close.bind(database) },
      write: { value: () => Promise.resolve() },
    }),
});
gateway.listen();
await Deno.writeTextFile(`${data}/key`, gateway.firstKey ?? "");
