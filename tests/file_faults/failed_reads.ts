/**
 * Reads a database while each read of its file fails, and again afterwards; prints what came of it as JSON. Runs with `faulty.c`.
 *
 *   failed_reads.ts DATABASE CONTROL
 */

import { EmbeddedDatabase } from "../../src/ground/database/mod.ts";
import { until } from "../fake/temp.ts";
import { FaultControl } from "./control.ts";

const [path = "", controlPath = ""] = Deno.args;
const states: boolean[] = [];
const database = await EmbeddedDatabase.open(path, {
  durability: "normal",
  onState: ({ isUsable }) => states.push(isUsable),
});
// more than its cache holds
await database.batch([
  { sql: "create table texts (text text)" },
  {
    sql:
      `insert into texts with recursive n (n) as (select 1 union all select n + 1 from n where n < 8000)
      select printf('%01000d', n) from n`,
  },
]);
await database.one("pragma wal_checkpoint(truncate)");
const read = () => database.one("select sum(length(text)) as length from texts");

using control = new FaultControl(controlPath);
const files = ["database", "log"] as const;
control.start([{ call: "read", partsPer65536: 65_536, kinds: ["EIO"], files }], 1);
const failed = await read().then(() => "nothing", ({ code }) => code);
control.stop();
await until(() => states.at(-1) !== false, { what: "the database" });
const row = await read();
await Deno.stdout.write(
  new TextEncoder().encode(JSON.stringify({ failed, states, length: row?.length })),
);
await database.close();
