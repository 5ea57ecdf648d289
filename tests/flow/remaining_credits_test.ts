/** What a reply's headers say of the balance, while requests change from the database's decision to a loan. */

import { creditsOf } from "../../src/money/ledger/mod.ts";
import { assertEquals } from "../assert.ts";
import { startGateway } from "../fake/gateway.ts";

for (const lendFrom of [0, 4]) {
  Deno.test(`one request after the other: each reply's balance is the last one's less its charge (lent from ${lendFrom})`, async () => {
    await using gateway = await startGateway({ lendFrom });
    const { database, owner } = gateway.gateway;
    let { balance } = await creditsOf(database, owner.id, Date.now());
    for (let number = 0; number < 40; number++) {
      const reply = await gateway.chat("Hi");
      await reply.body?.cancel();
      const [left, charged] = ["x-credits-remaining", "x-sluice-credits"]
        .map((name) => Number(reply.headers.get(name)));
      assertEquals(left, balance -= charged!, `reply ${number}`);
    }
    assertEquals((await creditsOf(database, owner.id, Date.now())).balance, balance);
  });
}
