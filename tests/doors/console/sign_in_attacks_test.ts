/** What somebody may try who wants to be signed in as another: each way in beside each other, and what is between them. */

import { assert, assertEquals, assertNotEquals, assertStringIncludes } from "../../assert.ts";
import { DatabaseError } from "../../../src/ground/database/mod.ts";
import type { SettingsInput } from "../../../src/settings/config/mod.ts";
import { startGateway, statusOf } from "../../fake/gateway.ts";
import { guardedDatabase } from "../../fake/guarded_database.ts";
import { shared } from "../../fake/shared_gateway.ts";
import { JarBrowser, type QuickProvider, quickProvider } from "../../fake/sign_in.ts";

const PASSWORD = "a long enough password";
const DOMAINS = ["example.com"];
const AWAY = "was not begun by this browser";

/** A gateway with two providers, at which the same subjects are other people. */
async function bench(more: SettingsInput = {}) {
  let isAway = false;
  const stack = new AsyncDisposableStack();
  const [company, other] = [stack.use(await quickProvider()), stack.use(await quickProvider())];
  const person = (name: string) => ({ email: `${name}@example.com`, email_verified: true });
  company.people.set("s-1", person("ada")).set("s-2", person("bob"));
  other.people.set("s-1", person("bob")).set("s-2", person("ada"));
  for (const one of [company, other]) {
    one.people.set("s-9", { email: "eve@elsewhere.example", email_verified: true });
  }
  const oidc = [["company", company], ["other", other]] as const;
  const gateway = stack.use(
    await startGateway({
      settings: {
        signIn: {
          oidc: oidc.map(([name, { issuer }]) => ({
            name,
            issuer,
            client: "sluice",
            domains: DOMAINS,
          })),
        },
        registration: "open",
        trustedProxies: ["127.0.0.1"],
        ...more,
      },
      wrapDatabase: (database) =>
        guardedDatabase(database, () => {
          if (isAway) throw new DatabaseError("SLUICE_SERVER", "away", { outcomeUnknown: true });
        }),
    }),
  );
  const { accounts, passwords, database } = gateway.gateway;
  for (const name of ["ada", "bob"]) {
    const account = await accounts.create({ email: `${name}@example.com` });
    await passwords.set(account, PASSWORD);
    // who has a password links identities by hand
    await database.batch(
      [[company, name === "ada"], [other, name === "bob"]].map(([at, isFirst]) => ({
        sql:
          `insert into identities (issuer, subject, account_id, provider, linked_by, linked_at_ms)
        values (?, ?, ?, ?, 'hand', 0)`,
        args: [
          (at as QuickProvider).issuer,
          isFirst ? "s-1" : "s-2",
          account.id,
          at === company ? "company" : "other",
        ],
      })),
    );
  }
  return {
    gateway,
    company,
    other,
    browser: () => new JarBrowser(gateway.url),
    /** Does something while the database is away. */
    async away<T>(work: () => Promise<T>): Promise<T> {
      isAway = true;
      try {
        return await work();
      } finally {
        isAway = false;
      }
    },
    [Symbol.asyncDispose]: () => stack[Symbol.asyncDispose](),
  };
}

type Bench = Awaited<ReturnType<typeof bench>>;

const test = shared(bench);
type Who = "ada" | "bob";

/** Ways to sign in, and to try it in vain. */
const WAYS: Readonly<
  Record<string, {
    enter(browser: JarBrowser, who: Who, one: Bench): Promise<{ status: number }>;
    fail(browser: JarBrowser, one: Bench): Promise<{ status: number }>;
  }>
> = {
  password: {
    enter: (browser, who) => byPassword(browser, `${who}@example.com`, PASSWORD),
    fail: (browser) => byPassword(browser, `eve${tries++}@example.com`, PASSWORD),
  },
  link: {
    async enter(browser, who, { gateway: { gateway: { accounts, sessions } } }) {
      const account = await accounts.get(`${who}@example.com`);
      return await browser.open(`/console/link/${await sessions.makeLink(account)}`);
    },
    fail: (browser) => browser.open("/console/link/abcdefghijkmnpqrstuvwxyzABCDEFGH"),
  },
  company: {
    enter: (browser, who, { company }) =>
      browser.signIn(company, who === "ada" ? "s-1" : "s-2", "company"),
    fail: (browser, { company }) => browser.signIn(company, "s-9", "company"),
  },
  other: {
    enter: (browser, who, { other }) =>
      browser.signIn(other, who === "bob" ? "s-1" : "s-2", "other"),
    fail: (browser, { other }) => browser.signIn(other, "s-9", "other"),
  },
};
let tries = 0;

