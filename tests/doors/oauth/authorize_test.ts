/** Tools sign in by a browser: codes with PKCE, and who would like to have them. */

import fc from "fast-check";
import {
  AuthorizeError,
  readAuthorizeRequest,
} from "../../../src/doors/oauth/authorize_request.ts";
import { assert, assertEquals, assertStringIncludes } from "../../assert.ts";
import { startGateway } from "../../fake/gateway.ts";
import { until } from "../../fake/temp.ts";
import { PlainBrowser, signedIn } from "../../fake/visitor.ts";
import { sized } from "../../tier.ts";
import { ask, decide, question, redeem, REDIRECT } from "./tool_browser.ts";

const CLIENTS = [{ id: "ide", name: "An IDE", redirects: ["https://ide.example/cb?x=1"] }];

Deno.test("a tool signs in by a browser: somebody signs in, approves by a button, and the tool gets tokens for the code", async () => {
  await using gateway = await startGateway({ settings: { signIn: { clients: CLIENTS } } });
  const owner = (await gateway.gateway.accounts.owner())!;
  const metadata = await (await fetch(`${gateway.url}/.well-known/oauth-authorization-server`))
    .json();
  assertEquals(metadata.authorization_endpoint, `${gateway.url}/oauth/authorize`);
  assertEquals(metadata.code_challenge_methods_supported, ["S256"]);
  assertEquals(metadata.response_types_supported, ["code"], "no implicit flow");
  const resource = await (await fetch(`${gateway.url}/.well-known/oauth-protected-resource`))
    .json();
  assertEquals(resource.authorization_servers, [metadata.issuer]);

  // who is not signed in comes back to the question after signing in
  const browser = new PlainBrowser(gateway.url);
  const asked = await browser.get(`/oauth/authorize?${new URLSearchParams(question())}`);
  const page = new URL(asked.headers.get("location")!);
  assertEquals([asked.status, page.origin, page.pathname], [
    303,
    gateway.url,
    "/console/authorize",
  ]);
  await browser.get(`${page.pathname}${page.search}`);
  const link = await gateway.gateway.sessions.makeLink(owner);
  const back = await fetch(`${gateway.url}/console/link/${link}`, {
    headers: { cookie: browser.cookie },
    redirect: "manual",
  });
  assertEquals(back.headers.get("location"), `${page.pathname}${page.search}`);

  const person = await signedIn(gateway, owner.email);
  const text = await (await person.get(`${page.pathname}${page.search}&decision=approve`)).text();
  assertStringIncludes(text, "sluice auth asks to use models in your name");
  assertStringIncludes(text, "a program on the machine of this browser");
  const [none] = await gateway.gateway.database.all("select count(*) as n from tool_codes");
  assertEquals(none!.n, 0, "a link approves nothing");

  const denied = await decide(person, "deny");
  assertEquals(Object.fromEntries(denied.searchParams), {
    error: "access_denied",
    state: "a state",
    iss: gateway.url,
  });
  const answer = await decide(person, "approve");
  assertEquals(`${answer.origin}${answer.pathname}`, REDIRECT);
  assertEquals(answer.searchParams.get("state"), "a state");
  assertEquals(answer.searchParams.get("iss"), metadata.issuer);
  const code = answer.searchParams.get("code")!;
  const { status, body } = await redeem(gateway, code);
  assertEquals([status, body.token_type, body.email], [200, "Bearer", owner.email]);
  const chat = async () => {
    const reply = await gateway.chat("Hi", { max_tokens: 5 }, { key: String(body.access_token) });
    await reply.body?.cancel();
    return reply.status;
  };
  assertEquals(await chat(), 200);

  // a code that is sent again ends what it gave
  const again = await redeem(gateway, code);
  assertEquals([again.status, again.body.error], [400, "invalid_grant"]);
  await until(async () => await chat() === 401, { what: "the end of the tool" });
  const refreshed = await ask(gateway, "/oauth/token", {
    grant_type: "refresh_token",
    refresh_token: String(body.refresh_token),
  });
  assertEquals(refreshed.status, 401);
  for (const secret of [code, body.access_token, body.refresh_token]) {
    assert(!gateway.log().includes(String(secret)));
  }

  // a tool of the settings, at its own address alone
  const to = await decide(person, "approve", {
    client_id: "ide",
    redirect_uri: "https://ide.example/cb?x=1",
  });
  assertEquals([to.host, to.searchParams.get("x")], ["ide.example", "1"]);

  // what is wrong is shown, and leads nowhere
  const evil = new URLSearchParams(question({ redirect_uri: "https://evil.example/cb" }));
  for (const path of [`/oauth/authorize?${evil}`, `/console/authorize?${evil}`]) {
    const reply = await person.get(path);
    assertEquals([reply.status, reply.headers.get("location"), reply.headers.get("refresh")], [
      400,
      null,
      null,
    ]);
    assert(!(await reply.text()).includes("evil.example"), path);
  }
  const implicit = await person.get(
    `/oauth/authorize?${new URLSearchParams(question({ response_type: "token" }))}`,
  );
  const told = new URL(implicit.headers.get("location")!);
  assertEquals([told.origin, told.searchParams.get("error"), told.searchParams.get("iss")], [
    new URL(REDIRECT).origin,
    "unsupported_response_type",
    gateway.url,
  ]);

  // of two who send one code at once, at most one gets tokens, and none keeps them
  const raced = (await decide(person, "approve")).searchParams.get("code")!;
  const replies = await Promise.all([1, 2, 3].map(() => redeem(gateway, raced)));
  const given = replies.filter((one) => one.status === 200);
  assertEquals(given.length, 1);
  await until(async () => {
    const key = String(given[0]!.body.access_token);
    const reply = await gateway.chat("Hi", { max_tokens: 5 }, { key });
    await reply.body?.cancel();
    return reply.status === 401;
  }, { what: "the end of the tool that was raced for" });
});

