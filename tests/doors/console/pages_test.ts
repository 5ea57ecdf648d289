import { assert, assertEquals, assertMatch, assertStringIncludes } from "../../assert.ts";
import { customer } from "../../fake/customer.ts";
import { startGateway, statusOf } from "../../fake/gateway.ts";
import { sharedGateway } from "../../fake/shared_gateway.ts";
import { NEW_KEY, PlainBrowser, signedIn } from "../../fake/visitor.ts";

const PASSWORD = "a long enough password";
const OWNER = "owner@localhost";

const PUBLIC = [
  "/console/models",
  "/console/models?q=k2&can=tools&sort=input",
  "/console/sign-in",
  "/console/register",
  "/docs",
];
const OWN = [
  "/console/",
  "/console/keys",
  "/console/usage",
  "/console/usage?by=hour",
  "/console/usage?by=model",
  "/console/usage?by=key",
  "/console/usage?by=member,model&since=2026-01&compare=1&zone=Europe/Berlin&all=1",
  "/console/usage.csv",
  "/console/usage/requests.csv",
  "/console/usage/entries.csv",
  "/console/requests",
  "/console/credits",
  "/console/credits?month=2026-01",
  "/console/credits?month=2026-13",
  "/console/credits.csv",
  "/console/notices",
  "/console/statement",
  "/console/statement.csv",
  "/console/playground",
  "/console/account",
];
const OPERATORS = [
  "accounts",
  "alerts",
  "live",
  "upstreams",
  "routes",
  "invites",
  "payments",
  "audit",
  "log",
  "settings",
]
  .map((name) => `/console/operator/${name}`);

Deno.test("every page, as nobody, a user, another user, an operator", async () => {
  await using gateway = await startGateway();
  const [ada, bob] = [await customer(gateway, 100), await customer(gateway, 100)];
  const asked = await gateway.chat("Hi", {}, { key: ada.keys[0]! });
  const request = asked.headers.get("request-id");
  await asked.body?.cancel();
  const [made] = await gateway.gateway.keys.list(
    await gateway.gateway.accounts.get(ada.email),
  );
  const key = made!.id;
  const visitors = {
    nobody: new PlainBrowser(gateway.url),
    user: await signedIn(gateway, ada.email),
    other: await signedIn(gateway, bob.email),
    operator: await signedIn(gateway, OWNER),
  };
  const account = `/console/operator/accounts/${ada.accountId}`;
  type Row = [path: string, nobody: number, user: number, other: number, operator: number];
  const reads: Row[] = [
    ...PUBLIC.map((path): Row => [path, 200, 200, 200, 200]),
    ...OWN.map((path): Row => [path, 303, 200, 200, 200]),
    [`/console/requests/${request}`, 303, 200, 404, 200],
    [`/console/requests/req_nothing`, 303, 404, 404, 404],
    ["/console/orders/ord_nothing", 303, 404, 404, 404],
    ["/console/orders/ord_nothing/receipt", 303, 404, 404, 404],
    ...OPERATORS.map((path): Row => [path, 303, 404, 404, 200]),
    [account, 303, 404, 404, 200],
    ["/console/operator/accounts/acc_nobody", 303, 404, 404, 404],
    ["/console/operator", 303, 404, 404, 200],
    ["/console/operator?range=90d", 303, 404, 404, 200],
    ["/console/operator/routes/edit?route=svc-k2", 303, 404, 404, 200],
    ["/console/operator/routes/edit?route=constructor", 303, 404, 404, 400],
    ["/console/nothing", 404, 404, 404, 404],
    ["/console/_components", 404, 404, 404, 404], // unless the setting is on
  ];
  // signed in already: led to the first page
  reads.find(([path]) => path === "/console/sign-in")!.splice(2, 3, 303, 303, 303);
  const statuses = async (ask: (browser: PlainBrowser) => Promise<Response>) => {
    const found: number[] = [];
    for (const browser of Object.values(visitors)) found.push(await statusOf(ask(browser)));
    return found;
  };
  for (const [path, ...wanted] of reads) {
    assertEquals(await statuses((browser) => browser.get(path)), wanted, path);
  }
  // whose a page is says the page of somebody else's alone
  const names = async (browser: PlainBrowser, path: string, text: string) => {
    const html = await (await browser.get(path)).text();
    return html.slice(html.indexOf("<main")).includes(text);
  };
  assertEquals(await names(visitors.user, `/console/requests/${request}`, ada.email), false);
  assertEquals(await names(visitors.operator, `/console/requests/${request}`, ada.email), true);
  // reports name a pool by its team
  const { poolId } = await gateway.gateway.teams.create({ name: "Pooled", pool: true });
  const pool = `/console/operator/accounts/${poolId}`;
  assertEquals(await names(visitors.operator, account, "Usage by"), true);
  assertEquals(await names(visitors.operator, pool, "Usage by"), false);
  const token = (browser: PlainBrowser) =>
    browser === visitors.nobody ? {} : { from: "/console/account" };
  const writes: Row[] = [
    [`/console/keys/${key}/revoke`, 303, 303, 404, 404],
    ["/console/checkout", 303, 400, 400, 400],
    ["/console/redeem", 303, 400, 400, 400],
    ["/console/top-up", 303, 400, 400, 400],
    ["/console/operator/accounts", 303, 404, 404, 400],
    [`${account}/grant`, 303, 404, 404, 400],
    [`${account}/package`, 303, 404, 404, 400],
    [`${account}/link`, 303, 404, 404, 200],
    [`${account}/keys`, 303, 404, 404, 200],
    [`${account}/keys/${key}/revoke`, 303, 404, 404, 303],
    ["/console/operator/audit", 303, 404, 404, 200],
    ["/console/operator/alerts", 303, 404, 404, 400],
    ["/console/notices", 303, 400, 400, 400],
    ["/console/operator/backup", 303, 404, 404, 200],
    [`${account}/disable`, 303, 404, 404, 303],
  ];
  // those who may are asked last, since some writes end what the others would see
  for (const [path, ...wanted] of writes) {
    assertEquals(
      await statuses((browser) => browser.post(path, {}, token(browser))),
      wanted,
      path,
    );
  }
  assertEquals(await statusOf(visitors.user.get("/console/")), 303, "a disabled account's session");
});

