/** Tokens: got once for many requests, before they end, again once after a refusal; and what is said when they cannot be got. */

import { generateKeyPairSync } from "node:crypto";
import { jwtVerify } from "jose";
import type { SettingsInput } from "../../../../src/settings/config/mod.ts";
import { Secret } from "../../../../src/settings/config/mod.ts";
import {
  azureToken,
  managedIdentity,
} from "../../../../src/requests/upstreams/credentials/azure.ts";
import {
  bearer,
  BearerCredentials,
} from "../../../../src/requests/upstreams/credentials/bearer.ts";
import { CachedToken } from "../../../../src/requests/upstreams/credentials/cached_token.ts";
import {
  type Credentials,
  CredentialsFault,
  type UnsignedRequest,
  withoutSecrets,
} from "../../../../src/requests/upstreams/credentials/credentials.ts";
import { fromCommand } from "../../../../src/requests/upstreams/credentials/from_command.ts";
import { fromFile } from "../../../../src/requests/upstreams/credentials/from_file.ts";
import { googleToken } from "../../../../src/requests/upstreams/credentials/google.ts";
import { askForAccess } from "../../../../src/requests/upstreams/credentials/token_endpoint.ts";
import { withCredentials } from "../../../../src/requests/upstreams/credentials/with_credentials.ts";
import { assert, assertEquals, assertRejects, assertStringIncludes } from "../../../assert.ts";
import { startGateway } from "../../../fake/gateway.ts";
import { sluice } from "../../../fake/shell.ts";
import { DEADLINE_MS, sleep, tempDir, until } from "../../../fake/temp.ts";
import { completion, fakeUpstream } from "../../../fake/upstream.ts";
import { sized } from "../../../tier.ts";

type Upstream = NonNullable<SettingsInput["upstreams"]>[string];