function byPassword(browser: JarBrowser, email: string, password: string) {
  const body = new URLSearchParams({ email, password });
  return browser.open("/console/sign-in", { method: "POST", body });
}

/** Who is signed in. */
async function whoIs(browser: JarBrowser): Promise<string | undefined> {
  const { status, text } = await browser.open("/console/account");
  if (status !== 200) return undefined;
  return /[a-z]+@[a-z.]+/.exec(text)![0];
}

test(
  "each way in after each other: the session is the second one's, and new; the first is over; what fails changes nothing",
  async (one) => {
    for (const [first, { enter }] of Object.entries(WAYS)) {
      for (const [second, then] of Object.entries(WAYS)) {
        const what = `${first}, then ${second}`;
        const browser = one.browser();
        assertEquals((await enter(browser, "ada", one)).status, 303, what);
        assertEquals(await whoIs(browser), "ada@example.com", what);
        const before = browser.cookies.get("sluice")!;
        assert((await then.fail(browser, one)).status >= 400, what);
        assertEquals(await whoIs(browser), "ada@example.com", `${what} failed`);
        assertEquals((await then.enter(browser, "bob", one)).status, 303, what);
        assertEquals(await whoIs(browser), "bob@example.com", what);
        assertNotEquals(browser.cookies.get("sluice"), before, what);
        const old = one.browser();
        old.cookies.set("sluice", before);
        assertEquals(await whoIs(old), undefined, what);
      }
    }
    for (const [name, { fail }] of Object.entries(WAYS)) {
      const browser = one.browser();
      assert((await fail(browser, one)).status >= 400, name);
      assertEquals([browser.cookies.has("sluice"), await whoIs(browser)], [false, undefined], name);
    }
    // the same subject at two providers is two people
    const { accounts, database } = one.gateway.gateway;
    const rows = await database.all(
      "select issuer, subject, account_id from identities order by account_id, issuer",
    );
    assertEquals(rows.length, 4);
    for (const name of ["ada", "bob"]) {
      const { id } = await accounts.get(`${name}@example.com`);
      const own = rows.filter((row) => row.account_id === id).map(({ issuer, subject }) => [
        issuer === one.company.issuer,
        subject,
      ]);
      assertEquals(
        own.toSorted(),
        [[true, name === "ada" ? "s-1" : "s-2"], [
          false,
          name === "ada" ? "s-2" : "s-1",
        ]].toSorted(),
      );
    }
    assertEquals(await accounts.find("eve@elsewhere.example"), undefined);
  },
);

test(
  "a session that was put into a browser before signing in is not the one after it",
  async (one) => {
    const { accounts, sessions } = one.gateway.gateway;
    const thief = await accounts.create({ email: "thief@example.com" });
    for (const [name, { enter }] of Object.entries(WAYS)) {
      for (const planted of [await sessions.begin(thief), "abcdefghijkmnpqrstuvwxyzABCDEFGH"]) {
        const browser = one.browser();
        browser.cookies.set("sluice", planted);
        assertEquals((await enter(browser, "ada", one)).status, 303, name);
        assertNotEquals(browser.cookies.get("sluice"), planted, name);
        assertEquals(await whoIs(browser), "ada@example.com", name);
        assertEquals((await sessions.findAll([planted])).size, 0, name);
      }
    }
  },
);

test(
  "a reply of one provider is none of another's (mix-up), and none of the same twice",
  async (one) => {
    const { company, other } = one;
    const refused = async (browser: JarBrowser, path: string, says: string) => {
      const page = await browser.open(path);
      assertEquals(page.status, 403, path);
      assertStringIncludes(page.text, says);
      assert(!browser.cookies.has("sluice"));
    };
    // what the company replied, at the other's address
    let browser = one.browser();
    let path = await browser.away(company, "s-1");
    await refused(browser, path.replace("/company/", "/other/"), AWAY);
    // the other's code with the company's state: it is asked of the company, which knows no such code
    browser = one.browser();
    path = await browser.away(company, "s-1");
    const stranger = new URLSearchParams(
      (await one.browser().away(other, "s-1", "other")).split("?")[1],
    );
    const mixed = new URL(path, one.gateway.url);
    mixed.searchParams.set("code", stranger.get("code")!);
    await refused(browser, `${mixed.pathname}${mixed.search}`, "The provider company");
    // a reply that says that it is of another issuer (RFC 9207)
    browser = one.browser();
    path = await browser.away(company, "s-1");
    const iss = encodeURIComponent(other.issuer);
    await refused(browser, `${path}&iss=${iss}`, "The provider company sent what does not fit");
    // twice at once: one browser is in
    browser = one.browser();
    path = await browser.away(company, "s-1");
    const cookie = [...browser.cookies].map(([name, value]) => `${name}=${value}`).join("; ");
    const both = await Promise.all(
      [1, 2, 3].map(() =>
        statusOf(fetch(`${one.gateway.url}${path}`, { redirect: "manual", headers: { cookie } }))
      ),
    );
    assertEquals(both.toSorted(), [303, 403, 403]);
  },
);

