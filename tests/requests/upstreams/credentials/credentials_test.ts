/** Tokens: got once for many requests, before they end, again once after a refusal; and what is said when they cannot be got. */

import { generateKeyPairSync } from "node:crypto";
import { jwtVerify } from "jose";
import type { SettingsInput } from "../../../../src/settings/config/mod.ts";
import { azureToken } from "../../../../src/requests/upstreams/credentials/azure.ts";
import { CachedToken } from "../../../../src/requests/upstreams/credentials/cached_token.ts";
import { CredentialsFault } from "../../../../src/requests/upstreams/credentials/credentials.ts";
import { googleToken } from "../../../../src/requests/upstreams/credentials/google.ts";
import { assert, assertEquals, assertRejects, assertStringIncludes } from "../../../assert.ts";
import { startGateway } from "../../../fake/gateway.ts";
import { sluice } from "../../../fake/shell.ts";
import { sleep, tempDir, until } from "../../../fake/temp.ts";
import { completion, fakeUpstream } from "../../../fake/upstream.ts";
import { sized } from "../../../tier.ts";

type Upstream = NonNullable<SettingsInput["upstreams"]>[string];

/** A token endpoint: notes forms, headers and paths. */
function tokenServer(
  reply: (form: Record<string, string>, request: Request) => Response | Promise<Response>,
) {
  const asked: { form: Record<string, string>; path: string }[] = [];
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, async (request) => {
    const form = Object.fromEntries(new URLSearchParams(await request.text()));
    const { pathname, search } = new URL(request.url);
    asked.push({ form, path: `${pathname}${search}` });
    return reply(form, request);
  });
  return {
    url: `http://127.0.0.1:${server.addr.port}`,
    asked,
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
}

const CHAT = { messages: [{ role: "user", content: "Hi" }] };

function gatewayTo(cloud: Upstream, more: Record<string, Upstream> = {}, now?: () => number) {
  const upstreams = { cloud, ...more };
  const targets = Object.keys(upstreams).map((upstream) => ({ upstream, model: "m" }));
  return startGateway({
    settings: { upstreams, routes: { house: { targets, context: 10_000, maxOutput: 1_000 } } },
    ...(now !== undefined && { now }),
  });
}

const ask = async (gateway: Awaited<ReturnType<typeof startGateway>>) => {
  const response = await gateway.post("/v1/chat/completions", { model: "house", ...CHAT });
  return { status: response.status, said: await response.text() };
};

const AT_ONCE = sized(50, 200);

Deno.test(`a token that ends while ${AT_ONCE} requests run is got once; one that is refused is got once more`, async () => {
  const clock = { nowMs: Date.now() };
  let issued = 0;
  await using tokens = tokenServer(() =>
    Response.json({ access_token: `token-number-${++issued}`, expires_in: 600 })
  );
  let valid = /token-number-\d/;
  await using upstream = fakeUpstream(({ headers }) =>
    valid.test(headers.get("authorization")!)
      ? completion("Hi.")
      : Response.json({ error: { message: "expired" } }, { status: 401 })
  );
  await using gateway = await gatewayTo(
    {
      url: upstream.url,
      credentials: { kind: "google", tokenUrl: tokens.url, environment: {} },
    },
    {},
    () => clock.nowMs,
  );
  const all = async () => {
    const replies = await Promise.all(Array.from({ length: AT_ONCE }, () => ask(gateway)));
    assertEquals(replies.filter(({ status }) => status !== 200), []);
  };
  await all();
  assertEquals(issued, 1);
  clock.nowMs += 601_000;
  await all();
  assertEquals(issued, 2);
  clock.nowMs += 550_000; // it ends within a minute: used, and renewed beside
  await all();
  const isRenewed = async () => {
    assertEquals((await ask(gateway)).status, 200);
    return upstream.received.at(-1)!.headers.get("authorization") === "Bearer token-number-3";
  };
  await until(isRenewed, { what: "the token that was got beside" });
  assertEquals(issued, 3);
  clock.nowMs += 10_000;
  valid = /token-number-4/;
  await all();
  assertEquals(issued, 4);
  clock.nowMs += 10_000;
  valid = /nothing/;
  const { status } = await ask(gateway);
  assert(status >= 500, "a refused token is not the caller's fault");
  assertEquals(issued, 5, "once, not always");
});

