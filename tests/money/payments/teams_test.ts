/** Buying for a team's pool: who may, whose the credits are, and what becomes of money when people or teams change meanwhile. */

import type { Account, Role, TeamRole } from "../../../src/people/accounts/mod.ts";
import type { Database } from "../../../src/ground/database/mod.ts";
import { listOrders } from "../../../src/money/payments/mod.ts";
import { assert, assertEquals, assertStringIncludes } from "../../assert.ts";
import { sluice } from "../../fake/shell.ts";
import { statusOf } from "../../fake/gateway.ts";
import { tempDir } from "../../fake/temp.ts";
import { PlainBrowser, signedIn } from "../../fake/visitor.ts";
import { fakeStripe } from "./fake_stripe.ts";
import { openShop, type Shop, shopSettings } from "./shop.ts";

let made = 0;

/** A team with a lead, and its pool. */
async function teamOf({ gateway: { gateway } }: Shop, { hasPool = true } = {}) {
  const { accounts, members, teams } = gateway;
  const number = ++made;
  const team = await teams.create({ name: `Team ${number}`, pool: hasPool });
  const join = async (name: string, role: TeamRole, of: Role = "none") => {
    const one = await accounts.create({ email: `${name}${number}@example.com`, role: of });
    await members.add(team, one, role);
    return one;
  };
  const pool = team.poolId === null ? undefined : await accounts.byId(team.poolId);
  return {
    team,
    pool: pool!,
    path: `/console/teams/${team.id}`,
    join,
    lead: await join("lead", "lead"),
  };
}

/** Buys a package by the form on the page of a team. Returns its order. */
async function buyFor(browser: PlainBrowser, path: string): Promise<string> {
  const reply = await browser.post(`${path}/checkout`, await formOf(browser, path));
  assertEquals(reply.status, 303, path);
  return /orders\/(\w+)\/pay/.exec(reply.headers.get("location")!)![1]!;
}

async function formOf(browser: PlainBrowser, path: string): Promise<Record<string, string>> {
  const text = await (await browser.get(`${path}/credits`)).text();
  const [form = ""] = /<form[^>]*\/checkout"[\s\S]*?<\/form>/.exec(text) ?? [];
  return Object.fromEntries(
    [...form.matchAll(/<input type="hidden" name="(\w+)" value="([^"]*)"/g)]
      .map(([, name, value]) => [name!, value!]),
  );
}

/** The customer pays, and the webhook comes. Returns the payment. */
async function pay(shop: Shop, orderId: string): Promise<string> {
  const [order] = (await listOrders(shop.gateway.gateway.database, { limit: 100 }))
    .filter(({ id }) => id === orderId);
  assertEquals(await shop.deliver(shop.stripe.pay(order!.sessionId!)), [200]);
  return (await shop.again(order!)).paymentId!;
}

async function textOf(browser: PlainBrowser, path: string): Promise<string> {
  const reply = await browser.get(path);
  assertEquals(reply.status, 200, path);
  return await reply.text();
}

Deno.test("a lead buys for the pool: its lot, receipt and statement name the team; nobody gets a bonus", async () => {
  await using shop = await openShop();
  const { gateway: { gateway }, stripe } = shop;
  const inviter = await shop.account();
  const { team, pool, path } = await teamOf(shop);
  const lead = await shop.account(await gateway.accounts.inviteCode(inviter));
  await gateway.members.add(team, lead, "lead");
  const browser = await signedIn(shop.gateway, lead.email);
  assertStringIncludes(await textOf(browser, "/console/credits"), `For ${team.name}`);
  const page = await textOf(browser, `${path}/credits`);
  for (const part of ['aria-current="page">For Team', "For me", "Buy Starter"]) {
    assertStringIncludes(page, part);
  }
  assert(!page.includes("/console/redeem") && !page.includes("/console/top-up"));

  const id = await buyFor(browser, path);
  const [session] = [...stripe.sessions.values()];
  const form = session as unknown as { metadata: Record<string, string> };
  assertEquals(form.metadata.account_id, pool.id);
  const paymentId = await pay(shop, id);
  assertEquals([await shop.balance(pool), await shop.balance(lead)], [500, 0]);
  assertEquals(await shop.balance(inviter), 0, "a pool's payment is nobody's first payment");
  assertStringIncludes(await textOf(browser, `/console/orders/${id}`), "in the team&#39;s pool");
  const receipt = await textOf(browser, `/console/orders/${id}/receipt`);
  for (const part of [team.name, "R-000001", "4.99 USD"]) {
    assertStringIncludes(receipt, part);
  }
  assert(!receipt.includes("@pool"), receipt);
  assertStringIncludes(await textOf(browser, `${path}/statement`), team.name);
  assertStringIncludes(await textOf(browser, `${path}/statement.csv`), "R-000001");
  assert(!(await textOf(browser, "/console/statement.csv")).includes("R-000001"));
  assertStringIncludes(await textOf(browser, `${path}/credits`), "Receipt R-000001");

  await shop.buy(lead);
  assertEquals(await shop.balance(inviter), 500, "the lead's own first payment is one");
  await shop.deliver(stripe.event("refund.created", stripe.refund(paymentId)));
  assertEquals([await shop.balance(pool), await shop.balance(inviter)], [0, 500]);
  await shop.assertClean();
});

