import type { Role, TeamRole } from "../../../src/people/accounts/mod.ts";
import { assert, assertEquals, assertMatch, assertStringIncludes } from "../../assert.ts";
import { startGateway, statusOf, type TestGateway } from "../../fake/gateway.ts";
import { sharedGateway } from "../../fake/shared_gateway.ts";
import { until } from "../../fake/temp.ts";
import { NEW_KEY, signedIn } from "../../fake/visitor.ts";

let made = 0;

/** A team with a lead, a member and credits, and people who are not in it. */
async function platform(gateway: TestGateway, { pool = true } = {}) {
  const { accounts, members, sales, teams } = gateway.gateway;
  const number = ++made;
  const person = async (name: string, role: Role = "none") =>
    await accounts.create({ email: `${name}@team${number}.example`, role });
  const join = async (name: string, role: TeamRole) => {
    const one = await person(name);
    await members.add(team, one, role);
    return one;
  };
  const team = await teams.create({ name: `Platform of ${number}`, pool });
  if (pool) {
    await sales.grant((await accounts.byId(team.poolId!))!, { credits: 10_000 });
  }
  return {
    team,
    path: `/console/teams/${team.id}`,
    lead: await join("lead", "lead"),
    ada: await join("ada", "member"),
    bob: await join("bob", "member"),
    person,
  };
}

/** The secret that a page shows. */
async function secretOn(reply: Response): Promise<string> {
  const text = await reply.text();
  assertEquals(reply.status, 200, text);
  return /sk-[A-Za-z0-9]{43}/.exec(text)![0];
}

Deno.test("an operator can neither become an owner nor act for one", async () => {
  await using gateway = await startGateway();
  const { accounts, keys } = gateway.gateway;
  const owner = (await accounts.owner())!;
  const operator = await accounts.create({ email: "operator@example.com", role: "operator" });
  const bob = await accounts.create({ email: "bob@example.com" });
  const ownersKey = await keys.issue(owner);
  const browser = await signedIn(gateway, operator.email);
  const at = (id: string) => `/console/operator/accounts/${id}`;
  const from = { from: at(bob.id) };
  for (const path of ["link", "keys", "disable", "enable", `keys/${ownersKey.id}/revoke`]) {
    assertEquals(await statusOf(browser.post(`${at(owner.id)}/${path}`, {}, from)), 404, path);
  }
  assertEquals(await statusOf(browser.post(`${at(owner.id)}/role`, { role: "none" }, from)), 404);
  for (const { id } of [operator, bob]) {
    assertEquals(await statusOf(browser.post(`${at(id)}/role`, { role: "owner" }, from)), 400);
    assertEquals(await statusOf(browser.post(`${at(id)}/role`, { role: "root" }, from)), 400);
  }
  assertEquals(await statusOf(browser.post(`${at(bob.id)}/role`, { role: "finance" }, from)), 303);
  const roles = (await accounts.list()).map(({ email, role }) => [email, role]);
  assertEquals(Object.fromEntries(roles), {
    [owner.email]: "owner",
    [operator.email]: "operator",
    [bob.email]: "finance",
  });
  const text = await (await browser.get(at(owner.id))).text();
  assert(!text.includes("Create sign-in link") && !text.includes("Save role"));
  assert(
    !(await (await browser.get("/console/operator/audit")).text()).includes("Download backup"),
  );

  // a role that is taken away is gone in the session that is open
  await accounts.setRole(operator.email, "none");
  assertEquals(await statusOf(browser.get("/console/operator/accounts")), 404);
});

// those below share a gateway
const shared = sharedGateway();

