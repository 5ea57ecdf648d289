/** Writes of payments as operations: who did what is in the log, what is repeated or crashes takes effect once. */

import { openDatabase } from "../../../src/ground/database/mod.ts";
import { RULES } from "../../../src/money/ledger/mod.ts";
import type { Account } from "../../../src/people/accounts/mod.ts";
import { logEntries } from "../../../src/people/operation_log/mod.ts";
import { assert, assertEquals, assertStringIncludes } from "../../assert.ts";
import { adminClient, type AdminRequest } from "../../fake/admin_client.ts";
import { startCommand } from "../../fake/command.ts";
import { serveByTier, sluice } from "../../fake/shell.ts";
import { failingDatabase, type Fault } from "../../fake/failing_database.ts";
import { startGateway, statusOf } from "../../fake/gateway.ts";
import { sharedServer } from "../../fake/shared_server.ts";
import { Random, testSeed } from "../../fake/random.ts";
import { sleep, tempDir, until } from "../../fake/temp.ts";
import { type PlainBrowser, signedIn } from "../../fake/visitor.ts";
import { isProof, sized } from "../../tier.ts";
import { fakeStripe, send } from "./fake_stripe.ts";
import { openShop, type Shop, shopOf, shopSettings, tryCode } from "./shop.ts";

const CODES = "/console/operator/codes";
const CODE = /[A-Z2-9]{4}(?:-[A-Z2-9]{4}){3}/g;

async function logOf({ gateway: { gateway } }: Shop) {
  return await logEntries(gateway.database, { limit: 500 });
}

async function owners(shop: Shop) {
  const { keys, owner } = shop.gateway.gateway;
  const { secret } = await keys.issue(owner, { scopes: ["admin"] });
  return adminClient(shop.gateway.url, secret);
}

/** The text of a page after a form was sent. */
async function sent(
  browser: PlainBrowser,
  path: string,
  fields: Record<string, string>,
): Promise<[status: number, text: string]> {
  const reply = await browser.post(path, fields, { from: "/console/account" });
  return [reply.status, reply.status === 303 ? "" : await reply.text()];
}

Deno.test("a code is redeemed in the log: who, which one, before and after; never the code, nor tries over the limit", async () => {
  await using shop = await openShop();
  const { codes } = shop.gateway.gateway;
  const [ada, eve] = [await shop.account(), await shop.account()];
  const [made] = await codes.make({ credits: 70 });
  const browsers = [
    await signedIn(shop.gateway, ada.email),
    await signedIn(shop.gateway, eve.email),
  ];
  for (const [at, status] of [[0, 303], [1, 400]] as const) {
    const [got] = await sent(browsers[at]!, "/console/redeem", { code: made!.code });
    assertEquals(got, status);
  }
  for (let number = 0; number < 14; number++) {
    await sent(browsers[1]!, "/console/redeem", { code: `AAAA-BBBB-CCCC-DD${10 + number}` });
  }
  const rows = (await logOf(shop)).filter(({ operation }) => operation === "code.redeem")
    .toReversed();
  assertEquals(rows.length, 1 + 10, "ten tries an hour");
  const [first, second] = rows;
  assertEquals([first!.actor, first!.outcome, first!.objectId], [ada.email, "done", made!.id]);
  assertEquals((first!.before as { redeemed_at: unknown }).redeemed_at, null);
  assertEquals((first!.after as { redeemed_by: unknown }).redeemed_by, ada.id);
  assertEquals([second!.actor, second!.outcome], [eve.email, "failed"]);
  assert(!JSON.stringify(second).includes(ada.id), "whose it was is not hers to know");
  assertEquals(JSON.stringify(rows).match(CODE), null);
  assertEquals([await shop.balance(ada), await shop.balance(eve)], [70, 0]);
  await shop.assertClean();
});

