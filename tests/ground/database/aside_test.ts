import { Aside, backUp, type Database } from "../../../src/ground/database/mod.ts";
import { assert, assertEquals, assertRejects } from "../../assert.ts";
import { startGateway } from "../../fake/gateway.ts";
import { tempDir } from "../../fake/temp.ts";

Deno.test("work aside has a connection of its own, which reads only and is closed once it has ended", async () => {
  await using gateway = await startGateway({ database: "file" });
  await using dir = await tempDir();
  const { database } = gateway.gateway;
  await using aside = new Aside(database);
  const began = Promise.withResolvers<void>();
  const held = Promise.withResolvers<void>();
  const long = aside.run(async (own) => (began.resolve(), await held.promise, own));
  await began.promise;
  const beside = await aside.run(async (own) => {
    assertEquals(await own.one("select 1 as one"), { one: 1 });
    for (const name of ["one", "two"]) {
      await assertRejects(() => own.batch([{ sql: "delete from holds" }]), Error, "readonly");
      await backUp(own, `${dir.path}/${name}`);
    }
    return own;
  });
  held.resolve();
  const used = [database, beside, await long];
  assertEquals(new Set(used).size, used.length, "long work holds nobody up");
  await assertRejects(() => aside.run(() => Promise.reject(new Error("broken"))), Error, "broken");
  for (const own of used.slice(1)) {
    await assertRejects(() => own.one("select 1 as one"), Error);
  }
  assert(await database.one("select 1 as one"));
});

Deno.test("no connection stays open after the gateway", async () => {
  await using gateway = await startGateway({ database: "file" });
  const aside = new Aside(gateway.gateway.database);
  const held = Promise.withResolvers<void>();
  const began = Promise.withResolvers<Database>();
  const long = aside.run(async (own) => (began.resolve(own), await held.promise, own));
  const used = await began.promise;
  const querying = aside.run(async (own) => {
    for (;;) await own.one("select 1 as one");
  });
  const opening = aside.run(() => Promise.resolve());
  const failed = [
    assertRejects(() => querying, Error),
    assertRejects(() => opening, Error, "closing"),
  ];
  await aside[Symbol.asyncDispose]();
  await assertRejects(() => used.one("select 1 as one"), Error);
  await Promise.all(failed);
  await assertRejects(() => aside.run(() => Promise.resolve()), Error, "closing");
  held.resolve();
  assertEquals(await long === used, true);
});
