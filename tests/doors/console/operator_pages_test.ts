/** What operators' pages show: an account with debt and teams, a search of settings, the last audit, an empty gateway. */

import { assert, assertEquals, assertMatch, assertStringIncludes } from "../../assert.ts";
import { startGateway } from "../../fake/gateway.ts";
import { sharedGateway } from "../../fake/shared_gateway.ts";
import { teamOf } from "../../fake/team.ts";
import { fakeUpstream } from "../../fake/upstream.ts";
import { signedIn } from "../../fake/visitor.ts";
import { openShop } from "../../money/payments/shop.ts";

const OWNER = "owner@localhost";
const PATH = "/console/operator";

/** Text of a page without its tags. */
const words = (html: string) => html.replace(/<[^>]*>/g, " ").replace(/\s+/g, " ");

Deno.test("an account that owes credits says so; one that owes none does not", async () => {
  await using shop = await openShop();
  const { gateway, stripe } = shop;
  const debtor = await shop.account();
  const order = await shop.buy(debtor);
  await shop.spend(debtor, await shop.balance(debtor));
  await shop.deliver(stripe.event("refund.created", stripe.refund(order.paymentId)));
  const owner = await signedIn(gateway, OWNER);
  const page = async (id: string) =>
    words(await (await owner.get(`${PATH}/accounts/${id}`)).text());
  assertMatch(await page(debtor.id), /Debt 500 credits, paid off by the next purchases/);
  assert(!(await page((await shop.account()).id)).includes("Debt"));
});

Deno.test("settings are searched by name, and without defaults", async () => {
  await using gateway = await startGateway({ settings: { logLevel: "error" } });
  const owner = await signedIn(gateway, OWNER);
  const names = async (query: string) => {
    const html = await (await owner.get(`${PATH}/settings${query}`)).text();
    return [...html.matchAll(/<td class="primary"[^>]*><code>([^<]*)/g)].map(([, name]) => name);
  };
  const all = await names("");
  assert(all.length > 50);
  assertEquals(await names("?q=LOGLevel"), ["logLevel"]);
  const set = await names("?set=1");
  assert(set.includes("logLevel") && !set.includes("host") && set.length < all.length, set.join());
  assertEquals(await names("?q=host&set=1"), []);
  assertEquals(await names(`?q=${"x".repeat(5_000)}`), []);
  const odd = await (await owner.get(`${PATH}/settings?q=%3Cb%3E`)).text();
  assert(odd.includes("&lt;b&gt;") && !odd.includes("<b>") && odd.includes("No such settings."));
});

Deno.test("a failed reload is on the pages of settings and routes, with its time", async () => {
  await using gateway = await startGateway({ looksInside: true });
  const owner = await signedIn(gateway, OWNER);
  const shown = async () =>
    await Promise.all(["settings", "routes"].map(async (name) => {
      const html = await (await owner.get(`${PATH}/${name}`)).text();
      return [words(html), html] as const;
    }));
  for (const [text] of await shown()) assert(!text.includes("reloaded"), text);
  assertEquals((await gateway.reload({ logLevel: "warn", port: 0 })).fault, null);
  for (const [text] of await shown()) assertMatch(text, /Settings reloaded at \d+ \w+ \d{4}/);
  const { fault } = await gateway.reload(`{ "logLevel": "<b>loud" }`);
  assert(fault !== null);
  for (const [text, html] of await shown()) {
    assertMatch(
      text,
      /not reloaded at \d+ \w+ \d{4}, [\d:]+ ; those below stay in use\. .*logLevel/,
    );
    assertMatch(html, /not reloaded at <time datetime=/);
    assert(!html.includes("<b>loud"));
  }
});

Deno.test("why an upstream failed is said in words, also after a test and where a timeout ended it", async () => {
  const end = Promise.withResolvers<void>();
  await using silent = fakeUpstream(() => end.promise.then(() => new Response()));
  await using gateway = await startGateway({
    settings: {
      upstreams: {
        nowhere: { url: "http://127.0.0.1:9/v1" },
        silent: { url: silent.url, timeouts: { readMs: 200 } },
      },
      routes: {
        a: { targets: [{ upstream: "nowhere", model: "m" }] },
        b: { targets: [{ upstream: "silent", model: "m" }] },
      },
    },
  });
  for (const model of ["a", "b"]) await (await gateway.chat("Hi", { model })).body?.cancel();
  end.resolve();
  const owner = await signedIn(gateway, OWNER);
  const seen = words(await (await owner.get(`${PATH}/upstreams`)).text());
  const tested = words(
    await (await owner.post(`${PATH}/upstreams`, { upstream: "nowhere" }, {
      from: `${PATH}/upstreams`,
    })).text(),
  );
  assertStringIncludes(seen, "the connection was refused");
  // Deno 2.4 reports the end of a connection, which the timeout closes, before the timeout
  assertMatch(seen, /no response in time|the connection was closed early/);
  assertMatch(tested, /error the connection was refused/);
  for (const page of [seen, tested]) {
    assert(!/ECONN|UND_ERR|not_sent|no_reply/.test(page), "codes are for the log");
  }
  assertStringIncludes(gateway.log(), "ECONNREFUSED");
});