shared(
  "a lead makes keys, sees who spent what on which model, and stops one member",
  async (gateway) => {
    const { ada, bob, lead, path } = await platform(gateway);
    const browser = await signedIn(gateway, lead.email);
    const keys: string[] = [];
    for (const member of [ada.id, bob.id, "team"]) {
      keys.push(
        await secretOn(await browser.post(`${path}/keys`, { ...NEW_KEY, member }, { from: path })),
      );
    }
    const [adas, bobs, shared] = keys as [string, string, string];
    for (
      const [key, model] of [[adas, "svc-k2"], [adas, "svc-k2.6"], [bobs, "svc-k2"], [
        shared,
        "svc-k2",
      ]]
    ) {
      assertEquals(
        await statusOf(gateway.chat("Hi", { model, max_tokens: 5 }, { key: key! })),
        200,
      );
    }
    const text = await (await browser.get(path)).text();
    const row = (email: string) =>
      new RegExp(`<tr><td[^>]*>${email}</td>.*?</tr>`, "s").exec(text)![0].replaceAll(
        /<[^>]*>/g,
        " ",
      );
    assertMatch(row(ada.email), /member\s+4\s+svc-k2\.6\s+3\s+svc-k2\s+1/);
    assertMatch(row(bob.email), /member\s+1\s+svc-k2\s+1/);
    assertMatch(row("keys of the whole team"), /\s1\s+svc-k2\s+1/);

    const stopped = await browser.post(`${path}/members/${ada.id}/stop`, {}, { from: path });
    assertEquals(stopped.status, 303);
    await until(async () => await statusOf(gateway.chat("Hi", {}, { key: adas })) === 403, {
      what: "the stop",
    });
    for (const key of [bobs, shared]) {
      assertEquals(await statusOf(gateway.chat("Hi", {}, { key })), 200);
    }
  },
);

shared("the form that adds members demotes no lead who is in the team already", async (gateway) => {
  const { team, lead, path, person } = await platform(gateway);
  const { id, email: newcomer } = await person("new");
  const browser = await signedIn(gateway, "owner@localhost");
  const form = /<form[^>]*\/members".*?<\/form>/s.exec(await (await browser.get(path)).text())![0];
  const [, role] = /<option value="([^"]*)" selected[^>]*>member</.exec(form)!;
  for (const email of [lead.email, newcomer]) {
    const reply = await browser.post(`${path}/members`, { email, role: role! }, { from: path });
    assertEquals(reply.status, 303);
  }
  const { members } = gateway.gateway;
  const roles = new Map(
    (await members.list(team)).map(({ accountId, role }) => [accountId, role]),
  );
  assertEquals([roles.get(lead.id), roles.get(id)], ["lead", "member"]);
});

shared("a member sees and makes only their own keys, whatever the form says", async (gateway) => {
  const { ada, bob, lead, path, team } = await platform(gateway);
  const { keys, teamKeys } = gateway.gateway;
  const bobs = await teamKeys.issue(team, bob, { name: "bobs-laptop" });
  const browser = await signedIn(gateway, ada.email);
  const own = await secretOn(
    await browser.post(`${path}/keys`, { ...NEW_KEY, member: ada.id, name: "adas" }, {
      from: path,
    }),
  );
  assertEquals(await statusOf(gateway.chat("Hi", {}, { key: own })), 200);
  for (const member of [bob.id, lead.id, "", "acc_none"]) {
    const reply = await browser.post(`${path}/keys`, { member, name: "stolen" }, { from: path });
    assertEquals(reply.status, 400, member);
    await reply.body?.cancel();
  }
  for (const what of ["revoke", "rotate", "update"]) {
    const reply = await browser.post(
      `${path}/keys/${bobs.id}/${what}`,
      { name: "stolen" },
      { from: path },
    );
    assertEquals(reply.status, 400, what);
    assertStringIncludes(await reply.text(), "Key not found in this team");
    assertEquals(
      await statusOf(browser.post(`/console/keys/${bobs.id}/${what}`, {}, { from: path })),
      404,
    );
  }
  assertEquals((await keys.byId(bobs.id))!.name, "bobs-laptop");
  const text = await (await browser.get(path)).text();
  assert(!text.includes(bob.email) && !text.includes("bobs-laptop"));
  assertStringIncludes(await (await browser.get("/console/keys")).text(), "Platform");
  const escalations = [
    [`${path}/members/${ada.id}/role`, { role: "lead" }],
    [`${path}/members`, { email: ada.email, role: "lead" }],
    [path, { name: "Mine" }],
    ["/console/teams", { name: "Mine", pool: "yes" }],
    [`/console/operator/accounts/${ada.id}/role`, { role: "owner" }],
  ] as const;
  for (const [at, fields] of escalations) {
    assertEquals(await statusOf(browser.post(at, fields, { from: path })), 404, at);
  }
});

