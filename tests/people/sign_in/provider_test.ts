import { Buffer } from "node:buffer";
import { createHmac, generateKeyPairSync, sign } from "node:crypto";
import { assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { OAuth2Server } from "oauth2-mock-server";
import { OidcProvider, SignInError } from "../../../src/people/sign_in/mod.ts";
import type { OidcSettings } from "../../../src/settings/config/mod.ts";
import { signInSettings } from "../../../src/settings/config/mod.ts";
import { startProvider } from "../../fake/oidc_provider.ts";

const REDIRECT = "http://127.0.0.1:8787/console/sign-in/oidc/company/callback";

function settingsOf(over: Partial<Record<keyof OidcSettings, unknown>>): OidcSettings {
  return signInSettings.parse({ oidc: [{ name: "company", client: "sluice", ...over }] }).oidc[0]!;
}

Deno.test("a real provider: who signed in is known by issuer and subject, with verified address and groups", async () => {
  for (const inUserinfo of [false, true]) {
    await using provider = await startProvider({ redirectUris: () => [REDIRECT], inUserinfo });
    provider.people.set("s-1", {
      email: "Ada@Example.com",
      email_verified: true,
      name: "Ada",
      groups: ["eng", "all"],
    });
    const settings = settingsOf({
      issuer: provider.issuer,
      secret: provider.client.secret,
      groups: { eng: { role: "operator" } },
    });
    const company = new OidcProvider(settings, { now: Date.now });
    const { url, challenge } = await company.begin(REDIRECT);
    assertEquals(url.searchParams.get("code_challenge_method"), "S256");
    const back = await provider.signIn(url, "s-1");
    const identity = await company.finish(back.searchParams, challenge, REDIRECT);
    assertEquals({ ...identity, session: undefined }, {
      issuer: provider.issuer,
      subject: "s-1",
      email: "ada@example.com",
      isVerified: true,
      name: "Ada",
      groups: ["eng", "all"],
      session: undefined,
    });
    // a code is used once
    await assertRejects(
      () => company.finish(back.searchParams, challenge, REDIRECT),
      SignInError,
      "The provider company refused this gateway: invalid_grant",
    );
  }
});

/** What a provider that lies changes, and what is said of it. */
interface Lie {
  readonly name: string;
  readonly says: string;
  readonly claims?: (claims: Record<string, unknown>) => void;
  readonly tokens?: (body: Record<string, unknown>) => Promise<void> | void;
  readonly document?: (body: Record<string, unknown>) => void;
  readonly redirect?: (url: URL) => void;
  readonly userinfo?: (body: Record<string, unknown>) => void;
}

const nowS = () => Math.floor(Date.now() / 1_000);

/** The identity token with another header and signature. */
function resigned(
  body: Record<string, unknown>,
  header: Record<string, unknown>,
  sign: (text: string) => string,
): void {
  const encoded = Buffer.from(JSON.stringify(header)).toString("base64url");
  const text = `${encoded}.${String(body.id_token).split(".")[1]}`;
  body.id_token = `${text}.${sign(text)}`;
}

const LIES: readonly Lie[] = [
  {
    name: "for another client",
    says: 'sent what does not fit: unexpected JWT "aud" (audience) claim value',
    claims: (claims) => claims.aud = "another",
  },
  {
    name: "for several clients without saying which",
    says: "sent what does not fit",
    claims: (claims) => claims.aud = ["sluice", "another"],
  },
  {
    name: "for several clients, this one not the party",
    says: "sent what does not fit",
    claims: (claims) => Object.assign(claims, { aud: ["sluice", "another"], azp: "another" }),
  },
  {
    name: "by another issuer",
    says: 'sent what does not fit: unexpected JWT "iss" (issuer) claim value',
    claims: (claims) => claims.iss = "https://elsewhere.example",
  },
  {
    name: "ended",
    says: "sent what does not fit",
    claims: (claims) => claims.exp = nowS() - 120,
  },
  {
    name: "of the future",
    says: "sent an identity token of the future",
    claims: (claims) => claims.iat = nowS() + 120,
  },
  {
    name: "old",
    says: "sent an old identity token",
    claims: (claims) => claims.iat = nowS() - 3_600,
  },
  {
    name: "another browser's",
    says: 'sent what does not fit: unexpected ID Token "nonce" claim value',
    claims: (claims) => claims.nonce = "another",
  },
  {
    name: "without the browser's number",
    says: "sent what does not fit",
    claims: (claims) => delete claims.nonce,
  },
  {
    name: "without a subject",
    says: "sent what does not fit",
    claims: (claims) => delete claims.sub,
  },
  {
    name: "of nobody",
    says: "sent an identity token of nobody",
    claims: (claims) => claims.sub = "",
  },
  {
    name: "of a subject that is too long",
    says: "sent an identity token of nobody",
    claims: (claims) => claims.sub = "s".repeat(256),
  },
  {
    name: "of a subject that is stored as another one",
    says: "sent an identity token of nobody",
    claims: (claims) => claims.sub = "s-\ud800",
  },
  {
    name: "of a number",
    says: "sent what does not fit",
    claims: (claims) => claims.sub = 1,
  },
  {
    name: "of another access token",
    says: "sent an access token that is not the identity token's (at_hash)",
    claims: (claims) => claims.at_hash = "AAAAAAAAAAAAAAAAAAAAAA",
  },
  {
    name: "no identity token",
    says: "sent what does not fit",
    tokens: (body) => {
      delete body.id_token;
    },
  },
  {
    name: "unsigned",
    says: "sent what does not fit",
    tokens: (body) => resigned(body, { alg: "none" }, () => ""),
  },
  {
    name: "signed with the client's secret",
    says: "sent what does not fit",
    tokens: (body) =>
      resigned(
        body,
        { alg: "HS256" },
        (text) => createHmac("sha256", SECRET).update(text).digest("base64url"),
      ),
  },
  {
    name: "signed by somebody else, who says so",
    says: "sent what does not fit",
    tokens: (body) =>
      resigned(
        body,
        { alg: "RS256", kid: "theirs" },
        (text) => sign("sha256", Buffer.from(text), theirs).toString("base64url"),
      ),
  },
  {
    name: "signed by somebody else under the provider's name",
    says: "sent what does not fit",
    tokens: (body) => {
      const header = JSON.parse(
        Buffer.from(String(body.id_token).split(".")[0]!, "base64url").toString(),
      );
      resigned(
        body,
        header,
        (text) => sign("sha256", Buffer.from(text), theirs).toString("base64url"),
      );
    },
  },
  {
    name: "a document of another issuer",
    says: "sent what does not fit",
    document: (body) => body.issuer = "https://elsewhere.example",
  },
  {
    name: "an issuer that is the settings' but for the slash at its end",
    says: "calls itself http://127.0.0.1:",
    document: (body) => body.issuer = `${body.issuer}/`,
    claims: (claims) => claims.iss = `${claims.iss}/`,
  },
  {
    name: "tokens without encryption elsewhere",
    says: "names an address that is not encrypted: http://192.0.2.1",
    document: (body) => body.token_endpoint = "http://192.0.2.1/token",
  },
  {
    name: "keys without encryption elsewhere",
    says: "names an address that is not encrypted: http://192.0.2.1",
    document: (body) => body.jwks_uri = "http://192.0.2.1/keys",
  },
  {
    name: "keys on another host that nobody checks",
    says: "names another host: https://keys.example.com",
    document: (body) => body.jwks_uri = "https://keys.example.com/keys",
  },
  {
    name: "a page that is a script",
    says: "names an address that is not encrypted: javascript:",
    document: (body) => body.authorization_endpoint = "javascript:alert(1)",
  },
  {
    name: "a page that is none",
    says: "names an address that is none",
    document: (body) => body.authorization_endpoint = "/auth",
  },
  {
    name: "no key that this signature may have",
    says: "sent what does not fit",
    document: (body) => body.id_token_signing_alg_values_supported = ["HS256", "none"],
  },
  {
    name: "another provider's answer (mix-up)",
    says: "sent what does not fit",
    redirect: (url) => url.searchParams.set("iss", "https://elsewhere.example"),
  },
  {
    name: "an announced issuer that does not come",
    says: "sent what does not fit",
    document: (body) => body.authorization_response_iss_parameter_supported = true,
  },
  {
    name: "another browser's state",
    says: "sent what does not fit",
    redirect: (url) => url.searchParams.set("state", "another"),
  },
  {
    name: "two states",
    says: "sent what does not fit",
    redirect: (url) => url.searchParams.append("state", "another"),
  },
  {
    name: "somebody else's address and groups",
    says: "sent what does not fit",
    userinfo: (body) => body.sub = "s-2",
  },
  {
    name: "a refusal",
    says: "refused: access_denied",
    redirect: (url) => {
      url.searchParams.delete("code");
      url.searchParams.set("error", "access_denied");
    },
  },
];

const SECRET = "a-secret-of-the-client-0123456789";
const { privateKey: theirs } = generateKeyPairSync("rsa", { modulusLength: 2_048 });

Deno.test("a provider that lies signs nobody in, and its lie is named", async () => {
  const server = new OAuth2Server();
  await server.issuer.keys.generate("RS256");
  await server.start(0, "127.0.0.1");
  await using _ = { [Symbol.asyncDispose]: () => server.stop() };
  server.issuer.url = `http://127.0.0.1:${server.address().port}`;
  let lie: Lie | undefined;
  server.service.on("beforeTokenSigning", ({ payload }) => {
    Object.assign(payload, { sub: "s-1", iat: nowS() });
    lie?.claims?.(payload);
  });
  server.service.on("beforeResponse", ({ body }) => lie?.tokens?.(body));
  server.service.on("beforeUserinfo", ({ body }) => {
    body.sub = "s-1";
    lie?.userinfo?.(body);
  });
  server.service.on("beforeWellKnownOpenIdConfiguration", ({ body }) => lie?.document?.(body));
  const tried = async () => {
    const settings = settingsOf({ issuer: server.issuer.url, secret: SECRET });
    const company = new OidcProvider(settings, { now: Date.now });
    const { url, challenge } = await company.begin(REDIRECT);
    const response = await fetch(url, { redirect: "manual" });
    await response.body?.cancel();
    const back = new URL(response.headers.get("location")!);
    lie?.redirect?.(back);
    return await company.finish(back.searchParams, challenge, REDIRECT);
  };
  assertEquals((await tried()).subject, "s-1");
  for (lie of LIES) {
    const error = await assertRejects(tried, SignInError, undefined, lie.name);
    assertStringIncludes(error.message, `The provider company ${lie.says}`, lie.name);
    assertEquals(error.isDown, false, lie.name);
  }
});

Deno.test("tokens are checked by the gateway's clock; a provider that is down is said to be", async () => {
  const server = new OAuth2Server();
  await server.issuer.keys.generate("RS256", { kid: "first" });
  await server.start(0, "127.0.0.1");
  server.issuer.url = `http://127.0.0.1:${server.address().port}`;
  server.service.on("beforeTokenSigning", ({ payload }) => {
    // by the gateway's clock
    Object.assign(payload, {
      sub: "s-1",
      iat: Math.floor(nowMs / 1_000),
      exp: Math.floor(nowMs / 1_000) + 300,
      nbf: Math.floor(nowMs / 1_000),
    });
  });
  server.service.on("beforeUserinfo", ({ body }) => body.sub = "s-1");
  let nowMs = Date.now();
  const settings = settingsOf({ issuer: server.issuer.url, secret: SECRET });
  const company = new OidcProvider(settings, { now: () => nowMs });
  const tried = async () => {
    const { url, challenge } = await company.begin(REDIRECT);
    const response = await fetch(url, { redirect: "manual" });
    await response.body?.cancel();
    const back = new URL(response.headers.get("location")!);
    return await company.finish(back.searchParams, challenge, REDIRECT);
  };
  assertEquals((await tried()).subject, "s-1");
  // an hour off, as a machine without a time server is
  nowMs += 3_500_000;
  assertEquals((await tried()).subject, "s-1");
  await server.stop();
  const down = await assertRejects(tried, Error);
  assertEquals(down instanceof TypeError, true, "the browser finds nobody");
  nowMs += 3_600_000;
  const error = await assertRejects(() => company.begin(REDIRECT), SignInError);
  assertEquals([error.message, error.isDown], ["The provider company cannot be reached", true]);
});