// those below share a gateway
const shared = sharedGateway();

shared("a search of the log without results says so", async (gateway) => {
  const owner = await signedIn(gateway, OWNER);
  const page = async (query: string) =>
    words(await (await owner.get(`${PATH}/log${query}`)).text());
  assertStringIncludes(await page(""), "Nothing has been changed yet.");
  assertStringIncludes(await page("?by=nobody"), "No operations match.");
});

shared(
  "an account shows its teams, and a pool the team that it is of, by their names",
  async (gateway) => {
    const { members, database } = gateway.gateway;
    const { team, members: [ada, bob] } = await teamOf(gateway, { size: 2 });
    await members.setRole(team, ada!.account, "lead");
    await members.stop(team, bob!.account);
    const owner = await signedIn(gateway, OWNER);
    const page = async (id: string) => await (await owner.get(`${PATH}/accounts/${id}`)).text();
    const link = `<a href="/console/teams/${team.id}">${team.name}</a>`;
    const own = await page(ada!.account.id);
    assertStringIncludes(own, link);
    assertMatch(words(own), /Teams team role Team \d+ lead/);
    assertMatch(words(await page(bob!.account.id)), /Teams team role Team \d+ stopped/);
    const pool = await page(team.poolId!);
    assertStringIncludes(pool, link);
    assertMatch(pool, new RegExp(`<h1[^>]*>Pool of ${team.name}</h1>`));
    assert(!(await page(gateway.gateway.owner.id)).includes("<h2>Teams</h2>"));
    const outsider = await gateway.gateway.accounts.create({ email: "eve@example.com" });
    assertEquals(await members.ofAccount(outsider), []);
    // a team that is disabled is still one of its teams
    await database.batch([{
      sql: "update teams set disabled_at_ms = 1 where id = ?",
      args: [team.id],
    }]);
    assertStringIncludes(await page(ada!.account.id), link);
  },
);

shared(
  "lots are told apart by where they come from; an ID is where credits are taken back",
  async (gateway) => {
    const { accounts, sales } = gateway.gateway;
    const ada = await accounts.create({ email: "ada@example.com" });
    const { lotId } = await sales.grant(ada, { credits: 30, note: "For <testing>" });
    await accounts.create({ email: "finance@example.com", role: "finance" });
    const path = `${PATH}/accounts/${ada.id}`;
    const seen = await (await (await signedIn(gateway, OWNER)).get(path)).text();
    assertStringIncludes(seen, "For &lt;testing&gt;");
    assertEquals(seen.split(`<code>${lotId}</code>`).length, 2);
    assertMatch(words(seen), /Take back Lot lot_/);
    const finance = await (await (await signedIn(gateway, "finance@example.com")).get(path)).text();
    assertStringIncludes(finance, "For &lt;testing&gt;");
    assert(!finance.includes(lotId), "who takes nothing back sees no ID");
  },
);

shared("the page of the audit says how the last one went", async (gateway) => {
  const owner = await signedIn(gateway, OWNER);
  const page = async () => words(await (await owner.get(`${PATH}/audit`)).text());
  assert(!(await page()).includes("Last audit"));
  await (await owner.post(`${PATH}/audit`, {}, { from: `${PATH}/audit` })).body?.cancel();
  assertStringIncludes(await page(), "Last audit: just now , no mismatches.");
});