/** A token endpoint: notes forms, headers and paths. */
function tokenServer(
  reply: (form: Record<string, string>, request: Request) => Response | Promise<Response>,
) {
  const asked: {
    form: Record<string, string>;
    path: string;
    method: string;
    headers: Headers;
  }[] = [];
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, async (request) => {
    const form = Object.fromEntries(new URLSearchParams(await request.text()));
    const { pathname, search } = new URL(request.url);
    const { method, headers } = request;
    asked.push({ form, path: `${pathname}${search}`, method, headers });
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

Deno.test("CachedToken: one that lasts less than a minute is not got for each request", async () => {
  let nowMs = 1_000_000;
  let asked = 0;
  const token = new CachedToken(() => {
    asked++;
    return Promise.resolve({ value: `t${asked}`, endsAtMs: nowMs + 30_000 });
  }, { now: () => nowMs });
  const used = async () => (await token.token()).value;
  for (let times = 0; times < 5; times++) assertEquals(await used(), "t1");
  assertEquals(asked, 1);
  nowMs += 5_000;
  assertEquals([await used(), asked], ["t1", 2]);
  for (let times = 0; times < 5; times++) assertEquals(await used(), "t2");
  assertEquals(asked, 2);
});

Deno.test("CachedToken: got again a minute before its end, and not used at it; a bug is nothing to wait for", async () => {
  let nowMs = 0;
  let asked = 0;
  let bug: Error | undefined;
  const token = new CachedToken(() => {
    asked++;
    return bug === undefined
      ? Promise.resolve({ value: `t${asked}`, endsAtMs: nowMs + 100_000 })
      : Promise.reject(bug);
  }, { now: () => nowMs });
  const used = async () => (await token.token()).value;
  assertEquals(token.refused("t0"), false, "there is none, and none is got");
  const first = used();
  assertEquals(token.refused("t0"), true, "one is got");
  assertEquals(await first, "t1");
  nowMs = 39_999;
  assertEquals([await used(), asked], ["t1", 1]);
  nowMs = 40_000;
  assertEquals([await used(), asked], ["t1", 2], "a minute is left: renewed beside");
  assertEquals(await used(), "t2");
  nowMs = 140_000;
  assertEquals(await used(), "t3", "at its end");
  nowMs = 240_000;
  bug = new TypeError("a bug");
  await assertRejects(() => token.token(), TypeError);
  bug = undefined;
  assertEquals(await used(), "t5", "asked again at once");
});

Deno.test("what is refused of a token that was replaced takes nothing of the one in use, and both are secrets", async () => {
  let nowMs = 0;
  let issued = 0;
  const credentials = new BearerCredentials(
    () => Promise.resolve({ value: `token-${++issued}`, endsAtMs: undefined }),
    { now: () => nowMs, authorize: bearer },
  );
  assertEquals(credentials.refused({ authorization: "Bearer token-1" }), false);
  const first = await credentials.headersFor();
  nowMs += 5_000;
  assertEquals(credentials.refused(first), true);
  const second = await credentials.headersFor();
  nowMs += 5_000;
  assertEquals(credentials.refused(first), true, "there is another one");
  assertEquals([await credentials.headersFor(), issued], [second, 2]);
  assertEquals(credentials.redact("token-1, token-2, token-3"), "[secret], [secret], token-3");
  // what is shorter is in other words, too
  assertEquals(withoutSecrets("abcde abcdef", ["abcde", undefined, "abcdef"]), "abcde [secret]");
});

Deno.test("a request is sent once more only if it was refused, its client is there, and others are worth a try (table)", async () => {
  for (
    const [statuses, isWorth, hasLeft, sends] of [
      [[200], true, false, 1],
      [[403], true, false, 1],
      [[401, 200], true, false, 2],
      [[401, 401], true, false, 2],
      [[401], false, false, 1],
      [[401], true, true, 1],
    ] as const
  ) {
    const left = [...statuses] as number[];
    const unsigned: UnsignedRequest[] = [];
    const credentials: Credentials = {
      headersFor(request) {
        unsigned.push(request);
        return Promise.resolve({ authorization: `Bearer ${unsigned.length}` });
      },
      refused: () => isWorth,
      redact: (text) => text,
    };
    const sent: (string | undefined)[] = [];
    const send = withCredentials(
      ({ headers }) => {
        sent.push(headers.authorization);
        const body = { read: () => Promise.resolve(undefined) };
        const status = left.shift()!;
        return Promise.resolve({ status, headers: {}, body, discard() {}, drain() {} });
      },
      credentials,
      (path) => `http://x${path}`,
    );
    const what = JSON.stringify({ statuses, isWorth, hasLeft });
    const signal = hasLeft ? AbortSignal.abort() : new AbortController().signal;
    const body = sends === 1 ? undefined : "{}";
    const { status } = await send({ path: "/p", headers: {}, body, signal });
    assertEquals(status, statuses[sends - 1], what);
    assertEquals(sent, ["Bearer 1", "Bearer 2"].slice(0, sends), what);
    const method = body === undefined ? "GET" : "POST";
    assertEquals([unsigned[0]!.method, unsigned[0]!.url], [method, "http://x/p"]);
  }
});

Deno.test("a token endpoint: what it is sent, and what each reply of it means (table)", async () => {
  const NOW = 1_000_000;
  let reply: () => Response | Promise<Response> = () => Response.json({ access_token: "t" });
  await using tokens = tokenServer(() => reply());
  const access = (more: object = {}) =>
    askForAccess({ who: "It", url: tokens.url, ...more }, () => NOW);
  await access();
  await access({ form: { a: "b" } });
  assertEquals(
    tokens.asked.map(({ method, headers }) => [
      method,
      headers.get("content-type"),
      headers.get("content-length"),
    ]),
    [["GET", null, null], ["POST", "application/x-www-form-urlencoded;charset=UTF-8", "3"]],
  );
  for (
    const [said, endsAtMs] of [
      [{ expires_in: 600 }, NOW + 600_000],
      [{ expires_in: "600", expires_on: "5" }, NOW + 600_000],
      [{ expires_in: 0, expires_on: "5" }, 5_000],
      [{ expires_on: 1_700 }, 1_700_000],
      [{ expires_on: "soon" }, NOW + 300_000],
      [{}, NOW + 300_000],
    ] as const
  ) {
    reply = () => Response.json({ access_token: "t", ...said });
    assertEquals(await access(), { value: "t", endsAtMs }, JSON.stringify(said));
  }
  const token = '{"access_token":"t"}';
  for (
    const [status, body, says] of [
      [200, token, undefined],
      [201, token, undefined],
      [202, token, /refused to give a token: status 202$/],
      [200, "[]", /no JSON object/],
      [200, "t", /no JSON object/],
      [200, "{}", /a reply without a token/],
      [200, '{"access_token":7}', /a reply without a token/],
      [500, "", /refused to give a token: status 500$/],
      [400, '{"error":"bad_client"}', /: status 400, bad_client$/],
      [400, '{"error":{"message":"no"},"message":"so"}', /: status 400, no: so$/],
      [403, "<Error><Code>Denied</Code></Error>", /: status 403, Denied$/],
    ] as const
  ) {
    reply = () => new Response(body, { status });
    if (says === undefined) {
      assertEquals((await access()).value, "t");
      continue;
    }
    const { message } = await assertRejects(() => access(), CredentialsFault);
    assert(says.test(message), message);
  }
  const late = Promise.withResolvers<Response>();
  reply = () => late.promise;
  const { message } = await assertRejects(() => access({ patienceMs: 20 }), CredentialsFault);
  late.resolve(new Response());
  assertStringIncludes(message, "no response in time");
});

Deno.test("what a program prints, or a file has, as a token and its end (table)", async () => {
  await using directory = await tempDir();
  const NOW = 1_000_000;
  const [ttlMs, timeoutMs] = [600_000, DEADLINE_MS];
  const printed = (script: string) =>
    fromCommand(
      {
        kind: "command",
        command: ["sh", ...["-c", script].map((one) => new Secret(one))],
        ttlMs,
        timeoutMs,
      },
      () => NOW,
    );
  for (
    const [script, value, endsAtMs] of [
      ["echo plain", "plain", NOW + ttlMs],
      ["printf in; sleep 0.1; printf pieces", "inpieces", NOW + ttlMs],
      [`echo '{"token":"t"}'`, "t", NOW + ttlMs],
      [`echo '{"token":"t","expiresAt":"soon"}'`, "t", NOW + ttlMs],
      [`echo '{"token":"t","expiresAt":1700}'`, "t", 1_700_000],
      [`echo '{"token":"t","expiresAt":"1970-01-01T00:00:02Z"}'`, "t", 2_000],
    ] as const
  ) {
    assertEquals(await printed(script), { value, endsAtMs }, script);
  }
  for (const script of ["true", "echo two words", "echo '{'", `echo '{"token":7}'`, "echo '{}'"]) {
    const { message } = await assertRejects(() => printed(script), CredentialsFault);
    assertStringIncludes(message, "printed no token", script);
  }
  const path = `${directory.path}/token`;
  await Deno.writeTextFile(path, "two\nlines");
  const program = { kind: "command", command: [path] as const, ttlMs, timeoutMs } as const;
  const { message } = await assertRejects(() => fromCommand(program, () => NOW), CredentialsFault);
  assertStringIncludes(message, "gave no token: it cannot be run");
  const no = await assertRejects(() => fromFile(path, () => NOW), CredentialsFault);
  assertStringIncludes(no.message, "expected one line of text");
  await Deno.writeTextFile(path, " one-line \n");
  assertEquals(await fromFile(path, () => NOW), { value: "one-line", endsAtMs: NOW + 1_000 });
});

Deno.test("a command is given up although a program that it has started goes on and holds its output", async () => {
  await using directory = await tempDir();
  const pid = `${directory.path}/pid`;
  const script = `tail -f /dev/null & echo $! > ${pid}; wait`;
  let said: string | undefined;
  try {
    const getting = fromCommand({
      kind: "command",
      command: ["sh", ...["-c", script].map((one) => new Secret(one))],
      ttlMs: 600_000,
      timeoutMs: 500,
    }, Date.now).catch(({ message }) => said = message);
    await until(() => said !== undefined, { what: "a fault" });
    await getting;
  } finally {
    Deno.kill(Number(await Deno.readTextFile(pid)), "SIGKILL");
  }
  assertStringIncludes(said!, "the command sh gave no token within 0.5 s");
});

Deno.test("Google: where a key file is looked for, and what is made of it (table)", async () => {
  await using directory = await tempDir();
  const { path } = directory;
  await using tokens = tokenServer((form) =>
    Response.json({ access_token: form.refresh_token ?? "of-machine" })
  );
  const left = (refresh_token: string) =>
    JSON.stringify({ type: "authorized_user", client_id: "c", client_secret: "s", refresh_token });
  const usual = "application_default_credentials.json";
  await Deno.mkdir(`${path}/home/.config/gcloud`, { recursive: true });
  await Deno.mkdir(`${path}/sdk`);
  await Deno.writeTextFile(`${path}/home/.config/gcloud/${usual}`, left("of-home"));
  await Deno.writeTextFile(`${path}/sdk/${usual}`, left("of-sdk"));
  await Deno.writeTextFile(`${path}/named.json`, left("of-variable"));
  await Deno.writeTextFile(`${path}/file.json`, left("of-file"));
  await Deno.writeTextFile(`${path}/none.json`, "[]");
  const [home, sdk] = [{ HOME: `${path}/home` }, { CLOUDSDK_CONFIG: `${path}/sdk` }];
  const named = { GOOGLE_APPLICATION_CREDENTIALS: `${path}/named.json` };
  const get = (variables: Record<string, string>, file?: string) => {
    const environment = Object.fromEntries(
      Object.entries(variables).map(([name, one]) => [name, new Secret(one)]),
    );
    const at = file === undefined ? {} : { file: `${path}/${file}` };
    return googleToken({ kind: "google", tokenUrl: tokens.url, environment, ...at }, Date.now);
  };
  for (
    const [variables, file, value] of [
      [{}, undefined, "of-machine"],
      [{ HOME: `${path}/away` }, undefined, "of-machine"],
      [home, undefined, "of-home"],
      [{ ...home, ...sdk }, undefined, "of-sdk"],
      [{ ...home, ...sdk, ...named }, undefined, "of-variable"],
      [{ ...home, ...named }, "file.json", "of-file"],
    ] as const
  ) {
    assertEquals((await get({ ...variables }, file)).value, value);
  }
  assertEquals(tokens.asked.at(-1)!.form, {
    grant_type: "refresh_token",
    client_id: "c",
    client_secret: "s",
    refresh_token: "of-file",
  });
  for (const [file, says] of [["none.json", "is not JSON"], ["away.json", "cannot be read"]]) {
    const { message } = await assertRejects(() => get(home, file), CredentialsFault);
    assertStringIncludes(message, says!);
  }
});

Deno.test("Azure: which of its settings say what, and how a machine's identity is asked for (table)", async () => {
  await using directory = await tempDir();
  const tokenFile = `${directory.path}/federated`;
  await Deno.writeTextFile(tokenFile, "federated");
  await using tokens = tokenServer(({ client_secret, client_assertion }) =>
    Response.json({ access_token: client_secret ?? client_assertion ?? "of-machine" })
  );
  const get = (settings: object) =>
    azureToken({ kind: "azure", tokenUrl: tokens.url, environment: {}, ...settings }, Date.now);
  const [tenant, client, secret] = ["t", "c", new Secret("of-secret")];
  for (
    const [settings, value] of [
      [{ tenant, client }, "of-machine"],
      [{ tenant, client, secret }, "of-secret"],
      [{ tenant, client, tokenFile }, "federated"],
      [{ tenant, client, secret, tokenFile }, "of-secret"],
      // what the settings say wins over the environment
      [{ tenant, client, environment: { AZURE_CLIENT_SECRET: secret } }, "of-secret"],
      [{ tenant, client, tokenFile, environment: { AZURE_CLIENT_SECRET: secret } }, "federated"],
    ] as const
  ) {
    assertEquals((await get(settings)).value, value, Object.keys(settings).join());
  }
  for (const [settings, what] of [[{ client, secret }, "tenant"], [{ tenant, secret }, "client"]]) {
    const { message } = await assertRejects(() => get(settings as object), CredentialsFault);
    assertStringIncludes(message, `credentials for Azure need \`${what}\``);
  }

  const [IDENTITY_ENDPOINT, IDENTITY_HEADER] = ["http://10.0.0.1/msi", "h"];
  const metadata =
    "http://169.254.169.254/metadata/identity/oauth2/token?api-version=2018-02-01&resource=scope";
  const service = "http://10.0.0.1/msi?api-version=2019-08-01&resource=scope";
  for (
    const [variables, more, url, headers] of [
      [{}, {}, metadata, { metadata: "true" }],
      [{}, { client: "c" }, `${metadata}&client_id=c`, { metadata: "true" }],
      [{ IDENTITY_ENDPOINT }, {}, metadata, { metadata: "true" }],
      [{ IDENTITY_HEADER }, {}, metadata, { metadata: "true" }],
      [{ IDENTITY_ENDPOINT, IDENTITY_HEADER }, {}, service, { "x-identity-header": "h" }],
      [
        { IDENTITY_ENDPOINT, IDENTITY_HEADER },
        { tokenUrl: "http://10.0.0.2/" },
        "http://10.0.0.2/?resource=scope",
        { metadata: "true" },
      ],
    ] as readonly (readonly [
      variables: Readonly<Record<string, string>>,
      more: { readonly client?: string; readonly tokenUrl?: string },
      url: string,
      headers: Readonly<Record<string, string>>,
    ])[]
  ) {
    const { client, tokenUrl } = more;
    const call = managedIdentity({ kind: "azure", tokenUrl }, {
      client,
      scope: "scope/.default",
      variable: (name) => variables[name],
    });
    const patienceMs = tokenUrl === undefined ? 2_000 : undefined;
    assertEquals([call.url, call.headers, call.patienceMs], [url, headers, patienceMs]);
  }
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

Deno.test("AWS: keys that have ended are read again from their file, though AWS says so with 403", async () => {
  await using directory = await tempDir();
  const shared = `${directory.path}/credentials`;
  const write = (id: string) =>
    Deno.writeTextFile(
      shared,
      `[default]\naws_access_key_id = ${id}\naws_secret_access_key = s3cret-key\n`,
    );
  await write("AKIDOLD");
  let [ended, type] = ["", "ExpiredTokenException:http://internal.amazon.com/coral/"];
  await using upstream = fakeUpstream(({ headers }) =>
    headers.get("authorization")!.includes(`Credential=${ended}/`)
      ? Response.json({ message: "The security token included in the request is expired" }, {
        status: 403,
        headers: { "x-amzn-errortype": type },
      })
      : completion("Hi.")
  );
  const clock = { nowMs: Date.now() };
  await using gateway = await gatewayTo(
    {
      url: upstream.url,
      credentials: { kind: "aws", environment: { AWS_SHARED_CREDENTIALS_FILE: shared } },
    },
    {},
    () => clock.nowMs,
  );
  assertEquals((await ask(gateway)).status, 200);
  ended = "AKIDOLD";
  clock.nowMs += 10_000;
  await write("AKIDNEW");
  assertEquals((await ask(gateway)).status, 200);
  assertEquals(upstream.received.length, 3);
  // what the keys are not allowed to do is nothing that others would be
  [ended, type] = ["AKIDNEW", "AccessDeniedException"];
  clock.nowMs += 10_000;
  assertEquals((await ask(gateway)).status, 503);
  assertEquals(upstream.received.length, 4);
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
