/** Budgets in the console: set, changed, raised and removed by who may, and shown where they apply. */

import type { Role } from "../../../src/people/accounts/mod.ts";
import { budgetsOf, setBudget } from "../../../src/money/ledger/mod.ts";
import { assert, assertEquals, assertMatch, assertStringIncludes } from "../../assert.ts";
import { assertLedgerClean } from "../../fake/customer.ts";
import { startGateway, statusOf, type TestGateway } from "../../fake/gateway.ts";
import { NEW_KEY, PlainBrowser, signedIn } from "../../fake/visitor.ts";

const NOW = Date.UTC(2030, 0, 15, 12);

/** A team with a lead, two members, keys and credits. */
async function scene(gateway: TestGateway, { pool = true } = {}) {
  const { accounts, database, keys, members, sales, teamKeys, teams } = gateway.gateway;
  const person = async (name: string, role: Role = "none") =>
    await accounts.create({ email: `${name}@example.com`, role });
  const team = await teams.create({ name: "Platform", pool });
  if (pool) await sales.grant((await accounts.byId(team.poolId!))!, { credits: 10_000 });
  const [lead, ada, bob] = [await person("lead"), await person("ada"), await person("bob")];
  await members.add(team, lead, "lead");
  await members.add(team, ada);
  await members.add(team, bob);
  return {
    team,
    path: `/console/teams/${team.id}`,
    lead,
    ada,
    bob,
    person,
    adasKey: await teamKeys.issue(team, ada, { name: "adas" }),
    bobsKey: await teamKeys.issue(team, bob, { name: "bobs" }),
    own: await keys.issue(ada, { name: "own" }),
    budgets: (owner: "key" | "member" | "team" | "account", ownerId: string) =>
      budgetsOf(database, { owner, ownerId }, NOW),
  };
}

const SET = { budget: "500", period: "month", zone: "Europe/Berlin", marks: "90, 60 60%" };

/** The text of a page without its tags. */
const textOf = async (reply: Promise<Response>) =>
  (await (await reply).text()).replaceAll(/<[^>]*>/g, " ").replaceAll(/\s+/g, " ");

Deno.test("budgets of keys, members, teams and accounts: set, changed, raised, removed; twice is once", async () => {
  await using gateway = await startGateway({ now: () => NOW });
  const { ada, adasKey, budgets, lead, own, path, team } = await scene(gateway);
  const { accounts } = gateway.gateway;
  const owner = await signedIn(gateway, (await accounts.owner())!.email);
  const leads = await signedIn(gateway, lead.email);
  const adas = await signedIn(gateway, ada.email);
  const rows = [
    [adas, "/console/keys", `/console/keys/${own.id}`, "key", own.id],
    [leads, path, path, "team", team.id],
    [leads, path, `${path}/members/${ada.id}`, "member", `${team.id}:${ada.id}`],
    [leads, path, `${path}/keys/${adasKey.id}`, "key", adasKey.id],
    [
      owner,
      `/console/operator/accounts/${ada.id}`,
      `/console/operator/accounts/${ada.id}`,
      "account",
      ada.id,
    ],
  ] as const;
  for (const [browser, page, base, kind, id] of rows) {
    const send = async (form: string, fields: Record<string, string>) => {
      for (let time = 0; time < 2; time++) { // a double click
        const reply = await browser.post(`${base}/${form}`, fields, { from: page });
        const why = reply.status === 303 ? "" : await reply.text();
        assertEquals(reply.status, 303, `${base}/${form}: ${why}`);
        assertMatch(reply.headers.get("location")!, /^\/console\/.*\?done=budget/);
      }
      return (await budgets(kind, id)).map((one) => [
        one.period,
        one.credits,
        one.zone,
        one.marks.join(" "),
        one.raise && new Date(one.raise.untilMs).toISOString(),
        one.left,
      ]);
    };
    const month = ["month", 500, "Europe/Berlin", "60 90"];
    assertEquals(await send("budget", SET), [[...month, null, 500]]);
    const text = await textOf(browser.get(page));
    assertStringIncludes(text, "Monthly budget 0 spent, 500 left of 500 credits");
    assertStringIncludes(text, "Renews 1 Feb 2030, 00:00 (Europe/Berlin). Warns at 60, 90 %.");
    const raise = { period: "month", credits: "70", until: "2030-01-20T18:30" };
    assertEquals(await send("budget/raise", raise), [[
      ...month,
      "2030-01-20T17:30:00.000Z",
      570,
    ]]);
    const raised = await textOf(browser.get(page));
    assertStringIncludes(raised, "Includes 70 extra until 20 Jan 2030, 18:30 (Europe/Berlin)");
    // a change keeps the raise; another period is another budget
    await send("budget", { ...SET, budget: "600", marks: "" });
    assertEquals(await send("budget", { budget: "20", period: "day" }), [
      ["day", 20, "UTC", "50 80 100", null, 20],
      ["month", 600, "Europe/Berlin", "", "2030-01-20T17:30:00.000Z", 670],
    ]);
    assertStringIncludes(await textOf(browser.get(page)), "No warnings");
    await send("budget/raise", { period: "month", credits: "0" });
    assertEquals(await send("budget/remove", { period: "day" }), [[
      "month",
      600,
      "Europe/Berlin",
      "",
      null,
      600,
    ]]);
    assertEquals(await send("budget/remove", { period: "month" }), []);
  }
  await assertLedgerClean(gateway);
});

