import type { Finding } from "../../../src/ground/finding.ts";
import {
  checkProvider,
  OidcProvider,
  SignInError,
  WorkloadError,
  Workloads,
} from "../../../src/people/sign_in/mod.ts";
import { providerWays } from "../../../src/operating/provisioning/mod.ts";
import { type OidcSettings, proxiesIn, signInSettings } from "../../../src/settings/config/mod.ts";
import { assert, assertEquals, assertRejects, assertStringIncludes } from "../../assert.ts";

const PUBLIC_URL = "https://llm.example.com";
const KEY = { kty: "RSA", use: "sig", kid: "k", n: "AQAB", e: "AQAB" };

/** A provider of which a test changes what it says. */
interface Said {
  document: unknown;
  keys: unknown;
  status: number;
  date: string;
}

/** What a provider says at first: all that is needed. */
function wellOf(issuer: string): Said & { document: Record<string, unknown> } {
  return {
    document: {
      issuer,
      authorization_endpoint: `${issuer}/auth`,
      token_endpoint: `${issuer}/token`,
      jwks_uri: `${issuer}/keys`,
      userinfo_endpoint: `${issuer}/me`,
      end_session_endpoint: `${issuer}/end`,
      backchannel_logout_supported: true,
      code_challenge_methods_supported: ["S256"],
      id_token_signing_alg_values_supported: ["RS256", "HS256"],
      token_endpoint_auth_methods_supported: ["client_secret_post"],
      scopes_supported: ["openid", "email", "profile"],
      claims_supported: ["sub", "groups"],
    },
    keys: { keys: [KEY] },
    status: 200,
    date: new Date().toUTCString(),
  };
}

function provider() {
  let said: Said;
  const server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen() {} }, (request) => {
    const { pathname } = new URL(request.url);
    const headers = { date: said.date };
    if (pathname === "/keys") return Response.json(said.keys, { headers });
    return pathname === "/.well-known/openid-configuration"
      ? new Response(
        typeof said.document === "string" ? said.document : JSON.stringify(said.document),
        { status: said.status, headers },
      )
      : new Response(null, { status: 404, headers });
  });
  const issuer = `http://127.0.0.1:${server.addr.port}`;
  return {
    issuer,
    says: (one: Said) => said = one,
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
}

const settingsOf = (over: Record<string, unknown>): OidcSettings =>
  signInSettings.parse({
    oidc: [{ name: "company", client: "sluice", secret: "s", groups: { eng: {} }, ...over }],
  }).oidc[0]!;

/** What is wrong with a provider, and what is said of it. */
interface Case {
  readonly name: string;
  readonly check: string;
  readonly state?: Finding["state"];
  readonly says: string;
  readonly advises: string;
  readonly document?: Record<string, unknown>;
  readonly said?: Partial<Said>;
  readonly settings?: Record<string, unknown>;
  readonly publicUrl?: string;
}

