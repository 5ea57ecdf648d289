/** Whose access goes, and whose stays: sessions, links, codes and keys, by account, provider, session and time. */

import {
  type Account,
  Accounts,
  endProviderAccess,
  giveAccess,
  Keys,
  Sessions,
  takeAccess,
  ToolCodes,
  ToolGrants,
} from "../../../src/people/accounts/mod.ts";
import { assertEquals } from "../../assert.ts";
import { ledgerBench } from "../../fake/ledger.ts";

const DAY_MS = 86_400_000;
const BEGIN_MS = Date.UTC(2030, 0, 1);

async function bench() {
  const ledger = await ledgerBench("file");
  const clock = { nowMs: BEGIN_MS };
  const now = () => clock.nowMs;
  const { database } = ledger;
  const accounts = new Accounts(database, now);
  const key = () => Promise.resolve(new Uint8Array(32));
  const [sessions, keys, codes, grants] = [
    new Sessions(database, now),
    new Keys(database, now),
    new ToolCodes(database, now),
    new ToolGrants({ database, now, key }),
  ];
  const owner = await accounts.create({ email: "owner@b.example", role: "owner" });
  return {
    clock,
    database,
    accounts,
    sessions,
    grants,
    owner,
    /** An account with everything that it can have. */
    async somebody(name: string, provider?: string, account?: Account) {
      account ??= await accounts.create({ email: `${name}@b.example` });
      const token = await sessions.begin(account, { provider });
      await sessions.makeLink(account);
      const { id: keyId } = await keys.issue(account, { name: "plain" });
      const tool = await grants.issue(account, "tool");
      await database.batch([{
        sql: "update tool_grants set provider = ? where key_id = ?",
        args: [provider ?? null, tool.keyId],
      }]);
      await codes.issue(account, {
        clientId: "sluice",
        client: "sluice auth",
        redirectUri: "http://127.0.0.1:1/callback",
        challenge: "c".repeat(43),
        address: "192.0.2.1",
        provider: provider ?? null,
      });
      return { account, token, keyId, toolKeyId: tool.keyId };
    },
    /** What an account has: sessions, links, codes and keys, and whether it is enabled. */
    async has({ id }: Account) {
      const row = await database.one(
        `select (select count(*) from sessions where account_id = ?1) as sessions,
          (select count(*) from sign_in_links where account_id = ?1) as links,
          (select count(*) from tool_codes where account_id = ?1) as codes,
          (select count(*) from keys where account_id = ?1 and revoked_at_ms is null) as keys,
          disabled_at_ms is null as enabled from accounts where id = ?1`,
        [id],
      );
      return { ...row };
    },
    [Symbol.asyncDispose]: () => ledger[Symbol.asyncDispose](),
  };
}

const ALL = { sessions: 1, links: 1, codes: 1, keys: 2, enabled: 1 };
const NONE = { sessions: 0, links: 0, codes: 0, keys: 0, enabled: 0 };

Deno.test("all access is taken from one account, never from an owner; it is given back to whom it was taken from then", async () => {
  await using one = await bench();
  const { database, clock, owner, has } = one;
  const [ada, bob] = [await one.somebody("ada"), await one.somebody("bob")];
  await one.somebody("owner", undefined, owner);
  for (const account of [ada.account, owner]) {
    await database.batch(takeAccess(account.id, clock.nowMs));
  }
  assertEquals(await has(ada.account), NONE);
  assertEquals([await has(bob.account), await has(owner)], [ALL, ALL]);
  // taken once more, it is still taken since then
  const takenMs = clock.nowMs;
  clock.nowMs += 1;
  await database.batch(takeAccess(ada.account.id, clock.nowMs));
  for (const atMs of [takenMs - 1, clock.nowMs]) {
    await database.batch([giveAccess(ada.account.id, atMs)]);
    assertEquals(await has(ada.account), NONE, `${atMs - takenMs}`);
  }
  await database.batch([giveAccess(bob.account.id, takenMs)]);
  await database.batch([giveAccess(ada.account.id, takenMs)]);
  assertEquals(await has(ada.account), { ...NONE, enabled: 1 });
  assertEquals(await has(bob.account), ALL);
});

Deno.test("what had ended before keeps the time of its end, and a code that was used stays known", async () => {
  await using one = await bench();
  const { database, clock, sessions, grants } = one;
  const ends: Readonly<Record<string, (account: Account) => Promise<unknown>>> = {
    "all access": ({ id }) => database.batch(takeAccess(id, clock.nowMs)),
    "what a provider gave": ({ id: accountId }) =>
      database.batch(
        endProviderAccess({ accountId, provider: "corp" }, { nowMs: clock.nowMs }),
      ),
    "all sessions": (account) => sessions.endAll(account),
    "all tools": (account) => grants.endOf(account),
  };
  for (const [at, [what, end]] of Object.entries(ends).entries()) {
    const { account, toolKeyId } = await one.somebody(`ada${at}`, "corp");
    const endedMs = clock.nowMs;
    await database.batch([
      {
        sql: "update keys set revoked_at_ms = ? where account_id = ?",
        args: [endedMs, account.id],
      },
      {
        sql: "update tool_codes set key_id = ? where account_id = ?",
        args: [toolKeyId, account.id],
      },
    ]);
    clock.nowMs += 1;
    await end(account);
    const keys = await database.all("select revoked_at_ms from keys where account_id = ?", [
      account.id,
    ]);
    assertEquals(keys.map((row) => row.revoked_at_ms), [endedMs, endedMs], what);
    assertEquals((await one.has(account)).codes, 1, what);
  }
});