Deno.test("budgets: what a form has wrong is said, and changes nothing", async () => {
  await using gateway = await startGateway({ now: () => NOW });
  const { budgets, lead, path, team } = await scene(gateway);
  const { database } = gateway.gateway;
  const name = { owner: "team", ownerId: team.id, period: "month" } as const;
  await setBudget(database, { ...name, credits: 500, zone: "Europe/Berlin" }, { nowMs: NOW });
  const before = await budgets("team", team.id);
  const browser = await signedIn(gateway, lead.email);
  const raise = { period: "month", credits: "70", until: "2030-01-20T18:30" };
  const rows: [form: string, fields: Record<string, string>, says: string][] = [
    ["budget", {}, "The form lacks &#39;budget&#39;"],
    ["budget", { budget: "" }, "Enter the credits of the budget"],
    ["budget", { ...SET, budget: "-5" }, "Budget must be a whole number"],
    ["budget", { ...SET, budget: "1.5" }, "Budget must be a whole number"],
    ["budget", { ...SET, budget: "1e3" }, "Budget must be a whole number"],
    ["budget", { ...SET, budget: "9999999999999999" }, "Budget must be a whole number"],
    ["budget", { ...SET, period: "year" }, "Select when the budget renews"],
    ["budget", { budget: "5" }, "Select when the budget renews"],
    ["budget", { ...SET, zone: "Mars/Olympus" }, "Unknown time zone"],
    ["budget", { ...SET, zone: "<script>" }, "Unknown time zone"],
    ["budget", { ...SET, marks: "half" }, "Each mark must be a whole number"],
    ["budget", { ...SET, marks: "0" }, "which is too low"],
    ["budget", { ...SET, marks: "-50" }, "which is negative"],
    ["budget", { ...SET, marks: "1 2 3 4 5 6 7 8 9 10 11" }, "Too many marks: the limit is 10"],
    ["budget/raise", { credits: "" }, "Enter the credits of the raise"],
    ["budget/raise", { ...raise, period: "day" }, "This budget has been removed"],
    ["budget/raise", { ...raise, until: "" }, "Enter when the raise ends"],
    ["budget/raise", { ...raise, until: "2030-02-30T00:00" }, "Enter when the raise ends"],
    ["budget/raise", { ...raise, until: "2030-01-15T13:00" }, "must be in the future"], // of Berlin
    ["budget/remove", {}, "Select when the budget renews"],
  ];
  for (const [form, fields, says] of rows) {
    const reply = await browser.post(`${path}/${form}`, fields, { from: path });
    assertEquals(reply.status, 400, `${form} ${JSON.stringify(fields)}`);
    const text = await reply.text();
    assertStringIncludes(text, says);
    assert(!text.includes("<script>"), "escaped");
  }
  assertEquals(await budgets("team", team.id), before);
  // without the session's token, or from another site
  const csrf = await browser.token(path);
  for (
    const [fields, headers] of [[SET, {}], [{ ...SET, csrf }, { "sec-fetch-site": "cross-site" }]]
  ) {
    const reply = browser.post(`${path}/budget`, { ...fields } as Record<string, string>, {
      headers: { ...headers } as Record<string, string>,
    });
    assertEquals(await statusOf(reply), 403);
  }
  assertEquals(await budgets("team", team.id), before);
});

