/** Nothing secret is in logs, metrics, traces, errors, pages, reports, `config show` or backups (P11), however requests end. */

import { generateKeyPairSync } from "node:crypto";
import { loadConfig, Secret, settings as schema } from "../../src/settings/config/mod.ts";
import { openStore } from "../../src/assemble/mod.ts";
import { assert, assertEquals } from "../assert.ts";
import { adminClient } from "../fake/admin_client.ts";
import { startCommand } from "../fake/command.ts";
import { fakeUpstream, type Received } from "../fake/upstream.ts";
import { Random, testSeed } from "../fake/random.ts";
import { sluice } from "../fake/shell.ts";
import { tempDir, until } from "../fake/temp.ts";
import { PlainBrowser } from "../fake/visitor.ts";
import { sampled, sized } from "../tier.ts";

/** Secrets that were planted, by where; each is found again in whatever form it may be printed. */
const planted = new Map<string, string>();

/** A secret that is nowhere else. */
function secret(where: string, shape: (random: string) => string = (random) => `zq${random}`) {
  const value = shape(crypto.randomUUID().replaceAll("-", ""));
  planted.set(where, value);
  return value;
}

/** Where secrets of the settings are, with `*` for any name: walked through the schema, so that a new one is missed by the test. */
function secretPaths(of: unknown, path: readonly string[] = []): string[] {
  // deno-lint-ignore no-explicit-any -- the parts of any schema of zod
  const { def } = of as any;
  switch (def.type) {
    case "object":
      return Object.entries(def.shape).flatMap(([key, one]) => secretPaths(one, [...path, key]));
    case "record":
      return secretPaths(def.valueType, [...path, "*"]);
    case "array":
      return secretPaths(def.element, [...path, "*"]);
    case "union":
      return def.options.flatMap((one: unknown) => secretPaths(one, path));
    case "pipe":
      return [def.in, def.out].flatMap((one) => secretPaths(one, path))
        .concat(isSecret(of) ? [path.join(".")] : []);
  }
  return "innerType" in def ? secretPaths(def.innerType, path) : [];
}

const SHAPES = ["x", "x".repeat(40), `sk-${"x".repeat(40)}`, "http://u:p@h.example:1"]
  .concat(`sk_test_${"ab".repeat(12)}`, `whsec_${"ab".repeat(12)}`);

/** Whether what comes of a value of some kind is a secret. */
function isSecret(of: unknown): boolean {
  const { safeParse } = of as { safeParse(value: unknown): { data?: unknown } };
  return SHAPES.some((value) => safeParse(value).data instanceof Secret);
}

/** Paths of the secrets in a value. */
function secretsIn(value: unknown, path: readonly string[] = []): string[] {
  if (value instanceof Secret) return [path.join(".")];
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, one]) => secretsIn(one, [...path, key]));
}

const KEYS = { owner: secret("owner.key", (one) => `sk-${one}`) };

