/** Passkeys, by an authenticator that lies. */

import { Buffer } from "node:buffer";
import { generateKeyPairSync } from "node:crypto";
import fc from "fast-check";
import { DatabaseError } from "../../../src/ground/database/mod.ts";
import { Accounts } from "../../../src/people/accounts/mod.ts";
import { Passkeys, SignInError, siteOf } from "../../../src/people/sign_in/mod.ts";
import { assertEquals, assertRejects, assertStringIncludes } from "../../assert.ts";
import { Authenticator, FLAGS, type Lies, type Sent } from "../../fake/authenticator.ts";
import { ledgerBench } from "../../fake/ledger.ts";
import { sized } from "../../tier.ts";

const ORIGIN = "https://llm.example.com";
const SITE = siteOf(`${ORIGIN}/gateway`);
const MINUTE_MS = 60_000;
/** A key of RSA with PSS, which is another algorithm: Deno 2.4 makes none. */
const RSA_PSS = Buffer.from(
  "MIIBIDALBgkqhkiG9w0BAQoDggEPADCCAQoCggEBANpnMzhZyrU3enPqJMxSe5ux-BVhzvTgjYWNKzkNxyl4XNyS" +
    "80bROUQ2ZjVI8-qFg2BrZPtlsTMN85r01gjvMVA3e1pgwMMWJp4VZR0JmVMctn3n1ZFdTj5TZg6SPVZuxXE0_B8L" +
    "lgPq9ealXTI9wEnQa9ahPACglyk4_O-nJYDnzOVOEQt7ZnSVRQw2ZfZeTJReFdV5ravS-CpNljRrTdtcZYrOq3Wo" +
    "wp_eKhVuIDoK-eGIdOdf5rAFDC6enPg9ZAaOz6N3tSYz32ZthifKuF05lIcOo42yv-Lz5Fgvo0sgANBW5prM4X8d" +
    "GMaMUV6FluaRL-Gb9HC4Egt85OaMmSkCAwEAAQ",
  "base64url",
);

async function bench() {
  const ledger = await ledgerBench("file");
  const { database } = ledger;
  const clock = { nowMs: Date.UTC(2030, 0, 1) };
  const now = () => clock.nowMs;
  const accounts = new Accounts(database, now);
  const logged: string[] = [];
  const log = { warn: (event: string) => void logged.push(event) };
  const passkeys = new Passkeys({ database, accounts, log, now });
  const ada = await accounts.create({ email: "ada@example.com", name: "Ada" });
  const begin = () => passkeys.beginSignIn(SITE, undefined);
  return {
    clock,
    accounts,
    database,
    logged,
    passkeys,
    ada,
    /** Adds a passkey to an account. */
    async add(device: Authenticator, lies: Lies = {}, account = ada) {
      const session = { account, isRecent: true };
      const { browser, options } = await passkeys.beginAdding(session, SITE, undefined);
      const result = JSON.stringify(device.create(options, ORIGIN, lies));
      await passkeys.register(session, { site: SITE, browser, result }, { name: "laptop" });
    },
    /** Signs in, and returns whose account that is. */
    async signIn(device: Authenticator, lies: Lies = {}, spoil = (sent: Sent) => sent) {
      const { browser, options } = await begin();
      const result = JSON.stringify(spoil(device.get(options, ORIGIN, lies)));
      return (await passkeys.signIn({ site: SITE, browser, result })).account.email;
    },
    begin,
    [Symbol.asyncDispose]: () => ledger[Symbol.asyncDispose](),
  };
}

const refused = (action: () => Promise<unknown>, says: string, what = says) =>
  assertRejects(action, SignInError, says).catch((error) => {
    throw new Error(`${what}: ${error.message}`);
  });

for (const algorithm of ["-7", "-8", "-257"] as const) {
  Deno.test(`a passkey of algorithm ${algorithm} signs in by its own signature`, async () => {
    await using one = await bench();
    const device = new Authenticator(algorithm);
    await one.add(device);
    assertEquals(await one.signIn(device), "ada@example.com");
    const { privateKey } = new Authenticator(algorithm).keys;
    await refused(() => one.signIn(device, { privateKey }), "signature is not valid");
    await refused(() => one.signIn(device, { signs: Buffer.from("x") }), "signature is not valid");
    assertEquals(await one.signIn(device), "ada@example.com");
    const [kept] = await one.passkeys.list(one.ada);
    assertEquals([kept!.counter, kept!.usedAtMs], [device.counter, one.clock.nowMs]);
  });
}

