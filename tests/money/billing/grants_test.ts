import { Accounts, Keys, Sessions } from "../../../src/people/accounts/mod.ts";
import { type Bonuses, Registration, Sales } from "../../../src/money/billing/mod.ts";
import { loadConfig } from "../../../src/settings/config/mod.ts";
import { newRequestId } from "../../../src/ground/platform/ids.ts";
import { admit, audit, creditsOf, entriesOf, TierList } from "../../../src/money/ledger/mod.ts";
import { assert, assertEquals, assertRejects } from "../../assert.ts";
import { ledgerBench, type LedgerKind, possible, settlePrice } from "../../fake/ledger.ts";
import { tempDir } from "../../fake/temp.ts";

const NOW = Date.UTC(2030, 0, 1);
const DAY = 86_400_000;

await using dir = await tempDir();
const { settings } = await loadConfig({ env: {}, directory: dir.path });

async function billing(kind: LedgerKind = "file", bonuses: Bonuses = settings.credits) {
  const bench = await ledgerBench(kind);
  let nowMs = NOW;
  const now = () => nowMs;
  const accounts = new Accounts(bench.database, now);
  const { database } = bench;
  const registration = new Registration(database, accounts, bonuses);
  const credits = async (email: string) =>
    await creditsOf(database, (await accounts.get(email)).id, nowMs);
  return {
    database,
    accounts,
    registration,
    sales: new Sales(database, settings.packages, bonuses, now),
    keys: new Keys(database, now),
    sessions: new Sessions(database, now),
    credits,
    balance: async (email: string) => (await credits(email)).balance,
    pass: (ms: number) => nowMs += ms,
    /** Ada, and Bob who came with her code. */
    async friends() {
      const ada = await registration.register({ email: "ada@example.com" });
      const inviteCode = await accounts.inviteCode(ada);
      const bob = await registration.register({ email: "bob@example.com", inviteCode });
      return { ada, bob };
    },
    /** Has a request hold credits. */
    async hold(of: { readonly accountId: string; readonly keyId: string }, credits: number) {
      const tierList = new TierList([{ above: 0, minute: 9, hour: 9, day: 9 }]);
      await database.batch(tierList.statements);
      const caller = { ...of, requestId: newRequestId(NOW) };
      await admit(database, {
        ...caller,
        gatewayId: "gw",
        least: 1,
        wanted: credits,
        nowMs: NOW,
        leaseMs: 60_000,
        tierListId: tierList.id,
      });
      return caller;
    },
    async assertClean() {
      assertEquals((await audit(database)).mismatches, []);
    },
    [Symbol.asyncDispose]: () => bench[Symbol.asyncDispose](),
  };
}

for (const kind of possible(["file", "server", "postgres"])) {
  // Proves P2.
  Deno.test(`a reference grants once, however often it is repeated (${kind})`, async () => {
    await using all = await billing(kind);
    const { ada, bob } = await all.friends();
    const grant = (credits = 100) => all.sales.grant(ada, { credits, reference: "INV-7" });
    const granted = await Promise.all([grant(), grant(), grant()]);
    assertEquals(new Set(granted.map(({ lotId }) => lotId)).size, 1);
    assertEquals(granted.map(({ isRepeated }) => isRepeated).toSorted(), [false, true, true]);
    assertEquals(await all.balance("ada@example.com"), 160);
    await assertRejects(
      () => grant(101),
      Error,
      'Reference "INV-7" was already used for a grant of 100 credits. Use another reference to grant 101',
    );
    await assertRejects(
      () => all.sales.sell(ada, all.sales.package("starter"), { paid: false, reference: "INV-7" }),
      Error,
      'Reference "INV-7" was already used for a grant of 100 credits',
    );
    // of another account it is another one
    await all.sales.grant(bob, { credits: 5, reference: "INV-7" });
    assertEquals(await all.balance("bob@example.com"), 15);

    const sell = (reference?: string) =>
      all.sales.sell(bob, all.sales.package("starter"), { paid: true, reference });
    await Promise.all([sell("pay 1"), sell("pay 1"), sell("pay 1")]);
    assertEquals(await all.balance("bob@example.com"), 515);
    await all.assertClean();
  });
}

Deno.test("without a reference two grants are two", async () => {
  await using all = await billing();
  const { ada } = await all.friends();
  const [one, two] = [
    await all.sales.grant(ada, { credits: 100 }),
    await all.sales.grant(ada, { credits: 100 }),
  ];
  assert(one.reference !== two.reference);
  assertEquals(await all.balance("ada@example.com"), 260);
  // its automatic reference repeats it
  assertEquals(
    (await all.sales.grant(ada, { credits: 100, reference: one.reference })).lotId,
    one.lotId,
  );
  assertEquals(await all.balance("ada@example.com"), 260);
});