Deno.test("a code is for one tool, one address, one verifier and one minute; a try with anything else spends it", async () => {
  let laterMs = 0;
  await using gateway = await startGateway({
    settings: { signIn: {} },
    now: () => Date.now() + laterMs,
  });
  const owner = (await gateway.gateway.accounts.owner())!;
  const browser = await signedIn(gateway, owner.email);
  const wrong: readonly Record<string, string>[] = [
    { code_verifier: "w".repeat(43) },
    { code_verifier: "v" },
    { client_id: "codex" },
    { redirect_uri: "http://127.0.0.1:40124/callback" },
  ];
  for (const over of wrong) {
    const code = (await decide(browser, "approve")).searchParams.get("code")!;
    const refused = await redeem(gateway, code, over);
    assertEquals(
      [refused.status, refused.body.error],
      [400, "invalid_grant"],
      JSON.stringify(over),
    );
    assertEquals((await redeem(gateway, code)).status, 400, "spent");
  }
  for (const field of ["code", "client_id", "redirect_uri", "code_verifier"]) {
    const code = (await decide(browser, "approve")).searchParams.get("code")!;
    assertEquals((await redeem(gateway, code, { [field]: "" })).body.error, "invalid_request");
  }
  const late = (await decide(browser, "approve")).searchParams.get("code")!;
  laterMs = 60_000;
  assertEquals((await redeem(gateway, late)).status, 400, "a minute");
  const early = (await decide(browser, "approve")).searchParams.get("code")!;
  laterMs += 58_000;
  assertEquals((await redeem(gateway, early)).status, 200);
  // a form of another page, or with another question than the page showed, has no token or is no known tool
  const forged = await browser.post("/console/authorize", { ...question(), decision: "approve" });
  assertEquals([forged.status, forged.headers.get("refresh")], [403, null]);
  await forged.body?.cancel();
});

