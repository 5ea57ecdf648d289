/** `sluice auth`: a terminal signs in, has tokens that are valid, and signs out. */

import { assert, assertEquals, assertStringIncludes } from "../../assert.ts";
import { startGateway } from "../../fake/gateway.ts";
import { sluice } from "../../fake/shell.ts";
import { tempDir, until } from "../../fake/temp.ts";
import { signedIn } from "../../fake/visitor.ts";
import { decide } from "../oauth/tool_browser.ts";

Deno.test("sluice auth: login, token, status, logout", async () => {
  await using gateway = await startGateway({ settings: { signIn: {} } });
  await using home = await tempDir();
  let [laterMs, seen] = [0, ""];
  const run = (...args: string[]) =>
    sluice(["auth", ...args], {
      env: { XDG_STATE_HOME: home.path },
      directory: home.path,
      now: () => Date.now() + laterMs,
      seen: (text) => seen += text,
    });
  assertStringIncludes((await run("token")).err, "Not signed in");
  assertEquals(JSON.parse((await run("status", "--json")).out).signed_in, false);
  const owner = (await gateway.gateway.accounts.owner())!;
  const browser = await signedIn(gateway, owner.email);
  const login = run("login", "--device", "--gateway", `${gateway.url}/`);
  await until(() => seen.includes("Waiting"), { what: "the terminal's code" });
  const code = /the code ([B-Z]{4}-[B-Z]{4})/.exec(seen)![1]!;
  await browser.post("/console/device", { code, decision: "approve" }, {
    from: `/console/device?code=${code}`,
  });
  const done = await login;
  assertEquals([done.code, done.out], [0, ""], done.err);
  assertStringIncludes(done.err, `Signed in as ${owner.email}`);

  const file = `${home.path}/sluice/auth.json`;
  assertEquals((await Deno.stat(file)).mode! & 0o777, 0o600);
  const token = async () => {
    const { code, out, err } = await run("token");
    assertEquals([code, err], [0, ""]);
    assert(/^sk-[\w-]+\n$/.test(out), "nothing but the token");
    return out.trim();
  };
  const first = await token();
  assertEquals(await token(), first, "it is valid");
  const shown = JSON.parse((await run("token", "--json")).out);
  const status = JSON.parse((await run("status", "--json")).out);
  assertEquals([shown.token, shown.expires_at], [first, status.token_expires_at]);
  assertEquals((await gateway.chat("Hi", { max_tokens: 5 }, { key: first })).status, 200);
  laterMs = 56 * 60_000; // by this machine's clock
  const [second, other] = await Promise.all([token(), token()]);
  assert(second === other && second !== first, "refreshed, once by two that ask");
  assertEquals((await gateway.chat("Hi", { max_tokens: 5 }, { key: second })).status, 200);
  assertEquals(JSON.parse((await run("status", "--json")).out), {
    signed_in: true,
    gateway: gateway.url,
    email: owner.email,
    token_expires_at: JSON.parse((await run("status", "--json")).out).token_expires_at,
  });
  assertStringIncludes((await run("logout")).err, `Signed out at ${gateway.url}`);
  await until(async () => {
    const reply = await gateway.chat("Hi", { max_tokens: 5 }, { key: second });
    await reply.body?.cancel();
    return reply.status === 401;
  }, { what: "the end of the token" });
  assertStringIncludes((await run("token")).err, "Not signed in");
});

Deno.test("sluice auth: what a gateway says no to is said, and what it is not", async () => {
  await using gateway = await startGateway();
  await using home = await tempDir();
  const run = (...args: string[]) =>
    sluice(["auth", ...args], { env: { XDG_STATE_HOME: home.path }, directory: home.path });
  const none = await run("login", "--device", "--gateway", gateway.url);
  assertEquals(none.code, 1);
  assertStringIncludes(none.err, "signs no tools in (status 404): its operator sets signIn");
  const wrong = await run("login", "--gateway", "llm.example.com");
  assertEquals(wrong.code, 2);
  assertStringIncludes(wrong.err, "send an address such as https://llm.example.com");
  const away = await run("login", "--device", "--gateway", "http://127.0.0.1:1");
  assertStringIncludes(away.err, "The gateway http://127.0.0.1:1 cannot be reached");
});