Deno.test("an operator makes, lists and revokes codes in the console; they are shown once", async () => {
  await using shop = await openShop();
  const { accounts, owner } = shop.gateway.gateway;
  const browser = await signedIn(shop.gateway, owner.email);
  const fields = {
    id: "code_1234567890abcdef",
    package: "starter",
    credits: "",
    count: "3",
    valid: "",
    expires: "30",
    note: "fair & <b>",
  };
  const [status, page] = await sent(browser, CODES, fields);
  assertEquals(status, 200);
  const shown = [...new Set(page.match(CODE))];
  assertEquals(shown.length, 3, page);
  assertEquals(
    (await sent(browser, CODES, fields))[0],
    303,
    "the page that shows them, loaded again",
  );
  const list = await (await browser.get(CODES)).text();
  assertEquals(list.match(CODE), null);
  assertStringIncludes(list, `${shown[0]!.slice(0, 4)}…`);
  assertStringIncludes(list, "fair &amp; &lt;b&gt;");
  const [, text] = await sent(browser, CODES, { ...fields, id: "", credits: "5" });
  assertStringIncludes(text, "The package sets the credits");
  const open = { package: "", valid: "", expires: "" };
  for (const wrong of [{ credits: "0" }, { credits: "x" }, { credits: "5", count: "1001" }, {}]) {
    assertEquals(
      (await sent(browser, CODES, { ...open, ...wrong }))[0],
      400,
      JSON.stringify(wrong),
    );
  }
  assertEquals(
    (await sent(browser, `${CODES}/code_1234567890abcdef/revoke`, {}))[0],
    303,
  );
  assertEquals((await sent(browser, `${CODES}/code_none/revoke`, {}))[0], 400);
  const ada = await shop.account();
  const adas = await signedIn(shop.gateway, ada.email);
  const results = await Promise.all(
    shown.map((code) => sent(adas, "/console/redeem", { code })),
  );
  assertEquals(results.map(([got]) => got).toSorted(), [303, 303, 400]);
  assertEquals(await shop.balance(ada), 1_000);

  const finance = await accounts.create({ email: "finance@example.com", role: "finance" });
  const theirs = await signedIn(shop.gateway, finance.email);
  assert(!(await (await theirs.get(CODES)).text()).includes("Make codes"));
  assertEquals((await sent(theirs, CODES, fields))[0], 404);
  assertEquals(await statusOf(adas.get(CODES)), 404);
  const rows = (await logOf(shop)).filter(({ operation }) =>
    /code\.(create|revoke)/.test(operation)
  );
  assertEquals(rows.filter(({ outcome }) => outcome === "done").length, 2);
  assertEquals(JSON.stringify(rows).match(CODE), null);
});