shared(
  "a lead's rights end at the team: not other teams' members, keys, or accounts",
  async (gateway) => {
    const { ada, lead, path, person } = await platform(gateway);
    const { members, teamKeys, teams, keys } = gateway.gateway;
    const other = await teams.create({ name: "Other", pool: true });
    const eve = await person("eve");
    await members.add(other, eve);
    await members.add(other, ada);
    const evesKey = await teamKeys.issue(other, eve);
    const adasOwn = await keys.issue(ada);
    const browser = await signedIn(gateway, lead.email);
    assertEquals(await statusOf(browser.get(`/console/teams/${other.id}`)), 404);
    for (
      const at of [`/members/${eve.id}/stop`, "/members", "/keys", `/keys/${evesKey.id}/revoke`]
    ) {
      assertEquals(
        await statusOf(browser.post(`/console/teams/${other.id}${at}`, {}, { from: path })),
        404,
        at,
      );
    }
    // ids of another team, or of none, below the path of the own team
    for (const id of [evesKey.id, adasOwn.id, "key_none"]) {
      for (const what of ["revoke", "rotate", "update"]) {
        assertEquals(
          await statusOf(browser.post(`${path}/keys/${id}/${what}`, {}, { from: path })),
          400,
          id,
        );
      }
      assertEquals((await keys.byId(id))?.revokedAtMs ?? null, null);
    }
    for (const what of ["stop", "remove", "role"]) {
      const at = `${path}/members/${eve.id}/${what}`;
      assertEquals(await statusOf(browser.post(at, { role: "lead" }, { from: path })), 400, what);
    }
    assertEquals((await members.find(other, eve))!.stoppedAtMs, null);
    const foreign = await browser.post(`${path}/keys`, { ...NEW_KEY, member: eve.id }, {
      from: path,
    });
    assertEquals(foreign.status, 400);
    assertStringIncludes(await foreign.text(), "Select a member of the team");
  },
);

shared(
  "without a pool, nobody but the member or an operator gets a key that the member pays for",
  async (gateway) => {
    const { ada, lead, path, team, person } = await platform(gateway, { pool: false });
    const { members, teamKeys, accounts, keys } = gateway.gateway;
    const adas = await teamKeys.issue(team, ada);
    const browser = await signedIn(gateway, lead.email);
    assertEquals(
      await statusOf(browser.post(`${path}/keys`, { ...NEW_KEY, member: ada.id }, { from: path })),
      400,
    );
    for (const what of ["rotate", "update"]) {
      const at = `${path}/keys/${adas.id}/${what}`;
      assertEquals(await statusOf(browser.post(at, {}, { from: path })), 400, what);
    }
    const revoked = browser.post(`${path}/keys/${adas.id}/revoke`, {}, { from: path });
    assertEquals(await statusOf(revoked), 303);

    const own = await signedIn(gateway, ada.email);
    await secretOn(await own.post(`${path}/keys`, { ...NEW_KEY, member: ada.id }, { from: path }));
    const operator = await signedIn(gateway, (await person("operator", "operator")).email);
    await secretOn(
      await operator.post(`${path}/keys`, { ...NEW_KEY, member: ada.id }, { from: path }),
    );
    const owner = (await accounts.owner())!;
    await members.add(team, owner);
    const owners = await teamKeys.issue(team, owner);
    for (
      const [at, fields] of [["keys", { ...NEW_KEY, member: owner.id }], [
        `keys/${owners.id}/rotate`,
        {},
      ]] as const
    ) {
      const reply = await operator.post(`${path}/${at}`, { ...fields }, { from: path });
      assertEquals(reply.status, 400, at);
      assertStringIncludes(await reply.text(), "Only an owner");
    }
    assertEquals((await keys.byId(owners.id))!.previousUntilMs, null);
  },
);

shared(
  "a lead who is stopped, demoted or removed may nothing any more, in the session that is open",
  async (gateway) => {
    const { ada, lead, path, team } = await platform(gateway);
    const { members, keys, teamKeys } = gateway.gateway;
    const key = await teamKeys.issue(team, lead);
    const browser = await signedIn(gateway, lead.email);
    const csrf = await browser.token(path);
    const stop = () => statusOf(browser.post(`${path}/members/${ada.id}/stop`, { csrf }));
    await members.stop(team, lead);
    assertEquals([await stop(), await statusOf(browser.get(path))], [404, 404]);
    assertEquals(
      await statusOf(browser.post(`/console/keys/${key.id}/rotate`, { csrf })),
      404,
      "a key of the team on the own page",
    );
    await members.start(team, lead);
    await members.setRole(team, lead, "member");
    assertEquals([await stop(), await statusOf(browser.get(path))], [404, 200]);
    await members.remove(team, lead);
    assertEquals([await stop(), await statusOf(browser.get(path))], [404, 404]);
    assertEquals((await members.find(team, ada))!.stoppedAtMs, null);
    assert((await keys.byId(key.id))!.revokedAtMs !== null);
  },
);