shared("the API's pages are grouped, and code in their texts is code", async (gateway) => {
  const html = await (await fetch(`${gateway.url}/docs`)).text();
  const titles = [...html.matchAll(/<h2>([^<]*)<\/h2>/g)].map(([, title]) => title);
  assertEquals(titles.slice(0, 3), ["Models and requests", "Your credits", "For operators"]);
  assertStringIncludes(html, "as <code>sluice doctor</code> does");
  const listed = (await (await fetch(`${gateway.url}/openapi.json`)).json()).paths as object;
  const count = Object.values(listed).reduce((sum, one) => sum + Object.keys(one).length, 0);
  assertEquals(
    html.match(/<details class="card" id="(get|post|put|patch|delete)-/g)?.length,
    count,
  );
  const schemas = new Set([...html.matchAll(/ href="#(schema-[^"]*)"/g)].map(([, id]) => id!));
  assert(schemas.has("schema-ChatCompletionRequest"));
  assertEquals([...schemas].filter((id) => !html.includes(` id="${id}"`)), []);
});

shared("what an audit finds is in words, and its times are times", async (gateway) => {
  const { database } = gateway.gateway;
  const triggers = await database.all(
    "select name from sqlite_master where type = 'trigger' and tbl_name = 'lots'",
  );
  await database.batch([
    ...triggers.map(({ name }) => ({ sql: `drop trigger ${name}`, args: [] })),
    { sql: "update lots set remaining = remaining - 5", args: [] },
  ]);
  const owner = await signedIn(gateway, OWNER);
  const reply = await owner.post(`${PATH}/audit`, {}, { from: `${PATH}/audit` });
  const html = await reply.text();
  assertMatch(
    words(html),
    /rows do not match\. .*Keep a backup .*what does not match promise row found/,
  );
  assertMatch(html, /data-name="what does not match">lot: [a-z ]+</);
  assertMatch(words(html), /lot: [a-z ]+ P1 /);
  assertMatch(words(await (await owner.get(PATH)).text()), /Last audit \d+ rows do not match/);
});

Deno.test("of many accounts, pages read and list those that they show", async () => {
  await using gateway = await startGateway();
  const { accounts, database } = gateway.gateway;
  const owner = (await accounts.owner())!;
  await database.batch(
    Array.from({ length: 203 }, (_, at) => ({
      sql:
        "insert into accounts (id, email, name, created_at_ms, invited_by) values (?, ?, '', ?, ?)",
      args: [`acc_${at}`, `invitee-${at}@example.com`, at, owner.id],
    })),
  );
  accounts.list = () => Promise.reject(new Error("all accounts"));
  const browser = await signedIn(gateway, owner.email);
  const page = async (path: string) => {
    const reply = await browser.get(`/console/${path}`);
    assertEquals(reply.status, 200, path);
    return await reply.text();
  };
  for (const path of ["payments", "codes"]) await page(`operator/${path}`);
  for (const path of ["operator/invites", "credits"]) {
    const shown = await page(path);
    const listed = [...shown.matchAll(/>(invitee-\d+)@/g)].map(([, name]) => name);
    assertEquals([listed.length, listed[0], listed.at(-1)], [200, "invitee-202", "invitee-3"]);
    assertStringIncludes(shown, "The latest 200 of 203 people.");
  }
});

Deno.test("the list of accounts has pages, with and without a search; each account is on one of them", async () => {
  await using gateway = await startGateway();
  const { database } = gateway.gateway;
  await database.batch(Array.from({ length: 250 }, (_, at) => ({
    sql:
      `insert into accounts (id, email, name, kind, role, created_at_ms, disabled_at_ms, invite_code, invited_by)
      values (?, ?, ?, 'person', 'none', ?, null, ?, null)`,
    args: [
      `acc_${at}`,
      `p${at}@example.com`,
      at % 2 === 0 ? "Even & <b>" : "",
      1_700_000_000_000 + Math.floor(at / 3),
      `code${at}`,
    ],
  })));
  const browser = await signedIn(gateway, "owner@localhost");
  const walk = async (query: string) => {
    const ids: string[] = [];
    let pages = 0;
    for (
      let path: string | undefined = `/console/operator/accounts${query}`;
      path !== undefined;
      pages++
    ) {
      const html: string = await (await browser.get(path)).text();
      ids.push(
        ...[...html.matchAll(/<td[^>]*><a href="[^"]*\/accounts\/(acc_\w+)"/g)].map(([, id]) =>
          id!
        ),
      );
      assert(pages < 9, "pages without an end");
      path = /<a href="([^"]*)">Newer accounts</.exec(html)?.[1]?.replaceAll("&amp;", "&");
    }
    assertEquals(new Set(ids).size, ids.length);
    return [pages, ids.length];
  };
  assertEquals(await walk(""), [3, 251]);
  assertEquals(await walk("?after="), [3, 251]);
  assertEquals(await walk(`?${new URLSearchParams({ q: "Even & <b>" })}`), [2, 125]);
  assertEquals(await walk("?q=p24%40"), [1, 1]);
});