Deno.test("an address that tokenUrl names may be slower than a metadata server", async () => {
  await using tokens = tokenServer(async () => {
    await sleep(2_100);
    return Response.json({ access_token: "t", expires_in: 600 });
  });
  const from = { tokenUrl: tokens.url, environment: {} };
  const got = await Promise.all([
    googleToken({ kind: "google", ...from }, Date.now),
    azureToken({ kind: "azure", ...from }, Date.now),
  ]);
  assertEquals(got.map(({ value }) => value), ["t", "t"]);
});

Deno.test("CachedToken: failures are told to all, and not asked about again at once", async () => {
  const clock = { nowMs: 0 };
  let asked = 0;
  let fails = true;
  const token = new CachedToken(() => {
    asked++;
    if (fails) return Promise.reject(new CredentialsFault("no"));
    return Promise.resolve({ value: `t${asked}`, endsAtMs: clock.nowMs + 120_000 });
  }, { now: () => clock.nowMs });
  await Promise.all(
    Array.from({ length: 50 }, () => assertRejects(() => token.token(), CredentialsFault)),
  );
  await assertRejects(() => token.token(), CredentialsFault);
  assertEquals(asked, 1);
  clock.nowMs += 5_000;
  fails = false;
  assertEquals((await token.token()).value, "t2");
  fails = true;
  clock.nowMs += 100_000;
  assertEquals((await token.token()).value, "t2", "it has not ended");
  assertEquals((await token.token()).value, "t2");
  assertEquals(asked, 3);
  clock.nowMs += 30_000;
  await assertRejects(() => token.token(), CredentialsFault);
  fails = false;
  clock.nowMs += 5_000;
  assertEquals((await token.token()).value, "t5");
  assertEquals(token.refused("t2"), true, "another one is there");
  assertEquals(token.refused("t5"), false, "it is new");
  clock.nowMs += 5_000;
  assertEquals(token.refused("t5"), true);
  assertEquals((await token.token()).value, "t6");
});

/** Kinds that fail, and what is said. */
const FAILING: readonly {
  what: string;
  credentials: (at: { url: string; directory: string }) => NonNullable<Upstream["credentials"]>;
  says: RegExp;
}[] = [
  {
    what: "Entra refuses the secret",
    credentials: ({ url }) => ({
      kind: "azure",
      tenant: "t",
      client: "c",
      secret: "s3cret-of-azure",
      tokenUrl: `${url}/refused`,
    }),
    says: /Entra ID refused to give a token: status 401, invalid_client: .*\[secret\]/,
  },
  {
    what: "an application is missing",
    credentials: () => ({ kind: "azure", tenant: "t", secret: "s3cret-of-azure", environment: {} }),
    says: /need `client` \(or AZURE_CLIENT_ID\)/,
  },
  {
    what: "there is no key file",
    credentials: ({ directory }) => ({ kind: "google", file: `${directory}/none.json` }),
    says: /the key file .*none\.json cannot be read/,
  },
  {
    what: "the key file is of another kind",
    credentials: ({ directory }) => {
      const file = `${directory}/external.json`;
      Deno.writeTextFileSync(
        file,
        JSON.stringify({ type: "external_account", refresh_token: "r" }),
      );
      return { kind: "google", file };
    },
    says: /external\.json is a key file of the type 'external_account': service_account and /,
  },
  {
    what: "no program",
    credentials: () => ({ kind: "command", command: ["no-such-program-7"] }),
    says: /no-such-program-7 gave no token: there is no such program/,
  },
  {
    what: "a program fails",
    credentials: () => ({ kind: "command", command: ["sh", "-c", "echo s3cret; exit 3"] }),
    says: /gave no token: it ended with status 3/,
  },
  {
    what: "a program hangs",
    credentials: () => ({ kind: "command", command: ["sleep", "60"], timeoutMs: 200 }),
    says: /gave no token within 0\.2 s/,
  },
  {
    what: "a program prints without end",
    credentials: () => ({ kind: "command", command: ["yes", "s3cret"] }),
    says: /gave no token|printed no token/,
  },
  {
    what: "there is no file",
    credentials: ({ directory }) => ({ kind: "file", path: `${directory}/none` }),
    says: /no token in .*none: there is no such file/,
  },
  {
    what: "AWS has no keys",
    credentials: () => ({ kind: "aws", environment: { AWS_EC2_METADATA_DISABLED: "true" } }),
    says: /no keys for AWS/,
  },
  {
    what: "the token endpoint is away",
    credentials: () => ({ kind: "google", tokenUrl: "http://127.0.0.1:1", environment: {} }),
    says: /could not be reached at \S+:1/,
  },
];

