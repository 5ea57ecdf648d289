/** Jobs of CI get keys for the tokens of their issuer, by rules on the claims. */

import fc from "fast-check";
import { exportJWK, generateKeyPair, type JWTPayload, SignJWT } from "jose";
import { WorkloadError, Workloads } from "../../../src/people/sign_in/mod.ts";
import { signInSettings } from "../../../src/settings/config/mod.ts";
import { assert, assertEquals, assertStringIncludes } from "../../assert.ts";
import { startGateway } from "../../fake/gateway.ts";
import { sized } from "../../tier.ts";
import { ask, type Reply } from "./tool_browser.ts";

const EXCHANGE = "urn:ietf:params:oauth:grant-type:token-exchange";
const AUDIENCE = "https://llm.example.com";
const SUBJECT = "repo:acme/app:ref:refs/heads/main";
const nowS = () => Math.floor(Date.now() / 1_000);

/** An issuer on loopback that describes itself, and signs what it is given. */
async function startIssuer() {
  const [own, other] = await Promise.all([generateKeyPair("ES256"), generateKeyPair("ES256")]);
  const jwk = { ...await exportJWK(own.publicKey), kid: "one", alg: "ES256", use: "sig" };
  const asked: string[] = [];
  const lie: { issuer?: string } = {};
  const server = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen() {} },
    (request): Response => {
      const { pathname, origin: issuer } = new URL(request.url);
      asked.push(pathname);
      return Response.json(
        pathname === "/keys" ? { keys: [jwk] } : {
          issuer: lie.issuer ?? issuer,
          jwks_uri: `${issuer}/keys`,
        },
      );
    },
  );
  const issuer = `http://127.0.0.1:${server.addr.port}`;
  const sign = (claims: JWTPayload = {}, { key = own.privateKey, kid = "one" } = {}) =>
    new SignJWT({
      iss: issuer,
      aud: AUDIENCE,
      sub: SUBJECT,
      iat: nowS(),
      exp: nowS() + 300,
      repository: "acme/app",
      ...claims,
    }).setProtectedHeader({ alg: "ES256", kid }).sign(key);
  return {
    issuer,
    asked,
    lie,
    sign,
    forged: other.privateKey,
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
}

