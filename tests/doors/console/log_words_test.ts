/** The log and the audit name what they are about, and say values as people write them. */

import { LogValue, wordsOfPath } from "../../../src/doors/console/operator/log_value.tsx";
import { assert, assertEquals, assertMatch, assertStringIncludes } from "../../assert.ts";
import { startGateway } from "../../fake/gateway.ts";
import { teamOf } from "../../fake/team.ts";
import { sluice } from "../../fake/shell.ts";
import { signedIn } from "../../fake/visitor.ts";

const OWNER = "owner@localhost";
const PATH = "/console/operator";

/** Text of a page without its tags. */
const words = (html: string) =>
  html.slice(html.indexOf("<main")).replace(/<[^>]*>/g, " ").replace(/\s+/g, " ");

Deno.test("a value in the log is in words: by its type, its name and its length", () => {
  const long = "x".repeat(121);
  const values: readonly (readonly [path: string, value: unknown, words: string])[] = [
    ["a", null, "none"],
    ["a", undefined, "none"],
    ["a", "", "none"],
    ["a", [], "none"],
    ["a", true, "yes"],
    ["a", false, "no"],
    ["a", 0, "0"],
    ["latency", 12_345, "12,345"],
    ["latency_ms", 12_345, "12.3 s"],
    ["a", "text", "text"],
    ["a", long.slice(1), long.slice(1)],
    ["a", long, `${long.slice(1)}…`],
    ["a", ["one", 2], "one, 2"],
    ["a", ["one", { two: 2 }], '["one",{"two":2}]'],
    ["a", { two: 2 }, '{"two":2}'],
  ];
  for (const [path, value, expected] of values) {
    const html = String(LogValue({ path, value, labels: new Map() }));
    assertEquals(html.replaceAll("&quot;", '"'), expected, path);
  }
  const time = String(
    LogValue({ path: "a", value: "2030-01-02T03:04:05.678Z", labels: new Map() }),
  );
  assertMatch(time, /^<time.*>2 Jan 2030/);
  assertEquals(wordsOfPath("prices.output_tokens_ms"), "prices, output tokens");
});