Deno.test("a lie about a use is refused", async () => {
  await using one = await bench();
  const device = new Authenticator();
  const bobs = new Authenticator();
  await one.add(device);
  const bob = await one.accounts.create({ email: "bob@example.com" });
  await one.add(bobs, {}, bob);
  const rows: readonly (readonly [Lies, string])[] = [
    [{ origin: "https://evil.example" }, "was used at https://evil.example"],
    [{ origin: "http://llm.example.com" }, "was used at http://llm.example.com"],
    [{ origin: `${ORIGIN}:8443` }, "was used at"],
    [{ crossOrigin: true }, "was used at"],
    [{ rpId: "evil.example" }, "another site's"],
    [{ rpId: "example.com" }, "another site's"],
    [{ length: 36 }, "another site's"],
    [{ type: "webauthn.create" }, "for something else"],
    [{ challenge: "A".repeat(44) }, "was not begun by this browser"],
    [{ flags: FLAGS & ~0x04 }, "has not verified its user"],
    [{ flags: FLAGS & ~0x01 }, "has not verified its user"],
    [{ id: Buffer.from("unknown") }, "signs in nobody here"],
    [{ user: bob.id }, "made for another account"],
    [{ user: "x" }, "made for another account"],
    // bob's passkey, said to be ada's
    [{ id: bobs.id, user: one.ada.id }, "made for another account"],
    [{ id: bobs.id, user: bob.id }, "signature is not valid"],
  ];
  for (const [lies, says] of rows) {
    await refused(() => one.signIn(device, lies), says, JSON.stringify(lies));
  }
  for (const result of ["", "{}", "[]", '{"id":"AA"}', "null", "x".repeat(1_000)]) {
    const { browser } = await one.begin();
    await refused(() => one.passkeys.signIn({ site: SITE, browser, result }), "incomplete", result);
  }
  assertEquals(await one.signIn(device), "ada@example.com");
  assertEquals(await one.signIn(bobs), "bob@example.com");
  assertEquals(one.logged, []);
});

Deno.test("a lie about a passkey that was made is refused, and nothing is kept of it", async () => {
  await using one = await bench();
  const device = new Authenticator();
  const other = new Authenticator("-8").keys.publicKey;
  const short = generateKeyPairSync("rsa", { modulusLength: 1_024 }).publicKey;
  const p384 = generateKeyPairSync("ec", { namedCurve: "P-384" }).publicKey;
  const rows: readonly (readonly [Lies, string])[] = [
    [{ origin: "https://evil.example" }, "was used at https://evil.example"],
    [{ crossOrigin: true }, "was used at"],
    [{ rpId: "evil.example" }, "another site's"],
    [{ type: "webauthn.get" }, "for something else"],
    [{ challenge: "A".repeat(44) }, "was not begun by this browser"],
    [{ flags: 0x41 }, "has not verified its user"],
    [{ flags: 0x44 }, "has not verified its user"],
    [{ flags: FLAGS }, "made another passkey"],
    [{ length: 37 }, "made another passkey"],
    [{ length: 37 + 18 + device.id.length }, "made another passkey"],
    [{ madeId: Buffer.from("another-credential") }, "made another passkey"],
    [{ madeId: Buffer.concat([device.id, device.id]) }, "made another passkey"],
    [{ madeId: Buffer.alloc(device.id.length, 1) }, "made another passkey"],
    [{ algorithm: -8 }, "of a kind that is not accepted"],
    [{ algorithm: -257 }, "of a kind that is not accepted"],
    [{ algorithm: -35, publicKey: p384 }, "of a kind that is not accepted"],
    [{ publicKey: p384 }, "of a kind that is not accepted"],
    [{ publicKey: other }, "of a kind that is not accepted"],
    [{ algorithm: -257, publicKey: short }, "of a kind that is not accepted"],
    [{ algorithm: -257, publicKey: RSA_PSS }, "of a kind that is not accepted"],
  ];
  for (const [lies, says] of rows) {
    await refused(() => one.add(device, lies), says, JSON.stringify(lies));
  }
  assertEquals(await one.passkeys.list(one.ada), []);
  // a database that fails is not the passkey's fault
  const session = { account: one.ada, isRecent: true };
  const { browser, options } = await one.passkeys.beginAdding(session, SITE, undefined);
  const result = JSON.stringify(device.create(options, ORIGIN));
  const also = [{ sql: "select * from nothing", args: [] }];
  await assertRejects(
    () => one.passkeys.register(session, { site: SITE, browser, result }, { name: "x", also }),
    DatabaseError,
  );
  assertEquals(await one.passkeys.list(one.ada), []);
  await one.add(device);
  await refused(() => one.add(device), "signs in an account already");
  const bob = await one.accounts.create({ email: "bob@example.com" });
  await refused(() => one.add(device, {}, bob), "signs in an account already");
  device.user = one.ada.id;
  assertEquals(await one.signIn(device), "ada@example.com");
});