Deno.test("sluice auth: while the gateway cannot be asked, a token is printed that is still valid, and logout forgets it", async () => {
  await using home = await tempDir();
  let reply = { status: 503, error: "temporarily_unavailable" };
  await using server = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen() {} },
    () => Response.json(reply.error && { error: reply.error }, { status: reply.status }),
  );
  const nowMs = Date.UTC(2030, 0, 1);
  const token = (laterMs: number) =>
    sluice(["auth", "token"], {
      env: { XDG_STATE_HOME: home.path },
      directory: home.path,
      now: () => nowMs + laterMs,
    });
  const keep = async (url: string) => {
    const own = { accessToken: "sk-valid", refreshToken: "rt-1", expiresAtMs: nowMs + 60_000 };
    await Deno.mkdir(`${home.path}/sluice`, { recursive: true });
    await Deno.writeTextFile(
      `${home.path}/sluice/auth.json`,
      JSON.stringify({ current: url, gateways: { [url]: own } }),
    );
  };
  for (const url of [`http://127.0.0.1:${server.addr.port}`, "http://127.0.0.1:1"]) {
    await keep(url);
    assertEquals([(await token(0)).out, (await token(0)).code], ["sk-valid\n", 0], url);
    assertEquals([(await token(60_000)).out, (await token(60_000)).code], ["", 1], url);
  }
  // what is run after sluice auth logout uses no gateway that is gone
  const logout = async () => {
    const { code, err } = await sluice(["auth", "logout"], {
      env: { XDG_STATE_HOME: home.path },
      directory: home.path,
    });
    return [code, err.split("\n")[0], (await token(0)).err.includes("Not signed in")];
  };
  const url = `http://127.0.0.1:${server.addr.port}`;
  await keep(url);
  assertEquals(await logout(), [1, "sluice: temporarily_unavailable", false]);
  reply = { status: 404, error: "" };
  for (
    const [gone, why] of [
      ["http://127.0.0.1:1", "The gateway http://127.0.0.1:1 cannot be reached. The tokens are"],
      [url, `The gateway ${url} signs no tools in (status 404): its operator sets signIn. The`],
    ]
  ) {
    await keep(gone!);
    const [code, err, isForgotten] = await logout();
    assertEquals([code, isForgotten], [1, true]);
    assertStringIncludes(String(err), why!);
  }
  await keep(url);
  reply = { status: 401, error: "invalid_grant" };
  assertStringIncludes((await token(0)).err, "Signed out at");
  assertStringIncludes((await token(0)).err, "Not signed in");
});

Deno.test("sluice auth login: the browser of this machine brings the code, and takes no other answer for it", async () => {
  await using gateway = await startGateway({ settings: { signIn: {} } });
  await using home = await tempDir();
  let seen = "";
  const run = (browser: string, ...args: string[]) =>
    sluice(["auth", ...args], {
      env: { XDG_STATE_HOME: home.path, BROWSER: browser },
      directory: home.path,
      seen: (text) => seen += text,
    });
  const owner = (await gateway.gateway.accounts.owner())!;
  const browser = await signedIn(gateway, owner.email);
  /** Starts a sign-in, and answers with what the terminal asks for and where it listens. */
  const begin = async () => {
    seen = "";
    const login = run("true", "login", "--gateway", gateway.url);
    await until(() => seen.includes("Waiting"), { what: "the terminal's question" });
    const asked = new URL(/^http\S+$/m.exec(seen)![0]);
    return { login, fields: Object.fromEntries(asked.searchParams), asked };
  };
  const visit = async (url: URL | string) => {
    const reply = await fetch(url);
    return [reply.status, await reply.text()] as const;
  };

  const { login, fields, asked } = await begin();
  assertEquals(`${asked.origin}${asked.pathname}`, `${gateway.url}/oauth/authorize`);
  const to = await decide(browser, "approve", fields);
  for (
    const [name, value] of [["state", "another"], ["iss", "https://evil.example"], ["iss", ""]]
  ) {
    const other = new URL(to);
    other.searchParams.set(name!, value!);
    assertEquals((await visit(other))[0], 400, `${name} ${value}`);
  }
  assertEquals((await visit(new URL("/", to)))[0], 404);
  const [status, text] = await visit(to);
  assertEquals([status, text], [200, "The terminal goes on. You can close this window.\n"]);
  const done = await login;
  assertEquals(done.code, 0, done.err);
  assertStringIncludes(done.err, `Signed in as ${owner.email}`);
  const { out } = await run("true", "token");
  const reply = await gateway.chat("Hi", { max_tokens: 5 }, { key: out.trim() });
  assertEquals(reply.status, 200);
  await reply.body?.cancel();

  const second = await begin();
  assertEquals((await visit(await decide(browser, "deny", second.fields)))[0], 200);
  const denied = await second.login;
  assertEquals(denied.code, 1);
  assertStringIncludes(denied.err, "This terminal was denied");

  // what cannot be done by a browser is done by a code, in words
  const device = async (browserName: string, at: string, why: string) => {
    seen = "";
    const login = run(browserName, "login", "--gateway", at);
    await until(() => seen.includes("and check that it shows"), { what: why });
    assertStringIncludes(seen, `Signing in by a code, as ${why}.`);
    const code = /the code ([B-Z]{4}-[B-Z]{4})/.exec(seen)![1]!;
    const from = `/console/device?code=${code}`;
    const page = await browser.post("/console/device", { code, decision: "deny" }, { from });
    await page.body?.cancel();
    assertStringIncludes((await login).err, "The tool was denied");
  };
  await device("false", gateway.url, "the browser does not open");

  // a gateway that sends people to another one would get that one's code
  const metadata = await (await fetch(`${gateway.url}/.well-known/oauth-authorization-server`))
    .text();
  await using liar = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen() {} },
    (request) =>
      new URL(request.url).pathname.startsWith("/.well-known/")
        ? new Response(metadata)
        : new Response(null, { status: 404 }),
  );
  seen = "";
  const mixedUp = run("true", "login", "--gateway", `http://127.0.0.1:${liar.addr.port}`);
  await until(() => /by a code|Waiting/.test(seen), { what: "the terminal's words" });
  assertStringIncludes(seen, `by a code, as the gateway calls itself ${gateway.url}.`);
  assertEquals((await mixedUp).code, 1);
});