Deno.test("budgets: a member lifts no budget that is meant for them, nor does the lead of another team", async () => {
  await using gateway = await startGateway({ now: () => NOW });
  const { ada, adasKey, bob, bobsKey, budgets, lead, path, person, team } = await scene(gateway);
  const { database, members, teams } = gateway.gateway;
  const owners = [
    ["team", team.id],
    ["member", `${team.id}:${ada.id}`],
    ["key", adasKey.id],
    ["key", bobsKey.id],
    ["account", ada.id],
  ] as const;
  for (const [owner, ownerId] of owners) {
    await setBudget(database, { owner, ownerId, period: "month", credits: 10 }, { nowMs: NOW });
  }
  const before = await Promise.all(owners.map(([owner, id]) => budgets(owner, id)));
  const others = await teams.create({ name: "Other", pool: true });
  const eve = await person("eve");
  await members.add(others, eve, "lead");
  const stopped = await person("stopped");
  await members.add(team, stopped, "lead");
  await members.stop(team, stopped);
  for (const { email } of [ada, eve, stopped, await person("finance", "finance")]) {
    const browser = await signedIn(gateway, email);
    const bases = [
      path,
      `${path}/members/${ada.id}`,
      `${path}/keys/${adasKey.id}`,
      `${path}/keys/${bobsKey.id}`,
      `/console/keys/${adasKey.id}`,
      `/console/keys/${bobsKey.id}`,
      `/console/operator/accounts/${ada.id}`,
    ];
    for (const base of bases) {
      for (const form of ["budget", "budget/raise", "budget/remove"]) {
        const fields = { ...SET, credits: "1000", until: "2031-01-01T00:00" };
        const status = await statusOf(
          browser.post(`${base}/${form}`, fields, { from: "/console/account" }),
        );
        assert(status === 404 || status === 400, `${email} ${base}/${form}: ${status}`);
      }
    }
  }
  assertEquals(await Promise.all(owners.map(([owner, id]) => budgets(owner, id))), before);

  // by ids of others below the path of the own team
  const evesPath = `/console/teams/${others.id}`;
  const eves = await signedIn(gateway, eve.email);
  for (const base of [`${evesPath}/keys/${adasKey.id}`, `${evesPath}/members/${ada.id}`]) {
    const reply = await eves.post(`${base}/budget`, SET, { from: evesPath });
    assertEquals(reply.status, 400, base);
    assertMatch(await reply.text(), /not (?:found )?in th(?:e|is) team/);
  }
  assertEquals(await budgets("member", `${others.id}:${ada.id}`), []);

  // an operator sets no budgets of an owner
  const operator = await signedIn(gateway, (await person("op", "operator")).email);
  const owner = (await gateway.gateway.accounts.owner())!;
  const at = `/console/operator/accounts/${owner.id}`;
  assertEquals(await statusOf(operator.post(`${at}/budget`, SET, { from: at })), 404);
  assertEquals(await budgets("account", owner.id), []);

  // what each sees: a member the team's budget and their own, not others'
  const bobs = await (await (await signedIn(gateway, bob.email)).get(path)).text();
  assertStringIncludes(bobs, "Monthly budget");
  assert(!bobs.includes("ada@example.com") && !bobs.includes("Change budget"));
  const leads = await textOf((await signedIn(gateway, lead.email)).get(path));
  assertMatch(
    leads,
    /ada@example\.com member 0 – never Monthly budget 0 spent, 10 left of 10/,
  );
});

Deno.test("budgets: members who pay for themselves set those of their keys; a key is made with one", async () => {
  await using gateway = await startGateway({ now: () => NOW });
  const { ada, adasKey, budgets, lead, path, team } = await scene(gateway, { pool: false });
  const { keys, teamKeys } = gateway.gateway;
  const adas = await signedIn(gateway, ada.email);
  for (const at of ["/console/keys", path]) {
    const base = at === path ? `${path}/keys/${adasKey.id}` : `/console/keys/${adasKey.id}`;
    assertEquals(await statusOf(adas.post(`${base}/budget`, SET, { from: at })), 303, base);
    assertEquals((await budgets("key", adasKey.id)).length, 1);
    const removed = adas.post(`${base}/budget/remove`, { period: "month" }, { from: at });
    assertEquals(await statusOf(removed), 303);
  }
  const leads = await signedIn(gateway, lead.email);
  const reply = leads.post(`${path}/keys/${adasKey.id}/budget`, SET, { from: path });
  assertEquals(await statusOf(reply), 400, "a key that the member pays for");

  const made = await adas.post(
    `${path}/keys`,
    { ...NEW_KEY, member: ada.id, name: "new", ...SET },
    {
      from: path,
    },
  );
  assertEquals(made.status, 200, await made.text());
  const key = (await teamKeys.list(team)).find(({ name }) => name === "new")!;
  assertEquals((await budgets("key", key.id)).map(({ zone }) => zone), ["Europe/Berlin"]);
  const wrong = { name: "wrong", ...SET, zone: "Nowhere" };
  assertEquals(await statusOf(adas.post("/console/keys", wrong, { from: "/console/keys" })), 400);
  assert((await keys.list(ada)).every(({ name }) => name !== "wrong"), "no key without its budget");
});

