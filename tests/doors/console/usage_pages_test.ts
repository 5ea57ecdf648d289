/** The console's usage page: ranges in the address, downloads, and nobody sees more than they may. */

import { parse } from "csv-parse/sync";
import { assert, assertEquals, assertMatch, assertStringIncludes } from "../../assert.ts";
import { startGateway, statusOf } from "../../fake/gateway.ts";
import { signedIn } from "../../fake/visitor.ts";

Deno.test("members download their own reports, requests and entries, operator roles those of all", async () => {
  await using gateway = await startGateway();
  const { accounts, keys, sales } = gateway.gateway;
  const ada = await accounts.create({ email: "ada@example.com" });
  await accounts.create({ email: "fin@example.com", role: "finance" });
  await sales.grant(ada, { credits: 100 });
  const { secret } = await keys.issue(ada);
  const tags = { "x-sluice-tags": "project=alpha" };
  for (const key of [secret, gateway.key, gateway.key]) {
    assertEquals(await statusOf(gateway.chat("Hi", {}, { key, headers: tags })), 200);
  }
  const asAda = await signedIn(gateway, "ada@example.com");
  const asFinance = await signedIn(gateway, "fin@example.com");
  const rows = async (browser: typeof asAda, path: string) => {
    const reply = await browser.get(path);
    assertEquals([reply.status, reply.headers.get("content-type")], [
      200,
      "text/csv; charset=utf-8",
    ]);
    return parse(await reply.text(), { columns: true }) as Record<string, string>[];
  };
  const others = ["", "?all=1", "?account=owner@localhost", "?all=1&account=owner@localhost"];
  for (const query of others) {
    const sees = async (file: string) => (await rows(asAda, `/console/usage${file}${query}`));
    assertEquals((await sees("/requests.csv")).map(({ account }) => account), ["ada@example.com"]);
    assertEquals([...new Set((await sees("/entries.csv")).map(({ account }) => account))], [
      "ada@example.com",
    ]);
    assertEquals((await sees(".csv")).map(({ requests }) => requests), ["1"]);
  }
  const found = await Promise.all(
    others.map(async (query) =>
      (await rows(asFinance, `/console/usage/requests.csv${query}`)).length
    ),
  );
  assertEquals(found, [0, 3, 2, 2]);
  const [byProject] = await rows(asFinance, "/console/usage.csv?all=1&by=tag:project");
  assertEquals([byProject!["tag:project"], byProject!.requests], ["alpha", "3"]);

  const page = await (await asFinance.get("/console/usage?all=1&by=account&since=7d&compare=1"))
    .text();
  assertStringIncludes(page, "ada@example.com");
  assertStringIncludes(page, "Compared with");
  const wrong = await asAda.get("/console/usage?by=moon");
  assertEquals(wrong.status, 400);
  assertStringIncludes(await wrong.text(), "must be one of day, hour");
  assertEquals(await statusOf(asAda.get("/console/usage.csv?since=soon")), 400);
  assertEquals(await statusOf(asAda.get("/console/usage/entries.csv?tag=a=b")), 400);
});

Deno.test("a lead sees what the members of their team spent in any range, and nobody else's", async () => {
  await using gateway = await startGateway();
  const { accounts, members, sales, teamKeys, teams } = gateway.gateway;
  const [lead, ada] = [
    await accounts.create({ email: "lead@example.com" }),
    await accounts.create({ email: "ada@example.com" }),
  ];
  const team = await teams.create({ name: "Platform", pool: true });
  const other = await teams.create({ name: "Other", pool: true });
  await sales.grant((await accounts.byId(team.poolId!))!, { credits: 100 });
  await members.add(team, lead, "lead");
  await members.add(team, ada);
  await members.add(other, lead);
  const { secret } = await teamKeys.issue(team, ada);
  for (const key of [secret, secret, gateway.key]) {
    assertEquals(await statusOf(gateway.chat("Hi", {}, { key })), 200);
  }
  const asLead = await signedIn(gateway, lead.email);
  const query = `?team=${team.id}&by=member&since=today`;
  const report = parse(await (await asLead.get(`/console/usage.csv${query}`)).text(), {
    columns: true,
  }) as Record<string, string>[];
  assertEquals(report.map(({ member, requests }) => [member, requests]), [
    ["ada@example.com", "2"],
  ]);
  const html = await (await asLead.get(`/console/usage${query}`)).text();
  assertStringIncludes(html, ">team Platform</a>");
  assertStringIncludes(html, `<input type="hidden" name="team" value="${team.id}"`);
  assert(!html.includes("requests.csv") && !html.includes("entries.csv"));
  // entries are those of accounts: of who sees all of them, the team's report offers none, least of all their own
  const ofTeam = await (await (await signedIn(gateway, "owner@localhost")).get(
    `/console/usage${query}`,
  )).text();
  assert(ofTeam.includes("requests.csv") && !ofTeam.includes("entries.csv"));
  const link = /href="([^"]*\/usage\?team=[^"]*)"/.exec(
    await (await asLead.get(`/console/teams/${team.id}`)).text(),
  )![1]!;
  assertEquals(await statusOf(asLead.get(link.replaceAll("&amp;", "&"))), 200);
  for (const file of ["requests.csv", "entries.csv"]) {
    assertEquals(await statusOf(asLead.get(`/console/usage/${file}${query}`)), 400, file);
  }
  const asAda = await signedIn(gateway, ada.email);
  assertEquals(await statusOf(asAda.get(`/console/usage${query}`)), 400, "a member");
  const requests = async (browser: typeof asAda) =>
    (await (await browser.get("/console/requests")).text()).includes("Choose a key of a team");
  assertEquals([await requests(asAda), await requests(asLead)], [true, false], "has such a key");
  for (const named of [other.id, "Platform", "team_none", "owner@localhost"]) {
    const refused = await asLead.get(`/console/usage.csv?team=${named}&by=member`);
    assertEquals(refused.status, 400, named);
    assertStringIncludes(await refused.text(), "teams that you lead");
  }
  await members.stop(team, lead);
  assertEquals(await statusOf(asLead.get(`/console/usage${query}`)), 400, "stopped");
});