Deno.test("a challenge counts once, within five minutes, for its browser and purpose", async () => {
  await using one = await bench();
  const { ada, clock, passkeys } = one;
  const device = new Authenticator();
  await one.add(device);
  const use = async (browser: string, sent: Sent) =>
    await passkeys.signIn({ site: SITE, browser, result: JSON.stringify(sent) });
  const says = "was not begun by this browser, took longer than five minutes, or is over";
  // by another browser; then by its own; then again
  const { browser, options } = await one.begin();
  const sent = device.get(options, ORIGIN);
  const thief = await one.begin();
  await refused(() => use(thief.browser, sent), says);
  await refused(() => use("", sent), says);
  await use(browser, sent);
  await refused(() => use(browser, sent), says);
  // a window of before goes on when another one is opened
  const first = await one.begin();
  const second = await passkeys.beginSignIn(SITE, first.browser);
  assertEquals(second.browser, first.browser);
  await use(second.browser, device.get(second.options, ORIGIN));
  await use(first.browser, device.get(first.options, ORIGIN));
  // what is no random text of ours is not kept
  for (const chosen of ["", "x", "a".repeat(31), "-".repeat(32)]) {
    const { browser: kept } = await passkeys.beginSignIn(SITE, chosen);
    assertEquals([kept === chosen, kept.length], [false, 32]);
  }
  const late = await one.begin();
  clock.nowMs += 5 * MINUTE_MS;
  await refused(() => use(late.browser, device.get(late.options, ORIGIN)), says);
  const inTime = await one.begin();
  clock.nowMs += 5 * MINUTE_MS - 1;
  await use(inTime.browser, device.get(inTime.options, ORIGIN));
  // one for adding signs nobody in, and adds to its own account only
  const begin = () => passkeys.beginAdding({ account: ada, isRecent: true }, SITE, undefined);
  let adding = await begin();
  const { challenge } = adding.options;
  await refused(
    () => use(adding.browser, device.get({ challenge, rpId: SITE.rpId }, ORIGIN)),
    says,
  );
  const bob = await one.accounts.create({ email: "bob@example.com" });
  const another = new Authenticator();
  const register = (account: typeof ada, of: { browser: string; options: unknown }) =>
    passkeys.register({ account, isRecent: true }, {
      site: SITE,
      browser: of.browser,
      result: JSON.stringify(another.create(of.options as never, ORIGIN)),
    }, { name: "x" });
  // tried for anything else, it is spent
  await refused(() => register(ada, adding), says);
  adding = await begin();
  await refused(() => register(bob, adding), says);
  adding = await begin();
  const { options: { challenge: signing }, browser: signingBrowser } = await one.begin();
  const mixed = { ...adding.options, challenge: signing };
  await refused(() => register(ada, { browser: signingBrowser, options: mixed }), says);
  await register(ada, adding);
  await refused(() => register(ada, adding), says);
  assertEquals((await passkeys.list(bob)).length, 0);
  // an old session, from before or since it began
  const old = { account: ada, isRecent: false };
  await refused(() => passkeys.beginAdding(old, SITE, undefined), "Sign in again to add a passkey");
  const asked = await begin();
  const result = JSON.stringify(new Authenticator().create(asked.options, ORIGIN));
  await refused(
    () => passkeys.register(old, { site: SITE, browser: asked.browser, result }, { name: "x" }),
    "Sign in again to add a passkey",
  );
  clock.nowMs += 5 * MINUTE_MS;
  await one.begin();
  const left = await one.database.one("select count(*) as n from passkey_challenges");
  assertEquals(Number(left!.n), 1, "those that have ended are removed");
});