Deno.test("where somebody is sent after signing in is the console, and where a provider sends back to is the settings' address", async () => {
  await using one = await bench({ publicUrl: "https://llm.example.com" });
  const { company } = one;
  const evil = "https://evil.example/";
  const wanted = [
    ...[evil, "//evil.example/", "/\\evil.example", "/console/..//evil.example", "javascript:x"],
    ...["/console/../../evil", "/console/\\evil.example", "%2f%2fevil.example", "/", ""],
  ];
  for (const page of wanted) {
    const browser = one.browser();
    browser.cookies.set("sluice-page", encodeURIComponent(page));
    const { location } = await browser.signIn(
      {
        signIn: async (url, subject) => {
          assertEquals(
            url.searchParams.get("redirect_uri"),
            "https://llm.example.com/console/sign-in/oidc/company/callback",
          );
          return await company.signIn(url, subject);
        },
      },
      "s-1",
    );
    assert(/^\/console\/[\w/.-]*$/.test(location!), `${page}: ${location}`);
  }
  // nothing of the request changes what the provider is asked
  const names = ["next", "return_to", "redirect_uri", "redirect", "url", "state", "nonce", "scope"];
  const query = new URLSearchParams(names.map((name) => [name, evil]));
  const away = await one.browser().open(`/console/sign-in/oidc/company?${query}`, {
    headers: { "x-forwarded-host": "evil.example", referer: evil },
  });
  assert(!decodeURIComponent(away.location!).includes("evil.example"), away.location!);
  assertEquals(new URL(away.location!).origin, company.issuer);
});

test(
  "behind TLS the cookies are bound to the host, and go to no script and with no form of another site",
  async (one) => {
    const headers = { "x-forwarded-proto": "https", "x-forwarded-for": "198.51.100.1" };
    const browser = one.browser();
    const away = await browser.open("/console/sign-in/oidc/company", { headers });
    const [visit] = away.headers.getSetCookie();
    const back = await one.company.signIn(new URL(away.location!), "s-1");
    const begun = await browser.open(`${back.pathname}${back.search}`, { headers });
    assertEquals(begun.status, 303, begun.text);
    const session = begun.headers.getSetCookie().find((set) => set.startsWith("__Host-sluice="))!;
    for (const set of [visit!, session]) {
      assert(/^__Host-sluice(-sign-in)?=\w{32,};/.test(set), set);
      for (const part of ["HttpOnly", "Secure", "SameSite=Lax", "Path=/"]) {
        assertStringIncludes(set, part);
      }
      assert(!/domain=/i.test(set), set);
    }
    // renewed at each sign-in, and lasting as the settings say
    assertStringIncludes(session, "Max-Age=43200");
  },
);

test("nothing of codes, states and tokens is in the log or leaves by a referrer", async (one) => {
  const { gateway, company } = one;
  const sent: string[] = [];
  company.server.service.on("beforeResponse", ({ body }) => {
    const { access_token, refresh_token, id_token } = body as Record<string, string>;
    sent.push(access_token!, refresh_token!, id_token!);
  });
  const browser = one.browser();
  for (const subject of ["s-1", "s-9"]) {
    const path = await browser.away(company, subject);
    sent.push(
      ...["code", "state"].map((name) => new URL(path, gateway.url).searchParams.get(name)!),
    );
    sent.push(...browser.cookies.values());
    const page = await browser.open(path);
    assert(["same-origin", "no-referrer"].includes(page.headers.get("referrer-policy")!));
    assertEquals(page.headers.get("cache-control"), "no-store");
    // again, which is refused
    await browser.open(path);
  }
  sent.push(browser.cookies.get("sluice")!);
  assertStringIncludes(gateway.log(), "sign-in refused");
  assert(sent.length > 10 && sent.every((text) => text.length > 20), sent.join(" "));
  assertEquals(sent.filter((text) => gateway.log().includes(text)), []);
});