Deno.test("an operator refunds, reconciles and dismisses on the page of an order; the same form refunds once", async () => {
  await using shop = await openShop();
  const { accounts, owner } = shop.gateway.gateway;
  const ada = await shop.account();
  const browser = await signedIn(shop.gateway, owner.email);
  const order = await shop.order(ada);
  const path = `/console/operator/orders/${order.id}`;
  const own = await browser.get(`/console/orders/${order.id}`);
  assertEquals([own.status, own.headers.get("location")], [303, path]);
  const refund = `${path}/refund`;
  const [early, why] = await sent(browser, refund, { form: "1", amount: "" });
  assertEquals(early, 400);
  assertStringIncludes(why, "there is nothing to refund");
  shop.stripe.pay(order.sessionId);
  assertEquals((await sent(browser, `${path}/reconcile`, {}))[0], 303);
  assertEquals(await shop.balance(ada), 500);
  for (let round = 0; round < 2; round++) {
    assertEquals((await sent(browser, refund, { form: "2", amount: "0.99" }))[0], 303);
  }
  assertEquals([await shop.balance(ada), shop.stripe.refunds.size], [401, 1]);
  for (const amount of ["x", "-1", "0", "1.999", "9e1", "4.01"]) {
    assertEquals((await sent(browser, refund, { form: amount, amount }))[0], 400, amount);
  }
  assertEquals((await sent(browser, refund, { amount: "1" }))[0], 400, "a form without its ID");
  assertEquals((await sent(browser, refund, { form: "3" }))[0], 400, "no amount is not all of it");
  assertEquals((await sent(browser, refund, { form: "3", amount: "" }))[0], 303, "the rest");
  assertEquals([await shop.balance(ada), shop.stripe.refunds.size], [0, 2]);
  const page = await (await browser.get(path)).text();
  for (const part of ["refunded", ada.email, "4.99 USD", "0.99 USD"]) {
    assertStringIncludes(page, part);
  }
  assert(!page.includes(`${path}/refund`), "nothing is left to refund");
  assertEquals((await sent(browser, `${path}/dismiss`, {}))[0], 303);
  assertEquals(await statusOf(browser.get("/console/operator/orders/ord_none")), 404);

  const finance = await accounts.create({ email: "finance@example.com", role: "finance" });
  const theirs = await signedIn(shop.gateway, finance.email);
  assertEquals(await statusOf(theirs.get(path)), 200);
  for (const form of ["refund", "reconcile", "dismiss"]) {
    assertEquals((await sent(theirs, `${path}/${form}`, { form: "4" }))[0], 404);
  }
  assertEquals(await statusOf((await signedIn(shop.gateway, ada.email)).get(path)), 404);
  await shop.assertClean();
});

Deno.test("automatic top-up and checkouts are in the log, without what is secret of them", async () => {
  await using shop = await openShop();
  const ada = await shop.account();
  const browser = await signedIn(shop.gateway, ada.email);
  const on = { form: "1", below: "100", package: "starter", max: "2", turn: "on" };
  assertEquals((await sent(browser, "/console/top-up", on))[0], 303);
  assertEquals((await sent(browser, "/console/top-up", { ...on, below: "99999" }))[0], 400);
  assertEquals((await sent(browser, "/console/top-up", { ...on, turn: "off" }))[0], 303);
  const rows = (await logOf(shop)).toReversed();
  assertEquals(
    rows.map(({ operation, outcome, actor, door }) => [operation, outcome, actor, door]),
    [
      ["top_up.on", "done", ada.email, "console"],
      ["order.create", "done", ada.email, "console"],
      ["top_up.on", "failed", ada.email, "console"],
      ["top_up.off", "done", ada.email, "console"],
    ],
  );
  assertEquals(rows[0]!.before, null);
  assertEquals((rows[3]!.before as { on: unknown }).on, true);
  assertEquals((rows[3]!.after as { on: unknown }).on, false);
  assert(!JSON.stringify(rows).includes("/pay/"), "where it is paid");
});