shared(
  "finance sees when members used a team, and no list of keys that looks empty",
  async (gateway) => {
    const { ada, path, person, team } = await platform(gateway);
    const { secret: key } = await gateway.gateway.teamKeys.issue(team, ada);
    assertEquals(await statusOf(gateway.chat("Hi", {}, { key })), 200);
    const browser = await signedIn(gateway, (await person("grace", "finance")).email);
    const text = await (await browser.get(path)).text();
    const row = new RegExp(`<tr><td[^>]*>${ada.email}</td>.*?</tr>`, "s").exec(text)![0];
    assert(!row.includes("never"), row);
    assert(!text.includes("No keys yet") && !text.includes(">Keys</h2>"));
  },
);

shared("saving a team keeps models that are not served just now", async (gateway) => {
  const { path, team } = await platform(gateway);
  const { accounts, teams } = gateway.gateway;
  await teams.change(team, { models: ["away-model"] });
  const browser = await signedIn(gateway, (await accounts.owner())!.email);
  assertMatch(await (await browser.get(path)).text(), /value="away-model"[^>]*checked/);
  const fields = { name: "Platform 2", allow: "listed", models: "away-model" };
  assertEquals(await statusOf(browser.post(path, fields, { from: path })), 303);
  const saved = await teams.get(team.id);
  assertEquals([saved.name, saved.models], ["Platform 2", ["away-model"]]);
});

shared(
  "revoked and expired keys are folded away; a key is renamed and rotated",
  async (gateway) => {
    const { accounts, keys } = gateway.gateway;
    const ada = await accounts.create({ email: "ada@example.com" });
    await gateway.gateway.sales.grant(ada, { credits: 100 });
    const old = await keys.issue(ada, { name: "old-one" });
    await keys.revoke(old.id);
    const { id, secret } = await keys.issue(ada, { name: "laptop" });
    assertEquals(await statusOf(gateway.chat("Hi", {}, { key: secret })), 200);
    const browser = await signedIn(gateway, ada.email);
    const at = "/console/keys";
    const text = await (await browser.get(at)).text();
    assertMatch(text, /<details><summary>1 key revoked or expired<\/summary>.*old-one/s);
    assertMatch(text, /<td[^>]*data-name="spent">1</);
    assertEquals(
      await statusOf(browser.post(`${at}/${id}/update`, { name: "desk" }, { from: at })),
      303,
    );
    const rotated = await secretOn(
      await browser.post(`${at}/${id}/rotate`, { hours: "0" }, { from: at }),
    );
    assertEquals((await keys.byId(id))!.name, "desk");
    await until(async () => await statusOf(gateway.chat("Hi", {}, { key: secret })) === 401, {
      what: "the end of the old key",
    });
    assertEquals(await statusOf(gateway.chat("Hi", {}, { key: rotated })), 200);
    assertEquals(
      await statusOf(browser.post(`${at}/${id}/rotate`, { hours: "99999999" }, { from: at })),
      400,
    );
  },
);

shared("a key without the scope inference reaches no model, on any endpoint", async (gateway) => {
  const { accounts, keys } = gateway.gateway;
  const owner = (await accounts.owner())!;
  const { secret: key } = await keys.issue(owner, { scopes: ["admin", "read"] });
  const messages = [{ role: "user", content: "Hi" }];
  const bodies = {
    "/v1/chat/completions": { model: "svc-k2", messages },
    "/v1/messages": { model: "svc-k2", messages, max_tokens: 5 },
    "/v1/messages/count_tokens": { model: "svc-k2", messages },
    "/v1/responses": { model: "svc-k2", input: "Hi" },
    "/v1/embeddings": { model: "svc-k2", input: "Hi" },
  };
  for (const [path, body] of Object.entries(bodies)) {
    const reply = await gateway.post(path, body, { key });
    assertEquals(reply.status, 403, path);
    assertStringIncludes(await reply.text(), "does not have the scope 'inference'");
  }
  const headers = { authorization: `Bearer ${key}` };
  const socket = await fetch(`${gateway.url}/v1/responses`, {
    headers: { ...headers, upgrade: "websocket", connection: "upgrade" },
  }).catch(() => undefined);
  await socket?.body?.cancel();
  assert(socket === undefined || socket.status !== 101);
  assertEquals(await statusOf(fetch(`${gateway.url}/user/credits`, { headers })), 200);
  assertEquals(
    await statusOf(gateway.post(Object.keys(bodies)[0]!, Object.values(bodies)[0])),
    200,
  );
});