Deno.test("only leads of the team and operators buy for it; they and finance see its receipts", async () => {
  await using shop = await openShop();
  const { gateway: { gateway } } = shop;
  const { accounts, members } = gateway;
  const { team, path, join, lead } = await teamOf(shop);
  const other = await teamOf(shop);
  const browser = await signedIn(shop.gateway, lead.email);
  const id = await buyFor(browser, path);
  const open = await buyFor(browser, path);
  await pay(shop, id);
  const stopped = await join("stopped", "lead");
  await members.stop(team, stopped);
  const demoted = await join("demoted", "lead");
  await members.setRole(team, demoted, "member");
  const person = (name: string, role: Role) =>
    accounts.create({ email: `${name}@example.com`, role });
  const visitors: [Account, mayBuy: boolean, maySee: boolean][] = [
    [lead, true, true],
    [await join("second", "lead"), true, true],
    [await person("owner", "owner"), true, true],
    [await person("operator", "operator"), true, true],
    [await person("finance", "finance"), false, true],
    [await join("member", "member"), false, false],
    [other.lead, false, false],
    [stopped, false, false],
    [demoted, false, false],
    [await person("nobody", "none"), false, false],
  ];
  for (const [{ email }, mayBuy, maySee] of visitors) {
    const one = await signedIn(shop.gateway, email);
    const pages = [
      `${path}/credits`,
      `${path}/statement`,
      `${path}/statement.csv`,
      `/console/orders/${id}`,
      `/console/orders/${id}/receipt`,
    ];
    for (const page of pages) {
      assertEquals(await statusOf(one.get(page)), maySee ? 200 : 404, `${page} as ${email}`);
    }
    const leaving = maySee ? (mayBuy ? 200 : 303) : 404;
    assertEquals(await statusOf(one.get(`/console/orders/${open}/pay`)), leaving, email);
    if (maySee) {
      const shown = await textOf(one, `${path}/credits`);
      assertEquals(shown.includes("Buy Starter"), mayBuy, email);
      const landing = await textOf(one, `/console/orders/${open}`);
      assertEquals(landing.includes("Continue to payment"), mayBuy, email);
    }
    const form = { package: "starter", form: `of ${email}` };
    const from = { from: "/console/account" };
    const before = shop.stripe.sessions.size;
    assertEquals(await statusOf(one.post(`${path}/checkout`, form, from)), mayBuy ? 303 : 404);
    assertEquals(shop.stripe.sessions.size - before, mayBuy ? 1 : 0, email);
    // nor by naming the team, or its pool, in the form for oneself
    const mine = { ...form, form: `mine ${email}`, team: team.id, account: team.poolId! };
    assertEquals(await statusOf(one.post("/console/checkout", mine, from)), 303);
  }
  const orders = await listOrders(gateway.database, { accountId: team.poolId!, limit: 100 });
  assertEquals(orders.length, 2 + visitors.filter(([, mayBuy]) => mayBuy).length);
});

Deno.test("whom a lead of several teams may buy for is by name", async () => {
  await using shop = await openShop();
  const { gateway: { gateway } } = shop;
  const lead = await shop.account();
  const names = ["Cranes", "Bees", "Dormice", "Ants"];
  for (const name of names) {
    await gateway.members.add(await gateway.teams.create({ name, pool: true }), lead, "lead");
  }
  const page = await textOf(await signedIn(shop.gateway, lead.email), "/console/credits");
  const [, tabs] = /<nav class="tabs" aria-label="Buy for">(.*?)<\/nav>/s.exec(page)!;
  assertEquals(
    [...tabs!.matchAll(/>(For [^<]*)</g)].map(([, text]) => text),
    ["For me", ...names.toSorted().map((name) => `For team ${name}`)],
  );
});

