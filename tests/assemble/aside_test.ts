import { Aside } from "../../src/assemble/aside.ts";
import type { Database } from "../../src/ground/database/mod.ts";
import { assert, assertEquals, assertRejects } from "../assert.ts";
import { startGateway } from "../fake/gateway.ts";

Deno.test("work aside keeps one connection, gives work at the same time its own, and drops one that failed", async () => {
  await using gateway = await startGateway();
  const { config, database } = gateway.gateway;
  await using aside = new Aside(config, { database });
  const own = (work: Parameters<typeof aside.run>[0] = () => Promise.resolve()) =>
    aside.run(async (used) => {
      await work(used);
      return used;
    });
  const first = await own();
  assert(first !== database);
  assertEquals(await own() === first, true, "it is kept");

  let goOn = () => {};
  const held = new Promise<void>((resolve) => goOn = resolve);
  let began = () => {};
  const began1 = new Promise<void>((resolve) => began = resolve);
  const long = own(() => (began(), held));
  await began1;
  const beside = await own();
  assert(beside !== first, "long work holds nobody up");
  goOn();
  assertEquals(await long === first, true);

  const kept = await own();
  await assertRejects(() => own(() => Promise.reject(new Error("broken"))), Error, "broken");
  const next = await own();
  assert(next !== kept);
  assertEquals(await next.one("select 1 as one"), { one: 1 });
});

Deno.test("no connection stays open after the gateway", async () => {
  await using gateway = await startGateway();
  const { config, database } = gateway.gateway;
  const aside = new Aside(config, { database });
  let goOn = () => {};
  const held = new Promise<void>((resolve) => goOn = resolve);
  const began = Promise.withResolvers<Database>();
  const long = aside.run(async (own) => (began.resolve(own), await held, own));
  const used = await began.promise;
  const kept = await aside.run((own) => Promise.resolve(own));
  const querying = aside.run(async (own) => {
    for (;;) await own.one("select 1 as one");
  });
  const opening = aside.run(() => Promise.resolve());
  const failed = [
    assertRejects(() => querying, Error),
    assertRejects(() => opening, Error, "closing"),
  ];
  await aside[Symbol.asyncDispose]();
  for (const own of [kept, used]) {
    await assertRejects(() => own.one("select 1 as one"), Error);
  }
  await Promise.all(failed);
  await assertRejects(() => aside.run(() => Promise.resolve()), Error, "closing");
  goOn();
  assertEquals(await long === used, true);
});