Deno.test("a request is found by its ID by those who may see it, and by nobody else", async () => {
  await using gateway = await startGateway();
  const { accounts, keys, sales } = gateway.gateway;
  const ada = await accounts.create({ email: "ada@example.com" });
  await accounts.create({ email: "eve@example.com" });
  await accounts.create({ email: "fin@example.com", role: "finance" });
  await sales.grant(ada, { credits: 100 });
  const { secret } = await keys.issue(ada);
  const reply = await gateway.chat("Hi", {}, { key: secret });
  await reply.body?.cancel();
  const id = reply.headers.get("request-id")!;
  for (const name of ["ada", "fin", "eve"]) {
    const browser = await signedIn(gateway, `${name}@example.com`);
    const found = await browser.get(`/console/requests?q=${id}`);
    const expected = name === "eve" ? null : `/console/requests/${id}`;
    assertEquals(found.headers.get("location"), expected, name);
    if (name === "eve") assertStringIncludes(await found.text(), "Nothing begins with");
  }
});

Deno.test("a report by hour is shown in its zone, in the console's format of times", async () => {
  const atMs = Date.UTC(2026, 10, 21, 22, 40);
  await using gateway = await startGateway({ now: () => atMs });
  assertEquals(await statusOf(gateway.chat("Hi")), 200);
  const browser = await signedIn(gateway, "owner@localhost");
  const page = async (query: string) => await (await browser.get(`/console/usage?${query}`)).text();
  const berlin = await page("by=hour&since=24h&zone=Europe/Berlin");
  assertStringIncludes(berlin, ">21 Nov 2026, 23:00</td>");
  assertStringIncludes(berlin, "21 Nov 2026, 23:00 Europe/Berlin");
  assertStringIncludes(berlin, "hour (Europe/Berlin)");
  const days = await page("by=day&since=2026-11-20&until=2026-11-22&zone=Europe/Berlin");
  assertStringIncludes(days, "20 Nov 2026 to 21 Nov 2026 Europe/Berlin");
  assertStringIncludes(await page("by=month"), ">Nov 2026</td>");
  const long = await page("by=hour&since=30d");
  assertStringIncludes(long, "For a chart, choose a shorter range: it has up to 100 bars.");
  for (const query of ["by=hour&since=24h", "by=day&since=30d", "by=key,model&since=30d"]) {
    assert(!(await page(query)).includes("For a chart"), query);
  }
});

Deno.test("failed requests by reason are compared with failed requests", async () => {
  let nowMs = Date.UTC(2026, 10, 10, 12);
  await using gateway = await startGateway({ now: () => nowMs });
  const fail = async () =>
    assertEquals(await statusOf(gateway.chat("Hi [[status 503]]")), 503, "the simulator fails");
  for (let at = 0; at < 3; at++) await fail();
  for (let at = 0; at < 5; at++) assertEquals(await statusOf(gateway.chat("Hi")), 200);
  nowMs += 86_400_000;
  const browser = await signedIn(gateway, "owner@localhost");
  const page = async () =>
    await (await browser.get("/console/usage?by=reason&since=today&compare=1")).text();
  assertStringIncludes(await page(), "No failed requests in this period.");
  for (let at = 0; at < 4; at++) await fail();
  assertEquals(await statusOf(gateway.chat("Hi")), 200);
  const html = await page();
  const text = html.replaceAll(/<[^>]*>/g, " ").replaceAll(/\s+/g, " ");
  assertStringIncludes(text, "Failed requests 4 +33.3 % against before");
  const [row] = html.match(/<td[^>]*data-name="requests before">[^<]*/)!;
  assertEquals(row.replace(/.*>/, ""), "3");
  assertMatch(text, /period before 3 /, "the chart's outline is of failed ones");
  assert(!html.includes('data-name="credits'));
});