Deno.test("a job's token becomes a key of the rule's account or team, for its minutes and models; the same token gives the same key", async () => {
  await using issuer = await startIssuer();
  let laterMs = 0;
  const rule = <More extends object>(name: string, more: More) => ({
    name,
    issuer: issuer.issuer,
    audience: AUDIENCE,
    ...more,
  });
  await using gateway = await startGateway({
    now: () => Date.now() + laterMs,
    settings: {
      signIn: {
        workloads: [
          rule("main", {
            claims: { sub: "repo:acme/app:ref:refs/heads/main" },
            account: "Ci@example.com",
            minutes: 2,
            models: ["svc-k2"],
          }),
          rule("team", { claims: { sub: "repo:acme/*", environment: ["test"] }, team: "Platform" }),
          rule("nobody", { claims: { sub: "nobody" }, account: "gone@example.com" }),
        ],
      },
    },
  });
  const { accounts, teams, keys, database } = gateway.gateway;
  const account = await accounts.create({ email: "ci@example.com", kind: "service" });
  const team = await teams.create({ name: "Platform", pool: true });
  const exchange = (token: string, more: Record<string, string> = {}): Promise<Reply> =>
    ask(gateway, "/oauth/token", {
      grant_type: EXCHANGE,
      subject_token_type: "urn:ietf:params:oauth:token-type:jwt",
      subject_token: token,
      ...more,
    });

  const token = await issuer.sign();
  const replies = await Promise.all([1, 2, 3].map(() => exchange(token)));
  const { status, body } = replies[0]!;
  assertEquals(status, 200, JSON.stringify(body));
  assertEquals(body.issued_token_type, "urn:ietf:params:oauth:token-type:access_token");
  assert(Number(body.expires_in) > 110 && Number(body.expires_in) <= 120);
  assertEquals(new Set(replies.map((one) => one.body.access_token)).size, 1, "one key");
  const [key, ...others] = await keys.list(account);
  assertEquals(others, []);
  assertEquals([key!.name, key!.scopes], [`main: ${SUBJECT}`, ["inference"]]);
  assertEquals(key!.models, ["svc-k2"]);
  const rows = await database.all("select * from operation_log where operation = 'key.create'");
  assertEquals(rows.at(-1)!.actor, "workload main");
  assert(!gateway.log().includes(token) && !gateway.log().includes(String(body.access_token)));

  // one that was sent again gains no time
  laterMs = 60_000;
  const again = await exchange(token);
  assert(Number(again.body.expires_in) <= 60);
  laterMs = 121_000;
  const late = await exchange(token);
  assertEquals([late.status, late.body.error], [400, "invalid_grant"]);
  laterMs = 0;
  const revoked = await issuer.sign({ jti: "two" });
  const next = await exchange(revoked);
  await keys.revoke((await keys.bySecret(String(next.body.access_token)))!.id);
  assertEquals((await exchange(revoked)).body.error, "invalid_grant");
  assertEquals((await exchange(await issuer.sign({ jti: "three" }))).status, 200);

  const ofTeam = await exchange(await issuer.sign({ sub: "repo:acme/x", environment: "test" }));
  assertEquals(ofTeam.status, 200, JSON.stringify(ofTeam.body));
  const teamKey = (await keys.bySecret(String(ofTeam.body.access_token)))!;
  assertEquals([teamKey.teamId, teamKey.accountId, teamKey.memberId], [team.id, team.poolId, null]);

  const nobody = await exchange(await issuer.sign({ sub: "nobody" }));
  assertEquals([nobody.status, nobody.body.error], [400, "access_denied"]);
  await accounts.disable("ci@example.com");
  assertEquals((await exchange(await issuer.sign({ jti: "four" }))).body.error, "access_denied");

  // the pool of a team pays for keys of the team alone
  const pool = (await accounts.byId(team.poolId!))!.email;
  const ofPool = rule("pool", { claims: { sub: "pool" }, account: pool });
  assertEquals((await gateway.reload({ signIn: { workloads: [ofPool] } })).fault, null);
  const fromPool = await exchange(await issuer.sign({ sub: "pool" }));
  assertEquals([fromPool.status, fromPool.body.error], [400, "access_denied"]);

  for (const fields of [{ subject_token: "" }, { subject_token_type: "urn:x" }]) {
    assertEquals((await exchange(token, fields)).body.error, "invalid_request");
  }
  const metadata = await (await fetch(`${gateway.url}/.well-known/oauth-authorization-server`))
    .json();
  assert(metadata.grant_types_supported.includes(EXCHANGE));
  // wrong ones are bounded
  let refused: Reply | undefined;
  for (let guess = 0; guess < 32; guess++) refused = await exchange(`x${guess}`);
  assertEquals([refused!.status, refused!.body.error], [429, "temporarily_unavailable"]);
  // and keep out no right one of the same address, however many they are
  for (let guess = 32; guess < 320; guess++) await exchange(`x${guess}`);
  assertEquals((await exchange(await issuer.sign({ sub: "pool" }))).body.error, "access_denied");
});

function rulesOf(issuer: string, claims: Record<string, string | string[]>) {
  return signInSettings.parse({
    workloads: [{ name: "ci", issuer, audience: AUDIENCE, claims, account: "a@b.example" }],
  }).workloads;
}