Deno.test("what came by a provider ends with it: of one account, but for the session that goes on", async () => {
  for (const keeps of [true, false]) {
    await using one = await bench();
    const { database, sessions, clock, has } = one;
    const ada = await one.somebody("ada", "corp");
    await one.somebody("ada", "other", ada.account);
    const bob = await one.somebody("bob", "corp");
    await database.batch(endProviderAccess(
      { accountId: ada.account.id, provider: "corp" },
      { except: keeps ? ada.token : undefined, nowMs: clock.nowMs },
    ));
    const left = { sessions: keeps ? 2 : 1, links: 2, codes: 1, keys: 3, enabled: 1 };
    assertEquals(await has(ada.account), left);
    assertEquals(await sessions.find(ada.token) !== undefined, keeps);
    assertEquals(await has(bob.account), ALL);
  }
});

Deno.test("sessions of a provider end by its own session, by account, by both or all", async () => {
  const begun = [
    ["ada", "corp", "s1"],
    ["ada", "corp", "s2"],
    ["bob", "corp", "s1"],
    ["bob", "other", "s1"],
    ["bob", undefined, undefined],
  ] as const;
  const cases:
    readonly (readonly [session: string | undefined, of: string[] | undefined, string])[] = [
      [undefined, undefined, "ada s1,ada s2,bob s1"],
      ["s1", undefined, "ada s1,bob s1"],
      [undefined, ["ada"], "ada s1,ada s2"],
      ["s1", ["ada"], "ada s1"],
      ["s1", ["ada", "bob"], "ada s1,bob s1"],
      ["s3", undefined, ""],
      [undefined, [], ""],
    ];
  await using one = await bench();
  const accounts = new Map<string, Account>();
  for (const name of ["ada", "bob"]) {
    accounts.set(name, await one.accounts.create({ email: `${name}@b.example` }));
  }
  for (const [providerSession, of, expected] of cases) {
    const tokens = new Map<string, string>();
    for (const [name, provider, session] of begun) {
      const token = await one.sessions.begin(accounts.get(name)!, {
        provider,
        providerSession: session,
      });
      tokens.set(`${name} ${provider === "corp" ? session : provider}`, token);
    }
    const accountIds = of?.map((name) => accounts.get(name)!.id);
    const ended = await one.sessions.endOfProvider("corp", { providerSession, accountIds });
    const gone: string[] = [];
    for (const [what, token] of tokens) {
      if (await one.sessions.find(token) === undefined) gone.push(what);
    }
    assertEquals([gone.join(), ended], [expected, gone.length]);
    for (const account of accounts.values()) await one.sessions.endAll(account);
  }
});

Deno.test("a session lasts as long as was said when it began, and no longer than is said now, in its list as well", async () => {
  for (const [begunDays, nowDays] of [[30, 30], [30, 7], [7, 30]] as const) {
    await using one = await bench();
    const account = await one.accounts.create({ email: "a@b.example" });
    const token = await one.sessions.lasting(begunDays * DAY_MS).begin(account);
    const sessions = one.sessions.lasting(nowDays * DAY_MS);
    const endsAtMs = BEGIN_MS + Math.min(begunDays, nowDays) * DAY_MS;
    for (const [lateMs, isGood] of [[-1, true], [0, false]] as const) {
      one.clock.nowMs = endsAtMs + lateMs;
      assertEquals(await sessions.find(token) !== undefined, isGood, `${begunDays} ${nowDays}`);
      const listed = (await sessions.list(account)).map(({ expiresAtMs }) => expiresAtMs);
      assertEquals(listed, isGood ? [endsAtMs] : []);
    }
  }
});

Deno.test("an account's sessions are listed with what began them, and each is ended by its ID", async () => {
  await using one = await bench();
  const { sessions, clock, database } = one;
  const [ada, bob] = [await one.somebody("ada"), await one.somebody("bob")];
  await database.batch([{
    sql: `insert into passkeys (id, account_id, name, algorithm, public_key, counter, created_at_ms)
      values ('pk', ?, 'laptop', -7, 'x', 0, 0)`,
    args: [ada.account.id],
  }]);
  clock.nowMs += 1;
  const token = await sessions.begin(ada.account, {
    provider: "corp",
    passkey: "pk",
    address: "192.0.2.1",
    agent: "x".repeat(301),
  });
  const [second, first, ...others] = await sessions.list(ada.account, { own: token });
  assertEquals(others, []);
  const plain = { provider: null, isByPasskey: false, address: null, agent: null };
  const { id: firstId, expiresAtMs: _first, ...ofFirst } = first!;
  const { id: secondId, expiresAtMs: _second, ...ofSecond } = second!;
  assertEquals(ofFirst, { ...plain, createdAtMs: BEGIN_MS, isOwn: false });
  assertEquals(ofSecond, {
    provider: "corp",
    isByPasskey: true,
    address: "192.0.2.1",
    agent: "x".repeat(300),
    createdAtMs: BEGIN_MS + 1,
    isOwn: true,
  });
  const none = () => ({ sql: "select 1", args: [] });
  await sessions.endOne(bob.account, firstId, none);
  assertEquals((await sessions.list(ada.account)).length, 2, "it is another account's");
  await sessions.endOne(ada.account, firstId, none);
  assertEquals((await sessions.list(ada.account)).map(({ id }) => id), [secondId]);
  assertEquals((await sessions.list(bob.account)).length, 1);
});
