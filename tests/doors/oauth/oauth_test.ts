/** Tools sign in: a code, somebody who approves it, tokens, refresh, the end. */

import { assert, assertEquals, assertStringIncludes } from "../../assert.ts";
import { startGateway, type TestGateway } from "../../fake/gateway.ts";
import { type PlainBrowser, signedIn } from "../../fake/visitor.ts";

interface Reply {
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>>;
}

async function ask(
  { url }: TestGateway,
  path: string,
  fields: Record<string, string>,
): Promise<Reply> {
  const reply = await fetch(`${url}${path}`, { method: "POST", body: new URLSearchParams(fields) });
  assertEquals(reply.headers.get("cache-control"), "no-store");
  return { status: reply.status, body: await reply.json() };
}

const GRANT = "urn:ietf:params:oauth:grant-type:device_code";

/** A tool begins, and somebody approves it. */
async function approved(gateway: TestGateway, browser: PlainBrowser): Promise<string> {
  const begun = await ask(gateway, "/oauth/device_authorization", { surface: "claude_code" });
  const { device_code: code, user_code: typed } = begun.body as Record<string, string>;
  const page = await browser.get(`/console/device?code=${typed}`);
  assertStringIncludes(await page.text(), "Claude Code asks to use models in your name");
  // looking at it approves nothing, nor does a form of another page
  const forged = await browser.post("/console/device", { code: typed!, decision: "approve" });
  assertEquals([forged.status, (await forged.text()).includes("has expired")], [403, true]);
  const pending = await ask(gateway, "/oauth/token", { grant_type: GRANT, device_code: code! });
  assertEquals(pending.body.error, "slow_down");
  const done = await browser.post("/console/device", { code: typed!, decision: "approve" }, {
    from: `/console/device?code=${typed}`,
  });
  assertStringIncludes(await done.text(), "The tool goes on by itself");
  return code!;
}

Deno.test("a tool signs in by a code, works, refreshes, and is signed out", async () => {
  // however long the machine takes, the tool asks again too soon
  const atMs = Date.now();
  await using gateway = await startGateway({ settings: { signIn: {} }, now: () => atMs });
  const { accounts } = gateway.gateway;
  const owner = (await accounts.owner())!;
  const metadata = await (await fetch(`${gateway.url}/.well-known/oauth-authorization-server`))
    .json();
  assertEquals(metadata.issuer, gateway.url);
  assertEquals(metadata.token_endpoint, `${gateway.url}/oauth/token`);
  const browser = await signedIn(gateway, owner.email);
  const code = await approved(gateway, browser);
  const { status, body } = await ask(gateway, "/oauth/token", {
    grant_type: GRANT,
    device_code: code,
  });
  assertEquals([status, body.token_type, body.expires_in, body.email], [
    200,
    "Bearer",
    3_600,
    owner.email,
  ]);
  const chat = async (key: unknown) =>
    (await gateway.chat("Hi", { max_tokens: 5 }, { key: String(key) })).status;
  assertEquals(await chat(body.access_token), 200);
  const again = await ask(gateway, "/oauth/token", { grant_type: GRANT, device_code: code });
  assertEquals([again.status, again.body.error], [400, "expired_token"]);
  const refreshed = await ask(gateway, "/oauth/token", {
    grant_type: "refresh_token",
    refresh_token: String(body.refresh_token),
  });
  assertEquals(refreshed.status, 200);
  assertEquals(await chat(refreshed.body.access_token), 200);
  assertStringIncludes(await (await browser.get("/console/keys")).text(), "Claude Code");
  const out = await ask(gateway, "/oauth/revoke", { token: String(refreshed.body.refresh_token) });
  assertEquals(out.status, 200);
  const late = await ask(gateway, "/oauth/token", {
    grant_type: "refresh_token",
    refresh_token: String(refreshed.body.refresh_token),
  });
  assertEquals([late.status, late.body.error], [401, "invalid_grant"]);
  // nothing of a token is in the log
  for (
    const secret of [code, body.access_token, body.refresh_token, refreshed.body.refresh_token]
  ) {
    assert(!gateway.log().includes(String(secret)));
  }
});

Deno.test("codes are guessed ten times by an account, by address or by form; then it waits, whatever it types", async () => {
  for (const isForm of [false, true]) {
    await using gateway = await startGateway({ settings: { signIn: {} } });
    const { accounts } = gateway.gateway;
    const browser = await signedIn(gateway, (await accounts.owner())!.email);
    const from = "/console/account";
    await browser.token(from);
    const begun = await ask(gateway, "/oauth/device_authorization", { client_id: "codex" });
    const guess = async (code: string) => {
      const reply = await (isForm
        ? browser.post("/console/device", { code, decision: "approve" }, { from })
        : browser.get(`/console/device?code=${code}`));
      await reply.body?.cancel();
      return reply.status;
    };
    for (let times = 0; times < 10; times++) {
      assertEquals(await guess("BBBB-BBBB"), 400);
    }
    assertEquals(await guess("BBBB-BBBB"), 429);
    assertEquals(await guess(String(begun.body.user_code)), 429);
    const log = "select operation from operation_log where operation like 'tool.%'";
    assertEquals(await gateway.gateway.database.all(log), [], "nothing was approved");
    const other = await signedIn(gateway, (await accounts.create({ email: "b@b.example" })).email);
    assertEquals((await other.get(`/console/device?code=${begun.body.user_code}`)).status, 200);
  }
});

Deno.test("what a tool sends that is wrong has the error of the RFC", async () => {
  await using gateway = await startGateway({ settings: { signIn: {} } });
  const rows: readonly [string, Record<string, string>, number, string][] = [
    ["/oauth/token", {}, 400, "unsupported_grant_type"],
    ["/oauth/token", { grant_type: "password" }, 400, "unsupported_grant_type"],
    ["/oauth/token", { grant_type: GRANT }, 400, "invalid_request"],
    ["/oauth/token", { grant_type: GRANT, device_code: "x" }, 400, "expired_token"],
    ["/oauth/token", { grant_type: "refresh_token", refresh_token: "x" }, 401, "invalid_grant"],
    ["/oauth/revoke", {}, 400, "invalid_request"],
  ];
  for (const [path, fields, status, error] of rows) {
    const reply = await ask(gateway, path, fields);
    assertEquals([reply.status, reply.body.error], [status, error], JSON.stringify(fields));
  }
  const waits = await ask(gateway, "/oauth/device_authorization", { client_id: "<b>my</b> tool" });
  const pending = await ask(gateway, "/oauth/token", {
    grant_type: GRANT,
    device_code: String(waits.body.device_code),
  });
  assertEquals(pending.body.error, "slow_down");
  for (let guess = 0; guess < 40; guess++) {
    await ask(gateway, "/oauth/token", { grant_type: GRANT, device_code: `guess ${guess}` });
  }
  const bounded = await ask(gateway, "/oauth/token", { grant_type: GRANT, device_code: "x" });
  assertEquals([bounded.status, bounded.body.error], [429, "temporarily_unavailable"]);
});