Deno.test("operators list, show and refund orders by the API; roles and scopes hold", async () => {
  await using shop = await openShop();
  const { keys, accounts } = shop.gateway.gateway;
  const client = await owners(shop);
  const ada = await shop.account();
  const made = await client("POST", "/orders", {
    body: { account: ada.email, package: "starter", reference: "site 7" },
    once: "1",
  });
  assertEquals([made.status, made.json.state, made.json.account], [201, "open", ada.email]);
  const again = await client("POST", "/orders", {
    body: { account: ada.email, package: "starter", reference: "site 7" },
  });
  assertEquals([again.json.id, again.json.url], [made.json.id, made.json.url]);
  assertEquals([shop.stripe.sessions.size, made.json.url], [1, again.json.url]);
  const path = `/orders/${made.json.id}`;
  const early = await client("POST", `${path}/refund`, { body: {}, once: "early" });
  assertEquals([early.status, early.json.error.code], [409, "conflict"]);
  await shop.deliver(shop.stripe.pay([...shop.stripe.sessions.keys()][0]!));
  for (let round = 0; round < 2; round++) {
    const part = await client("POST", `${path}/refund`, { body: { amount: 100 }, once: "part" });
    assertEquals([part.status, part.json.gone_amount, part.json.state], [
      200,
      100,
      "partly_refunded",
    ]);
  }
  const much = await client("POST", `${path}/refund`, { body: { amount: 400 }, once: "much" });
  assertEquals(much.status, 409, much.text);
  const { json: order } = await client("GET", path);
  assertEquals(
    order.events.map(({ kind }: { kind: string }) => kind),
    ["session", "paid", "refunded"],
  );
  assertEquals(await shop.balance(ada), 400);
  const { json: list } = await client("GET", `/orders?account=${ada.email}&limit=1`);
  assertEquals([list.data.length, list.has_more, list.data[0].id], [1, false, made.json.id]);
  assertEquals((await client("GET", "/orders/ord_none")).status, 404);
  assertEquals((await client("POST", "/orders", { body: { package: "starter" } })).status, 400);
  const rows = (await logOf(shop)).filter(({ operation }) => operation === "order.refund");
  // what Stripe refused was asked for: it is in the log as both
  assertEquals(rows.map(({ outcome }) => outcome).toSorted(), ["done", "done", "failed", "failed"]);

  const finance = await accounts.create({ email: "f@example.com", role: "finance" });
  const { secret } = await keys.issue(finance, { scopes: ["read"] });
  const reader = adminClient(shop.gateway.url, secret);
  assertEquals((await reader("GET", path)).status, 200);
  assertEquals((await reader("GET", "/codes")).status, 200);
  for (const write of [`${path}/refund`, "/codes", "/orders", "/orders/reconcile"]) {
    assertEquals((await reader("POST", write, { body: {} })).status, 403, write);
  }
  await shop.assertClean();
});

Deno.test("with Stripe down, the API says so with 503, and the same request succeeds later", async () => {
  let skewMs = 0;
  await using shop = await openShop({ now: () => Date.now() + skewMs });
  const client = await owners(shop);
  const ada = await shop.account();
  const order = { body: { account: ada.email, package: "starter" }, once: "order" };
  shop.stripe.down = true;
  const failed = await client("POST", "/orders", order);
  assertEquals([failed.status, failed.json.error.code], [503, "upstream_unavailable"]);
  shop.stripe.down = false;
  assertEquals((await client("POST", "/orders", order)).json.error.code, "in_progress");
  skewMs += 11_000;
  const made = await client("POST", "/orders", order);
  assertEquals([made.status, shop.stripe.sessions.size], [201, 1]);
  assertEquals((await client("POST", "/orders", order)).text, made.text);
  await shop.deliver(shop.stripe.pay([...shop.stripe.sessions.keys()][0]!));
  const refund = { body: { amount: 100 }, once: "refund" };
  shop.stripe.down = true;
  assertEquals((await client("POST", `/orders/${made.json.id}/refund`, refund)).status, 503);
  shop.stripe.down = false;
  skewMs += 11_000;
  const done = await client("POST", `/orders/${made.json.id}/refund`, refund);
  assertEquals([done.status, done.json.gone_amount], [200, 100]);
  const rows = (await logOf(shop)).filter(({ operation }) => operation === "order.refund");
  assertEquals([rows.length, (rows[0]!.after as { gone_amount: number }).gone_amount], [1, 100]);
  // an error that is neither Stripe's nor a refusal is not taken for one: it may have been refunded
  const { payments } = shop.gateway.gateway;
  payments.refund = () => Promise.reject(new Error("a fault"));
  const again = { body: { amount: 50 }, once: "again" };
  const faulty = await client("POST", `/orders/${made.json.id}/refund`, again);
  assertEquals([faulty.status, faulty.text.includes("a fault")], [500, false]);
  Reflect.deleteProperty(payments, "refund");
  skewMs += 11_000;
  const refunded = await client("POST", `/orders/${made.json.id}/refund`, again);
  assertEquals([refunded.status, refunded.json.gone_amount], [200, 150]);
  await shop.assertClean();
});

