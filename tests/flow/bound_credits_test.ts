/** Credits of a package that is bound to models, through a whole gateway: whole, streamed, by an alias, beside a loan. */

import { Keys } from "../../src/people/accounts/mod.ts";
import { audit, creditsOf } from "../../src/money/ledger/mod.ts";
import { assert, assertEquals, assertStringIncludes } from "../assert.ts";
import { startGateway } from "../fake/gateway.ts";
import { until } from "../fake/temp.ts";

Deno.test("a package pays for its models alone, and first, however they are asked for", async () => {
  const offer = { id: "k2", name: "K2", credits: 300, priceUsd: 3, validDays: null };
  await using gateway = await startGateway({
    lendFrom: 0,
    settings: { packages: [{ ...offer, models: ["svc-k2"] }], credits: { signup: 40 } },
  });
  const { database, accounts, sales } = gateway.gateway;
  const account = await accounts.create({ email: "ada@example.com" });
  const { lotId } = await sales.grant(account, { credits: 40 });
  const { secret: key } = await new Keys(database, Date.now).issue(account);
  const ask = async (model: string, more = {}) => {
    const messages = [{ role: "user", content: "Hi" }];
    const body = { model, messages, max_tokens: 20, ...more };
    const reply = await gateway.post("/v1/chat/completions", body, { key });
    return { status: reply.status, text: await reply.text() };
  };
  const left = async () => {
    const { lots, held } = await creditsOf(database, account.id, Date.now());
    assertEquals(held, 0);
    return Object.fromEntries(lots.map(({ source, remaining }) => [source, remaining]));
  };
  // from a loan, until credits are bound
  for (let times = 0; times < 3; times++) assertEquals((await ask("svc-k2")).status, 200);
  assertEquals(await left(), { grant: 37 });
  await sales.sell(account, sales.package("k2"), { paid: true });
  const isReturned = async () =>
    (await database.all("select 1 from loans where account_id = ?", [account.id])).length === 0;
  await until(isReturned, { what: "the loan that is recalled" });
  for (const more of [{}, { stream: true, max_tokens: 9_000 }]) {
    for (const model of ["svc-k2", "claude-svc-k2"]) {
      const { status, text } = await ask(model, more);
      assertEquals(status, 200, text);
    }
  }
  const { grant, package: bound } = await left();
  assertEquals(grant, 37, "the others are left alone");
  assert(bound! < 300, "what is bound pays");
  // another model: what is not bound pays, and then nothing
  while ((await left()).grant !== undefined) {
    const { status, text } = await ask("svc-k3");
    if (status !== 200) {
      assertEquals(status, 403);
      assertStringIncludes(text, "pay for other models only");
      break;
    }
  }
  assertEquals((await left()).package, bound);
  if ((await left()).grant !== undefined) {
    await sales.takeBack(account, { lotId, note: "too little for a request" });
  }
  assertEquals(await left(), { package: bound! });
  assertEquals((await ask("svc-k2")).status, 200);
  const shown = await fetch(`${gateway.url}/user/credits`, { headers: { "x-api-key": key } });
  const { lots } = await shown.json();
  assertEquals(
    lots.find(({ source }: { source: string }) => source === "package").models,
    ["svc-k2"],
  );
  assertEquals((await audit(database)).mismatches, []);
});