const CASES: readonly Case[] = [
  {
    name: "another issuer",
    check: "issuer",
    document: { issuer: "https://sts.example.com/" },
    says: "the document has https://sts.example.com/",
    advises: "set issuer to what the document has",
  },
  {
    name: "an issuer for all tenants",
    check: "issuer",
    document: { issuer: "https://login.example.com/{tenantid}/v2.0" },
    says: "{tenantid}",
    advises: "put your tenant's ID",
  },
  {
    name: "no document",
    check: "document",
    said: { status: 404, document: "not found" },
    says: "replied with status 404",
    advises: "the address before /.well-known/openid-configuration",
  },
  {
    name: "a page",
    check: "document",
    said: { document: "<!doctype html>" },
    says: "replied, but not with a document of a provider",
    advises: "docs/sign_in_providers.md",
  },
  {
    name: "a server for OAuth alone",
    check: "endpoints",
    document: { jwks_uri: undefined },
    says: "lacks jwks_uri",
    advises: "some are for OAuth alone",
  },
  {
    name: "an address that is not encrypted",
    check: "endpoints",
    document: { token_endpoint: "http://id.example.com/token" },
    says:
      "token_endpoint: the document names an address that is not encrypted: http://id.example.com",
    advises: "https address",
  },
  {
    name: "a page that is a script",
    check: "endpoints",
    document: { end_session_endpoint: "javascript:alert(1)" },
    says: "end_session_endpoint: the document names an address that is not encrypted: javascript:",
    advises: "https address",
  },
  {
    name: "PKCE that is not announced",
    check: "PKCE",
    state: "warning",
    document: { code_challenge_methods_supported: undefined },
    says: "not announced",
    advises: "Entra",
  },
  {
    name: "plain PKCE",
    check: "PKCE",
    document: { code_challenge_methods_supported: ["plain"] },
    says: "without S256: plain",
    advises: "allow PKCE with S256",
  },
  {
    name: "tokens that are signed with the client's secret",
    check: "signatures",
    document: { id_token_signing_alg_values_supported: ["HS256", "none"] },
    says: "signed with HS256, none",
    advises: "RS256 or ES256",
  },
  {
    name: "no keys",
    check: "keys",
    said: { keys: { keys: [{ ...KEY, use: "enc" }, { kty: "oct", k: "x" }] } },
    says: "without a key for signatures",
    advises: "it needs one for signatures",
  },
  {
    name: "what is no set of keys",
    check: "keys",
    said: { keys: "x" },
    says: "without a key for signatures",
    advises: "it needs one for signatures",
  },
  {
    name: "keys on a host that is not public",
    check: "keys",
    document: { jwks_uri: "https://169.254.169.254/keys" },
    says: "names an address that is not asked: https://169.254.169.254, as its host is not public",
    advises: "public addresses",
  },
  {
    name: "keys on an unusual port",
    check: "keys",
    document: { jwks_uri: "https://keys.example.com:8443/keys" },
    says: "as its port must be 443",
    advises: "public addresses",
  },
  {
    name: "no way to show the secret",
    check: "client",
    document: { token_endpoint_auth_methods_supported: ["private_key_jwt"] },
    says: "takes private_key_jwt",
    advises: "choose a client secret",
  },
  {
    name: "no secret",
    check: "client",
    state: "warning",
    settings: { secret: undefined },
    says: "no secret is set",
    advises: "set secret",
  },
  {
    name: "a scope that is not announced",
    check: "scopes",
    state: "warning",
    settings: { scopes: ["openid", "groups"] },
    says: "not announced: groups",
    advises: "check its spelling",
  },
  {
    name: "groups that are not announced",
    check: "groups",
    state: "warning",
    settings: { groupsClaim: "realm_access.roles" },
    says: "the claim realm_access.roles is not announced",
    advises: "sign in as a member of a group",
  },
  {
    name: "a clock that is off",
    check: "clock",
    said: { date: new Date(Date.now() - 300_000).toUTCString() },
    says: "ahead of the provider",
    advises: "NTP",
  },
  {
    name: "a console without https",
    check: "redirect",
    publicUrl: "http://llm.example.com",
    says: "http://llm.example.com/console/sign-in/oidc/company/callback",
    advises: "https",
  },
  {
    name: "nobody there",
    check: "address",
    settings: { issuer: "http://127.0.0.1:1" },
    says: "127.0.0.1:1 cannot be reached: the connection was refused",
    advises: "firewall",
  },
];