for (const { what, credentials, says } of FAILING) {
  Deno.test(`credentials that cannot be got (${what}): nothing is sent, the next target replies, doctor says why`, async () => {
    await using directory = await tempDir();
    await using tokens = tokenServer(() =>
      Response.json({
        error: "invalid_client",
        error_description: "Invalid client secret: s3cret-of-azure",
      }, { status: 401 })
    );
    await using first = fakeUpstream(() => completion("first"));
    await using next = fakeUpstream(() => completion("next"));
    const own = credentials({ url: tokens.url, directory: directory.path });
    await using gateway = await gatewayTo({ url: first.url, credentials: own }, {
      other: { url: next.url },
    });
    const { status, said } = await ask(gateway);
    assertEquals(status, 200, said);
    assertStringIncludes(said, "next");
    assertEquals(first.received.length, 0);
    const log = gateway.log();
    assert(says.test(log), log);
    assert(!log.includes("s3cret"), log);
    await Deno.writeTextFile(
      `${directory.path}/sluice.jsonc`,
      JSON.stringify({
        upstreams: { cloud: { url: first.url, credentials: own } },
        routes: { house: { targets: [{ upstream: "cloud", model: "m" }] } },
      }),
    );
    const doctor = await sluice(["doctor"], { directory: directory.path });
    assert(says.test(doctor.out), doctor.out);
    assertStringIncludes(doctor.out, "nothing was sent: correct the credentials of the upstream");
    const shown = await sluice(["config", "show"], { directory: directory.path });
    assert(!/s3cret-of-azure/.test(shown.out), shown.out);
  });
}

Deno.test("a command's token, its end, and a file's token that is replaced", async () => {
  await using directory = await tempDir();
  const path = `${directory.path}/token`;
  const script = `cat ${path}.json`;
  const said: string[] = [];
  const valid = new Set<string>();
  await using upstream = fakeUpstream(({ headers }) => {
    said.push(headers.get("authorization")!);
    if (valid.size > 0 && !valid.has(said.at(-1)!)) {
      return new Response("{}", { status: 401 });
    }
    return completion("Hi.");
  });
  const clock = { nowMs: Date.now() };
  const write = (token: string, expiresAt: string | number) =>
    Deno.writeTextFile(`${path}.json`, JSON.stringify({ token, expiresAt }));
  await write("from-command-1", new Date(clock.nowMs + 300_000).toISOString());
  await Deno.writeTextFile(path, "from-file-1\n");
  {
    await using gateway = await gatewayTo(
      {
        url: upstream.url,
        credentials: { kind: "command", command: ["sh", "-c", script] },
      },
      {},
      () => clock.nowMs,
    );
    assertEquals((await ask(gateway)).status, 200);
    await write("from-command-2", Math.round(clock.nowMs / 1_000) + 900);
    assertEquals((await ask(gateway)).status, 200);
    clock.nowMs += 301_000;
    assertEquals((await ask(gateway)).status, 200);
    assertEquals(said.splice(0), [
      "Bearer from-command-1",
      "Bearer from-command-1",
      "Bearer from-command-2",
    ]);
  }
  await using gateway = await gatewayTo(
    {
      url: upstream.url,
      credentials: { kind: "file", path },
    },
    {},
    () => clock.nowMs,
  );
  assertEquals((await ask(gateway)).status, 200);
  await Deno.writeTextFile(path, "from-file-2");
  valid.add("Bearer from-file-2");
  assertEquals((await ask(gateway)).status, 200, "read again after the refusal");
  assertEquals(said, ["Bearer from-file-1", "Bearer from-file-1", "Bearer from-file-2"]);
});