Deno.test("register, sign in, change the password, sign out everywhere: without scripts", async () => {
  await using gateway = await startGateway({ settings: { registration: "open" } });
  const browser = new PlainBrowser(gateway.url);
  const registered = await browser.post("/console/register", {
    email: "Ada@example.com",
    name: "Ada",
    password: PASSWORD,
  });
  assertEquals(registered.headers.get("location"), "/console/sign-in?done=registered");
  const again = await browser.post("/console/register", {
    email: "ada@example.com",
    password: "quite another password",
  });
  const { url } = gateway;
  for (const email of ["ada@example.com", "nobody@example.com"]) {
    const fields = { email, password: PASSWORD, code: "nonsense" };
    assertEquals(await statusOf(new PlainBrowser(url).post("/console/register", fields)), 400);
  }
  // nothing tells whether an address was used before
  assertEquals(again.headers.get("location"), registered.headers.get("location"));
  const sign = (who: PlainBrowser, password: string, email = "ada@example.com") =>
    who.post("/console/sign-in", { email, password });
  const wrong = await sign(browser, "quite another password");
  const unknown = await sign(new PlainBrowser(gateway.url), PASSWORD, "nobody@example.com");
  assertEquals([wrong.status, unknown.status], [401, 401]);
  const said = async (reply: Response) => /role="status">([^<]+)/.exec(await reply.text())?.[1];
  assertEquals(await said(wrong), await said(unknown));

  const right = await sign(browser, PASSWORD);
  assertEquals([right.status, right.headers.get("location")], [303, "/console/"]);
  assertMatch(
    right.headers.get("set-cookie")!,
    /^sluice=\w{32}; HttpOnly; Max-Age=\d+; SameSite=Lax; Path=\/$/,
  );
  const before = browser.cookie;
  await sign(browser, PASSWORD);
  assert(browser.cookie !== before, "signing in makes a new session");
  const old = new PlainBrowser(gateway.url);
  old.cookie = before;
  assertEquals(await statusOf(old.get("/console/")), 303, "the one before has ended");

  const elsewhere = new PlainBrowser(gateway.url);
  await sign(elsewhere, PASSWORD);
  const change = (current: string, password: string) =>
    browser.post("/console/account/password", { current, password }, { from: "/console/account" });
  assertEquals(await statusOf(change("wrong", "another password")), 400);
  assertEquals(await statusOf(change(PASSWORD, "short")), 400);
  assertEquals(await statusOf(change(PASSWORD, "another password")), 303);
  assertEquals(await statusOf(elsewhere.get("/console/")), 303, "other sessions have ended");
  assertEquals(await statusOf(browser.get("/console/")), 200);
  assertEquals(await statusOf(sign(elsewhere, PASSWORD)), 401);
  assertEquals(await statusOf(sign(elsewhere, "another password")), 303);
  await browser.post("/console/account/sign-out-everywhere", {}, { from: "/console/account" });
  assertEquals(await statusOf(elsewhere.get("/console/")), 303);
});

