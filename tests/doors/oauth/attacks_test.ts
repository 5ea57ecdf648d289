/** Who would like a tool's tokens, or to keep others from theirs (identity.md, section 3). */

import { createHash } from "node:crypto";
import { OAuth } from "../../../src/doors/oauth/oauth.ts";
import {
  Accounts,
  DeviceCodes,
  Keys,
  TeamKeys,
  Teams,
  ToolCodes,
  ToolGrants,
} from "../../../src/people/accounts/mod.ts";
import { SILENT } from "../../../src/ground/telemetry/mod.ts";
import { signInSettings } from "../../../src/settings/config/mod.ts";
import { assert, assertEquals, assertStringIncludes } from "../../assert.ts";
import { startGateway } from "../../fake/gateway.ts";
import { ledgerBench } from "../../fake/ledger.ts";
import { signedIn } from "../../fake/visitor.ts";
import { sized } from "../../tier.ts";
import { ask } from "./tool_browser.ts";

const HOUR_MS = 3_600_000;

Deno.test("a tool that refreshes under load loses no request: two of its processes refresh at once, others go on with what they read", async () => {
  const clock = { laterMs: 0 };
  await using gateway = await startGateway({
    settings: { signIn: {} },
    now: () => Date.now() + clock.laterMs,
  });
  const { accounts, database } = gateway.gateway;
  const owner = (await accounts.owner())!;
  const begun = await ask(gateway, "/oauth/device_authorization", { client_id: "tool" });
  const codes = new DeviceCodes(database, () => Date.now() + clock.laterMs);
  assert(await codes.decide(String(begun.body.user_code), owner, true));
  const first = await ask(gateway, "/oauth/token", {
    grant_type: "urn:ietf:params:oauth:grant-type:device_code",
    device_code: String(begun.body.device_code),
  });
  /** What the processes of the tool share, as a file is. */
  let held = first.body;
  let isOver = false;
  const statuses = new Map<number, number>();
  const work = async () => {
    while (!isOver) {
      const key = String(held.access_token);
      await new Promise((resolve) => setTimeout(resolve, 3)); // read a while ago
      const reply = await gateway.chat("Hi", { max_tokens: 5 }, { key });
      await reply.body?.cancel();
      statuses.set(reply.status, (statuses.get(reply.status) ?? 0) + 1);
    }
  };
  const workers = Promise.all(Array.from({ length: 6 }, work));
  for (let round = 0; round < sized(6, 60); round++) {
    const sent = [...statuses.values()].reduce((sum, count) => sum + count, 0);
    while ([...statuses.values()].reduce((sum, count) => sum + count, 0) < sent + 12) {
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    clock.laterMs += 50 * 60_000;
    const fields = { grant_type: "refresh_token", refresh_token: String(held.refresh_token) };
    const both = await Promise.all([1, 2].map(() => ask(gateway, "/oauth/token", fields)));
    assertEquals(both.map(({ status }) => status), [200, 200]);
    assertEquals(both[0]!.body.access_token, both[1]!.body.access_token, "one family");
    held = both[0]!.body;
  }
  isOver = true;
  await workers;
  assertEquals([...statuses.keys()], [200], JSON.stringify([...statuses]));
});

/** The authorization server on a database of its own. */
async function server() {
  const stack = new AsyncDisposableStack();
  const { database } = stack.use(await ledgerBench("file"));
  const clock = { nowMs: Date.UTC(2030, 0, 1) };
  const now = () => clock.nowMs;
  const sealKey = () => Promise.resolve(new Uint8Array(32));
  const accounts = new Accounts(database, now);
  const oauth = new OAuth({
    database,
    accounts,
    teams: new Teams(database, now),
    keys: new Keys(database, now),
    teamKeys: new TeamKeys(database, now),
    catalog: () => {
      throw new TypeError("not asked");
    },
    settings: { signIn: signInSettings.parse({}), proxies: {} } as never,
    sealKey,
    now,
    log: SILENT,
  });
  const base = "https://llm.example.com";
  return {
    clock,
    database,
    accounts,
    codes: new DeviceCodes(database, now),
    toolCodes: new ToolCodes(database, now),
    grants: new ToolGrants({ database, now, key: sealKey }),
    async ask(address: string, path: string, fields: Record<string, string>) {
      const request = new Request(`${base}${path}`, {
        method: "POST",
        body: new URLSearchParams(fields),
      });
      const visitor = { address, secure: true, origin: base };
      const reply = await oauth.fetch(request, { visitor, base });
      const body = await reply.json();
      return {
        status: reply.status,
        error: body.error,
        retry: reply.headers.get("retry-after"),
        body,
      };
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

Deno.test("guesses are limited, of one address and of all; the right tokens and codes of a tool are never refused by others' guesses", async () => {
  await using one = await server();
  const device = "urn:ietf:params:oauth:grant-type:device_code";
  const guesses = [
    { grant_type: "refresh_token", refresh_token: "rt-x" },
    {
      grant_type: "authorization_code",
      code: "x",
      client_id: "sluice",
      redirect_uri: "http://127.0.0.1/callback",
      code_verifier: "x",
    },
    { grant_type: device, device_code: "x" },
  ];
  const account = await one.accounts.create({ email: "a@b.example" });
  let { refreshToken } = await one.grants.issue(account, "tool");
  /** Whatever there is of tools that are right, from an address where, or while, others guess. */
  const honest = async (address: string, what: string) => {
    const refreshed = await one.ask(address, "/oauth/token", {
      grant_type: "refresh_token",
      refresh_token: refreshToken,
    });
    assertEquals(refreshed.status, 200, `${what}: a refresh`);
    refreshToken = refreshed.body.refresh_token;
    const { body } = await one.ask(address, "/oauth/device_authorization", { client_id: "tool" });
    const poll = () =>
      one.ask(address, "/oauth/token", { grant_type: device, device_code: body.device_code });
    assertEquals((await poll()).error, "slow_down", `${what}: a tool that waits`);
    assert(await one.codes.decide(body.user_code, account, true));
    assertEquals((await poll()).status, 200, `${what}: one that was approved`);
    const verifier = "v".repeat(43);
    const code = await one.toolCodes.issue(account, {
      clientId: "sluice",
      client: "sluice auth",
      redirectUri: "http://127.0.0.1/callback",
      challenge: createHash("sha256").update(verifier).digest("base64url"),
      address,
      provider: null,
    });
    const redeemed = await one.ask(address, "/oauth/token", {
      ...guesses[1]!,
      code,
      code_verifier: verifier,
    });
    assertEquals(redeemed.status, 200, `${what}: one of a browser`);
  };
  for (let guess = 0; guess < 30; guess++) {
    const { status } = await one.ask("192.0.2.1", "/oauth/token", guesses[guess % 3]!);
    assert(status === 400 || status === 401);
  }
  for (const guess of guesses) {
    const bounded = await one.ask("192.0.2.1", "/oauth/token", guess);
    assertEquals([bounded.status, bounded.error], [429, "temporarily_unavailable"]);
    assert(bounded.retry !== null);
  }
  assertEquals((await one.ask("192.0.2.2", "/oauth/token", guesses[0]!)).status, 401);
  await honest("192.0.2.1", "at the address of who guesses");
  for (let guess = 30; guess < 3_000; guess++) {
    await one.ask(`198.51.100.${guess % 250}`, "/oauth/token", guesses[0]!);
  }
  for (const guess of guesses) {
    assertEquals((await one.ask("192.0.2.3", "/oauth/token", guess)).status, 429, "of all");
  }
  await honest("192.0.2.3", "while all guess");
  one.clock.nowMs += HOUR_MS;
  const later = await one.ask("192.0.2.1", "/oauth/token", guesses[0]!);
  assertEquals(later.error, "invalid_grant", "later");
});

Deno.test("a code of a device is approved once, by the first who does, and what the mail of a thief links to approves nothing", async () => {
  await using gateway = await startGateway({ settings: { signIn: {} } });
  const { accounts, database } = gateway.gateway;
  const owner = (await accounts.owner())!;
  const eve = await accounts.create({ email: "eve@example.com" });
  const begin = async (fields: Record<string, string>) =>
    (await ask(gateway, "/oauth/device_authorization", fields)).body as Record<string, string>;
  const asked = await begin({ client_id: "Claude Code\u202e\u0000 (official)" });
  const browser = await signedIn(gateway, owner.email);
  const link = `/console/device?code=${asked.user_code}&decision=approve`;
  const text = await (await browser.get(link)).text();
  for (const shown of ["127.0.0.1", owner.email, "only if you have just started it yourself"]) {
    assertStringIncludes(text, shown);
  }
  assert(!text.includes("\u202e"), "no name misleads");
  const states = async () =>
    (await database.all("select state from device_codes")).map(({ state }) => state);
  assertEquals(await states(), ["pending"], "a link approves nothing");
  for (const headers of [{ "sec-fetch-site": "cross-site" }, {}]) {
    const forged = await browser.post("/console/device", {
      code: asked.user_code!,
      decision: "approve",
    }, { headers });
    assertEquals(forged.status, 403);
    await forged.body?.cancel();
  }
  assertEquals(await states(), ["pending"], "nor does a page elsewhere");
  // two people at once
  const other = await signedIn(gateway, eve.email);
  const from = `/console/device?code=${asked.user_code}`;
  for (const one of [browser, other]) await one.token(from);
  const replies = await Promise.all(
    [browser, other].map((one) =>
      one.post("/console/device", { code: asked.user_code!, decision: "approve" }, { from })
    ),
  );
  for (const reply of replies) await reply.body?.cancel();
  assertEquals(replies.map(({ status }) => status).toSorted(), [200, 400]);
  const done = await ask(gateway, "/oauth/token", {
    grant_type: "urn:ietf:params:oauth:grant-type:device_code",
    device_code: asked.device_code!,
  });
  assertEquals(done.body.email, replies[0]!.status === 200 ? owner.email : eve.email);
});

Deno.test("tools that wait cost bounded room, each what it sends at most", async () => {
  await using one = await server();
  const long = "x".repeat(15_000);
  const begin = (address: string) =>
    one.ask(address, "/oauth/device_authorization", { client_id: long });
  for (let at = 0; at < sized(60, 1_000); at++) await begin(`198.51.100.${at % 3}`);
  const [size] = await one.database.all(
    "select count(*) as n, max(length(client)) as client from device_codes",
  );
  assertEquals([size!.n, size!.client], [60, 60]);
  const over = await begin("198.51.100.1");
  assertEquals([over.status, over.error], [429, "temporarily_unavailable"]);
  const large = await one.ask("198.51.100.9", "/oauth/device_authorization", {
    client_id: long + long,
  });
  assertEquals([large.status, large.error], [400, "invalid_request"]);
  one.clock.nowMs += HOUR_MS;
  assertEquals((await begin("198.51.100.1")).status, 200);
  const [left] = await one.database.all("select count(*) as n from device_codes");
  assertEquals(left!.n, 1, "those that have ended are gone");
});