Deno.test("Home shows the budgets that apply to the account's keys, and none of a team that stopped it", async () => {
  await using gateway = await startGateway({ now: () => NOW });
  const { ada, adasKey, bob, bobsKey, own, team } = await scene(gateway);
  const { database, keys, members } = gateway.gateway;
  const set = (owner: "key" | "member" | "team" | "account", ownerId: string, credits: number) =>
    setBudget(database, { owner, ownerId, period: "week", credits }, { nowMs: NOW });
  await set("team", team.id, 1_001);
  await set("member", `${team.id}:${ada.id}`, 1_002);
  await set("member", `${team.id}:${bob.id}`, 1_003);
  await set("key", own.id, 1_004);
  await set("key", bobsKey.id, 1_005);
  await set("account", ada.id, 1_006);
  await set("account", team.poolId!, 1_007);
  assertEquals(await statusOf(gateway.chat("Hi", { max_tokens: 5 }, { key: adasKey.secret })), 200);
  const browser = await signedIn(gateway, ada.email);
  const home = await textOf(browser.get("/console/"));
  for (
    const text of [
      "Weekly budget of the team Platform 1 spent, 1,000 left of 1,001 credits",
      "Weekly budget of your keys of Platform 1 spent, 1,001 left of 1,002 credits",
      "Weekly budget of the key own 0 spent, 1,004 left of 1,004 credits",
      "Weekly budget of this account 0 spent, 1,006 left of 1,006 credits",
      "Weekly budget of the team&#39;s pool 1 spent, 1,006 left of 1,007 credits",
      "Renews 21 Jan 2030, 00:00 UTC",
    ]
  ) assertStringIncludes(home, text);
  assert(!home.includes("1,003") && !home.includes("1,005"), "of others");
  await members.stop(team, ada);
  const stopped = await textOf(browser.get("/console/"));
  assert(!stopped.includes("Platform") && !stopped.includes("pool"), stopped);
  assertStringIncludes(stopped, "of the key own");
  await keys.revoke(own.id);
  assert(!(await textOf(browser.get("/console/"))).includes("of the key own"));
});

Deno.test("a key's name, models and expiry are changed; what a form does not have stays", async () => {
  await using gateway = await startGateway({ now: () => NOW });
  const { ada, adasKey, path } = await scene(gateway);
  const { keys } = gateway.gateway;
  const browser = await signedIn(gateway, ada.email);
  const own = await keys.issue(ada, { name: "laptop", models: ["svc-k2", "away-model"] });
  for (const [id, at] of [[own.id, "/console/keys"], [adasKey.id, path]] as const) {
    const base = at === path ? `${path}/keys` : at;
    const send = async (fields: [string, string][], expected = 303) => {
      const body = new URLSearchParams([["csrf", await browser.token(at)], ...fields]);
      const reply = await fetch(`${gateway.url}${base}/${id}/update`, {
        method: "POST",
        headers: { cookie: browser.cookie, "sec-fetch-site": "same-origin" },
        body,
        redirect: "manual",
      });
      const text = await reply.text();
      assertEquals(reply.status, expected, text);
      const { name, models, expiresAtMs } = (await keys.byId(id))!;
      return [
        name,
        models?.toSorted().join(" ") ?? "all",
        expiresAtMs && (expiresAtMs - NOW) / 86_400_000,
      ];
    };
    await keys.change(id, { models: ["svc-k2", "away-model"] });
    assertEquals(await send([["name", "desk"]]), ["desk", "away-model svc-k2", null]);
    const listed: [string, string] = ["allow", "listed"];
    const changed: [string, string][] = [listed, ["models", "svc-k3"], ["models", "away-model"]];
    const before = ["desk", "away-model svc-k2", null];
    assertEquals(await send([...changed, ["models", "made-up"]], 400), before);
    assertEquals(await send([listed], 400), before, "no tick is not all of them");
    assertEquals(await send([["models", "svc-k3"]], 400), before);
    assertEquals(await send([["allow", "all"], ["models", "svc-k3"]], 400), before);
    assertEquals(await send([...changed, ["expires", "30"]]), ["desk", "away-model svc-k3", 30]);
    assertEquals(await send([["expires", "keep"]]), ["desk", "away-model svc-k3", 30]);
    for (const expires of ["0", "soon", "-1", "99999999"]) {
      assertEquals(await send([["expires", expires]], 400), ["desk", "away-model svc-k3", 30]);
    }
    assertEquals(await send([["allow", "all"], ["expires", "never"]]), ["desk", "all", null]);
  }
});

Deno.test("budgets: nobody without a session reaches a form", async () => {
  await using gateway = await startGateway();
  const nobody = new PlainBrowser(gateway.url);
  const reply = await nobody.post("/console/keys/key_x/budget", SET);
  assertEquals([reply.status, reply.headers.get("location")], [
    303,
    "/console/sign-in?done=unsent",
  ]);
});