// the gate draws calls, and on which side of each they die; the proofs try all and both
for (
  const fault of sized<readonly (Fault | "before or after")[]>(["before or after"], [
    "before",
    "after",
  ])
) {
  Deno.test(`orders, refunds and codes that die ${fault} any call to the database take effect once`, async () => {
    const seed = testSeed();
    const random = new Random(seed);
    let control: ReturnType<typeof failingDatabase> | undefined;
    let skewMs = 0;
    await using shop = await openShop({
      now: () => Date.now() + skewMs,
      wrapDatabase: (database) => (control = failingDatabase(database)).wrapped,
    });
    const { stripe } = shop;
    const { database, codes } = shop.gateway.gateway;
    const client = await owners(shop);
    const ada = await shop.account();
    const paid = await shop.buy(ada, "premium");
    const counts = async () => {
      const [orders] = await database.all("select count(*) as n from orders");
      const { goneAmount } = await shop.again(paid);
      return {
        orders: Number(orders!.n),
        sessions: stripe.sessions.size,
        codes: (await codes.list()).length,
        refunded: goneAmount,
        refundedThere: stripe.refunds.size,
      };
    };
    const writes = [
      ["/orders", () => ({ account: ada.email, package: "starter" }), { orders: 1, sessions: 1 }],
      [`/orders/${paid.id}/refund`, () => ({ amount: 1 }), { refunded: 1, refundedThere: 1 }],
      ["/codes", () => ({ credits: 5, count: 2 }), { codes: 2 }],
    ] as const;
    let number = 0;
    for (const [path, body, effect] of writes) {
      const next = () => sized(random.integer(1, 3), 1);
      for (let at = next();; at += next()) {
        const request = { body: body(), once: `write ${++number}` };
        await client("GET", "/accounts"); // the key is known
        const before = await counts();
        const died = fault === "before or after"
          ? random.pick(["before", "after"] as const)
          : fault;
        const why = `SLUICE_TEST_SEED=${seed}: ${path}, ${died} call ${at}`;
        control!.killAt(at, died);
        const first = await client("POST", path, request);
        control!.mend();
        const isOver = first.status < 300;
        assert(isOver || first.status === 503, `${why}: ${first.status} ${first.text}`);
        skewMs += 120_000; // the claim of the one that died has ended
        stripe.clockMs = skewMs;
        const second = await client("POST", path, request);
        assert(second.status < 300, `${why}: ${second.status} ${second.text}`);
        const third = await client("POST", path, request);
        assertEquals([third.status, third.text], [second.status, second.text], why);
        if (isOver) assertEquals(second.text, first.text);
        const expected = Object.fromEntries(
          Object.entries(before).map((
            [name, count],
          ) => [name, count + ((effect as Record<string, number>)[name] ?? 0)]),
        );
        assertEquals({ ...await counts() }, expected as typeof before, why);
        if (path === "/codes") {
          const [one, other] = second.json.codes as Codes;
          for (const { code } of [one!, other!]) {
            await tryCode(codes, ada, code, `client ${number}`);
          }
        }
        skewMs += 3_600_000; // another hour of checkouts and tries
        if (isOver) break;
      }
    }
    const rows = await logOf(shop);
    assertEquals([rows.length, new Set(rows.map(({ outcome }) => outcome))], [
      number,
      new Set(["done"] as const),
    ]);
    assert(number > sized(5, 15), String(number));
    await shop.assertClean();
  });
}

type Codes = { readonly id: string; readonly code: string }[];

