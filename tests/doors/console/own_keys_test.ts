import { assert, assertEquals, assertStringIncludes } from "../../assert.ts";
import { startGateway, statusOf } from "../../fake/gateway.ts";
import { completion, fakeUpstream } from "../../fake/upstream.ts";
import { signedIn } from "../../fake/visitor.ts";

const BAD = "sk-rejected-0123456789abcd";
const GOOD = "sk-own-0123456789wxyz";

const ROUTES = { m: { targets: [{ upstream: "one", model: "m" }] } };

/** An upstream that lists its models for any key but one, as some do, and replies to one only. */
function keyed() {
  return fakeUpstream(({ path, headers }) => {
    const key = headers.get("authorization")?.slice("Bearer ".length);
    return path.endsWith("/models") && key !== BAD
      ? Response.json({ object: "list", data: [{ id: "m" }] })
      : key === GOOD
      ? completion("well")
      : Response.json({ error: { message: "no" } }, { status: 401 });
  });
}

Deno.test("a lead sets, sees and removes the team's own keys; a member and others see nothing of them", async () => {
  await using upstream = keyed();
  await using gateway = await startGateway({
    settings: {
      upstreams: {
        one: { url: upstream.url, key: "x" },
        free: { url: upstream.url },
        signed: { url: upstream.url, credentials: { kind: "command", command: ["true"] } },
      },
      routes: ROUTES,
    },
  });
  const { accounts, members, teams } = gateway.gateway;
  const team = await teams.create({ name: "Platform", pool: true });
  const path = `/console/teams/${team.id}`;
  const join = async (name: string, role?: "lead" | "member") => {
    const account = await accounts.create({ email: `${name}@example.com` });
    if (role !== undefined) await members.add(team, account, role);
    return await signedIn(gateway, account.email);
  };
  const [lead, member, stranger] = [
    await join("lead", "lead"),
    await join("member", "member"),
    await join("stranger"),
  ];
  const set = (key: string, upstream = "one") =>
    lead.post(`${path}/upstream-keys`, { upstream, key }, { from: path });

  const rejected = await set(BAD);
  const shown = await rejected.text();
  assertEquals(rejected.status, 400);
  assertStringIncludes(shown, "one does not accept the key (status 401)");
  assert(!shown.includes(BAD));
  for (const other of ["signed", "free"]) assertEquals(await statusOf(set(GOOD, other)), 400);
  assertEquals((await set(GOOD)).status, 303);
  const page = await (await lead.get(path)).text();
  assertStringIncludes(page, "…wxyz");
  assert(!page.includes(GOOD) && !page.includes(">signed<") && !page.includes(">free<"));
  const use = { use: "only" };
  assertEquals((await lead.post(`${path}/own-keys`, use, { from: path })).status, 303);
  assertEquals((await teams.byId(team.id))!.ownKeyUse, "only");

  for (const [who, browser] of [["member", member], ["stranger", stranger]] as const) {
    assert(!(await (await browser.get(path)).text()).includes("…wxyz"), who);
    for (const form of ["upstream-keys", "upstream-keys/one/remove", "own-keys"]) {
      const input = { upstream: "one", key: GOOD, use: "last" };
      const status = await statusOf(browser.post(`${path}/${form}`, input, { from: "/console" }));
      assert([403, 404].includes(status), `${who}: ${form}: ${status}`);
    }
  }
  assertEquals((await teams.byId(team.id))!.ownKeyUse, "only");
  const removal = `${path}/upstream-keys/one/remove`;
  assertEquals((await lead.post(removal, {}, { from: path })).status, 303);
  assert(!(await (await lead.get(path)).text()).includes("…wxyz"));
});

Deno.test("a person sets and removes keys of their own account", async () => {
  await using upstream = keyed();
  await using gateway = await startGateway({
    settings: { upstreams: { one: { url: upstream.url, key: "x" } }, routes: ROUTES },
  });
  const { id, email } = await gateway.gateway.accounts.create({ email: "ada@example.com" });
  const browser = await signedIn(gateway, email);
  const path = "/console/account";
  const input = { upstream: "one", key: GOOD };
  assertEquals((await browser.post(`${path}/upstream-keys`, input, { from: path })).status, 303);
  const page = await (await browser.get(path)).text();
  assertStringIncludes(page, "…wxyz");
  assert(!page.includes("When the team"));
  const rows = await gateway.gateway.database.all("select account_id, team_id from upstream_keys");
  assertEquals(rows.map((row) => ({ ...row })), [{ account_id: id, team_id: null }]);
  const removal = `${path}/upstream-keys/one/remove`;
  assertEquals((await browser.post(removal, {}, { from: path })).status, 303);
  assert(!(await (await browser.get(path)).text()).includes("…wxyz"));
  const again = await browser.post(removal, {}, { from: path });
  assertEquals(again.status, 400);
  assertStringIncludes(await again.text(), "not found");
});

Deno.test("nobody but an operator sets keys for an upstream that replies whatever the key is: replies would be free", async () => {
  await using careless = fakeUpstream(({ path, body }) =>
    path.endsWith("/models")
      ? Response.json({ object: "list", data: [] })
      : body.model === "picky"
      ? Response.json({ error: { message: "max_tokens is not supported" } }, { status: 400 })
      : completion("well")
  );
  await using gateway = await startGateway({
    settings: {
      upstreams: {
        one: { url: careless.url, key: "x" },
        unused: { url: careless.url, key: "x" },
        picky: { url: careless.url, key: "x" },
      },
      routes: { ...ROUTES, p: { targets: [{ upstream: "picky", model: "picky" }] } },
    },
  });
  const { email } = await gateway.gateway.accounts.create({ email: "thief@example.com" });
  const path = "/console/account";
  for (const who of [email, "owner@localhost"]) {
    const browser = await signedIn(gateway, who);
    for (const upstream of ["one", "unused", "picky"]) {
      const input = { upstream, key: "sk-of-nobody-0123456789" };
      const reply = await browser.post(`${path}/upstream-keys`, input, { from: path });
      assertEquals(reply.status, who === email ? 400 : 303, `${who} at ${upstream}`);
      if (who !== email) continue;
      assertStringIncludes(await reply.text(), "only an operator can set one for it");
    }
  }
});