Deno.test("a sign-in link works once; it lets a forgotten password be replaced", async () => {
  await using gateway = await startGateway();
  const { sessions, accounts, passwords } = gateway.gateway;
  const owner = await accounts.get(OWNER);
  await passwords.set(owner, PASSWORD);
  const token = await sessions.makeLink(owner);
  const [one, two] = [new PlainBrowser(gateway.url), new PlainBrowser(gateway.url)];
  const looked = await fetch(`${gateway.url}/console/link/${token}`, { method: "HEAD" });
  await looked.body?.cancel();
  const both = await Promise.all(
    [one, two].map((who) => statusOf(who.get(`/console/link/${token}`))),
  );
  assertEquals(both.toSorted(), [303, 404]);
  const inside = both[0] === 303 ? one : two;
  assertEquals(
    await statusOf(
      inside.post("/console/account/password", { password: "the new password" }, {
        from: "/console/account",
      }),
    ),
    303,
  );
  assert(await passwords.matches(owner, "the new password"));
});

Deno.test("links and sessions end with time", async () => {
  let skewMs = 0;
  await using gateway = await startGateway({ now: () => Date.now() + skewMs });
  const browser = await signedIn(gateway, OWNER);
  const token = await gateway.gateway.sessions.makeLink(await gateway.gateway.accounts.get(OWNER));
  skewMs = 25 * 3_600_000;
  assertEquals(await statusOf(browser.get(`/console/link/${token}`)), 404);
  assertEquals(await statusOf(browser.get("/console/")), 200);
  skewMs = 31 * 86_400_000;
  assertEquals(await statusOf(browser.get("/console/")), 303);
});

Deno.test("wrong passwords are bounded per address and account; the owner is not locked out", async () => {
  let skewMs = 0;
  await using gateway = await startGateway({
    now: () => Date.now() + skewMs,
    settings: { trustedProxies: ["127.0.0.1"] },
  });
  const owner = await gateway.gateway.accounts.get(OWNER);
  await gateway.gateway.passwords.set(owner, PASSWORD);
  const from = (address: string, password: string) =>
    statusOf(
      new PlainBrowser(gateway.url).post("/console/sign-in", { email: OWNER, password }, {
        headers: { "x-forwarded-for": `6.6.6.6, ${address}` },
      }),
    );
  const tries = await Promise.all(
    Array.from({ length: 8 }, () => from("203.0.113.7", "wrong password")),
  );
  assertEquals(tries.filter((status) => status === 401).length, 5, "at once or one by one");
  assertEquals(await from("203.0.113.7", PASSWORD), 429, "even the right one");
  assertEquals(await from("203.0.113.8", PASSWORD), 303, "elsewhere it works");
  await signedIn(gateway, OWNER);
  skewMs = 11 * 60_000;
  assertEquals(await from("203.0.113.7", PASSWORD), 303);
});