Deno.test("a token that is not what it says gives nothing, and an issuer that is not named is not asked", async () => {
  await using issuer = await startIssuer();
  const { sign, forged } = issuer;
  const rules = rulesOf(issuer.issuer, { sub: "repo:acme/app:*", repository: "acme/app" });
  const workloads = new Workloads(rules, { now: Date.now });
  const why = async (token: string, by = workloads): Promise<string> => {
    try {
      return (await by.find(token)).subject;
    } catch (error) {
      assert(error instanceof WorkloadError, String(error));
      return error.message;
    }
  };
  assertEquals(await why(await sign()), SUBJECT);
  assertEquals(await why(await sign({ aud: [AUDIENCE] })), SUBJECT);
  const [header = "", payload = "", signature = ""] = (await sign()).split(".");
  const none = btoa(JSON.stringify({ alg: "none" })).replaceAll("=", "");
  const shared = btoa(JSON.stringify({ alg: "HS256", kid: "one" })).replaceAll("=", "");
  const lies: readonly (readonly [string, string])[] = [
    ["not a token", "is not a JWT"],
    [`${none}.${payload}.`, "does not fit"],
    [`${shared}.${payload}.${signature}`, "does not fit"],
    [`${header}.${payload}.${signature.slice(0, -2)}AA`, "does not fit"],
    [await sign({}, { key: forged }), "does not fit: signature verification failed"],
    [await sign({}, { kid: "two" }), "does not fit"],
    [await sign({ aud: "https://other.example" }), 'unexpected "aud"'],
    [await sign({ aud: [AUDIENCE, "https://other.example"] }), "is for others as well"],
    [await sign({ exp: nowS() - 61 }), '"exp" claim timestamp check failed'],
    [await sign({ nbf: nowS() + 120 }), '"nbf" claim timestamp check failed'],
    [await sign({ iat: nowS() + 120 }), "of the future"],
    [await sign({ exp: nowS() + 3 * 86_400 }), "valid for more than a day"],
    [
      await sign({ sub: "repo:acme/app2:ref:x" }),
      "No rule fits the claims of repo:acme/app2:ref:x",
    ],
    [await sign({ repository: "evil/app" }), "No rule fits"],
    [await sign({ repository: { toString: "acme/app" } as never }), "No rule fits"],
    [await sign({ iss: "https://evil.example" }), "No rule names the token's issuer"],
    [await sign({ iss: `${issuer.issuer}/` }), "No rule names the token's issuer"],
  ];
  for (const [token, says] of lies) assertStringIncludes(await why(token), says);
  assertStringIncludes(await why(await sign({ iat: undefined as never })), "iat");
  assertEquals(await why(await sign({ exp: nowS() - 30 })), SUBJECT, "clocks may differ");
  assert(issuer.asked.length <= 4, `asked: ${issuer.asked.join(", ")}`);

  // a rule's claims count for its own audience
  const [rule] = rules;
  const two = [rule!, { ...rule!, audience: "https://two.example", claims: { sub: ["x"] } }];
  const both = new Workloads(two, { now: Date.now });
  assertStringIncludes(await why(await sign({ aud: "https://two.example" }), both), "No rule fits");
  assertEquals(await why(await sign(), both), SUBJECT);

  issuer.lie.issuer = "https://evil.example";
  const fresh = new Workloads(rules, { now: Date.now });
  assertStringIncludes(await why(await sign(), fresh), "does not describe itself");
  const away = new Workloads(rulesOf("http://127.0.0.1:1", { sub: "a" }), { now: Date.now });
  try {
    await away.find(await sign({ iss: "http://127.0.0.1:1" }));
    throw new Error("found");
  } catch (error) {
    assert(error instanceof WorkloadError && error.isDown, "our outage is not the token's fault");
  }
});

Deno.test("a pattern of claims means what it says: * is any text, the rest is itself", async () => {
  await using issuer = await startIssuer();
  const letter = fc.constantFrom("a", "b", "/", ":", "*", ".");
  const text = fc.array(letter, { minLength: 1, maxLength: 6 }).map((all) => all.join(""));
  await fc.assert(
    fc.asyncProperty(text, text, async (pattern, sub) => {
      const given = {
        name: "ci",
        issuer: issuer.issuer,
        audience: AUDIENCE,
        account: "a@b.example",
      };
      const parsed = signInSettings.safeParse({
        workloads: [{ ...given, claims: { sub: pattern } }],
      });
      assertEquals(parsed.success, !pattern.startsWith("*"));
      if (!parsed.success) return;
      const workloads = new Workloads(parsed.data.workloads, { now: Date.now });
      const found = await workloads.find(await issuer.sign({ sub })).then(() => true, () => false);
      const escaped = pattern.split("*").map((part) => part.replace(/[.]/g, "\\.")).join(".*");
      assertEquals(found, new RegExp(`^${escaped}$`).test(sub), `${pattern} ${sub}`);
    }),
    { numRuns: sized(60, 2_000), examples: [["a*a", "a"], ["a*b*b", "ab"], ["a.b", "a/b"]] },
  );
  for (
    const wrong of [
      { claims: {} },
      { account: undefined },
      { team: "Platform" },
      { minutes: 721 },
      { issuer: "http://example.com" },
      { audience: "" },
    ]
  ) {
    const given = {
      name: "ci",
      issuer: issuer.issuer,
      audience: AUDIENCE,
      claims: { sub: "a" },
      account: "a@b.example",
      ...wrong,
    };
    assert(!signInSettings.safeParse({ workloads: [given] }).success, JSON.stringify(wrong));
  }
});