Deno.test("a team without a pool, one that is disabled, and an unknown one cannot be bought for", async () => {
  await using shop = await openShop();
  const none = await teamOf(shop, { hasPool: false });
  const lead = await signedIn(shop.gateway, none.lead.email);
  assertEquals(await statusOf(lead.get(`${none.path}/credits`)), 404);
  assert(!(await textOf(lead, "/console/credits")).includes("Buy for"));
  assertEquals(await statusOf(lead.get("/console/teams/team_none/credits")), 404);
  const off = await teamOf(shop);
  const browser = await signedIn(shop.gateway, off.lead.email);
  const form = await formOf(browser, off.path);
  await shop.gateway.gateway.teams.change(off.team, { disabled: true });
  assert(!(await textOf(browser, `${off.path}/credits`)).includes("Buy Starter"));
  const reply = await browser.post(`${off.path}/checkout`, form);
  assertEquals(reply.status, 400);
  assertStringIncludes(await reply.text(), "is disabled");
  assertEquals(shop.stripe.sessions.size, 0);
});

Deno.test("what is paid after the lead was demoted, removed or disabled, or the team was disabled, is in the pool once", async () => {
  await using shop = await openShop();
  const { accounts, members, teams } = shop.gateway.gateway;
  const { team, pool, path, join } = await teamOf(shop);
  const changes: ((lead: Account) => Promise<unknown>)[] = [
    (lead) => members.setRole(team, lead, "member"),
    (lead) => members.stop(team, lead),
    (lead) => members.remove(team, lead),
    (lead) => accounts.disable(lead.email),
    () => teams.change(team, { disabled: true }),
  ];
  for (const [at, change] of changes.entries()) {
    const lead = await join(`changed${at}-`, "lead");
    const id = await buyFor(await signedIn(shop.gateway, lead.email), path);
    await change(lead);
    const [order] = await listOrders(shop.gateway.gateway.database, { limit: 1 });
    assertEquals(order!.id, id);
    const event = shop.stripe.pay(order!.sessionId!);
    assertEquals(await shop.deliver(event, event), [200, 200]);
    await shop.gateway.gateway.payments.reconcile({ younger: true, eventsSinceMs: 0 });
    assertEquals([await shop.balance(pool), await shop.balance(lead)], [500 * (at + 1), 0]);
  }
  // and given back
  const [last] = await listOrders(shop.gateway.gateway.database, { limit: 1 });
  const refunded = await shop.gateway.gateway.payments.refund(last!, { reference: "1" });
  assertEquals([refunded.state, await shop.balance(pool)], ["refunded", 4 * 500]);
  await shop.assertClean();
});

Deno.test("a lead who is demoted while the form is on its way makes no order", async () => {
  let onOrder: (() => Promise<void>) | undefined;
  const wrapDatabase = (database: Database): Database => ({
    ...database,
    get place() {
      return database.place;
    },
    get dialect() {
      return database.dialect;
    },
    get waiting() {
      return database.waiting;
    },
    all: (...args) => database.all(...args),
    one: (...args) => database.one(...args),
    write: (...args) => database.write(...args),
    close: () => database.close(),
    batch: async (statements) => {
      const isOrder = statements.some(({ sql }) => sql.startsWith("insert into orders"));
      const act = isOrder ? onOrder : undefined;
      onOrder = isOrder ? undefined : onOrder;
      await act?.();
      return await database.batch(statements);
    },
  });
  await using shop = await openShop({ wrapDatabase });
  const { members, database } = shop.gateway.gateway;
  const { team, path, lead } = await teamOf(shop);
  const browser = await signedIn(shop.gateway, lead.email);
  const form = await formOf(browser, path);
  onOrder = async () => void await members.setRole(team, lead, "member");
  const reply = await browser.post(`${path}/checkout`, form);
  assert(reply.status >= 400 && reply.status < 500, String(reply.status));
  await reply.body?.cancel();
  assertEquals([shop.stripe.sessions.size, await listOrders(database, { limit: 9 })], [0, []]);
});