const issuer = "https://llm.example.com";
/** Where a tool may be answered, by what it sends; `undefined` if nowhere. */
function answeredAt(redirectUri: string, over: Record<string, string> = {}): string | undefined {
  const sent = new URLSearchParams(question({ redirect_uri: redirectUri, ...over }));
  try {
    return readAuthorizeRequest(sent, { issuer, clients: CLIENTS }).redirectUri;
  } catch (error) {
    assert(error instanceof AuthorizeError);
    return error.answer?.href;
  }
}

Deno.test("a tool is answered where it is registered: at any port of this machine, else exactly", () => {
  const good = ["http://127.0.0.1:1/callback", "http://127.0.0.1/callback"];
  for (const uri of good) assertEquals(answeredAt(uri), uri);
  const uri = "https://ide.example/cb?x=1";
  assertEquals(answeredAt(uri, { client_id: "ide" }), uri);
  assertEquals(
    answeredAt("http://localhost:1455/auth/callback", { client_id: "codex" }),
    "http://localhost:1455/auth/callback",
  );
  const bad = [
    "",
    "/callback",
    "http://127.0.0.1:1/callback/",
    "http://127.0.0.1:1/callback?a=b",
    "http://127.0.0.1:1/callback#",
    "http://127.0.0.1:1/callback#a",
    "http://127.0.0.1:1/other",
    "http://127.0.0.1:1@evil.example/callback",
    "http://evil@127.0.0.1:1/callback",
    "http://127.0.0.1.evil.example/callback",
    "http://evil.example/callback",
    "http://localhost:1/callback",
    "https://127.0.0.1:1/callback",
    "http://127.0.0.1:1/../callback/x",
    "javascript:alert(1)//http://127.0.0.1/callback",
    "http://127.0.0.1:1\\@evil.example/callback",
    "http://127.0.0.1:99999/callback",
    `http://127.0.0.1:1/callback${" ".repeat(1_000)}`,
  ];
  for (const uri of bad) assertEquals(answeredAt(uri), undefined, uri);
  for (
    const uri of [
      "https://ide.example/cb",
      "https://ide.example:444/cb?x=1",
      "https://ide.example/cb?x=1&y=2",
      "http://ide.example/cb?x=1",
    ]
  ) assertEquals(answeredAt(uri, { client_id: "ide" }), undefined, uri);
  assertEquals(answeredAt(good[0]!, { client_id: "unknown" }), undefined);
  for (const over of [{ code_challenge_method: "plain" }, { code_challenge: "short" }]) {
    assertStringIncludes(answeredAt(good[0]!, over)!, "error=invalid_request");
  }
  const twice = new URLSearchParams(question());
  twice.append("redirect_uri", "https://evil.example/");
  try {
    readAuthorizeRequest(twice, { issuer, clients: [] });
    throw new Error("taken");
  } catch (error) {
    assert(error instanceof AuthorizeError && error.answer === undefined);
  }
});

Deno.test("whatever a tool sends as its address, a browser is led to its own machine or nowhere", () => {
  const part = fc.constantFrom(
    ...["http", "https", ":", "//", "/", "\\", "@", "127.0.0.1", "localhost", "[::1]", ":1455"],
    ...["evil.example", ".", "..", "callback", "?", "#", "%2f", "%40", "\t", "\n", " ", "0x7f.1"],
    ...["http://127.0.0.1", "/callback", "user:password", "\u3002", "\uff0f", "::ffff:127.0.0.1"],
  );
  const address = fc.array(part, { minLength: 1, maxLength: 8 }).map((parts) => parts.join(""));
  fc.assert(
    fc.property(address, fc.constantFrom("sluice", "codex", "claude-code"), (uri, id) => {
      const to = answeredAt(uri, { client_id: id });
      if (to === undefined) return;
      const { protocol, hostname, username, password, hash } = new URL(to);
      assert(protocol === "http:" && ["127.0.0.1", "localhost"].includes(hostname), uri);
      assertEquals([username, password, hash], ["", "", ""], uri);
    }),
    {
      numRuns: sized(3_000, 200_000),
      examples: [["http://127.0.0.1@evil.example/callback", "sluice"]],
    },
  );
});