Deno.test("a provider is looked at step by step: what is wrong is named, alone, with what to do", async () => {
  await using one = provider();
  const options = {
    ...providerWays({ proxies: proxiesIn({}) }, () => Promise.resolve(["192.0.2.1"])),
    now: Date.now,
  };
  one.says(wellOf(one.issuer));
  const steps = await checkProvider(settingsOf({ issuer: one.issuer }), {
    ...options,
    publicUrl: PUBLIC_URL,
  });
  assertEquals(steps.map(({ check, state }) => `${check} ${state}`), [
    "address ok",
    "document ok",
    "issuer ok",
    "endpoints ok",
    "PKCE ok",
    "signatures ok",
    "keys ok",
    "client ok",
    "scopes ok",
    "groups ok",
    "sign-out ok",
    "redirect ok",
  ]);
  assertStringIncludes(
    steps.at(-1)!.detail,
    `${PUBLIC_URL}/console/sign-in/oidc/company/callback`,
  );
  for (const row of CASES) {
    const well = wellOf(one.issuer);
    one.says({ ...well, document: { ...well.document, ...row.document }, ...row.said });
    const found = await checkProvider(settingsOf({ issuer: one.issuer, ...row.settings }), {
      ...options,
      publicUrl: row.publicUrl ?? PUBLIC_URL,
    });
    const [wrong, ...others] = found.filter(({ state }) => state !== "ok");
    assertEquals([wrong?.check, wrong?.state], [row.check, row.state ?? "failed"], row.name);
    assertStringIncludes(wrong!.detail, row.says, row.name);
    assertStringIncludes(wrong!.advice!, row.advises, row.name);
    assertEquals(others, [], row.name);
    assertEquals(found.at(-1)!.check, "redirect", row.name);
  }
});

Deno.test("an issuer that was typed is asked only if it is public", async () => {
  await using one = provider();
  one.says(wellOf(one.issuer));
  const asked: string[] = [];
  const ways = providerWays({ proxies: proxiesIn({}) }, (name) => {
    asked.push(name);
    return Promise.resolve(["10.0.0.1"]);
  });
  for (const issuer of [one.issuer, "https://10.0.0.1", "https://id.example.com"]) {
    const [first] = await checkProvider(settingsOf({ issuer }), {
      ...ways,
      isTyped: true,
      publicUrl: PUBLIC_URL,
      now: Date.now,
    });
    assertEquals([first!.check, first!.state], ["address", "failed"]);
    assertStringIncludes(first!.detail, "names an address that is not asked", issuer);
  }
  assertEquals(asked, ["id.example.com"]);
});

Deno.test("a provider has the gateway ask no address inside a network, however it is written", async () => {
  await using one = provider();
  const names = new Map([["rebound.example.com", "100.64.0.1"], ["mixed.example.com", "::1"]]);
  const ways = providerWays(
    { proxies: proxiesIn({}) },
    (name) => Promise.resolve(["93.184.215.14", names.get(name) ?? "93.184.215.14"]),
  );
  const hosts = [
    ...["10.0.0.1", "100.64.0.1", "169.254.169.254", "0x0a.1", "167772161", "localhost"],
    ...["[::1]", "[::ffff:10.0.0.1]", "[64:ff9b::a00:1]", "[2002:a00:1::]", "[fec0::1]"],
    ...["metadata.google.internal", "vault.corp", ...names.keys()],
  ];
  for (const host of hosts) {
    const well = wellOf(one.issuer);
    one.says({ ...well, document: { ...well.document, jwks_uri: `https://${host}/keys` } });
    const found = await checkProvider(settingsOf({ issuer: one.issuer }), {
      ...ways,
      publicUrl: PUBLIC_URL,
      now: Date.now,
    });
    const keys = found.find(({ check }) => check === "keys")!;
    assertEquals(keys.state, "failed", host);
    assertStringIncludes(keys.detail, "names an address that is not asked", host);
  }
});

