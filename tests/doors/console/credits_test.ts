/** The console's page of credits: the statement of a month in the address, its links, and CSV. */

import { parse } from "csv-parse/sync";
import { assert, assertEquals, assertMatch, assertStringIncludes } from "../../assert.ts";
import { inOneBrowser } from "../../fake/browser.ts";
import { startGateway, statusOf } from "../../fake/gateway.ts";
import { signedIn } from "../../fake/visitor.ts";

Deno.test("the statement of a month has charges by day, adds up, and is one's own", async () => {
  await using gateway = await startGateway();
  const { accounts, keys, sales } = gateway.gateway;
  const ada = await accounts.create({ email: "ada@example.com" });
  const bob = await accounts.create({ email: "bob@example.com" });
  await sales.grant(ada, { credits: 100, note: "For <b>Ada</b>" });
  await sales.grant(bob, { credits: 7, note: "For Bob" });
  const { secret } = await keys.issue(ada);
  for (const model of ["svc-k2", "svc-k2", "svc-k3"]) {
    assertEquals(await statusOf(gateway.chat("Hi", { model }, { key: secret })), 200);
  }
  const browser = await signedIn(gateway, "ada@example.com");
  const html = async (query: string) =>
    await (await browser.get(`/console/credits${query}`)).text();
  const page = await html("");
  assertStringIncludes(page, "For &lt;b&gt;Ada&lt;/b&gt;");
  assertEquals(page.includes("For Bob"), false);
  assertStringIncludes(page, ">3 requests</a>");
  assertStringIncludes(page, "2 models");
  const link = /href="(\/console\/requests\?from=[^"]+)">3 requests/.exec(page)![1]!;
  const requests = await (await browser.get(link.replaceAll("&amp;", "&"))).text();
  assertEquals(requests.match(/href="\/console\/requests\/req_/g)!.length, 3);

  const csv = await browser.get("/console/credits.csv");
  assertEquals(csv.headers.get("content-type"), "text/csv; charset=utf-8");
  assertMatch(csv.headers.get("content-disposition")!, /credits-20\d\d-\d\d\.csv/);
  const rows = parse(await csv.text(), { columns: true }) as Record<string, string>[];
  const charged = Number(rows.at(-2)!.credits);
  assertEquals(rows.map(({ kind, balance }) => [kind, balance]), [
    ["opening", "0"],
    ["grant", "100"],
    ["charges", String(100 + charged)],
    ["closing", String(100 + charged)],
  ]);
  assert(charged < 0);

  const past = await html("?month=2025-12");
  assertStringIncludes(past, "Statement of Dec 2025");
  assertStringIncludes(past, "Nothing moved the balance in Dec 2025.");
  for (const month of ["2025-13", "1999-12", "%3Cscript%3E", ""]) {
    assertStringIncludes(await html(`?month=${month}`), ">3 requests</a>");
  }
});

inOneBrowser("credits in a browser", {
  async "a copy button does not lie over what it copies, at any width"(pages) {
    await using gateway = await startGateway();
    const { accounts, sessions } = gateway.gateway;
    const token = await sessions.makeLink(await accounts.get("owner@localhost"));
    const { page } = await pages();
    await page.goto(`${gateway.url}/console/link/${token}`);
    await page.goto(`${gateway.url}/console/credits`);
    for (const width of [375, 768, 1280, 1920]) {
      await page.setViewportSize({ width, height: 800 });
      for (const part of await page.locator(".copyable").all()) {
        const [button, text] = [
          (await part.locator("button").boundingBox())!,
          (await part.locator("pre").boundingBox())!,
        ];
        const isBeside = button.x >= text.x + text.width || button.y >= text.y + text.height;
        assert(isBeside && button.x + button.width <= width, `${width}`);
      }
    }
  },
});

Deno.test("home lists the lots that are spent first, and adds up the rest of many", async () => {
  await using gateway = await startGateway();
  const { accounts, sales } = gateway.gateway;
  const ada = await accounts.create({ email: "ada@example.com" });
  for (let at = 1; at <= 15; at++) await sales.grant(ada, { credits: at, note: `lot <${at}>` });
  const browser = await signedIn(gateway, "ada@example.com");
  const page = await (await browser.get("/console/")).text();
  // those of one millisecond are in the order of their IDs
  const shown = [...page.matchAll(/lot &lt;(\d+)&gt;/g)].map(([, at]) => Number(at));
  assertEquals(shown.length, 12);
  const rest = 120 - shown.reduce((sum, at) => sum + at, 0);
  assertStringIncludes(page, `and 3 lots more with ${rest} credits`);
});