Deno.test("a service account's assertion is signed with its key, for its endpoint", async () => {
  await using directory = await tempDir();
  const { privateKey, publicKey } = generateKeyPairSync("rsa", { modulusLength: 2_048 });
  const file = `${directory.path}/sa.json`;
  await Deno.writeTextFile(
    file,
    JSON.stringify({
      type: "service_account",
      client_email: "robot@p.iam.gserviceaccount.com",
      private_key: privateKey.export({ type: "pkcs8", format: "pem" }),
      private_key_id: "kid-1",
    }),
  );
  await using tokens = tokenServer(() =>
    Response.json({ access_token: "ya29.sa", expires_in: 3_599 })
  );
  await using upstream = fakeUpstream(() => completion("Hi."));
  await using gateway = await gatewayTo({
    url: upstream.url,
    credentials: { kind: "google", file, tokenUrl: tokens.url },
  });
  assertEquals((await ask(gateway)).status, 200);
  assertEquals(upstream.received[0]!.headers.get("authorization"), "Bearer ya29.sa");
  const [{ form }] = tokens.asked as [typeof tokens.asked[number]];
  assertEquals(form.grant_type, "urn:ietf:params:oauth:grant-type:jwt-bearer");
  const [head, claims] = form.assertion!.split(".") as [string, string];
  const decoded = (part: string) =>
    JSON.parse(atob(part.replaceAll("-", "+").replaceAll("_", "/")));
  assertEquals(decoded(head), { alg: "RS256", typ: "JWT", kid: "kid-1" });
  const { iss, aud, scope, iat, exp } = decoded(claims);
  assertEquals([iss, aud, exp - iat], ["robot@p.iam.gserviceaccount.com", tokens.url, 3_600]);
  assertStringIncludes(scope, "cloud-platform");
  // by another implementation than the one that signs
  await jwtVerify(form.assertion!, publicKey, { audience: tokens.url });
});