Deno.test("random races for codes: expiring, revoked, and tried by many at once, each gives its credits at most once", async () => {
  const seed = testSeed();
  const random = new Random(seed);
  let nowMs = Date.now();
  await using shop = await openShop({ now: () => nowMs });
  const { codes, database } = shop.gateway.gateway;
  const people: Account[] = [];
  for (let at = 0; at < 4; at++) people.push(await shop.account());
  let given = 0;
  for (let round = 0; round < sized(10, 200); round++) {
    nowMs += 3_600_000; // other windows of tries
    const expiresAtMs = nowMs + 1_000;
    const [one] = await codes.make({ credits: 7, expiresAtMs });
    const redeem = (account: Account) =>
      tryCode(codes, account, one!.code, `client ${random.next()}`).then(() => account, () => null);
    const tries = people.flatMap((account) => random.next() < 0.7 ? [redeem(account)] : []);
    // it expires, or is revoked, between any two steps
    const steps = random.integer(0, 11);
    for (let step = 0; step < steps; step++) await Promise.resolve();
    if (round % 3 !== 0) nowMs = expiresAtMs - 1 + random.integer(0, 2);
    const revoked = round % 2 === 0 ? codes.revoke(one!.id).catch(() => {}) : undefined;
    const winners = (await Promise.all(tries)).filter((account) => account !== null);
    await revoked;
    const why = `SLUICE_TEST_SEED=${seed}, round ${round}`;
    assert(winners.length <= 1, `${why}: ${winners.length} have redeemed it`);
    const row = await codes.byId(one!.id);
    assertEquals(row!.redeemedBy, winners[0]?.id ?? null, why);
    assert(row!.redeemedAtMs === null || row!.redeemedAtMs < expiresAtMs, `${why}: after its end`);
    assert(row!.redeemedAtMs === null || row!.revokedAtMs === null, why);
    given += 7 * winners.length;
  }
  const sums = await Promise.all(people.map((account) => shop.balance(account)));
  assertEquals(sums.reduce((sum, one) => sum + one, 0), given);
  assert(given > 0);
  const lots = await database.all("select count(*) as n from lots where id like 'lot_code_%'");
  assertEquals(Number(lots[0]!.n), given / 7);
  await shop.assertClean();
});

Deno.test("a gateway that is killed while orders, refunds and codes are made: each repeated write takes effect once", async () => {
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
  await run("account", "create", "--email", "ada@example.com");
  await run("team", "create", "--name", "Platform");
  const { key } = await run("key", "create", "--scopes", "admin");
  const { id: order } = await run(
    "credits",
    "checkout",
    "--team",
    "Platform",
    "--package",
    "premium",
  );
  stripe.pay([...stripe.sessions.keys()][0]!);
  await run("payments", "reconcile", order);
  const writes = Array.from({ length: 12 }, (_, at) => {
    const once = `write ${at}`;
    if (at % 3 === 0) {
      return ["/orders", { once, body: { team: "Platform", package: "starter" } }] as const;
    }
    return at % 3 === 1
      ? [`/orders/${order}/refund`, { once, body: { amount: 10 } }] as const
      : ["/codes", { once, body: { credits: 5, count: 3 } }] as const;
  });
  for (let round = 0; round < sized(1, 6); round++) {
    await using gateway = startCommand(["serve", "--port", "0"], { directory: dir.path });
    const [, url] = await gateway.waitFor(/listening on (\S+)/);
    const client = adminClient(url!, key);
    let answered = 0;
    const sent = writes.map(([path, request]) =>
      client("POST", path, request).then(() => answered++, () => null)
    );
    await until(() => answered > round * 2, { what: `reply ${round * 2} to a write` });
    gateway.signal("SIGKILL");
    await gateway.status;
    await Promise.all(sent);
  }
  if (!isProof) {
    // what the dead gateway had begun keeps others waiting for ten seconds; the proofs wait for them
    const database = await openDatabase({
      file: `${dir.path}/data/sluice.db`,
      durability: "full",
      rules: RULES,
      now: Date.now,
    });
    await database.batch([
      { sql: "update operation_requests set claimed_until_ms = 0 where reply is null" },
    ]);
    await database.close();
  }
  await using gateway = serveByTier(["serve", "--port", "0"], { directory: dir.path });
  const [, url] = await gateway.waitFor(/listening on (\S+)/);
  const client = adminClient(url!, key);
  for (const [path, request] of writes) {
    let reply = await client("POST", path, request);
    await until(async () => {
      if (reply.json.error?.code !== "in_progress") return true;
      await sleep(200);
      reply = await client("POST", path, request);
      return false;
    }, { what: `the end of ${path} from before the kill` });
    assert(reply.status < 300, `${path}: ${reply.text}`);
    assertEquals((await client("POST", path, request)).text, reply.text);
  }
  const { json: orders } = await client("GET", "/orders");
  const { json: codes } = await client("GET", "/codes");
  const { json: refunded } = await client("GET", `/orders/${order}`);
  assertEquals([orders.data.length, stripe.sessions.size], [1 + 4, 1 + 4]);
  assertEquals([refunded.gone_amount, stripe.refunds.size, codes.data.length], [40, 4, 12]);
  gateway.signal("SIGTERM");
  await gateway.status;
  assertEquals((await run("credits", "audit")).mismatches, []);
});