Deno.test("a private host besides the issuer's is asked if the provider's own settings allow it, and by nobody else", async () => {
  await using one = provider();
  const ways = providerWays({ proxies: proxiesIn({}) }, () => Promise.resolve(["127.0.0.1"]));
  const keysStep = async (
    document: Record<string, unknown>,
    allowPrivateHosts: readonly string[],
    isTyped = false,
  ) => {
    const well = wellOf(one.issuer);
    one.says({ ...well, document: { ...well.document, ...document } });
    const settings = settingsOf({ issuer: one.issuer, allowPrivateHosts });
    const options = { ...ways, isTyped, publicUrl: PUBLIC_URL, now: Date.now };
    const steps = await checkProvider(settings, options);
    return steps.find(({ state }) => state === "failed")!;
  };
  // nobody listens there: that it was asked is seen by what fails
  const there = { jwks_uri: "https://localhost:1/keys" };
  const NOT_ASKED = "names an address that is not asked";
  for (const allowed of [["localhost"], ["localhost:1"], ["other.internal", "LOCALHOST:1"]]) {
    const { check, detail } = await keysStep(there, allowed);
    assertEquals(check, "keys");
    assertStringIncludes(detail, "localhost:1 cannot be reached", allowed.join());
  }
  for (const allowed of [[], ["localhost:2"], ["other.internal"], ["127.0.0.2"]]) {
    const { detail, advice } = await keysStep(there, allowed);
    assertStringIncludes(detail, NOT_ASKED, allowed.join());
    assertStringIncludes(advice!, "allowPrivateHosts");
  }
  // of another host than that, and without encryption, it allows nothing
  for (const jwks_uri of ["https://keys.internal/keys", "https://169.254.169.254/keys"]) {
    assertStringIncludes((await keysStep({ jwks_uri }, ["localhost"])).detail, NOT_ASKED);
  }
  const open = await keysStep({ jwks_uri: "http://localhost:1/keys" }, ["localhost"]);
  assertStringIncludes(open.detail, "not encrypted");
  // each job's issuer by its own rules
  const asked = async (allowPrivateHosts: readonly string[]) => {
    const issuer = one.issuer;
    const well = wellOf(issuer);
    one.says({ ...well, document: { ...well.document, ...there } });
    const { workloads } = signInSettings.parse({
      workloads: [
        ["own", issuer, allowPrivateHosts] as const,
        ["other", "https://other.example", ["localhost"]] as const,
      ].map(([name, of, hosts]) => ({
        name,
        issuer: of,
        audience: "sluice",
        claims: { sub: "x" },
        account: "a@b.example",
        allowPrivateHosts: hosts,
      })),
    });
    const part = (value: unknown) => btoa(JSON.stringify(value)).replace(/=+$/, "");
    const token = `${part({ alg: "RS256", kid: "x" })}.${part({ iss: issuer })}.x`;
    const jobs = new Workloads(workloads, { ...ways, now: Date.now });
    return (await assertRejects(() => jobs.find(token), WorkloadError)).message;
  };
  assertStringIncludes(await asked([]), NOT_ASKED);
  assertStringIncludes(await asked(["localhost:1"]), "cannot be asked for its keys");
});

Deno.test("a provider leads to no address inside a network by a redirect: neither its document, keys nor tokens", async () => {
  const inside: string[] = [];
  await using secret = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen() {} }, (request) => {
    inside.push(request.url);
    return Response.json({ keys: [KEY], access_token: "a", token_type: "bearer" });
  });
  const target = `http://127.0.0.1:${secret.addr.port}/latest/meta-data`;
  let led = "";
  await using server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen() {} }, (request) => {
    const { pathname, origin } = new URL(request.url);
    if (pathname === led) return Response.redirect(target, 307);
    const well = wellOf(origin);
    return Response.json(pathname === "/keys" ? well.keys : well.document);
  });
  const settings = settingsOf({ issuer: `http://127.0.0.1:${server.addr.port}` });
  for (led of ["/.well-known/openid-configuration", "/keys"]) {
    const options = { publicUrl: PUBLIC_URL, now: Date.now };
    const steps = await checkProvider(settings, options);
    assert(steps.some(({ state }) => state === "failed"), led);
  }
  led = "/token";
  const company = new OidcProvider(settings, { now: Date.now });
  await assertRejects(
    () => company.refresh("rt", { subject: "s", keep: () => Promise.reject(new Error("kept")) }),
    SignInError,
  );
  assertEquals(inside, []);
});