Deno.test("a provider that is down is said to be, and keeps nobody out who is in", async () => {
  await using one = await bench(); // on Deno 2.4 a server that was stopped cannot be started again
  const { gateway, company } = one;
  const browser = one.browser();
  await browser.signIn(company, "s-1");
  const path = await browser.away(company, "s-1");
  await company.server.stop();
  const refused = await browser.open(path);
  assertEquals(refused.status, 503);
  assertStringIncludes(refused.text, "The provider company cannot be reached");
  assertEquals(await whoIs(browser), "ada@example.com");
  assertEquals(await statusOf(gateway.chat("Hi")), 200);
  assertEquals((await WAYS.password!.enter(one.browser(), "bob", one)).status, 303);
  assertEquals((await WAYS.other!.enter(one.browser(), "bob", one)).status, 303);
});

test(
  "a database that is away is the gateway's fault in each way in, and never said to be the visitor's",
  async (one) => {
    const { accounts, sessions } = one.gateway.gateway;
    const link = `/console/link/${await sessions.makeLink(await accounts.get("ada@example.com"))}`;
    const browser = one.browser();
    const callback = await browser.away(one.company, "s-1");
    const tries = () =>
      [
        byPassword(one.browser(), "ada@example.com", PASSWORD),
        one.browser().open(link),
        browser.open(callback),
      ].map(async (reply) => (await reply).status);
    assertEquals(await one.away(() => Promise.all(tries())), [503, 503, 503]);
    // what was begun goes on
    assertEquals(await Promise.all(tries()), [303, 303, 303]);
  },
);

test("visits to providers that nobody comes back from are bounded", async (one) => {
  const { database } = one.gateway.gateway;
  await one.browser().open("/console/sign-in/oidc/company");
  const { digest, expires_at_ms, ...others } =
    (await database.all("select * from provider_visits"))[0]!;
  const names = Object.keys(others);
  await database.batch([{
    sql: `insert into provider_visits (digest, expires_at_ms, ${names.join(", ")})
      with recursive n(i) as (select 1 union all select i + 1 from n where i < 12000)
      select printf('%064d', i), ${Number(expires_at_ms)} - i, ${names.join(", ")}
      from n, (select * from provider_visits where digest = ?)`,
    args: [String(digest)],
  }]);
  const browser = one.browser();
  const path = await browser.away(one.company, "s-1");
  const { visits } = (await database.one("select count(*) as visits from provider_visits"))!;
  assertEquals(visits, 10_000);
  assertEquals((await browser.open(path)).status, 303);
});

test("what was made for one place is nothing at another", async (one) => {
  const { gateway } = one;
  const { accounts, keys, sessions } = gateway.gateway;
  const ada = await accounts.get("ada@example.com");
  const browser = one.browser();
  await WAYS.password!.enter(browser, "ada", one);
  const post = async (path: string, fields: Record<string, string>) => {
    const body = new URLSearchParams({ client_id: "tool", ...fields });
    const reply = await fetch(`${gateway.url}${path}`, { method: "POST", body });
    return { status: reply.status, body: await reply.json() };
  };
  const byCode = (code: string) =>
    post("/oauth/token", {
      grant_type: "urn:ietf:params:oauth:grant-type:device_code",
      device_code: code,
    });
  const approved = async () => {
    const { device_code, user_code } = (await post("/oauth/device_authorization", {})).body;
    const path = `/console/device?code=${user_code}`;
    await browser.send(path, "/console/device", { code: user_code, decision: "approve" });
    return String(device_code);
  };
  const tokens = (await byCode(await approved())).body;
  const csrf = /name="csrf" value="([0-9a-f]{64})"/
    .exec((await browser.open("/console/account")).text)![1]!;
  const made: Record<string, string> = {
    session: browser.cookies.get("sluice")!,
    link: await sessions.makeLink(ada),
    key: (await keys.issue(ada)).secret,
    "access token": tokens.access_token,
    "refresh token": tokens.refresh_token,
    "device code": await approved(),
    "form token": csrf,
    password: PASSWORD,
  };
  /** Whether a place takes a secret, and of which kinds. */
  const places: Record<string, [(secret: string) => Promise<boolean>, ...string[]]> = {
    "the console's cookie": [async (secret) => {
      const own = one.browser();
      own.cookies.set("sluice", secret);
      return await whoIs(own) !== undefined;
    }, "session"],
    "a link": [
      async (secret) =>
        (await one.browser().open(`/console/link/${encodeURIComponent(secret)}`)).status === 303,
      "link",
    ],
    "the API": [
      async (secret) =>
        await statusOf(
          fetch(`${gateway.url}/user/credits`, { headers: { "x-api-key": secret } }),
        ) ===
          200,
      "key",
      "access token",
    ],
    "a refresh": [
      async (secret) =>
        (await post("/oauth/token", { grant_type: "refresh_token", refresh_token: secret }))
          .status === 200,
      "refresh token",
    ],
    "a device": [async (secret) => (await byCode(secret)).status === 200, "device code"],
    "a form": [async (secret) => {
      const body = new URLSearchParams({ csrf: secret });
      const path = "/console/account/sessions/none/end";
      return (await browser.open(path, { method: "POST", body })).status === 303;
    }, "form token"],
    "the form to sign in": [
      async (secret) => (await byPassword(one.browser(), "ada@example.com", secret)).status === 303,
      "password",
    ],
  };
  for (const [place, [takes, ...kinds]] of Object.entries(places)) {
    // its own last: some are used up
    const rows = Object.entries(made).toSorted(([a], [b]) =>
      Number(kinds.includes(a)) - Number(kinds.includes(b))
    );
    for (const [kind, secret] of rows) {
      // guesses at one account's password are bounded
      if (place === "the form to sign in" && !["key", "link", "password"].includes(kind)) continue;
      assertEquals(await takes(secret), kinds.includes(kind), `a ${kind} at ${place}`);
    }
  }
});