Deno.test("a lot is taken back: part of it, then the rest, each once", async () => {
  await using all = await billing();
  const { ada, bob } = await all.friends();
  const { lotId } = await all.sales.grant(ada, { credits: 100, note: "too much" });
  const take = (credits: number | undefined, reference: string) =>
    all.sales.takeBack(ada, { lotId, credits, note: "meant 70", reference });
  assertEquals((await take(30, "r1")).credits, 30);
  const again = await take(30, "r1");
  assertEquals([again.credits, again.isRepeated], [30, true]);
  assertEquals(await all.balance("ada@example.com"), 130);
  await assertRejects(() => take(31, "r1"), Error, 'Reference "r1" was already used to take back');
  const rest = await take(undefined, "r2");
  assertEquals([rest.credits, rest.isRepeated], [70, false]);
  assertEquals((await take(undefined, "r2")).credits, 70);
  await assertRejects(() => take(undefined, "r3"), Error, "has no credits left");
  await assertRejects(
    () => all.sales.takeBack(bob, { lotId, note: "not his" }),
    Error,
    "bob@example.com has no lot",
  );
  await assertRejects(() => all.sales.takeBack(ada, { lotId, note: "" }), Error, "note");
  assertEquals(await all.balance("ada@example.com"), 60);
  const entries = await entriesOf(all.database, { accountId: ada.id, limit: 9 });
  assertEquals(
    entries.filter(({ kind }) => kind === "take_back")
      .map(({ credits, reason, note }) => [credits, reason, note]).toSorted(),
    [[-30, "meant 70", "too much"], [-70, "meant 70", "too much"]],
  );
  await all.assertClean();
  await assertRejects(
    () => all.database.batch([{ sql: "delete from take_backs" }]),
    Error,
    "take_backs are only ever added",
  );
});

Deno.test("held credits are never taken back, and what has expired is not either", async () => {
  await using all = await billing();
  const ada = await all.registration.register({ email: "ada@example.com" });
  const key = await all.keys.issue(ada);
  const { lotId } = await all.sales.grant(ada, { credits: 100 });
  const caller = await all.hold({ accountId: ada.id, keyId: key.id }, 80);
  const take = (id = lotId) => all.sales.takeBack(ada, { lotId: id, note: "all of it" });
  assertEquals((await take()).credits, 30); // 110 less what is held
  await assertRejects(() => take(), Error, "held by in-flight requests");
  await all.assertClean();
  assertEquals((await settlePrice(all.database, { ...caller, price: 80, nowMs: NOW })).charged, 80);

  const short = await all.sales.grant(ada, { credits: 40, expiresAtMs: NOW + DAY });
  all.pass(DAY);
  await assertRejects(() => take(short.lotId), Error, "has no credits left");
  assertEquals(await all.balance("ada@example.com"), 0);
  await all.assertClean();
});

Deno.test("a first payment that is taken back whole takes its bonus with it, as far as it is left", async () => {
  await using all = await billing();
  const { ada, bob } = await all.friends();
  const starter = all.sales.package("starter");
  const gift = await all.sales.sell(bob, starter, { paid: false });
  const first = await all.sales.sell(bob, starter, { paid: true });
  const second = await all.sales.sell(bob, starter, { paid: true });
  const take = (lotId: string, credits?: number) =>
    all.sales.takeBack(bob, { lotId, credits, note: "refunded" });
  assertEquals(await all.balance("ada@example.com"), 560);
  await take(gift.lotId);
  await take(second.lotId);
  await take(first.lotId, 100);
  assertEquals(await all.balance("ada@example.com"), 560, "nothing of these earned the bonus");
  const undone = await take(first.lotId);
  assertEquals([undone.credits, undone.bonusCredits], [400, 500]);
  assertEquals([await all.balance("ada@example.com"), await all.balance("bob@example.com")], [
    60,
    10,
  ]);
  assertEquals((await all.registration.invitations(ada))[0]!.earned, 50);
  await all.sales.sell(bob, starter, { paid: true });
  assertEquals(await all.balance("ada@example.com"), 60, "that was not the first one");
  await all.assertClean();
});

Deno.test("where a first payment earns its inviter nothing, it makes no lot without credits", async () => {
  await using all = await billing("file", { ...settings.credits, inviteFirstPayment: 0 });
  const { bob } = await all.friends();
  await all.sales.sell(bob, all.sales.package("starter"), { paid: true });
  const rows = await all.database.all("select id from lots where source = 'invite_payment'");
  assertEquals([rows, await all.balance("ada@example.com")], [[], 60]);
  await all.assertClean();
});