/** Settings with a secret wherever there may be one. */
function settingsWith(
  urls: { upstream: string; tokens: string; receiver: string; stripe: string; proxy: string },
  files: { token: string; command: string; google: string },
) {
  const tokenUrl = (kind: string) => `${urls.tokens}/${kind}/token`;
  const proxy = (where: string) =>
    urls.proxy.replace("//", `//${secret(`${where}'s user`)}:${secret(where)}@`);
  const upstreams = {
    keyed: { key: secret("key"), headers: { "X-Own": secret("header") } },
    pooled: { keys: [secret("keys.0"), { key: secret("keys.1.key"), weight: 2 }] },
    kinded: { credentials: { kind: "key", key: secret("credentials.key") } },
    command: {
      credentials: {
        kind: "command",
        command: ["sh", "-c", 'cat "$0"', files.command, secret("a command's argument")],
      },
    },
    file: { credentials: { kind: "file", path: files.token } },
    aws: {
      region: "eu-central-1",
      credentials: {
        kind: "aws",
        accessKeyId: secret("accessKeyId", (one) => `AKIA${one.slice(0, 16).toUpperCase()}`),
        secretAccessKey: secret("secretAccessKey"),
        sessionToken: secret("sessionToken"),
      },
    },
    google: { credentials: { kind: "google", file: files.google, tokenUrl: tokenUrl("google") } },
    azure: {
      credentials: {
        kind: "azure",
        tenant: "t",
        client: "c",
        secret: secret("azure.secret"),
        tokenUrl: tokenUrl("azure"),
        environment: { AZURE_CLIENT_SECRET: secret("azure.environment") },
      },
    },
    refused: {
      credentials: {
        kind: "azure",
        tenant: "t",
        client: "c",
        secret: secret("refused.secret"),
        tokenUrl: tokenUrl("refused"),
      },
    },
    proxied: { key: secret("proxied.key"), proxy: proxy("upstream's proxy") },
    own: { key: secret("beside own keys"), allowForwardedKeys: true },
    addressed: { url: `${urls.upstream}/addressed?api-key=${secret("in an address")}` },
  };
  return {
    port: 0,
    logLevel: "debug",
    owner: { key: KEYS.owner },
    metricsToken: secret("metricsToken"),
    secret: secret("secret", (one) => one + one),
    proxies: { https: proxy("proxies.https"), http: proxy("proxies.http"), except: ["127.0.0.1"] },
    images: { proxy: proxy("images.proxy") },
    signIn: {
      oidc: [{
        name: "company",
        issuer: urls.tokens,
        client: "c",
        secret: secret("signIn.oidc.secret"),
      }],
      telemetry: {
        url: `${urls.receiver}/telemetry`,
        headers: { "x-collector": secret("signIn.telemetry.headers") },
      },
    },
    alerts: {
      receivers: {
        hook: {
          url: `${urls.receiver}/${secret("receiver's address")}`,
          secret: secret("receiver.secret"),
        },
      },
      allowPrivateHosts: [new URL(urls.receiver).host],
    },
    payments: {
      stripe: {
        secretKey: secret("stripe.secretKey", (one) => `sk_test_${one}`),
        webhookSecret: secret("stripe.webhookSecret", (one) => `whsec_${one}`),
        apiBase: urls.stripe,
      },
    },
    packages: [{ id: "small", name: "Small", credits: 100, priceUsd: 5, validDays: 30 }],
    upstreams: Object.fromEntries(
      Object.entries(upstreams).map(([name, one]) => [name, {
        url: `${urls.upstream}/${name}`,
        ...one,
      }]),
    ),
    routes: Object.fromEntries(
      Object.keys(upstreams).map((name) => [name, {
        targets: [{ upstream: name, model: "m" }],
        context: 100_000,
        maxOutput: 100,
        prices: { input: 1, cached: 1, output: 1 },
      }]),
    ),
  };
}

/** An upstream that repeats every header of a request in whatever it replies, as proxies with a debug page do. */
function echoing({ headers, body, path }: Received): Response {
  const told = JSON.stringify([path, ...headers.values()]);
  const prompt = JSON.stringify(body?.messages ?? body?.input ?? "");
  const [, mode = "well"] = /mode (\w+)/.exec(prompt) ?? [];
  const id = { "x-request-id": "id-1" };
  const error = { error: { message: `debug: ${told}`, type: told, code: told, param: told } };
  if (/^\d+$/.test(mode)) return Response.json(error, { status: Number(mode), headers: id });
  const isStream = body?.stream === true;
  const chunk = (delta: unknown, reason: string | null = null) =>
    `data: ${
      JSON.stringify({ id: "c", choices: [{ index: 0, delta, finish_reason: reason }] })
    }\n\n`;
  const stream = (...parts: string[]) =>
    new Response(parts.join(""), { headers: { "content-type": "text/event-stream", ...id } });
  switch (mode) {
    case "inband":
      return isStream ? stream(`data: ${JSON.stringify(error)}\n\n`) : Response.json(error);
    case "late":
      return stream(chunk({ content: "Hi" }), `data: ${JSON.stringify(error)}\n\n`);
    case "broken":
      return stream(chunk({ content: "Hi" }));
    case "garbage":
      return new Response(`<html>${told}</html>`, { headers: { "content-type": "text/html" } });
    case "moved":
      return new Response(null, {
        status: 307,
        headers: { location: `http://127.0.0.1:1/?${told}` },
      });
  }
  if (path.endsWith("/models")) return Response.json(error, { status: 401 });
  const usage = { prompt_tokens: 3, completion_tokens: 1, total_tokens: 4 };
  const message = { role: "assistant", content: "Hi" };
  return isStream
    ? stream(chunk(message), chunk({}, "stop"), "data: [DONE]\n\n")
    : Response.json({ id: "c", choices: [{ index: 0, message, finish_reason: "stop" }], usage });
}

const MODES = "well 400 422 404 inband late broken garbage moved 429 500 403 401".split(" ");

/** Fails if a text holds a planted secret in any form. */
function search(what: string, text: string): string[] {
  return [...planted].filter(([, value]) =>
    [value, encodeURIComponent(value), btoa(value).replace(/=+$/, "").slice(0, -1)]
      .some((form) => text.includes(form))
  ).map(([where]) => `${where} in ${what}`);
}

Deno.test("secrets of settings, credentials, keys and headers are on no surface, whatever becomes of requests", async () => {
  await using dir = await tempDir();
  const tokens = { azure: secret("a token of Entra"), google: secret("a token of Google") };
  await using outside = fakeUpstream(echoing);
  await using tokenServer = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen() {} },
    async (request) => {
      const { pathname } = new URL(request.url);
      const form = await request.text();
      if (pathname.startsWith("/refused")) {
        const description = `AADSTS7000215: Invalid client secret: ${form}`;
        return Response.json({ error: "invalid_client", error_description: description }, {
          status: 401,
        });
      }
      const token = pathname.startsWith("/google") ? tokens.google : tokens.azure;
      return Response.json({ access_token: token, expires_in: 3_600 });
    },
  );
  const seen: string[] = [];
  await using other = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen() {} },
    async (request) => {
      const { pathname } = new URL(request.url);
      const text = await request.text();
      if (pathname.startsWith("/otlp")) {
        seen.push(text);
        return Response.json({});
      }
      // Stripe and a receiver of alerts: both tell what they were sent
      return new Response(JSON.stringify({ error: { message: [...request.headers].join() } }), {
        status: 401,
      });
    },
  );
  const of = ({ addr }: { addr: Deno.Addr }) => `http://127.0.0.1:${(addr as Deno.NetAddr).port}`;
  const files = {
    token: `${dir.path}/token`,
    command: `${dir.path}/command`,
    google: `${dir.path}/sa.json`,
  };
  await Deno.writeTextFile(files.token, secret("a file's token"));
  await Deno.writeTextFile(files.command, secret("a command's token"));
  const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2_048 });
  const pem = privateKey.export({ type: "pkcs8", format: "pem" }).toString();
  planted.set("service account's key", pem.split("\n")[5]!);
  const account = { type: "service_account", client_email: "r@p", private_key: pem };
  await Deno.writeTextFile(files.google, JSON.stringify(account));
  const written = settingsWith({
    upstream: outside.url,
    tokens: of(tokenServer),
    receiver: of(other),
    stripe: of(other),
    proxy: of(other),
  }, files);
  const file = `${dir.path}/sluice.jsonc`;
  await Deno.writeTextFile(file, JSON.stringify(written));

  // every secret of the schema is planted: one that is new belongs into `settingsWith`
  const databaseToken = secret("database.token");
  const config = await loadConfig({
    env: { SLUICE_DATABASE_TOKEN: databaseToken, SLUICE_UPSTREAM_KEY: secret("upstream.key") },
    directory: dir.path,
    file,
  });
  const found = secretsIn(config.settings);
  const missing = [...new Set(secretPaths(schema))].filter((path) => {
    const pattern = new RegExp(
      `^${path.replaceAll(".", "\\.").replaceAll("*", "[^.]+")}(\\.key)?$`,
    );
    return !found.some((one) => pattern.test(one));
  });
  assertEquals(missing, []);
  const leaks = [
    ...search("the settings as JSON", JSON.stringify(config.settings)),
    ...search("the settings as text", Deno.inspect(config.settings, { depth: 20 })),
  ].filter((leak) => !/^(header|receiver's address|in an address) in/.test(leak)); // plain until they are shown

  const caller = { owner: "", admin: "", team: "" };
  {
    await using store = await openStore(config);
    const owner = await store.owner();
    const issue = (scopes: ("admin" | "inference")[]) => store.keys.issue(owner, { scopes });
    caller.admin = (await issue(["admin", "inference"])).secret;
    caller.team = (await store.teams.create({ name: "Team", pool: true })).id;
  }
  planted.set("an admin's key", caller.admin);
  await using gateway = startCommand([], {
    directory: dir.path,
    env: {
      OTEL_EXPORTER_OTLP_HEADERS: `authorization=${secret("a collector's header")}`,
      OTEL_EXPORTER_OTLP_PROTOCOL: "http/json",
      OTEL_EXPORTER_OTLP_ENDPOINT: `${of(other)}/otlp`,
      OTEL_BSP_SCHEDULE_DELAY: "100",
      OTEL_METRIC_EXPORT_INTERVAL: "500",
    },
  });
  const [, url = ""] = await gateway.waitFor(/listening on (http:\S+)/);
  const admin = adminClient(url, caller.admin);
  const look = (what: string, text: string) => leaks.push(...search(what, text));
  const fetched = async (what: string, path: string, init: RequestInit) => {
    const reply = await fetch(`${url}${path}`, { redirect: "manual", ...init });
    const text = await reply.text();
    look(what, `${[...reply.headers].join("\n")}\n${text}`);
    return { status: reply.status, text };
  };
  const { id: accountId } = (await admin("GET", "/accounts")).json.data[0];
  const forwarded = secret("a forwarded key");
  const paths = {
    "/v1/chat/completions": (content: string) => ({ messages: [{ role: "user", content }] }),
    "/v1/messages": (content: string) => ({ max_tokens: 9, messages: [{ role: "user", content }] }),
    "/v1/responses": (content: string) => ({ input: content }),
  };
  const seed = testSeed();
  const random = new Random(seed);
  const statuses = new Set<number>();
  let at = 0;
  const ask = async (model: string, mode: string, headers: Record<string, string> = {}) => {
    const [path, body] = Object.entries(paths)[at++ % 3]!;
    const { status } = await fetched(`a reply of ${path}, ${model}, ${mode}`, path, {
      method: "POST",
      headers: { authorization: `Bearer ${caller.admin}`, ...headers },
      body: JSON.stringify({ model, stream: at % 2 === 0, ...body(`mode ${mode}`) }),
    });
    statuses.add(status);
  };
  const upstreams = Object.keys(written.upstreams);
  // each way to end, at some of the upstreams in the gate, and each upstream in some way
  for (const mode of MODES) {
    for (const name of sampled(upstreams, random, 3)) await ask(name, mode);
  }
  for (const [owner, id] of [["account", accountId], ["team", caller.team]] as const) {
    for (const test of [true, false]) {
      const key = secret(`an own key of the ${owner}${test ? ", refused" : ""}`);
      const body = { [owner]: id, upstream: "own", key, test };
      look(`setting an own key`, (await admin("PUT", "/upstream-keys", { body })).text);
    }
  }
  for (const mode of MODES) {
    await ask("own", mode);
    await ask("own", mode, { "x-sluice-upstream-key": forwarded });
  }
  for (const key of [secret("an unknown key", (one) => `sk-${one}`), secret("a key of no shape")]) {
    await fetched("a rejected key", "/v1/chat/completions?mode=1", {
      method: "POST",
      headers: { authorization: `Bearer ${key}`, "x-api-key": key },
      body: "{}",
    });
  }
  await fetched("a webhook of Stripe", "/webhooks/stripe", {
    method: "POST",
    headers: { "stripe-signature": `t=1,v1=${secret("a signature")}` },
    body: "{}",
  });
  assert([200, 400, 403, 503].every((one) => statuses.has(one)), [...statuses].join());
  assert(outside.received.length > sized(30, 60), `${outside.received.length} requests arrived`);

  const { status, text: metrics } = await fetched("metrics", "/metrics", {
    headers: { authorization: `Bearer ${planted.get("metricsToken")}` },
  });
  assertEquals([status, metrics.includes("sluice_requests_total")], [200, true]);
  const api = (await admin("GET", "/../../openapi.json")).json;
  let reads = 0;
  for (const [path, methods] of Object.entries(api.paths as Record<string, { get?: unknown }>)) {
    if (methods.get === undefined || path.includes("{") || !path.startsWith("/admin/v1")) continue;
    const reply = await admin("GET", path.slice("/admin/v1".length));
    if (reply.status === 200) reads++;
    look(`GET ${path}`, reply.text);
  }
  assert(reads > 10, `${reads} reads`);

  const run = async (...args: string[]) => {
    const { out, err } = await sluice(args, { directory: dir.path });
    look(`sluice ${args.join(" ")}`, `${out}\n${err}`);
    return out;
  };
  const shown = await run("config", "show", "--json");
  assert(shown.includes("[secret]"), shown);
  await run("config", "show");
  await run("config", "check");
  await run("doctor");
  await run("upstream", "test", "keyed");
  await run("upstream", "test", "refused");
  await run("usage", "--all", "--csv");
  await run("log");
  await run("credits", "audit");
  await run("models", "sync");

  // pages: all that are linked from the overview on
  const link = await run("account", "link", "owner@localhost");
  const browser = new PlainBrowser(url);
  const start = new URL(/http\S+/.exec(link)![0]);
  await (await browser.get(`${start.pathname}${start.search}`)).body?.cancel();
  const queue = ["/console/"];
  const known = new Set(queue);
  for (const path of queue) {
    const page = await browser.get(path);
    const text = await page.text();
    look(`page ${path.replace(/[?].*/, "")}`, text);
    for (const [, href = ""] of text.matchAll(/href="(\/console\/[^"#?]*)/g)) {
      const kind = href.replace(/\/(?:req_|key_|acc_|[0-9a-f-]{16,})[^/]*/g, "/ID");
      if (known.has(kind) || /assets|sign-out|link\//.test(href)) continue;
      known.add(kind);
      queue.push(href);
    }
  }
  assert(queue.length > 15, queue.join());

  await run("backup", `${dir.path}/copy.db`);
  await until(() => seen.join("").includes("resourceSpans"), { what: "spans" });
  gateway.signal("SIGTERM");
  await gateway.status;
  look("the log", `${gateway.out()}\n${gateway.err()}`);
  assert(
    `${gateway.out()}${gateway.err()}`.includes("attempt"),
    "the log says nothing of attempts",
  );
  look("traces and exported metrics", seen.join("\n"));
  const stored = [`${dir.path}/copy.db`];
  for await (const { name } of Deno.readDir(`${dir.path}/data`)) {
    stored.push(`${dir.path}/data/${name}`);
  }
  for (const path of stored) {
    const bytes = await Deno.readFile(path);
    look(path.slice(dir.path.length), new TextDecoder("latin1").decode(bytes));
  }
  assertEquals([...new Set(leaks)], [], `SLUICE_TEST_SEED=${seed}`);
});