Deno.test("ranges and groupings are links that keep the rest of the address; other ranges are shown in the form", async () => {
  await using gateway = await startGateway({ now: () => Date.UTC(2026, 0, 15) });
  const browser = await signedIn(gateway, "owner@localhost");
  const page = async (query: string) => await (await browser.get(`/console/usage?${query}`)).text();
  const chosen = (html: string) =>
    [...html.matchAll(/aria-current="page">([^<]*)<\/a>/g)].map(([, words]) => words)
      .filter((words) => words !== "Usage");
  const preset = await page("by=model&since=7d");
  assertEquals(chosen(preset), ["7 days", "by model"]);
  assertStringIncludes(preset, 'href="/console/usage?by=model&amp;since=90d"');
  assertStringIncludes(preset, 'href="/console/usage?by=key&amp;since=7d"');
  assertStringIncludes(
    preset,
    'href="/console/usage?by=model&amp;since=2025-12&amp;until=2026-01"',
  );
  assertStringIncludes(preset, '<details class="filters"><summary>');
  assertEquals(chosen(await page("by=day&since=2025-12&until=2026-01")), ["last month", "by day"]);
  const custom = await page("by=model,day&since=2026-01-05&zone=Europe/Berlin&compare=1");
  assertEquals(chosen(custom), []);
  assertStringIncludes(custom, '<details class="filters" open');
  assertStringIncludes(custom, '<input type="hidden" name="compare" value="1"');
  assertStringIncludes(custom, "Do not compare");
});

Deno.test("usage by many keys has a chart of the top ones, though they are more groups by day than a report may have", async () => {
  await using gateway = await startGateway();
  const { database, owner } = gateway.gateway;
  const dayMs = 86_400_000;
  const today = Math.floor(Date.now() / dayMs) * dayMs;
  await database.batch([{
    sql: `insert into usage_days (day_at_ms, account_id, key_id, route, requests, errors,
        input_tokens, cached_tokens, output_tokens, duration_ms, credits, saved_millionths)
      with recursive up(i) as (select 0 union all select i + 1 from up where i < 119),
        days(d) as (select 1 union all select d + 1 from days where d < 89)
      select ?1 - d * ?2, ?3, printf('key_%03d', i), 'svc-k2', 1, 0, 1, 0, 1, 1, i + 1, 0
      from up, days`,
    args: [today, dayMs, owner.id],
  }, {
    sql:
      `insert into usage_totals (hour_at_ms, route, requests, errors, input_tokens, cached_tokens,
        output_tokens, duration_ms, credits, saved_millionths)
      select day_at_ms, route, sum(requests), 0, sum(input_tokens), 0, sum(output_tokens),
        sum(duration_ms), sum(credits), 0
      from usage_days group by 1, 2`,
    args: [],
  }]);
  const browser = await signedIn(gateway, owner.email);
  const reply = await browser.get("/console/usage?by=key&since=90d&all=1");
  const text = await reply.text();
  assertEquals(reply.status, 200);
  assertStringIncludes(text, "all others");
  assertStringIncludes(text, "Credits by day and key");
  const byDay = await (await browser.get("/console/usage?by=key,model&since=90d&all=1")).text();
  assertEquals(byDay.includes("The first"), false);
  const long = await (await browser.get("/console/usage?by=day,key&since=20d&all=1")).text();
  assertStringIncludes(long, "The first 200 of 2,280 rows");
});

Deno.test("every CSV of the console begins as spreadsheets need it to read names", async () => {
  await using gateway = await startGateway();
  const { keys, owner } = gateway.gateway;
  const { secret } = await keys.issue(owner, { name: "Zürich 李" });
  await statusOf(gateway.chat("Hi", {}, { key: secret }));
  const browser = await signedIn(gateway, owner.email);
  const month = new Date().toISOString().slice(0, 7);
  const bytesOf = async (reply: Response) => new Uint8Array(await reply.arrayBuffer());
  const mark = new TextEncoder().encode("\ufeff");
  const paths = [
    "usage.csv?by=key",
    "usage/requests.csv",
    "usage/entries.csv",
    `credits.csv?month=${month}`,
    "statement.csv",
  ];
  for (const path of paths) {
    const bytes = await bytesOf(await browser.get(`/console/${path}`));
    assertEquals(bytes.slice(0, 3), mark, path);
    assert(bytes.length > 20 && bytes[3] !== 0xef, `${path} has it once`);
  }
});
