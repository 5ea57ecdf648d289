/** What a gateway has kept that was killed while it handed over to another one. */

import { EmbeddedDatabase } from "../../src/ground/database/mod.ts";
import { outboxFiles, WriteOutbox } from "../../src/ground/database/outbox.ts";
import { audit } from "../../src/money/ledger/mod.ts";
import { assert, assertEquals, assertStringIncludes } from "../assert.ts";
import { sluice } from "../fake/command.ts";
import { startGateway, usageRecords } from "../fake/gateway.ts";
import { tempDir, until } from "../fake/temp.ts";

// Proves P2.
Deno.test("a running gateway charges what one that was killed beside it has kept", async () => {
  await using running = await startGateway({ looksInside: true });
  const { gateway: { database } } = running;
  assert(database instanceof EmbeddedDatabase);
  const reply = await running.chat("hello");
  assertEquals(reply.status, 200);
  await reply.body?.cancel();
  const [record] = await usageRecords(running);
  const { balance_credits: before } = record!;
  const item = { ...record, request_id: "req_of_the_killed", lent: 5, loan_id: "gone" };
  const outbox = new WriteOutbox({
    path: `${database.place}-outbox-gw_killed`,
    database: (await database.identify())!,
    durable: false,
    taken: () => Promise.reject(new Error("it was killed")),
  });
  await outbox.keepItems({
    write: "settlement",
    columns: Object.keys(item),
    items: JSON.stringify([Object.values(item)]),
  });
  assertEquals((await usageRecords(running)).length, 1);
  await outbox.close();
  await until(
    async () => !(await outboxFiles(database.place)).some((path) => path.includes("gw_killed")),
    { what: "the end of the outbox" },
  );
  const [, taken] = await usageRecords(running);
  assertEquals(taken?.request_id, "req_of_the_killed");
  assertEquals(taken?.balance_credits, Number(before) - Number(taken?.price_credits));
  assertEquals((await audit(database)).mismatches, []);
});

Deno.test("an outbox that is for another database is named in the log and by doctor", async () => {
  await using dir = await tempDir();
  const outbox = new WriteOutbox({
    path: `${dir.path}/gateway.server-outbox-gw_before`,
    database: "another",
    durable: false,
    taken: () => Promise.reject(new Error("never")),
  });
  await outbox.keepItems({ write: "settlement", columns: ["n"], items: "[[1]]" });
  await outbox.close();
  await using gateway = await startGateway({ settings: { data: dir.path } });
  const said = "settlements of another database";
  const line = gateway.log().split("\n").find((one) => one.includes(said));
  assertStringIncludes(line!, `${dir.path}/gateway.server-outbox-gw_before`);
  const { out } = await sluice(["doctor", "--local", "--data", dir.path], {
    directory: gateway.directory,
  });
  assertStringIncludes(out, `gateway.server-outbox-gw_before`);
  assertStringIncludes(out, said);
});
