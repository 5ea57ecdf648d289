/** Lists of the operator's API: what each filter leaves, page by page, and what is not there. */

import { OPERATIONS } from "../../../src/operating/operations/mod.ts";
import { assert, assertEquals } from "../../assert.ts";
import { ownersClient } from "../../fake/admin_client.ts";
import { startGateway, statusOf } from "../../fake/gateway.ts";
import { lendToGone } from "../../fake/ledger.ts";
import { completion, fakeUpstream } from "../../fake/upstream.ts";

/** A gateway with three of most things, and a client of its API. */
async function bench() {
  await using stack = new AsyncDisposableStack();
  let isDown = false;
  const upstream = stack.use(
    fakeUpstream(() => isDown ? new Response("no", { status: 400 }) : completion("Hi")),
  );
  const gateway = stack.use(
    await startGateway({ settings: { upstream: { url: upstream.url, model: "m" } } }),
  );
  const admin = await ownersClient(gateway);
  const { accounts, alerts, codes, keys, members, owner, sales, teamKeys, teams, upstreamKeys } =
    gateway.gateway;
  const ada = await accounts.create({ email: "ada@example.com", name: "Ada" });
  const bob = await accounts.create({ email: "bob@example.com", role: "finance" });
  await accounts.create({ email: "ci@example.com", kind: "service" });
  await accounts.disable("ci@example.com");
  const team = await teams.create({ name: "Red", pool: true });
  await teams.create({ name: "Blue", pool: false });
  await members.add(team, bob);
  const pool = (await accounts.byId(team.poolId!))!;
  const own = await keys.issue(ada, { name: "own" });
  await keys.revoke((await keys.issue(ada, { name: "gone" })).id);
  const bobs = await teamKeys.issue(team, bob);
  const shared = await teamKeys.issue(team, null);
  for (const account of [ada, ada, pool]) {
    await sales.sell(account, sales.package("starter"), { paid: true });
  }
  await codes.make({ credits: 1 });
  await codes.make({ credits: 2 });
  for (const [at, accountId] of [ada.id, null, null].entries()) {
    await alerts.outbox.raise([{
      ...{ mark: `m${at}`, kind: "disk_low", accountId, title: "", text: "", data: {} },
    }], {});
  }
  await upstreamKeys.set({ accountId: ada.id }, { upstream: "default", sealed: "x", hint: "" });
  await upstreamKeys.set({ teamId: team.id }, { upstream: "default", sealed: "x", hint: "" });
  for (const key of [own.secret, own.secret, shared.secret]) {
    assertEquals(await statusOf(gateway.chat("Hi", {}, { key })), 200);
  }
  isDown = true;
  await statusOf(gateway.chat("Hi", {}, { key: own.secret }));
  const owned = stack.move();
  return {
    ...{ gateway, admin, ada, bob, team, owner },
    keys: { own: own.id, bobs: bobs.id, shared: shared.id },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

Deno.test("a list has what its filters leave, and its pages have all of it once (table)", async () => {
  await using one = await bench();
  const { admin, ada, bob, team, keys } = one;
  const list = async (path: string) => {
    const { status, json, text } = await admin("GET", path);
    assertEquals(status, 200, `${path}: ${text}`);
    return json;
  };
  /** How many there are, by path and query. */
  const counts: Readonly<Record<string, number>> = {
    "/accounts?": 4,
    "/accounts?kind=pool": 1,
    "/accounts?disabled=true": 1,
    "/accounts?disabled=false": 3,
    "/accounts?role=finance": 1,
    "/accounts?search=ada": 1,
    "/teams?": 2,
    [`/teams/${team.id}/members?`]: 1,
    [`/keys?account=${ada.id}`]: 1,
    [`/keys?account=${ada.email}&all=true`]: 2,
    [`/keys?account=${ada.email}&all=false`]: 1,
    [`/keys?team=${team.name}`]: 2,
    [`/keys?member=${bob.email}`]: 1,
    "/orders?": 3,
    [`/orders?account=${ada.email}`]: 2,
    [`/orders?team=${team.id}`]: 1,
    "/orders?state=open": 0,
    "/orders?look=true": 0,
    "/orders?look=false": 3,
    "/codes?": 2,
    "/alerts?": 3,
    [`/alerts?account=${ada.email}`]: 1,
    "/alerts?unread=true": 3,
    "/alerts?state=waiting": 0,
    "/upstream-keys?": 2,
    [`/upstream-keys?account=${ada.email}`]: 1,
    [`/upstream-keys?team=${team.name}`]: 1,
    "/requests?": 4,
    "/requests?failed=true": 1,
    "/requests?failed=false": 4,
    [`/requests?account=${ada.email}`]: 3,
    [`/credits/entries?account=${ada.email}`]: 4,
    [`/credits/entries?team=${team.name}`]: 2,
  };
  for (const [path, count] of Object.entries(counts)) {
    const { data, has_more, next } = await list(`${path}&limit=500`);
    assertEquals([data.length, has_more, next], [count, false, null], path);
    if (path.includes("/members")) continue; // has no pages
    const walked = [];
    for (let after = "", isMore = true; isMore;) {
      const page = await list(`${path}&limit=1${after}`);
      walked.push(...page.data);
      isMore = page.has_more;
      after = `&after=${encodeURIComponent(page.next)}`;
      assert(walked.length <= count, path);
    }
    assertEquals(walked, data, path);
  }
  const { json: account } = await admin("GET", `/accounts/${ada.id}`);
  assertEquals([account.email, account.keys, account.active_keys], [ada.email, 2, 1]);
  const { json: request } = await admin(
    "GET",
    `/requests/${(await list("/requests?")).data[0].id}`,
  );
  assertEquals(request.account, ada.email);
  const { json: key } = await admin("GET", `/keys/${keys.own}`);
  assertEquals([key.name, key.spent > 0, key.last_used_at !== null], ["own", true, true]);
});

Deno.test("what is not there is not found, and a cursor of no page is refused (table)", async () => {
  await using one = await bench();
  const { admin, ada, team, keys } = one;
  await lendToGone(one.gateway.gateway.database, ada.id);
  const budget = { owner: "key", owner_id: keys.own, period: "day", credits: 5 };
  const cases: readonly (readonly [method: string, path: string, body: unknown, status: number])[] =
    [
      ["GET", "/accounts/acc_none", undefined, 404],
      ["GET", "/teams/none", undefined, 404],
      ["GET", "/teams/none/members", undefined, 404],
      ["GET", "/keys/key_none", undefined, 404],
      ["GET", "/keys?account=none@example.com", undefined, 404],
      ["GET", "/requests/req_none", undefined, 404],
      ["GET", "/requests?account=acc_none", undefined, 404],
      ["GET", "/orders/ord_none", undefined, 404],
      ["GET", "/orders?after=ord_none", undefined, 404],
      ["GET", "/orders?account=a&team=b", undefined, 400],
      ["GET", "/codes?after=code_none", undefined, 404],
      ["GET", "/upstream-keys?after=none", undefined, 404],
      ["GET", "/upstream-keys?account=acc_none", undefined, 404],
      ["GET", "/upstream-keys?team=none", undefined, 404],
      ["GET", "/alerts?account=acc_none", undefined, 404],
      ["GET", `/credits/entries?account=${ada.id}&after=x`, undefined, 400],
      ["GET", "/credits?account=acc_none", undefined, 404],
      ["GET", "/usage?account=none@example.com", undefined, 404],
      ["GET", "/usage?since=soon", undefined, 400],
      ["GET", "/budgets?owner=key&owner_id=key_none", undefined, 404],
      ["PATCH", "/accounts/acc_none", { name: "x" }, 404],
      ["PATCH", "/keys/key_none", { name: "x" }, 404],
      ["POST", "/keys/key_none/rotate", {}, 404],
      ["POST", "/keys/key_none/revoke", {}, 404],
      ["POST", "/keys", { account: ada.id, member: ada.id }, 400],
      ["POST", "/keys", { team: team.id, scopes: ["admin"] }, 400],
      ["POST", "/codes/code_none/revoke", {}, 404],
      ["POST", "/orders/ord_none/dismiss", {}, 404],
      ["POST", "/upstreams/none/test", {}, 404],
      ["POST", "/alerts/test", { receiver: "none" }, 404],
      ["POST", "/alerts/test", { receiver: "toString" }, 404],
      ["POST", "/loans/gw_none/write-off", { note: "lost" }, 404],
      ["POST", "/loans/gw_gone/write-off", { note: "lost" }, 201],
      ["POST", "/loans/gw_gone/write-off", { note: "lost" }, 404],
      ["DELETE", "/upstream-keys/none", undefined, 404],
      ["DELETE", `/teams/${team.id}/members/${ada.id}`, undefined, 404],
      ["PUT", "/budgets", { ...budget, owner: "member", owner_id: `${team.id}:${ada.id}` }, 404],
      ["PUT", "/budgets", { ...budget, time_zone: "Nowhere" }, 400],
      ["PUT", "/budgets", budget, 200],
      ["DELETE", `/budgets/key:${keys.own}:week`, undefined, 404],
      ["DELETE", "/budgets/none", undefined, 404],
      ["DELETE", `/budgets/key:${keys.own}:year`, undefined, 404],
      ["POST", `/budgets/key:${keys.own}:day/raise`, { credits: 5 }, 400],
      ["POST", `/budgets/key:${keys.own}:day/raise`, { credits: 5, until: at(-1) }, 400],
      ["POST", `/budgets/key:${keys.own}:week/raise`, { credits: 5, until: at(1) }, 404],
      ["POST", `/budgets/key:${keys.own}:day/raise`, { credits: 5, until: at(1) }, 200],
      ["POST", `/budgets/key:${keys.own}:day/raise`, { credits: 0, until: at(-1) }, 200],
      ["POST", `/budgets/key:${keys.own}:day/raise`, { credits: 0 }, 200],
      ["DELETE", `/budgets/key:${keys.own}:day`, undefined, 200],
    ];
  for (const [method, path, body, status] of cases) {
    const reply = await admin(method, path, body === undefined ? {} : { body });
    const what = `${method} ${path} ${JSON.stringify(body)}: ${reply.text}`;
    assertEquals(reply.status, status, what);
    if (status === 404) assertEquals(reply.json.error.code, "not_found", what);
    if (status === 400) assertEquals(reply.json.error.code, "invalid_request", what);
  }
});

Deno.test("each operation has a path, a method and an action of its own", () => {
  const ways = OPERATIONS.map(({ method, path }) => `${method} ${path}`);
  assertEquals(new Set(ways).size, ways.length);
  assert(ways.length > 40);
});

/** Some days from now. */
function at(days: number): string {
  return new Date(Date.now() + days * 86_400_000).toISOString();
}
