/**
 * Writes to a database one item after the other, and says what became of each: a line `ok` or the
 * error's code.
 *
 * Arguments: the file, the durability, how many, and `repeatable` if each may be written twice, or `behind` if each is written behind.
 */

import { EmbeddedDatabase, type GroupWrite, openDatabase } from "../../src/ground/database/mod.ts";
import { RULES } from "../../src/money/ledger/mod.ts";
import { say } from "./command.ts";

const [file = "", durability = "", count = "", kind = ""] = Deno.args;
const NUMBERS: GroupWrite<{ n: string }> = {
  name: "numbers",
  key: "n",
  repeatable: kind !== "",
  columns: ["n"],
  statements: ["insert or ignore into numbers select value ->> 0 from json_each(?1)"],
};
const database = await openDatabase({
  file,
  durability: durability === "full" ? "full" : "normal",
  rules: RULES,
  now: () => 1,
});
await database.batch([{ sql: "create table numbers (n text primary key)" }]);
if (kind === "behind" && database instanceof EmbeddedDatabase) {
  await database.keepOutbox({
    gatewayId: "gw",
    onFault: (fault) => say(String(fault)),
    onRefused: () => say("refused"),
  });
}
const write = (item: { n: string }) =>
  kind === "behind" ? database.writeBehind!(NUMBERS, item) : database.write(NUMBERS, item);
say("begin");
for (let at = 0; at < Number(count); at++) {
  await write({ n: `${at}` }).then(
    () => say("ok"),
    (error) => say(error.code),
  );
}
say("end");
await database.close();
