/** A provider is asked whether somebody may still sign in: only its word on that person counts, and its new refresh token is never lost. */

import { generateKeyPairSync, sign } from "node:crypto";
import { assert, assertEquals } from "../../assert.ts";
import { Accounts } from "../../../src/people/accounts/mod.ts";
import { OidcProvider, SignInError, Vouchers } from "../../../src/people/sign_in/mod.ts";
import { signInSettings } from "../../../src/settings/config/mod.ts";
import { ledgerBench } from "../../fake/ledger.ts";

/** A provider that says what it is told to. */
function provider() {
  const { privateKey, publicKey } = generateKeyPairSync("rsa", { modulusLength: 2_048 });
  const keys = [{ ...publicKey.export({ format: "jwk" }), kid: "one", use: "sig", alg: "RS256" }];
  const told = { status: 200, body: "", refreshTokens: [] as (string | null)[], hasKeys: true };
  const server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen() {} }, async (request) => {
    const { pathname, origin } = new URL(request.url);
    if (pathname === "/keys") return Response.json(told.hasKeys ? { keys } : {});
    if (pathname !== "/token") {
      return Response.json({
        issuer: origin,
        token_endpoint: `${origin}/token`,
        jwks_uri: `${origin}/keys`,
      });
    }
    told.refreshTokens.push(new URLSearchParams(await request.text()).get("refresh_token"));
    const headers = { "content-type": "application/json" };
    return new Response(told.body, { status: told.status, headers });
  });
  const issuer = `http://127.0.0.1:${server.addr.port}`;
  const { oidc: [settings] } = signInSettings.parse({
    oidc: [{ name: "company", issuer, client: "sluice" }],
  });
  const encoded = (part: unknown) => btoa(JSON.stringify(part)).replace(/=+$/, "");
  return {
    told,
    issuer,
    oidc: new OidcProvider(settings!, { now: Date.now }),
    /** An identity token of the person s-1. */
    idToken(claims: Record<string, unknown> = {}, header: Record<string, unknown> = {}) {
      const nowS = Math.floor(Date.now() / 1_000);
      const own = { iss: issuer, aud: "sluice", sub: "s-1", iat: nowS, exp: nowS + 300 };
      const text = `${encoded({ alg: "RS256", kid: "one", ...header })}.${
        encoded({ ...own, ...claims })
      }`.replaceAll("+", "-").replaceAll("/", "_");
      return `${text}.${
        sign("sha256", new TextEncoder().encode(text), privateKey).toString("base64url")
      }`;
    },
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
}

Deno.test("a provider says no to a person by invalid_grant alone; each other fault is its own or this gateway's", async () => {
  await using one = provider();
  let kept: string[] = [];
  const refresh = async (status: number, body: unknown) => {
    one.told.status = status;
    one.told.body = typeof body === "string" ? body : JSON.stringify(body);
    kept = [];
    try {
      return await one.oidc.refresh("old", {
        subject: "s-1",
        keep: (token) => Promise.resolve(void kept.push(token)),
      });
    } catch (error) {
      assert(error instanceof SignInError, String(error));
      return error;
    }
  };
  const tokens = { access_token: "a", token_type: "bearer" };
  assertEquals([await refresh(200, { ...tokens, refresh_token: "new" }), kept], [true, ["new"]]);
  assertEquals([await refresh(200, tokens), kept], [true, []], "it stays valid");
  const no = { error: "invalid_grant", refresh_token: "x" };
  assertEquals([await refresh(400, no), kept], [false, []]);
  for (
    const error of [
      "invalid_client",
      "unauthorized_client",
      "temporarily_unavailable",
      "server_error",
    ]
  ) assert(await refresh(400, { error }) instanceof SignInError, error);
  for (const [status, body] of [[503, "<html>"], [500, {}], [200, "{}"], [404, ""]] as const) {
    assert(await refresh(status, body) instanceof SignInError, `${status}`);
  }
});

Deno.test("a refresh token that takes the place of another is kept, whatever is wrong with what comes with it", async () => {
  await using one = provider();
  await using ledger = await ledgerBench("file");
  const { database } = ledger;
  const clock = { laterMs: 0 };
  const now = () => Date.now() + clock.laterMs;
  const account = await new Accounts(database, now).create({ email: "ada@example.com" });
  const who = { issuer: one.issuer, subject: "s-1" };
  await database.batch([{
    sql: `insert into identities (issuer, subject, account_id, provider, linked_by, linked_at_ms)
      values (?, ?, ?, 'company', 'domain', 0)`,
    args: [who.issuer, who.subject, account.id],
  }]);
  const vouchers = new Vouchers({
    database,
    now,
    sealKey: () => Promise.resolve(new Uint8Array(32)),
    providerOf: () => one.oidc,
  });
  await vouchers.note({ ...who, refreshToken: "rt-0" });
  const vouchedAtMs = async () =>
    Number((await database.one("select vouched_at_ms as ms from identities"))!.ms);
  const { told } = one;
  const faults: Record<string, () => Record<string, unknown> | string> = {
    "signed by nobody": () => ({ id_token: `${one.idToken().split(".").slice(0, 2).join(".")}.x` }),
    "without a signature": () => ({ id_token: one.idToken({}, { alg: "none" }) }),
    "of another issuer": () => ({ id_token: one.idToken({ iss: "https://other.example" }) }),
    "for another client": () => ({ id_token: one.idToken({ aud: "another" }) }),
    "that has ended": () => ({ id_token: one.idToken({ exp: 1 }) }),
    "of somebody else": () => ({ id_token: one.idToken({ sub: "s-2" }) }),
    "that is no token": () => ({ id_token: 1 }),
    "without an access token": () => ({ access_token: undefined }),
    "whose keys are away": () => {
      told.hasKeys = false;
      return { id_token: one.idToken({}, { kid: "unknown" }) };
    },
  };
  let round = 0;
  for (const [what, fault] of Object.entries(faults)) {
    round++;
    clock.laterMs += 3_600_000;
    const before = await vouchedAtMs();
    told.body = JSON.stringify({
      access_token: "a",
      token_type: "bearer",
      refresh_token: `rt-${round}`,
      ...fault() as object,
    });
    assert(await vouchers.vouches(account.id, "company"), `${what}: neither yes nor no`);
    assertEquals(told.refreshTokens.at(-1), `rt-${round - 1}`, `${what}: the last one was kept`);
    assertEquals(await vouchedAtMs(), before, `${what}: it vouches for nobody`);
  }
  told.hasKeys = true;
  clock.laterMs += 3_600_000;
  told.body = JSON.stringify({
    access_token: "a",
    token_type: "bearer",
    id_token: one.idToken(),
  });
  const before = await vouchedAtMs();
  assert(await vouchers.vouches(account.id, "company"));
  assertEquals(told.refreshTokens.at(-1), `rt-${round}`);
  assert(await vouchedAtMs() > before, "what fits vouches");
  // of an old token that is refused, nothing follows for somebody who has signed in meanwhile
  clock.laterMs += 3_600_000;
  told.status = 400;
  told.body = JSON.stringify({ error: "invalid_grant" });
  const asked = one.oidc.refresh.bind(one.oidc);
  one.oidc.refresh = async (...of) => {
    const is = await asked(...of);
    await vouchers.note({ ...who, refreshToken: "rt-of-a-later-sign-in" });
    return is;
  };
  assert(await vouchers.vouches(account.id, "company"), "signed in meanwhile");
});