Deno.test("two gateways of one database get the same write at once: one order, one refund, one code redeemed", async () => {
  await using dir = await tempDir();
  await using server = await sharedServer(dir.path);
  await using stripe = fakeStripe();
  const publicUrl = "https://llm.example.com";
  const settings = { ...shopSettings(stripe), publicUrl, database: { url: server.url } };
  await using one = await startGateway({ settings });
  await using other = await startGateway({ settings });
  const shop = shopOf(one, stripe, { [Symbol.asyncDispose]: () => Promise.resolve() });
  const { teams, accounts, codes, keys, owner } = one.gateway;
  const { secret } = await keys.issue(owner, { scopes: ["admin"] });
  const clients = [one, other].map(({ url }) => adminClient(url, secret));
  const { poolId } = await teams.create({ name: "Platform", pool: true });
  const pool = (await accounts.byId(poolId!))!;
  /** The same request at both, until it has a reply; the replies. A server that is slow is away, as for any client. */
  const both = (path: string, request: AdminRequest) =>
    Promise.all(clients.map(async (client) => {
      let reply = await client("POST", path, request);
      await until(async () => {
        if (reply.json.error?.code !== "in_progress" && reply.status !== 503) return true;
        await sleep(50);
        reply = await client("POST", path, request);
        return false;
      }, { what: `the end of ${path} at the other gateway` });
      return reply;
    }));
  for (let round = 0; round < sized(1, 3); round++) {
    const once = `order ${round}`;
    const body = { team: "Platform", package: "starter" };
    const [made, again] = await both("/orders", { once, body });
    assertEquals([made!.status, again!.text], [201, made!.text]);
    // without a key, the reference does it
    const [first, second] = await both("/orders", { body: { ...body, reference: once } });
    assertEquals(first!.json.id, second!.json.id);
    assertEquals(stripe.sessions.size, 2 * (round + 1));
    const event = stripe.pay(made!.json.session);
    const news = await Promise.all([one, other].map(({ url }) => send(url, event)));
    assertEquals(news, [200, 200]);
    const refund = { once: `refund ${round}`, body: { amount: 99 } };
    const refunds = await both(`/orders/${made!.json.id}/refund`, refund);
    assertEquals(refunds.map(({ status, json }) => [status, json.gone_amount]), [[200, 99], [
      200,
      99,
    ]]);
    assertEquals(stripe.refunds.size, round + 1);
    const [code] = await codes.make({ credits: 7 });
    const ada = await shop.account();
    const tried = await Promise.allSettled(
      [one, other].map(({ gateway }) => tryCode(gateway.codes, ada, code!.code, "client")),
    );
    assertEquals(tried.filter(({ status }) => status === "fulfilled").length, 1);
    assertEquals(await shop.balance(ada), 7);
    // 99 of 499 are 99 of 500 credits, rounded down
    assertEquals(await shop.balance(pool), (round + 1) * (500 - 99));
  }
  await shop.assertClean();
});