Deno.test("who has to wait before a password is changed is told how long", async () => {
  await using gateway = await startGateway({ settings: { trustedProxies: ["127.0.0.1"] } });
  const owner = await gateway.gateway.accounts.get(OWNER);
  await gateway.gateway.passwords.set(owner, PASSWORD);
  const stranger = (address: string, password: string) =>
    new PlainBrowser(gateway.url).post("/console/sign-in", { email: OWNER, password }, {
      headers: { "x-forwarded-for": address },
    });
  const browser = new PlainBrowser(gateway.url);
  await browser.post("/console/sign-in", { email: OWNER, password: PASSWORD });
  for (let at = 0; at < 12; at++) {
    const tries = Array.from({ length: 5 }, () => stranger(`203.0.113.${at}`, "wrong password"));
    for (const reply of await Promise.all(tries)) await reply.body?.cancel();
  }
  const form = { current: PASSWORD, password: "another long password" };
  const reply = await browser.post("/console/account/password", form, { from: "/console/account" });
  assertEquals(reply.status, 429);
  assertStringIncludes(await reply.text(), "Too many attempts. Wait 60 minutes.");
  assertMatch(reply.headers.get("retry-after")!, /^3[56]\d\d$/);
});

Deno.test("of keys that are over, those that ended last can be changed, and the list has an end", async () => {
  let skewMs = 0;
  await using gateway = await startGateway({ now: () => Date.now() + skewMs });
  const { accounts, keys } = gateway.gateway;
  const owner = await accounts.get(OWNER);
  const untilMs = Date.now() + 3_600_000;
  const old = await keys.issue(owner, { name: "ended last", expiresAtMs: untilMs + 1_000 });
  for (let at = 0; at < 202; at++) {
    await keys.issue(owner, { name: "playground", expiresAtMs: untilMs + at });
  }
  skewMs = 2 * 3_600_000;
  const html = await (await (await signedIn(gateway, OWNER)).get("/console/keys")).text();
  const past = html.slice(html.indexOf("203 keys revoked or expired"));
  assertEquals(past.match(/<tr>/g)!.length, 1 + 200);
  assertEquals(past.match(/\/update"/g)!.length, 20);
  assertEquals(/\/keys\/(key_\w+)\/update"/.exec(past)![1], old.id);
  assertStringIncludes(past, "The latest 200 of 203.");
});

Deno.test("registration: closed, by invite, open", async () => {
  const register = (url: string, fields: Record<string, string>) =>
    new PlainBrowser(url).post("/console/register", {
      email: "ada@example.com",
      password: PASSWORD,
      ...fields,
    });
  {
    await using closed = await startGateway({ settings: { registration: "closed" } });
    assertEquals(await statusOf(register(closed.url, {})), 404);
    assertEquals(await statusOf(new PlainBrowser(closed.url).get("/console/register")), 404);
  }
  await using gateway = await startGateway();
  assertEquals(await statusOf(register(gateway.url, {})), 400);
  assertEquals(await statusOf(register(gateway.url, { code: "nonsense" })), 400);
  const owner = await gateway.gateway.accounts.get(OWNER);
  const code = await gateway.gateway.accounts.inviteCode(owner);
  assertEquals(await statusOf(register(gateway.url, { code })), 303);
  const credits = await (await signedIn(gateway, OWNER)).get("/console/credits");
  const text = await credits.text();
  assertStringIncludes(text, "ada@example.com");
  assertStringIncludes(text, "1,000,050");
});

Deno.test("the snippets of a new key name a model that it may use", async () => {
  await using gateway = await startGateway({
    settings: {
      routes: {
        vectors: { kind: "embeddings", targets: [{ upstream: "simulator", model: "v" }] },
        words: { targets: [{ upstream: "simulator", model: "w" }] },
      },
    },
  });
  const { accounts, members, teams } = gateway.gateway;
  const team = await teams.create({ name: "Platform", pool: true, models: ["svc-k2", "svc-k2.6"] });
  await members.add(team, await accounts.get(OWNER), "lead");
  const browser = await signedIn(gateway, OWNER);
  const named = async (path: string, fields: string, from = path) => {
    const form = new URLSearchParams(fields);
    form.append("csrf", await browser.token(from));
    const reply = await fetch(`${gateway.url}${path}`, {
      method: "POST",
      headers: { cookie: browser.cookie, "sec-fetch-site": "same-origin" },
      body: form,
    });
    const html = await reply.text();
    assertEquals(reply.status, 200);
    return [
      ...new Set(
        [...html.matchAll(/&quot;model&quot;:&quot;(.*?)&quot;|ANTHROPIC_MODEL=(.*)/g)]
          .map(([, small, large]) => small ?? large),
      ),
    ];
  };
  const fields = "expires=never&budget=&at_once=&member=team";
  const keys = "/console/keys";
  assertEquals(await named(keys, `${fields}&allow=all`), ["svc-k2", "claude-svc-k3"]);
  assertEquals(await named(keys, `${fields}&allow=listed&models=svc-k3`), [
    "svc-k3",
    "claude-svc-k3",
  ]);
  const both = `${fields}&allow=listed&models=vectors&models=words`;
  assertEquals(await named(keys, both), ["words", "claude-words"]);
  assertEquals(await named(keys, `${fields}&allow=listed&models=vectors`), []);
  const ofTeam = `/console/teams/${team.id}`;
  assertEquals(await named(`${ofTeam}/keys`, `${fields}&allow=all`, ofTeam), [
    "svc-k2",
    "claude-svc-k2",
  ]);
  const [key] = await gateway.gateway.keys.list(await accounts.get(OWNER));
  await gateway.gateway.keys.change(key!.id, { models: ["words"] });
  const rotated = await named(`${keys}/${key!.id}/rotate`, "hours=0", keys);
  assertEquals(rotated, ["words", "claude-words"]);
});

Deno.test("registering is bounded per address: every account begins with credits", async () => {
  await using gateway = await startGateway({
    settings: { registration: "open", trustedProxies: ["127.0.0.1"] },
  });
  const from = (address: string, index: number) =>
    statusOf(
      new PlainBrowser(gateway.url).post("/console/register", {
        email: `farm${index}@example.com`,
        password: "short", // costs no hashing, and counts all the same
      }, { headers: { "x-forwarded-for": address } }),
    );
  const statuses = [];
  for (let index = 0; index < 12; index++) statuses.push(await from("203.0.113.9", index));
  assertEquals(statuses, [...Array(10).fill(400), 429, 429]);
  assertEquals(await from("203.0.113.10", 99), 400);
});

Deno.test("behind a proxy with TLS the cookie is bound to the host", async () => {
  await using gateway = await startGateway({ settings: { trustedProxies: ["127.0.0.1"] } });
  const token = await gateway.gateway.sessions.makeLink(await gateway.gateway.accounts.get(OWNER));
  const reply = await fetch(`${gateway.url}/console/link/${token}`, {
    headers: { "x-forwarded-proto": "https" },
    redirect: "manual",
  });
  await reply.body?.cancel();
  assertMatch(
    reply.headers.get("set-cookie")!,
    /^__Host-sluice=\w{32}; Secure; HttpOnly; .*; Path=\/$/,
  );
});

Deno.test("older requests: every one of them once, those of one moment too", async () => {
  const atMs = Date.now();
  await using gateway = await startGateway({ now: () => atMs }); // all at the same millisecond
  await Promise.all(Array.from({ length: 120 }, () => statusOf(gateway.chat("Hi"))));
  const browser = await signedIn(gateway, OWNER);
  const seen: string[] = [];
  let path: string | undefined = "/console/requests";
  while (path !== undefined) {
    const text: string = await (await browser.get(path)).text();
    seen.push(
      ...[...text.matchAll(/"\/console\/requests\/(req_\w+)"/g)].map(([, id]) => id!),
    );
    const more = /href="([^"]+)">Older/.exec(text)?.[1];
    path = more?.replaceAll("&amp;", "&");
  }
  assertEquals([seen.length, new Set(seen).size], [120, 120]);
});

Deno.test("requests of a range, or from and to a date, are those whose time lies in it", async () => {
  let atMs = Date.UTC(2030, 0, 1, 12);
  await using gateway = await startGateway({ now: () => atMs });
  await statusOf(gateway.chat("Hi"));
  atMs = Date.UTC(2030, 0, 4, 12);
  await statusOf(gateway.chat("Hi"));
  const browser = await signedIn(gateway, OWNER);
  const listed = async (query: string) => {
    const text = await (await browser.get(`/console/requests?${query}`)).text();
    return [
      ...new Set([...text.matchAll(/<time datetime="(2030-01-\d\d)/g)].map(([, day]) => day!)),
    ];
  };
  const [first, fourth] = ["2030-01-01", "2030-01-04"];
  assertEquals(await listed(""), [fourth, first]);
  assertEquals(await listed("range=24h"), [fourth]);
  assertEquals(await listed("from=2030-01-02"), [fourth]);
  assertEquals(await listed("to=2030-01-01"), [first], "the last day is part of it");
  assertEquals(await listed("from=2030-01-01&to=2030-01-03"), [first]);
});

/** The hidden fields of the form of a page that is sent to a path ending so. */
async function hiddenFields(
  browser: PlainBrowser,
  page: string,
  action: string,
): Promise<Record<string, string>> {
  const text = await (await browser.get(page)).text();
  const [form] = new RegExp(`<form[^>]*action="[^"]*${action}"[\\s\\S]*?</form>`).exec(text)!;
  return Object.fromEntries(
    [...form.matchAll(/<input type="hidden" name="(\w+)" value="([^"]*)"/g)]
      .map(([, name, value]) => [name!, value!]),
  );
}

// those below share a gateway
const shared = sharedGateway();

shared("a form of another site, without a token, or with another's is refused", async (gateway) => {
  const ada = await customer(gateway, 10);
  const browser = await signedIn(gateway, ada.email);
  const other = await signedIn(gateway, OWNER);
  const form = { ...NEW_KEY, name: "made by a stranger" };
  const attempts: Promise<Response>[] = [
    browser.post("/console/keys", form),
    browser.post("/console/keys", { ...form, csrf: await other.token("/console/keys") }),
    ...[{ "sec-fetch-site": "cross-site" }, { "sec-fetch-site": "same-site" }].map((headers) =>
      browser.post("/console/keys", form, { from: "/console/keys", headers })
    ),
    fetch(`${gateway.url}/console/keys`, {
      method: "POST",
      headers: { cookie: browser.cookie, origin: "https://elsewhere.example" },
      body: new URLSearchParams({ ...form, csrf: await browser.token("/console/keys") }),
    }),
    fetch(`${gateway.url}/console/keys`, {
      method: "POST",
      headers: { cookie: browser.cookie, "content-type": "text/plain" },
      body: "name=x",
    }),
    fetch(`${gateway.url}/console/keys`, {
      method: "POST",
      headers: { cookie: browser.cookie },
      body: new URLSearchParams({ name: "x".repeat(70_000) }),
    }),
  ];
  for (const attempt of attempts) assertEquals(await statusOf(attempt), 403);
  const token = await browser.token("/console/account");
  const inPieces = async (...pieces: string[]) => {
    const reply = await fetch(`${gateway.url}/console/sign-in`, {
      method: "POST",
      headers: { cookie: browser.cookie, "content-type": "application/x-www-form-urlencoded" },
      body: ReadableStream.from(pieces).pipeThrough(new TextEncoderStream()),
    });
    return [reply.status, /<p>(The form [^<]+)/.exec(await reply.text())?.[1]];
  };
  const many = Array.from({ length: 64 }, () => "x".repeat(1_024));
  assertEquals(await inPieces(`csrf=${token}&email=`, ...many.slice(1)), [401, undefined]);
  assertEquals(await inPieces(`csrf=${token}&email=`, ...many), [
    403,
    "The form data could not be read.",
  ]);
  assertEquals(await statusOf(browser.post("/console/keys", form, { from: "/console/keys" })), 200);
  const account = await gateway.gateway.accounts.get(ada.email);
  assertEquals((await gateway.gateway.keys.list(account)).length, 2);
});

shared(
  "a session is found beside other cookies; a header of empty ones has none",
  async (gateway) => {
    const { cookie } = await signedIn(gateway, OWNER);
    const home = (cookie: string) => {
      const browser = new PlainBrowser(gateway.url);
      browser.cookie = cookie;
      return statusOf(browser.get("/console/"));
    };
    for (
      const one of [`theme=dark; ${cookie}`, `${cookie}; __proto__=1; last=a=b`, `x;${cookie}`]
    ) {
      assertEquals(await home(one), 200, one);
    }
    for (const one of ["", "=", `=x; ${cookie}`, `${cookie};`, `x${cookie}`, `${cookie}x`]) {
      assertEquals(await home(one), 303, one);
    }
  },
);

shared("an expiry that no calendar has is refused, and spoils no page", async (gateway) => {
  const browser = await signedIn(gateway, OWNER);
  for (const expires of ["100000000", "999999999999999"]) {
    const made = browser.post("/console/keys", { ...NEW_KEY, expires }, { from: "/console/keys" });
    assertEquals(await statusOf(made), 400);
    const account = `/console/operator/accounts/${gateway.gateway.owner.id}`;
    const granted = browser.post(`${account}/grant`, { credits: "1", days: expires }, {
      from: account,
    });
    assertEquals(await statusOf(granted), 400);
  }
  assertEquals(await statusOf(browser.get("/console/keys")), 200);
});

shared("usage as CSV cannot make a spreadsheet compute", async (gateway) => {
  const account = await gateway.gateway.accounts.get(OWNER);
  const { id, secret } = await gateway.gateway.keys.issue(account, { name: `=cmd("x"),1` });
  await statusOf(gateway.chat("Hi", {}, { key: secret }));
  const csv = await (await (await signedIn(gateway, OWNER)).get("/console/usage.csv?by=key"))
    .text();
  const [head, row] = csv.split("\r\n");
  assertEquals(
    head,
    "key,key_id,requests,errors,input_tokens,cached_tokens,output_tokens,saved_credits,credits," +
      "cache_hit_rate,average_ms",
  );
  assertStringIncludes(row!, `"'=cmd(""x""),1",${id},1,0,`);
});

shared("a form that moves credits moves them once, however often it is posted", async (gateway) => {
  const ada = await customer(gateway, 10);
  const operator = await signedIn(gateway, OWNER);
  const path = `/console/operator/accounts/${ada.accountId}`;
  const post = async (form: string, fields: Record<string, string>) => {
    const hidden = await hiddenFields(operator, path, `/${form}`);
    const statuses: number[] = [];
    for (let times = 0; times < 3; times++) {
      statuses.push(await statusOf(operator.post(`${path}/${form}`, { ...hidden, ...fields })));
    }
    return { hidden, statuses };
  };
  const granted = await post("grant", { credits: "100", days: "" });
  assertEquals([granted.statuses, await ada.balance()], [[303, 303, 303], 110]);
  const changed = await operator.post(`${path}/grant`, {
    ...granted.hidden,
    credits: "200",
    days: "",
  });
  assertEquals(changed.status, 400);
  assertStringIncludes(await changed.text(), "was already used for a grant of 100 credits");
  const again = await post("grant", { credits: "100", days: "" }); // the page was loaded again
  assertEquals([again.statuses, await ada.balance()], [[303, 303, 303], 210]);
  await post("package", { package: "starter", paid: "yes" });
  assertEquals(await ada.balance(), 710);
  const bare = operator.post(`${path}/grant`, { credits: "100", days: "" }, { from: path });
  assertEquals([await statusOf(bare), await ada.balance()], [400, 710], "a form without its id");

  const taken = await post("take-back", { credits: "4", note: "granted too much" });
  assertEquals([taken.statuses, await ada.balance()], [[303, 303, 303], 706]);
  const page = await (await operator.get(path)).text();
  assertStringIncludes(page, "Taken back: Grant (granted too much)");
  const own = await (await (await signedIn(gateway, ada.email)).get("/console/credits")).text();
  assertStringIncludes(own, "Taken back: Grant (granted too much)");
  const wordless = operator.post(`${path}/take-back`, {
    ...await hiddenFields(operator, path, "/take-back"),
    note: "",
  });
  assertEquals([await statusOf(wordless), await ada.balance()], [400, 706]);
});

shared(
  "a disabled account's sessions and links do not come back, and it gets no new link",
  async (gateway) => {
    const ada = await customer(gateway, 10);
    const [browser, operator] = [
      await signedIn(gateway, ada.email),
      await signedIn(gateway, OWNER),
    ];
    const { sessions, accounts } = gateway.gateway;
    const link = await sessions.makeLink(await accounts.get(ada.email));
    const path = `/console/operator/accounts/${ada.accountId}`;
    const post = (form: string) => operator.post(`${path}/${form}`, {}, { from: path });
    assertEquals(await statusOf(post("disable")), 303);
    assertEquals(await statusOf(post("link")), 400);
    assertEquals(await statusOf(post("enable")), 303);
    assertEquals(await statusOf(browser.get("/console/")), 303);
    assertEquals(await statusOf(browser.get(`/console/link/${link}`)), 404);
  },
);

shared("names cannot script, and pages are never kept by caches", async (gateway) => {
  const nasty = `<script>alert(1)</script>"'><img src=x onerror=alert(2)>`;
  const account = await gateway.gateway.accounts.create({ email: "x@example.com", name: nasty });
  await gateway.gateway.keys.issue(account, { name: nasty });
  await gateway.gateway.sales.grant(account, { credits: 5, note: nasty });
  const [user, operator] = [
    await signedIn(gateway, "x@example.com"),
    await signedIn(gateway, OWNER),
  ];
  const pages: [PlainBrowser, string][] = [
    ...["/console/", "/console/keys", "/console/credits", "/console/account"]
      .map((path): [PlainBrowser, string] => [user, path]),
    [operator, "/console/operator/accounts"],
    [operator, `/console/operator/accounts/${account.id}`],
    [operator, `/console/operator/accounts?q=${encodeURIComponent(nasty)}`],
    [user, `/console/requests?model=${encodeURIComponent(nasty)}`],
    [user, `/console/register?code=${encodeURIComponent(nasty)}`],
    [user, `/console/${encodeURIComponent(nasty)}`],
  ];
  for (const [browser, path] of pages) {
    const reply = await browser.get(path);
    const text = await reply.text();
    assert(!text.includes("<img src=x") && !text.includes("<script>"), path);
    assertStringIncludes(reply.headers.get("content-security-policy")!, "default-src 'none'");
    assert(!/unsafe/.test(reply.headers.get("content-security-policy")!));
    assertEquals(reply.headers.get("cache-control"), "no-store");
    assertEquals(reply.headers.get("access-control-allow-origin"), null);
  }
});

shared("a request's page explains its price; a backup downloads whole", async (gateway) => {
  const reply = await gateway.post("/v1/messages", {
    model: "svc-k3",
    max_tokens: 400,
    top_k: 5,
    messages: [{ role: "user", content: "Hello [[tokens 300]]" }],
  });
  const { usage } = await reply.json();
  const browser = await signedIn(gateway, OWNER);
  const page = await browser.get(`/console/requests/${reply.headers.get("request-id")}`);
  const text = await page.text();
  assertStringIncludes(text, reply.headers.get("x-sluice-ignored")!);
  const exact = (usage.input_tokens * 500 + usage.output_tokens * 2_500) / 1e6;
  const priceOf = (page: string) =>
    [
      ...page.slice(page.indexOf("<h2>Price"), page.indexOf("<h2>Ledger"))
        .matchAll(/data-name="credits">(?:<[^>]+>)?([^<]+)/g),
    ]
      .map(([, credits]) => Number(credits!.replaceAll(",", "")));
  const whole = Math.max(3, Math.ceil(exact));
  assertStringIncludes(text, "up to the minimum of 3");
  assertEquals(priceOf(text).at(-1), whole);
  const micro = (credits: number) => Math.round(credits * 1e6);
  assertEquals(
    priceOf(text).slice(0, -1).reduce((sum, credits) => sum + micro(credits), 0),
    micro(whole),
  );
  assert(!text.includes("Hello"), "what was said is not there");

  // the prices that it was charged by, whatever the route costs now
  const { database } = gateway.gateway;
  const priced = async (sql: string) => {
    await database.batch([{ sql: `update usage_records set ${sql}` }]);
    return await (await browser.get(`/console/requests/${reply.headers.get("request-id")}`)).text();
  };
  const before = await priced("input_price = 1000000, output_price = 0, minimum_credits = 2");
  assertEquals(priceOf(before)[0], usage.input_tokens);
  assert(!before.includes("current prices"));
  assertStringIncludes(await priced("input_price = null"), "current prices are shown");

  const backup = await browser.post("/console/operator/backup", {}, {
    from: "/console/operator/audit",
  });
  const bytes = new Uint8Array(await backup.arrayBuffer());
  assertEquals(new TextDecoder().decode(bytes.subarray(0, 15)), "SQLite format 3");
  assertEquals(bytes.length, Number(backup.headers.get("content-length")));
  const left = await Array.fromAsync(Deno.readDir(`${gateway.directory}/data`), ({ name }) => name);
  assertEquals(left.filter((name) => name.includes("download")), []);
});