Deno.test("a counter that goes back or stays is refused, and the log says so; a passkey that never counts is fine", async () => {
  await using one = await bench();
  const device = new Authenticator();
  await one.add(device);
  const copy = Object.assign(new Authenticator(), { keys: device.keys, id: device.id });
  copy.user = device.user;
  await one.signIn(device);
  await one.signIn(device);
  assertEquals(one.logged, []);
  for (const counter of [1, 2, 0]) {
    await refused(() => one.signIn(copy, { counter }), "as a copy would", String(counter));
  }
  assertEquals(one.logged.length, 3);
  assertStringIncludes(one.logged[0]!, "counter went back");
  assertEquals((await one.passkeys.list(one.ada))[0]!.counter, 2);
  assertEquals(await one.signIn(device), "ada@example.com");
  const quiet = new Authenticator();
  quiet.counts = false;
  await one.add(quiet);
  for (let times = 0; times < 3; times++) await one.signIn(quiet);
  // two copies at once: one is first
  const both = await Promise.allSettled([1, 2].map(() => one.signIn(device, { counter: 50 })));
  assertEquals(both.map(({ status }) => status).toSorted(), ["fulfilled", "rejected"]);
  assertEquals(one.logged.length, 4);
});

Deno.test("a passkey signs in no account that is disabled, and is there when it is enabled again", async () => {
  await using one = await bench();
  const device = new Authenticator();
  await one.add(device);
  await one.accounts.disable("ada@example.com");
  await refused(() => one.signIn(device), "ada@example.com is disabled");
  await one.accounts.enable("ada@example.com");
  assertEquals(await one.signIn(device), "ada@example.com");
});

Deno.test("an account names, lists and removes its own passkeys, up to twenty", async () => {
  await using one = await bench();
  const { ada, passkeys } = one;
  const bob = await one.accounts.create({ email: "bob@example.com" });
  const devices = Array.from({ length: 20 }, () => new Authenticator());
  for (const device of devices) await one.add(device);
  await refused(() => one.add(new Authenticator()), "up to 20 passkeys");
  const { id } = (await passkeys.list(ada))[0]!;
  await passkeys.rename(ada, id, { name: "  phone " });
  await passkeys.rename(bob, id, { name: "bob's" });
  assertEquals((await passkeys.list(ada)).filter(({ name }) => name === "laptop").length, 19);
  const name = async () => (await passkeys.list(ada)).find((one) => one.id === id)?.name;
  assertEquals(await name(), "phone");
  for (const wrong of ["", " ", "x".repeat(201), "a\u202eb"]) {
    await refused(() => passkeys.rename(ada, id, { name: wrong }), "", wrong);
  }
  await passkeys.remove(bob, id);
  assertEquals(await name(), "phone");
  await passkeys.remove(ada, id);
  assertEquals((await passkeys.list(ada)).length, 19);
  const removed = devices.find((device) => device.id.toString("base64url") === id)!;
  await refused(() => one.signIn(removed), "may have been removed");
});

Deno.test("whatever is changed of what a browser sends, nobody is signed in", async () => {
  await using one = await bench();
  const devices = (["-7", "-8", "-257"] as const).map((each) => new Authenticator(each));
  for (const device of devices) await one.add(device);
  const members = ["id", "clientData", "authenticatorData", "signature", "user"];
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...devices),
      fc.constantFrom(...members),
      fc.nat(),
      fc.nat(7),
      async (device, member, at, bit) => {
        const flip = (sent: Sent) => {
          const bytes = Buffer.from(String(sent[member]), "base64url");
          const index = at % bytes.length;
          bytes[index] = bytes[index]! ^ (1 << bit);
          return { ...sent, [member]: bytes.toString("base64url") };
        };
        await refused(() => one.signIn(device, {}, flip), "", `${member} ${at} ${bit}`);
      },
    ),
    { numRuns: sized(30, 1_000) },
  );
});