/** What a request may carry, and who that is. */
const CARRIED: Readonly<Record<string, readonly (readonly [state: string, who: string])[]>> = {
  authorization: [["none", ""], ["invented", ""], ["valid", "ada"]],
  "x-api-key": [["none", ""], ["invented", ""], ["valid", "bob"]],
  cookie: [["none", ""], ["invented", ""], ["valid", "carol"]],
};

Deno.test("credentials beside each other: keys are for the API and sessions for the console; what is invented is nobody", async () => {
  await using gateway = await startGateway();
  const { accounts, keys, sales, sessions } = gateway.gateway;
  const made = await Promise.all(
    ["ada", "bob", "carol"].map((name) => accounts.create({ email: `${name}@example.com` })),
  );
  const credits: Record<string, number> = { ada: 5, bob: 7 };
  for (const [at, number] of [5, 7].entries()) await sales.grant(made[at]!, { credits: number });
  const secrets: Record<string, string> = {
    authorization: `Bearer ${(await keys.issue(made[0]!)).secret}`,
    "x-api-key": (await keys.issue(made[1]!)).secret,
    cookie: `sluice=${await sessions.begin(made[2]!)}`,
  };
  const invented: Record<string, string> = {
    // the beginning of a valid one, as of a cache that looks at no more
    authorization: `${secrets.authorization!.slice(0, -4)}AAAA`,
    "x-api-key": `${secrets["x-api-key"]!.slice(0, -4)}AAAA`,
    cookie: `${secrets.cookie!.slice(0, -4)}AAAA`,
  };
  for (const bearer of CARRIED.authorization!) {
    for (const apiKey of CARRIED["x-api-key"]!) {
      for (const cookie of CARRIED.cookie!) {
        const rows = [["authorization", ...bearer], ["x-api-key", ...apiKey], [
          "cookie",
          ...cookie,
        ]];
        const headers = Object.fromEntries(
          rows.filter(([, state]) => state !== "none")
            .map(([name, state]) => [name, (state === "valid" ? secrets : invented)[name!]!]),
        );
        const what = rows.map(([name, state]) => `${name} ${state}`).join(", ");
        const used = bearer[1] || apiKey[1];
        const reply = await fetch(`${gateway.url}/user/credits`, { headers });
        const { credits_remaining: balance } = await reply.json();
        assertEquals(
          [reply.status, balance],
          used === "" ? [401, undefined] : [200, credits[used]],
          what,
        );
        const page = await fetch(`${gateway.url}/console/account`, { headers, redirect: "manual" });
        assertEquals(page.status, cookie[1] === "" ? 303 : 200, what);
        const text = await page.text();
        assertEquals(text.includes("carol@example.com"), cookie[1] !== "", what);
        assert(!/(ada|bob)@example/.test(text), what);
      }
    }
  }
});

test(
  "nobody registers an address that a provider's people have, to wait in its account for them",
  async (one) => {
    const register = (email: string) =>
      one.browser().open("/console/register", {
        method: "POST",
        body: new URLSearchParams({ email, name: "", code: "", password: PASSWORD }),
      });
    for (const email of ["cid@example.com", "cid@EXAMPLE.com"]) {
      const { status, text } = await register(email);
      assertEquals(status, 400, email);
      assertStringIncludes(text, "Addresses of example.com do not register: sign in with company");
    }
    assertEquals((await register("cid@elsewhere.example")).status, 303);
  },
);