Deno.test("what is left of a bonus that a request held goes with no later request to take back, which takes nothing", async () => {
  await using all = await billing();
  const { ada, bob } = await all.friends();
  const key = await all.keys.issue(ada);
  const { lotId } = await all.sales.sell(bob, all.sales.package("starter"), { paid: true });
  const caller = await all.hold({ accountId: ada.id, keyId: key.id }, 300);
  const take = () => all.sales.takeBack(bob, { lotId, note: "refunded" });
  assertEquals((await take()).bonusCredits, 260); // 560 less what is held
  await settlePrice(all.database, { ...caller, price: 0, nowMs: NOW });
  await assertRejects(take, Error, "has no credits left");
  assertEquals(await all.balance("ada@example.com"), 300);
  await all.assertClean();
});

Deno.test("a disabled inviter earns nothing; who was invited has its own credits", async () => {
  await using all = await billing();
  const ada = await all.registration.register({ email: "ada@example.com" });
  const inviteCode = await all.accounts.inviteCode(ada);
  const eve = await all.registration.register({ email: "eve@example.com", inviteCode });
  await all.accounts.disable(ada.email);
  const bob = await all.registration.register({ email: "bob@example.com", inviteCode });
  const starter = all.sales.package("starter");
  for (const guest of [eve, bob]) await all.sales.sell(guest, starter, { paid: true });
  assertEquals([await all.balance(ada.email), await all.balance(bob.email)], [60, 510]);
  await all.accounts.enable(ada.email);
  await all.sales.sell(bob, starter, { paid: true }); // not the first payment
  assertEquals(await all.balance(ada.email), 60);
  await all.assertClean();
});

Deno.test("disabling ends sessions and links, and enabling revives none", async () => {
  await using all = await billing();
  const ada = await all.registration.register({ email: "ada@example.com" });
  const [session, link] = [await all.sessions.begin(ada), await all.sessions.makeLink(ada)];
  await all.accounts.disable(ada.email);
  await all.accounts.enable(ada.email);
  assertEquals(await all.sessions.find(session), undefined);
  assertEquals(await all.sessions.useLink(link), undefined);

  // made by a process that read the account before it was disabled
  await all.accounts.disable(ada.email);
  const late = await all.sessions.begin(ada);
  await assertRejects(() => all.sessions.makeLink(ada), Error, "is disabled");
  // left by a program that did not end them yet
  await all.database.batch([{
    sql: "insert into sign_in_links (digest, account_id, expires_at_ms) values (?, ?, ?)",
    args: ["d".repeat(64), ada.id, NOW + DAY],
  }]);
  await all.accounts.enable(ada.email);
  assertEquals(await all.sessions.find(late), undefined);
  assertEquals(await all.database.all("select * from sign_in_links"), []);
  // who is not disabled stays signed in
  const kept = await all.sessions.begin(ada);
  await all.accounts.enable(ada.email);
  assertEquals((await all.sessions.find(kept))?.account.id, ada.id);
});

Deno.test("when a key was last used is known as long as the key is", async () => {
  await using all = await billing();
  const ada = await all.registration.register({ email: "ada@example.com" });
  const [used, unused] = [await all.keys.issue(ada), await all.keys.issue(ada)];
  const use = (nowMs: number) =>
    settlePrice(all.database, {
      accountId: ada.id,
      keyId: used.id,
      requestId: newRequestId(nowMs),
      price: 1,
      nowMs,
    });
  await use(NOW - 9 * DAY + 1_234);
  await use(NOW - 20 * DAY); // settled later
  await all.database.batch([{ sql: "delete from windows" }, { sql: "delete from usage_records" }]);
  const lastUse = await all.keys.lastUse(ada);
  assertEquals([lastUse.get(used.id), lastUse.get(unused.id)], [NOW - 9 * DAY + 1_234, undefined]);
});

Deno.test("settings that would make sums inexact are refused", async () => {
  const load = async (more: unknown) => {
    await using place = await tempDir();
    await Deno.writeTextFile(`${place.path}/sluice.jsonc`, JSON.stringify(more));
    return await loadConfig({ env: {}, directory: place.path });
  };
  for (const credits of [1e12 + 1, Number.MAX_SAFE_INTEGER]) {
    for (const name of ["ownerGrant", "signup", "inviteSignup", "inviteFirstPayment"]) {
      await assertRejects(
        () => load({ credits: { [name]: credits } }),
        Error,
        `credits.${name}: must be a whole number of credits from 0 to 1,000,000,000,000`,
      );
    }
    const offer = { id: "x", name: "X", credits, priceUsd: 1, validDays: null };
    await assertRejects(
      () => load({ packages: [offer] }),
      Error,
      "must be a whole number of credits from 0 to 1,000,000,000,000",
    );
  }
  const { settings: most } = await load({ credits: { ownerGrant: 1e12 } });
  assertEquals(most.credits.ownerGrant, 1e12);
});
