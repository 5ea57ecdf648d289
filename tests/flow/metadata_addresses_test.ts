/** Nothing that anybody may send brings the gateway to connect to a metadata server, or to another host than its settings name. */

import { assert, assertEquals } from "../assert.ts";
import { PROGRAM, startCommand } from "../fake/command.ts";
import { adminClient } from "../fake/admin_client.ts";
import { fakeUpstream } from "../fake/upstream.ts";
import { Random, testSeed } from "../fake/random.ts";
import { tempDir } from "../fake/temp.ts";
import { sized } from "../tier.ts";
import { openStore } from "../../src/assemble/mod.ts";
import { loadConfig } from "../../src/settings/config/mod.ts";

const canTrace = await new Deno.Command("strace", { args: ["-qq", "-e", "trace=none", "true"] })
  .output().then(({ success }) => success, () => false);

const METADATA = "http://169.254.169.254/latest/meta-data/iam/";
const OTHERS = [METADATA, "http://169.254.170.2/v2/credentials", "http://203.0.113.7/token"];

/** Bodies that have an address wherever a dialect has, or may be thought to have, a place for one. */
function bodiesWith(url: string): [string, Record<string, unknown>][] {
  const tool = { type: "mcp", server_label: "x", server_url: url, authorization: "x" };
  return [
    ["/v1/chat/completions", {
      messages: [{
        role: "user",
        content: [
          { type: "text", text: url },
          { type: "image_url", image_url: { url } },
          { type: "file", file: { file_data: url, file_url: url } },
        ],
      }],
      token_url: url,
      credentials: { kind: "google", tokenUrl: url },
      base_url: url,
      web_search_options: { user_location: { url } },
    }],
    ["/v1/chat/completions", { messages: [{ role: "user", content: url }], tools: [tool] }],
    ["/v1/messages", {
      max_tokens: 5,
      messages: [{
        role: "user",
        content: [
          { type: "image", source: { type: "url", url } },
          { type: "document", source: { type: "url", url } },
        ],
      }],
      mcp_servers: [{ type: "url", name: "x", url }],
    }],
    ["/v1/responses", {
      input: [{
        role: "user",
        content: [
          { type: "input_image", image_url: url },
          { type: "input_file", file_url: url },
        ],
      }],
    }],
    ["/v1/responses", { input: url, tools: [tool], prompt: { id: url }, background: true }],
    ["/v1/embeddings", { input: url, endpoint: url }],
  ];
}

Deno.test({
  name:
    "no caller, lead, webhook, upstream or token endpoint brings the gateway to another address",
  ignore: !canTrace,
  async fn() {
    await using dir = await tempDir();
    const tokens: string[] = [];
    // an upstream, and a token endpoint, that point elsewhere
    await using outside = fakeUpstream(({ path }) => {
      if (path.endsWith("/token")) {
        tokens.push(path);
        return path === "/moved/token"
          ? new Response(null, { status: 302, headers: { location: METADATA } })
          : Response.json({ access_token: "t", expires_in: 3_600, token_uri: METADATA });
      }
      return new Response(null, { status: 307, headers: { location: OTHERS[2]! } });
    });
    const root = outside.url.replace(/\/v1$/, "");
    const settings = {
      port: 0,
      upstreams: {
        google: {
          url: outside.url,
          credentials: { kind: "google", tokenUrl: `${root}/token`, environment: {} },
        },
        moved: {
          url: outside.url,
          credentials: { kind: "google", tokenUrl: `${root}/moved/token`, environment: {} },
        },
        keyed: { url: outside.url, key: "x", allowForwardedKeys: true },
      },
      routes: Object.fromEntries(["google", "moved", "keyed"].map((name) => [name, {
        targets: [{ upstream: name, model: "m" }],
        context: 100_000,
        maxOutput: 100,
        prices: { input: 1, cached: 1, output: 1 },
        images: "remote",
      }])),
    };
    const file = `${dir.path}/sluice.jsonc`;
    await Deno.writeTextFile(file, JSON.stringify(settings));
    let secret = "";
    let team = "";
    {
      const config = await loadConfig({ env: {}, directory: dir.path, file });
      await using store = await openStore(config);
      const owner = await store.owner();
      secret = (await store.keys.issue(owner, { scopes: ["admin", "inference"] })).secret;
      team = (await store.teams.create({ name: "Team", pool: true })).id;
    }
    const trace = `${dir.path}/connections`;
    const traced = [
      "-D", // the gateway is the process that is started, strace a child of it
      "-f",
      "-qq",
      "-e",
      "trace=connect,sendto",
      "-o",
      trace,
      Deno.execPath(),
      ...PROGRAM,
    ];
    await using gateway = startCommand([], {
      directory: dir.path,
      program: "strace",
      programArgs: traced,
      env: {},
    });
    const [, url = ""] = await gateway.waitFor(/listening on (http:\S+)/);
    const admin = adminClient(url, secret);
    let sent = 0;
    const post = async (path: string, body: unknown, headers: Record<string, string> = {}) => {
      sent++;
      const reply = await fetch(`${url}${path}`, {
        method: "POST",
        headers: {
          authorization: `Bearer ${secret}`,
          "content-type": "application/json",
          ...headers,
        },
        body: JSON.stringify(body),
        redirect: "manual",
        signal: AbortSignal.timeout(30_000),
      });
      await reply.text();
      return reply.status;
    };
    // what an address is of makes no difference: in the gate a metadata server's, and one of the others
    const [first, ...rest] = OTHERS;
    for (const other of [first!, ...sized([new Random(testSeed()).pick(rest)], rest)]) {
      for (const model of ["google", "keyed"]) {
        for (const [path, body] of bodiesWith(other)) await post(path, { model, ...body });
      }
      const hi = { messages: [{ role: "user", content: "Hi" }] };
      for (
        const headers of [
          { "x-sluice-upstream-key": other },
          { "x-forwarded-host": new URL(other).host, "x-forwarded-proto": "http" },
          {
            "x-sluice-upstream-url": other,
            "x-base-url": other,
            forwarded: `host=${new URL(other).host}`,
          },
        ]
      ) await post("/v1/chat/completions", { model: "keyed", ...hi }, headers);
      await post("/v1/chat/completions", { model: other, ...hi });
      for (const model of ["google", "moved"]) {
        await post("/v1/chat/completions", { model, ...hi, user: other });
      }
      for (const upstream of ["keyed", other, "google"]) {
        const { status } = await admin("PUT", "/upstream-keys", {
          body: { team, upstream: upstream.slice(0, 64), key: other, test: true },
        });
        assert(status === 400 || status === 200, String(status));
      }
      await post("/webhooks/stripe", {
        type: "checkout.session.completed",
        data: { object: { url: other } },
      });
      await post("/console/sign-in", { next: other });
    }
    assert(sent > sized(30, 40) && outside.received.length > 4, `${sent} sent`);
    assertEquals(new Set(tokens), new Set(["/token", "/moved/token"]));
    gateway.signal("SIGTERM");
    await gateway.status;
    const text = await Deno.readTextFile(trace);
    const hosts = [...text.matchAll(/sin_port=htons\((\d+)\), sin_addr=inet_addr\("([^"]+)"\)/g)]
      .map(([, port, address]) => `${address}:${port}`);
    // names are resolved by the system's own servers
    const foreign = new Set(hosts.filter((host) => !/^127\.|:53$|^0\.0\.0\.0:/.test(host)));
    assertEquals([...foreign], []);
    assert(
      hosts.some((host) => host.endsWith(`:${new URL(outside.url).port}`)),
      "the trace is empty",
    );
  },
});