Deno.test("a refund and a dispute of a pool's payment leave its debt, and no checkout while it is disputed", async () => {
  await using shop = await openShop();
  const { stripe } = shop;
  const { pool, path, lead } = await teamOf(shop);
  const browser = await signedIn(shop.gateway, lead.email);
  const paymentId = await pay(shop, await buyFor(browser, path));
  await shop.spend(pool, 400);
  const dispute = stripe.dispute(paymentId, "needs_response");
  const form = await formOf(browser, path);
  await shop.deliver(stripe.event("charge.dispute.created", dispute));
  assertEquals([await shop.balance(pool), await shop.debt(pool)], [0, 400]);
  const page = await textOf(browser, `${path}/credits`);
  for (const part of ["This team owes 400", "payment of this team is being disputed"]) {
    assertStringIncludes(page.replaceAll(/\s+/g, " "), part);
  }
  const refused = await browser.post(`${path}/checkout`, form);
  assertEquals(refused.status, 400);
  assertStringIncludes(await refused.text(), "being disputed");
  // the lead's own purchases have nothing to do with it
  await shop.buy(lead);
  assertEquals([await shop.balance(lead), await shop.debt(pool)], [500, 400]);

  await shop.deliver(
    stripe.event("charge.dispute.closed", { ...dispute, status: "lost" }, {
      created: Math.floor(Date.now() / 1_000) + 1,
    }),
  );
  await pay(shop, await buyFor(browser, path));
  assertEquals([await shop.balance(pool), await shop.debt(pool)], [100, 0]);
  await shop.assertClean();
});

Deno.test("commands buy for a pool and record its payments by hand, with the same orders and receipts", async () => {
  await using dir = await tempDir();
  await using stripe = fakeStripe();
  await Deno.mkdir(`${dir.path}/data`);
  await Deno.writeTextFile(
    `${dir.path}/sluice.jsonc`,
    JSON.stringify({ port: 0, data: "./data", ...shopSettings(stripe) }),
  );
  const run = async (...args: string[]) => {
    const { code, out, err } = await sluice([...args, "--json"], { directory: dir.path });
    assertEquals(code, 0, err);
    return JSON.parse(out);
  };
  const fails = async (...args: string[]) => {
    const { code, err } = await sluice(args, { directory: dir.path });
    return [code, err] as const;
  };
  await run("account", "create", "--email", "ada@example.com"); // makes the database
  await run("team", "create", "--name", "Platform");
  await run("team", "create", "--name", "Poor", "--members-pay");
  const buy = ["credits", "checkout", "--package", "starter"];
  const { id: order, url } = await run(...buy, "--team", "Platform", "--reference", "1");
  assertEquals((await run(...buy, "--team", "Platform", "--reference", "1")).url, url);
  assertEquals((await fails(...buy, "--team", "Platform", "--account", "ada@example.com"))[0], 2);
  assertEquals((await fails(...buy))[0], 2);
  assertStringIncludes((await fails(...buy, "--team", "Poor"))[1], "no pool");
  const session = [...stripe.sessions.values()][0]!;
  assertEquals([session.url, stripe.sessions.size], [url, 1]);
  stripe.pay(session.id);
  assertEquals((await run("payments", "reconcile", order)).state, "paid");
  await run(
    ..."credits grant --team Platform --package starter --paid --reference INV-7".split(" "),
  );
  assertEquals((await run("credits", "show", "--team", "Platform")).balance, 1_000);
  const { data: orders } = await run("payments", "list", "--team", "Platform");
  assertEquals(
    orders.map(({ team, provider, receipt }: Record<string, unknown>) => [team, provider, receipt]),
    [["Platform", "manual", 2], ["Platform", "stripe", 1]],
  );
  const { data: adas } = await run("payments", "list", "--account", "ada@example.com");
  assertEquals(adas, []);
  assertEquals((await run("payments", "refund", order)).state, "refunded");
  assertEquals((await run("credits", "show", "--team", "Platform")).balance, 500);
  assertEquals((await run("credits", "audit")).mismatches, []);
  const { data: rows } = await run("log", "--about", order);
  assertEquals(
    rows.map(({ operation, door }: Record<string, unknown>) => [operation, door]).toReversed(),
    [["order.create", "command"], ["order.reconcile", "command"], ["order.refund", "command"]]
      .toSpliced(1, 0, ["order.create", "command"]),
  );
});