Deno.test("the log has names instead of IDs, and values without quotes and brackets", async () => {
  await using gateway = await startGateway();
  const { accounts, keys } = gateway.gateway;
  const ada = await accounts.create({ email: "ada@example.com" });
  const key = await keys.issue(ada, { name: "laptop" });
  const { team, members: [bob] } = await teamOf(gateway, { size: 1 });
  const owner = await signedIn(gateway, OWNER);
  const about = `${PATH}/accounts/${ada.id}`;
  await owner.post(`${about}/keys/${key.id}/revoke`, {}, { from: about });
  await owner.post(`${about}/role`, { role: "finance" }, { from: about });
  const members = `/console/teams/${team.id}`;
  await owner.post(`${members}/members/${bob!.account.id}/role`, { role: "lead" }, {
    from: members,
  });
  const log = async (query = "") => await (await owner.get(`${PATH}/log${query}`)).text();
  const html = await log();
  assertMatch(html, new RegExp(`<a href="${about}">laptop</a>`));
  assertStringIncludes(html, `<a href="${about}">ada@example.com</a>`);
  assertStringIncludes(html, `title="${key.id}"`);
  const text = words(html);
  assertMatch(text, /role none → finance/);
  assertMatch(text, /revoked at none → \d+ \w+ \d{4}, [\d:]+/);
  assertMatch(text, new RegExp(`${bob!.account.email} in ${team.name}`));
  assert(!/"[a-z]|\[\]|T\d\d:\d\d:\d\d/.test(text), text);
  // found by what the page calls it, too
  for (const name of ["ADA@example.com", ada.id]) {
    const found = words(await log(`?about=${encodeURIComponent(name)}`));
    assertStringIncludes(found, "account.role");
    assert(!found.includes("member.role"), found);
  }
  assertStringIncludes(words(await log(`?about=${encodeURIComponent(team.name)}`)), "member.role");
});

Deno.test("the log is found by an address and by every spelling of a team's name, on the page and by the command", async () => {
  await using gateway = await startGateway();
  const { accounts, teams } = gateway.gateway;
  for (let at = 0; at < 60; at++) await accounts.create({ email: `x${at}ada@example.com` });
  const ada = await accounts.create({ email: "ada@example.com" });
  const team = await teams.create({ name: "Café @ Berlin", pool: false });
  const owner = await signedIn(gateway, OWNER);
  await owner.post(`/console/teams/${team.id}/disable`, {}, { from: `/console/teams/${team.id}` });
  await owner.post(`${PATH}/accounts/${ada.id}/disable`, {}, {
    from: `${PATH}/accounts/${ada.id}`,
  });
  const spelt = ["Café @ Berlin", "cafe\u0301 @ berlin", "CAFÉ  @ Berlin", "Ｃafé\u3000@ Berlin"];
  for (
    const [about, operation] of [
      ...spelt.map((one) => [one, "team.disable"] as const),
      [ada.email.toUpperCase(), "account.disable"] as const,
    ]
  ) {
    const html = await (await owner.get(`${PATH}/log?${new URLSearchParams({ about })}`)).text();
    assertStringIncludes(words(html), operation, about);
    const place = ["--config", `${gateway.directory}/sluice.jsonc`];
    const { out } = await sluice(["log", `--about=${about}`, ...place], {
      directory: gateway.directory,
    });
    assertStringIncludes(out, operation, about);
  }
});

Deno.test("a failed operation in the log says why, and no change", async () => {
  await using gateway = await startGateway();
  const { accounts } = gateway.gateway;
  await accounts.create({ email: "ada@example.com" });
  const owner = await signedIn(gateway, OWNER);
  const made = { email: "ada@example.com" };
  await (await owner.post(`${PATH}/accounts`, made, { from: `${PATH}/accounts` })).text();
  const text = words(await (await owner.get(`${PATH}/log`)).text());
  assertMatch(text, /failed Account ada@example\.com already exists/);
  assert(!/conflict:|→/.test(text), text);
});

Deno.test("the log leads to orders that there are, and to none that could not be made", async () => {
  await using gateway = await startGateway(); // without a payment service
  const options = { directory: gateway.directory };
  const place = ["--config", `${gateway.directory}/sluice.jsonc`];
  const buy = ["--account", OWNER, "--package", "starter", ...place];
  await sluice(["credits", "grant", "--paid", "--reference", "INV-1", ...buy], options);
  const { err } = await sluice(["credits", "checkout", ...buy], options);
  assertStringIncludes(err, "Online payment is not configured");
  const owner = await signedIn(gateway, OWNER);
  const html = await (await owner.get(`${PATH}/log`)).text();
  assertMatch(words(html), /order\.create ord_\w+ failed/);
  assertEquals(html.match(/href="[^"]*\/orders\/[^"]*"/g) ?? [], []);
  const { data: [order] } = JSON.parse(
    (await sluice(["payments", "list", "--json", ...place], options)).out,
  );
  await sluice(["payments", "refund", order.id, "--amount", "1", ...place], options);
  const after = await (await owner.get(`${PATH}/log`)).text();
  assertStringIncludes(after, `href="${PATH}/orders/${order.id}"`);
});

Deno.test("an audit names the account, the key and the time of a row, not its key in the table", async () => {
  await using gateway = await startGateway();
  const { accounts, keys, database, sales } = gateway.gateway;
  const ada = await accounts.create({ email: "ada@example.com" });
  await sales.grant(ada, { credits: 1_000 });
  const { secret } = await keys.issue(ada, { name: "laptop" });
  assertEquals((await gateway.chat("Hi", {}, { key: secret }).then((r) => r.text())) !== "", true);
  await database.batch([
    { sql: "update windows set used = used + 1 where span_ms = 60000", args: [] },
    { sql: "update balances set balance = balance + 5", args: [] },
  ]);
  const owner = await signedIn(gateway, OWNER);
  const reply = await owner.post(`${PATH}/audit`, {}, { from: `${PATH}/audit` });
  const html = await reply.text();
  const text = words(html);
  assertMatch(text, /window: [a-z ]+ P8 laptop , (minute|hour|day) from \d+ \w+ \d{4}, [\d:]+/);
  assertMatch(text, /balance: balance P1 ada@example\.com/);
  assert(!/\b(key|acc)_|\d{13}/.test(text), text);
  assertMatch(html, /title="key_\w+ 3600000 \d{13}"/);
});
