import { createHash } from "node:crypto";
import {
  AccountError,
  Accounts,
  DeviceCodes,
  KeyRing,
  Keys,
  ToolCodes,
  ToolGrants,
  type ToolTokens,
} from "../../../src/people/accounts/mod.ts";
import { Refusal } from "../../../src/ground/refusal.ts";
import { assert, assertEquals, assertRejects } from "../../assert.ts";
import { guardedDatabase } from "../../fake/guarded_database.ts";
import { ledgerBench } from "../../fake/ledger.ts";
import { Random, testSeed } from "../../fake/random.ts";
import { sized } from "../../tier.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** How long a code of a browser is valid. */
const CODE_MS = 60_000;

async function bench() {
  const stack = new AsyncDisposableStack();
  const { database } = stack.use(await ledgerBench("file"));
  const clock = { nowMs: Date.UTC(2030, 0, 1) };
  const now = () => clock.nowMs;
  const ring = stack.adopt(new KeyRing(database, { now }), (one) => one.close());
  const accounts = new Accounts(database, now);
  return {
    clock,
    database,
    accounts,
    account: await accounts.create({ email: "a@b.example" }),
    keys: new Keys(database, now),
    codes: new DeviceCodes(database, now),
    grants: new ToolGrants({ database, now, key: () => Promise.resolve(new Uint8Array(32)) }),
    /** Whether a running gateway takes a token. */
    async isTaken(token: string): Promise<boolean> {
      await ring.refresh();
      try {
        await ring.identify([token]);
        return true;
      } catch (error) {
        if (error instanceof Refusal) return false;
        throw error;
      }
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

Deno.test("a tool is signed in for as long as it refreshes: one key, another secret each hour", async () => {
  await using one = await bench();
  const { grants, keys, account, clock } = one;
  let tokens = await grants.issue(account, "Claude Code");
  assert(await one.isTaken(tokens.accessToken));
  for (let refresh = 0; refresh < 3; refresh++) {
    clock.nowMs += 50 * 60_000;
    const before = tokens;
    tokens = await grants.refresh(tokens.refreshToken) as ToolTokens;
    assert(await one.isTaken(tokens.accessToken));
    assert(await one.isTaken(before.accessToken), "what is on its way goes on for a minute");
    clock.nowMs += 61_000;
    assert(!await one.isTaken(before.accessToken));
  }
  const list = await keys.list(account);
  assertEquals(list.map(({ name, scopes }) => [name, scopes]), [["Claude Code", ["inference"]]]);
  clock.nowMs += HOUR_MS;
  assert(!await one.isTaken(tokens.accessToken), "an hour");
  clock.nowMs += 29 * DAY_MS;
  tokens = await grants.refresh(tokens.refreshToken) as ToolTokens;
  assert(await one.isTaken(tokens.accessToken), "a month later");
  clock.nowMs += 30 * DAY_MS;
  assertEquals(await grants.refresh(tokens.refreshToken), "unknown");
});

Deno.test("a refresh that is repeated within a minute gives the same tokens, however many ask at once; later it signs out", async () => {
  await using one = await bench();
  const { grants, account, clock } = one;
  const first = await grants.issue(account, "tool");
  const answers = await Promise.all(
    Array.from({ length: 8 }, () => grants.refresh(first.refreshToken)),
  );
  assertEquals(new Set(answers.map((answer) => JSON.stringify(answer))).size, 1);
  const second = answers[0] as ToolTokens;
  assert(await one.isTaken(second.accessToken));
  assert(await one.isTaken(first.accessToken), "what is on its way goes on");
  clock.nowMs += 60_000;
  assertEquals(await grants.refresh(first.refreshToken), second);
  clock.nowMs += 1;
  assertEquals(await grants.refresh(first.refreshToken), "reused");
  assert(!await one.isTaken(second.accessToken));
  assertEquals(await grants.refresh(second.refreshToken), "unknown");
});

Deno.test("a refresh that comes late, behind others or behind a sign-out, changes nothing", async () => {
  await using one = await bench();
  const { grants, account, clock, database, keys } = one;
  const key = () => Promise.resolve(new Uint8Array(32));
  /** Refreshes, and does something between what that reads and what it writes. */
  const late = (token: string, work: () => Promise<unknown>) =>
    new ToolGrants({
      database: {
        ...guardedDatabase(database, () => {}),
        batch: async (...args) => {
          await work();
          return await database.batch(...args);
        },
      },
      now: () => clock.nowMs,
      key,
    }).refresh(token);
  const first = await grants.issue(account, "tool");
  let third = first;
  await late(first.refreshToken, async () => {
    const second = await grants.refresh(first.refreshToken) as ToolTokens;
    third = await grants.refresh(second.refreshToken) as ToolTokens;
  });
  clock.nowMs += 61_000; // what was replaced has ended
  assert(await one.isTaken(third.accessToken));
  const fourth = await grants.refresh(third.refreshToken) as ToolTokens;
  assert(await one.isTaken(fourth.accessToken));
  await late(fourth.refreshToken, () => grants.end(fourth.keyId));
  assert(!await one.isTaken(fourth.accessToken));
  const { hint } = (await keys.byId(fourth.keyId))!;
  assert(hint.endsWith(fourth.accessToken.slice(-4)), "it is the key that was revoked");
});

Deno.test("a tool that somebody approved whom a provider had signed in goes on as long as the provider vouches", async () => {
  await using one = await bench();
  const { account, clock, database } = one;
  const asked: string[] = [];
  let isVouchedFor = true;
  const grants = new ToolGrants({
    database,
    now: () => clock.nowMs,
    key: () => Promise.resolve(new Uint8Array(32)),
    vouches: (accountId, provider) => {
      asked.push(`${accountId} ${provider}`);
      return Promise.resolve(isVouchedFor);
    },
  });
  const listed = async () => (await grants.list(account)).map(({ client }) => client).toSorted();
  const plain = await grants.issue(account, "plain");
  const first = await grants.issue(account, "of corp", { provider: "corp" });
  const second = await grants.refresh(first.refreshToken) as ToolTokens;
  assertEquals(asked.splice(0), [`${account.id} corp`]);
  assertEquals(await listed(), ["of corp", "plain"]);
  isVouchedFor = false;
  assertEquals(await grants.refresh(second.refreshToken), "refused");
  assert(!await one.isTaken(second.accessToken));
  assert(typeof await grants.refresh(plain.refreshToken) !== "string");
  assertEquals([asked, await listed()], [[`${account.id} corp`], ["plain"]]);
  clock.nowMs += 30 * DAY_MS;
  assertEquals(await listed(), [], "it may not refresh any more");
});

Deno.test("a thief and an owner share a refresh token: the second to use it ends both, in any order and at any pace", async () => {
  const seed = testSeed();
  const random = new Random(seed);
  await using one = await bench();
  const { grants, account, clock } = one;
  for (let round = 0; round < sized(30, 1_000); round++) {
    const begun = await grants.issue(account, "tool");
    const held = { owner: begun, thief: begun };
    let last: "owner" | "thief" | undefined;
    let isOver = false;
    for (let step = 0; step < 12 && !isOver; step++) {
      clock.nowMs += random.pick([1_000, 30_000, 62_000, 50 * 60_000]);
      const who = random.pick(["owner", "thief"] as const);
      const answer = await grants.refresh(held[who].refreshToken);
      const message = `round ${round}, step ${step}, SLUICE_TEST_SEED=${seed}`;
      if (typeof answer !== "string") held[who] = answer;
      else {
        assertEquals(answer, "reused", message);
        assert(last !== undefined && last !== who, message);
        isOver = true;
      }
      last = who;
    }
    if (!isOver) continue;
    for (const { accessToken, refreshToken } of Object.values(held)) {
      assert(!await one.isTaken(accessToken));
      assertEquals(await grants.refresh(refreshToken), "unknown");
    }
  }
});

Deno.test("no made-up refresh token ends or refreshes anything; an account that is disabled refreshes nothing", async () => {
  await using one = await bench();
  const { grants, account, accounts, keys } = one;
  const tokens = await grants.issue(account, "tool");
  const { refreshToken } = tokens;
  const madeUp = [
    "",
    "x",
    tokens.accessToken,
    refreshToken.slice(0, -1),
    `${refreshToken}x`,
    refreshToken.replace(/-1-/, "-2-"),
    refreshToken.replace(/-1-/, "-01-"),
    refreshToken.replace(/.$/, (last) => last === "A" ? "B" : "A"),
    refreshToken.replace(/key_.{16}/, "key_AAAAAAAAAAAAAAAA"),
  ];
  for (const token of madeUp) {
    assertEquals(await grants.refresh(token), "unknown", token);
    if (token !== tokens.accessToken) await grants.revoke(token);
  }
  assert(await one.isTaken(tokens.accessToken));
  // what is no tool's is not revoked here
  const key = await keys.issue(account);
  await grants.revoke(key.secret);
  assert(await one.isTaken(key.secret));
  await accounts.create({ email: "owner@b.example", role: "owner" });
  await accounts.disable(account.email);
  assertEquals(await grants.refresh(refreshToken), "unknown");
  await accounts.enable(account.email);
  for (const which of ["accessToken", "refreshToken"] as const) {
    const other = await grants.issue(account, "tool");
    await grants.revoke(other[which]);
    assert(!await one.isTaken(other.accessToken));
    assertEquals(await grants.refresh(other.refreshToken), "unknown");
  }
});

Deno.test("one tool of an account is signed out, or all with the codes that wait; no key, and no tool of others", async () => {
  const ends = ["by its key", "as one of the account's", "as all of the account's"] as const;
  for (const end of ends) {
    await using one = await bench();
    const { grants, accounts, keys, account, database, clock } = one;
    const other = await accounts.create({ email: "other@b.example" });
    const [mine, second] = [await grants.issue(account, "one"), await grants.issue(account, "two")];
    const theirs = await grants.issue(other, "theirs");
    const plain = await keys.issue(account);
    const codes = new ToolCodes(database, () => clock.nowMs);
    for (const  of of[account, other]) {
      await codes.issue(of, {
        clientId: "sluice",
        client: "sluice auth",
        redirectUri: "http://127.0.0.1:1/callback",
        challenge: "c".repeat(43),
        address: "192.0.2.1",
        provider: null,
      });
    }
    if (end === "by its key") await grants.end(mine.keyId);
    else if (end === "as one of the account's") await grants.endOf(account, mine.keyId);
    else await grants.endOf(account);
    const isAll = end === "as all of the account's";
    const taken = [];
    for (const token of [mine, second, theirs]) taken.push(await one.isTaken(token.accessToken));
    assertEquals(taken, [false, !isAll, true], end);
    assert(await one.isTaken(plain.secret), end);
    const waiting = await database.all("select account_id from tool_codes order by account_id");
    const left = isAll ? [other.id] : [account.id, other.id].toSorted();
    assertEquals(waiting.map((row) => row.account_id), left, end);
    // neither does what names what is not the account's
    await grants.endOf(account, theirs.keyId);
    await grants.endOf(account, plain.id);
    assert(await one.isTaken(theirs.accessToken) && await one.isTaken(plain.secret), end);
  }
});

Deno.test("a tool waits for its code to be approved, and gets tokens once, however many ask", async () => {
  await using one = await bench();
  const { codes, grants, account, clock } = one;
  const code = (await codes.begin("Claude Code", "192.0.2.1"))!;
  assert(/^[BCDFGHJKLMNPQRSTVWXZ]{4}-[BCDFGHJKLMNPQRSTVWXZ]{4}$/.test(code.userCode));
  assertEquals(await codes.askedFor(code.deviceCode), "slow_down", "at once");
  clock.nowMs += 9_999;
  assertEquals(await codes.askedFor(code.deviceCode), "slow_down", "the interval has grown");
  clock.nowMs += 15_000;
  assertEquals(await codes.askedFor(code.deviceCode), "authorization_pending");
  assertEquals(await codes.find("BCDF-GHJK"), undefined);
  for (const typed of [code.userCode, code.userCode.toLowerCase().replace("-", " ")]) {
    assertEquals((await codes.find(typed))?.client, "Claude Code");
  }
  assert(await codes.decide(code.userCode, account, true));
  assert(!await codes.decide(code.userCode, account, false), "once");
  assertEquals(await codes.find(code.userCode), undefined, "it does not wait any more");
  const polled = await Promise.all([1, 2, 3].map(() => codes.askedFor(code.deviceCode)));
  const issued = await Promise.allSettled(polled.map((answer) => {
    assert(typeof answer !== "string");
    assertEquals(answer.grant.provider, null);
    return grants.issue({ id: answer.accountId }, answer.client, answer.grant);
  }));
  const provided = (await codes.begin("tool", "192.0.2.1"))!;
  await codes.decide(provided.userCode, { id: account.id, provider: "corp" }, true);
  const ofCorp = await codes.askedFor(provided.deviceCode);
  assertEquals(typeof ofCorp === "string" ? ofCorp : ofCorp.grant.provider, "corp");
  assertEquals(issued.filter(({ status }) => status === "fulfilled").length, 1);
  assertEquals(await codes.askedFor(code.deviceCode), "expired_token");

  const denied = (await codes.begin("tool", "192.0.2.1"))!;
  assert(await codes.decide(denied.userCode, account, false));
  assertEquals(await codes.askedFor(denied.deviceCode), "access_denied");
  const late = (await codes.begin("tool", "192.0.2.1"))!;
  clock.nowMs += 600_000;
  assertEquals(await codes.askedFor(late.deviceCode), "expired_token");
  assertEquals(await codes.find(late.userCode), undefined);
  assert(!await codes.decide(late.userCode, account, true));
});

Deno.test("how many codes wait is bounded, of an address and of all", async () => {
  await using one = await bench();
  const { codes, database } = one;
  const begin = async (address: string) => await codes.begin("tool", address) !== undefined;
  for (let at = 0; at < 20; at++) assert(await begin("192.0.2.1"));
  assert(!await begin("192.0.2.1"));
  for (let at = 0; at < 49; at++) {
    await Promise.all(Array.from({ length: 20 }, () => begin(`198.51.100.${at}`)));
  }
  assert(!await begin("192.0.2.2"), "a thousand");
  const [count] = await database.all("select count(*) as n from device_codes");
  assertEquals(count!.n, 1_000);
});

Deno.test("a code that comes with anything else than what it was made for, or too late, is spent", async () => {
  await using one = await bench();
  const { database, account, clock } = one;
  const codes = new ToolCodes(database, () => clock.nowMs);
  const verifier = "v".repeat(43);
  const redirectUri = "http://127.0.0.1:1/callback";
  const proof = { clientId: "sluice", redirectUri, verifier };
  const wrong = [
    { ...proof, clientId: "other" },
    { ...proof, redirectUri: `${redirectUri}/` },
    { ...proof, redirectUri: "" },
    { ...proof, verifier: "w".repeat(43) },
    { ...proof, verifier: "" },
  ];
  const cases = [
    ...wrong.map((sent) => ({ sent, lateMs: 0, isGood: false, of: verifier })),
    { sent: proof, lateMs: CODE_MS, isGood: false, of: verifier },
    { sent: proof, lateMs: CODE_MS - 1, isGood: true, of: verifier },
    // shorter than a verifier is
    { sent: { ...proof, verifier: "v".repeat(42) }, lateMs: 0, isGood: false, of: "v".repeat(42) },
  ];
  for (const { sent, lateMs, isGood, of } of cases) {
    const code = await codes.issue(account, {
      clientId: "sluice",
      client: "sluice auth",
      redirectUri,
      challenge: createHash("sha256").update(of).digest("base64url"),
      address: "192.0.2.1",
      provider: isGood ? "corp" : null,
    });
    clock.nowMs += lateMs;
    const what = JSON.stringify({ ...sent, lateMs });
    const redeemed = await codes.redeem(code, sent);
    assertEquals(typeof redeemed !== "string", isGood, what);
    if (isGood) {
      assert(
        typeof redeemed !== "string" && "grant" in redeemed && redeemed.grant.provider === "corp",
      );
    }
    assertEquals(typeof await codes.redeem(code, proof) !== "string", isGood, `${what}, again`);
  }
});

Deno.test("a code that is used while another comes with a wrong proof stays known", async () => {
  await using one = await bench();
  const { database, grants, account, clock } = one;
  const now = () => clock.nowMs;
  const code = await new ToolCodes(database, now).issue(account, {
    clientId: "sluice",
    client: "sluice auth",
    redirectUri: "http://127.0.0.1:1/callback",
    challenge: "c".repeat(43),
    address: "192.0.2.1",
    provider: null,
  });
  const { keyId } = await grants.issue(account, "tool");
  const late = {
    ...guardedDatabase(database, () => {}),
    batch: async (...args: Parameters<typeof database.batch>) => {
      await database.batch([{ sql: "update tool_codes set key_id = ?", args: [keyId] }]);
      return await database.batch(...args);
    },
  };
  const wrong = { clientId: "other", redirectUri: "", verifier: "" };
  assertEquals(await new ToolCodes(late, now).redeem(code, wrong), "unknown");
  assertEquals(await new ToolCodes(database, now).redeem(code, wrong), { usedBy: keyId });
});

Deno.test("a code of a browser gives tokens once, however many ask; how many an account has in a day is bounded", async () => {
  await using one = await bench();
  const { database, grants, account, clock } = one;
  const codes = new ToolCodes(database, () => clock.nowMs);
  const verifier = "v".repeat(43);
  const redirectUri = "http://127.0.0.1:1/callback";
  const request = {
    clientId: "sluice",
    client: "sluice auth",
    redirectUri,
    challenge: createHash("sha256").update(verifier).digest("base64url"),
    address: "192.0.2.1",
    provider: null,
  };
  const code = await codes.issue(account, request);
  const proof = { clientId: "sluice", redirectUri, verifier };
  const redeemed = await Promise.all([1, 2, 3].map(() => codes.redeem(code, proof)));
  const issued = await Promise.allSettled(redeemed.map((answer) => {
    assert(typeof answer !== "string" && "grant" in answer);
    return grants.issue({ id: answer.accountId }, answer.client, answer.grant);
  }));
  const given = issued.flatMap((one) => one.status === "fulfilled" ? [one.value] : []);
  assertEquals(given.length, 1);
  assertEquals(await codes.redeem(code, proof), { usedBy: given[0]!.keyId });
  clock.nowMs += HOUR_MS;
  assertEquals(await codes.redeem(code, proof), { usedBy: given[0]!.keyId }, "an hour later");
  for (let at = 1; at < 100; at++) await codes.issue(account, request);
  await assertRejects(() => codes.issue(account, request), AccountError, "within a day");
  const [count] = await database.all("select count(*) as n from tool_codes");
  assertEquals(count!.n, 100);
  clock.nowMs += DAY_MS + 60_000;
  await codes.issue(account, request);
  const [left] = await database.all("select count(*) as n from tool_codes");
  assertEquals(left!.n, 1);
});