Deno.test("AWS: keys of the environment, a role by web identity, a container's endpoint, an instance's, a profile", async () => {
  await using directory = await tempDir();
  const token = `${directory.path}/projected`;
  await Deno.writeTextFile(token, "eyJ.projected.token\n");
  const shared = `${directory.path}/credentials`;
  await Deno.writeTextFile(
    shared,
    "[default]\naws_access_key_id = AKIDDEFAULT\n\n[work]\naws_access_key_id=AKIDPROFILE\naws_secret_access_key=abc=def\n",
  );
  const xml = (id: string) =>
    `<R><Credentials><AccessKeyId>${id}</AccessKeyId><SecretAccessKey>sec</SecretAccessKey>` +
    `<SessionToken>ses</SessionToken><Expiration>2099-01-01T00:00:00Z</Expiration></Credentials></R>`;
  const keys = (id: string) => ({
    AccessKeyId: id,
    SecretAccessKey: "sec",
    Token: "ses",
    Expiration: "2099-01-01T00:00:00Z",
  });
  await using tokens = tokenServer((form, request) => {
    const { pathname } = new URL(request.url);
    if (form.Action === "AssumeRole") return new Response(xml("AKIDASSUMED"));
    if (form.Action !== undefined) return new Response(xml("AKIDWEB"));
    if (pathname === "/container") {
      return request.headers.get("authorization") === "Bearer pod"
        ? Response.json(keys("AKIDPOD"))
        : new Response("", { status: 403 });
    }
    if (pathname === "/latest/api/token") {
      return new Response(request.method === "PUT" ? "imds-token" : "");
    }
    if (request.headers.get("x-aws-ec2-metadata-token") !== "imds-token") {
      return new Response("", { status: 401 });
    }
    return pathname.endsWith("/") ? new Response("role-1") : Response.json(keys("AKIDINSTANCE"));
  });
  await using upstream = fakeUpstream(() => completion("Hi."));
  const ways: [string, Extract<NonNullable<Upstream["credentials"]>, { kind: "aws" }>][] = [
    ["AKIDWEB", {
      kind: "aws",
      tokenUrl: tokens.url,
      environment: { AWS_WEB_IDENTITY_TOKEN_FILE: token, AWS_ROLE_ARN: "arn:aws:iam::1:role/r" },
    }],
    ["AKIDPOD", {
      kind: "aws",
      environment: {
        AWS_CONTAINER_CREDENTIALS_FULL_URI: `${tokens.url}/container`,
        AWS_CONTAINER_AUTHORIZATION_TOKEN: "Bearer pod",
      },
    }],
    ["AKIDINSTANCE", {
      kind: "aws",
      environment: { AWS_EC2_METADATA_SERVICE_ENDPOINT: tokens.url },
    }],
    ["AKIDENVIRONMENT", {
      kind: "aws",
      environment: { AWS_ACCESS_KEY_ID: "AKIDENVIRONMENT", AWS_SECRET_ACCESS_KEY: "env-secret" },
    }],
    ["AKIDPROFILE", {
      kind: "aws",
      environment: { AWS_SHARED_CREDENTIALS_FILE: shared, AWS_PROFILE: "work" },
    }],
    ["AKIDASSUMED", {
      kind: "aws",
      accessKeyId: "AKIDOWN",
      secretAccessKey: "own-secret",
      roleArn: "arn:aws:iam::1:role/other",
      tokenUrl: tokens.url,
    }],
  ];
  for (const [id, credentials] of ways) {
    await using gateway = await gatewayTo({ url: upstream.url, region: "eu-west-1", credentials });
    const { status, said } = await ask(gateway);
    assertEquals(status, 200, said + gateway.log());
    const authorization = upstream.received.at(-1)!.headers.get("authorization")!;
    assertStringIncludes(authorization, `Credential=${id}/`);
    assertStringIncludes(authorization, "/eu-west-1/bedrock/");
  }
  const [web] = tokens.asked as [typeof tokens.asked[number]];
  assertEquals(web.form.WebIdentityToken, "eyJ.projected.token");
});

Deno.test("managed identity of Azure, and a federated token", async () => {
  await using directory = await tempDir();
  const tokenFile = `${directory.path}/federated`;
  await Deno.writeTextFile(tokenFile, "eyJ.federated\n");
  const end = Math.round(Date.now() / 1_000) + 3_600;
  await using tokens = tokenServer((form, request) => {
    if (form.client_assertion === "eyJ.federated") {
      return Response.json({ access_token: "of-workload", expires_in: 3_600 });
    }
    const isMachine = request.headers.get("metadata") === "true" ||
      request.headers.get("x-identity-header") === "h";
    return isMachine
      ? Response.json({ access_token: "of-machine", expires_on: String(end) })
      : new Response("{}", { status: 400 });
  });
  await using upstream = fakeUpstream(() => completion("Hi."));
  const ways: [string, Extract<NonNullable<Upstream["credentials"]>, { kind: "azure" }>][] = [
    ["of-machine", { kind: "azure", tokenUrl: tokens.url, environment: {} }],
    ["of-machine", {
      kind: "azure",
      environment: { IDENTITY_ENDPOINT: `${tokens.url}/msi`, IDENTITY_HEADER: "h" },
    }],
    ["of-workload", { kind: "azure", tenant: "t", client: "c", tokenFile, tokenUrl: tokens.url }],
  ];
  for (const [token, credentials] of ways) {
    await using gateway = await gatewayTo({ url: upstream.url, credentials });
    assertEquals((await ask(gateway)).status, 200, gateway.log());
    assertEquals(upstream.received.at(-1)!.headers.get("authorization"), `Bearer ${token}`);
  }
  assertStringIncludes(tokens.asked[0]!.path, "resource=https%3A%2F%2Fcognitiveservices.azure.com");
});
