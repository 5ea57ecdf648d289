/** Who may post which form about what: written down here, and the same for the page, the form and the operator's API. */

import type { Account, Key, Role, TeamRole } from "../../../src/people/accounts/mod.ts";
import { type BudgetOwner, setBudget } from "../../../src/money/ledger/mod.ts";
import { keyActor, OperationError, sessionActor } from "../../../src/people/operation_log/mod.ts";
import { OPERATIONS, type WriteOperation } from "../../../src/operating/operations/mod.ts";
import { assert, assertEquals } from "../../assert.ts";
import { routesOf } from "../../fake/console_routes.ts";
import { formsOf, type PageForm } from "../../fake/forms.ts";
import { startGateway, type TestGateway } from "../../fake/gateway.ts";
import { Random, testSeed } from "../../fake/random.ts";
import { fakeUpstream } from "../../fake/upstream.ts";
import { type PlainBrowser, signedIn } from "../../fake/visitor.ts";
import { fakeStripe } from "../../money/payments/fake_stripe.ts";
import { lendToGone } from "../../fake/ledger.ts";
import { shopSettings } from "../../money/payments/shop.ts";
import { sampled } from "../../tier.ts";

/** People by a letter: owner, operator, finance, lead, member, stopped lead, and a user who is in no team. */
const ROLES: Readonly<Record<string, { role?: Role; inTeam?: TeamRole }>> = {
  O: { role: "owner" },
  P: { role: "operator" },
  F: { role: "finance" },
  L: { inTeam: "lead" },
  M: { inTeam: "member" },
  S: { inTeam: "lead" },
  U: {},
};
const ALL = "OPFLMSU";

/** Who may post a form, by what it is about. */
type Row = Readonly<Record<string, string>>;

const OF_TEAM = (own: string): Row => ({ pooled: own, poolless: own, foreign: "OP" });
const CHANGE: Row = {
  "pooled:bob": "OPL",
  "pooled:M": "OPLM",
  "pooled:S": "OPL",
  "pooled:all": "OPL",
  "poolless:bob": "OP",
  "poolless:M": "OPM",
  "poolless:owner": "O",
  "foreign:bob": "OP",
};
const REVOKE: Row = {
  ...CHANGE,
  "poolless:bob": "OPL",
  "poolless:M": "OPLM",
  "poolless:owner": "OPL",
};
const BUDGETS: Row = { ...CHANGE, "pooled:M": "OPL" };
const OWN_CHANGE: Row = { own: ALL, bob: "", "pooled:M": "M", "pooled:L": "L", "pooled:S": "" };
const OF_ACCOUNT: Row = { bob: "OP", owner: "O" };

const FORMS: Readonly<Record<string, Row>> = {
  "/console/keys": { own: ALL },
  "/console/keys/:id/revoke": { ...OWN_CHANGE, "pooled:S": "S" },
  "/console/keys/:id/update": OWN_CHANGE,
  "/console/keys/:id/rotate": OWN_CHANGE,
  ...budgets("/console/keys/:id", { ...OWN_CHANGE, "pooled:M": "" }),
  "/console/account/upstream-keys": { own: ALL },
  "/console/account/upstream-keys/:upstream/remove": { own: ALL },
  "/console/checkout": { own: ALL },
  "/console/redeem": { own: ALL },
  "/console/teams": { own: "OP" },
  "/console/teams/:team": OF_TEAM("OP"),
  "/console/teams/:team/disable": OF_TEAM("OP"),
  "/console/teams/:team/enable": { disabled: "OP" },
  "/console/teams/:team/checkout": { pooled: "OPL", foreign: "OP" },
  "/console/teams/:team/upstream-keys": OF_TEAM("OPL"),
  "/console/teams/:team/upstream-keys/:upstream/remove": OF_TEAM("OPL"),
  "/console/teams/:team/own-keys": OF_TEAM("OPL"),
  "/console/teams/:team/members": OF_TEAM("OPL"),
  "/console/teams/:team/members/:account/stop": OF_TEAM("OPL"),
  "/console/teams/:team/members/:account/start": { stopped: "OPL" },
  "/console/teams/:team/members/:account/remove": OF_TEAM("OPL"),
  "/console/teams/:team/members/:account/role": OF_TEAM("OPL"),
  "/console/teams/:team/keys": { pooled: "OPLM", poolless: "OPLM", foreign: "OP" },
  "/console/teams/:team/keys/:key/revoke": REVOKE,
  "/console/teams/:team/keys/:key/update": CHANGE,
  "/console/teams/:team/keys/:key/rotate": CHANGE,
  ...budgets("/console/teams/:team", OF_TEAM("OPL")),
  ...budgets("/console/teams/:team/members/:account", OF_TEAM("OPL")),
  ...budgets("/console/teams/:team/keys/:key", BUDGETS),
  "/console/operator/accounts": { own: "OP" },
  "/console/operator/accounts/:id/grant": { bob: "OP", owner: "OP" },
  "/console/operator/accounts/:id/package": { bob: "OP", owner: "OP" },
  "/console/operator/accounts/:id/take-back": { bob: "OP", owner: "OP" },
  "/console/operator/accounts/:id/disable": OF_ACCOUNT,
  "/console/operator/accounts/:id/enable": { away: "OP", awayOwner: "O" },
  "/console/operator/accounts/:id/role": OF_ACCOUNT,
  "/console/operator/accounts/:id/link": OF_ACCOUNT,
  "/console/operator/accounts/:id/keys": OF_ACCOUNT,
  "/console/operator/accounts/:id/keys/:key/revoke": OF_ACCOUNT,
  ...budgets("/console/operator/accounts/:id", OF_ACCOUNT),
  "/console/operator/orders/:id/refund": { bob: "OP" },
  "/console/operator/orders/:id/reconcile": { bob: "OP" },
  "/console/operator/orders/:id/dismiss": { bob: "OP" },
  "/console/operator/audit/write-off": { own: "OP" },
  "/console/operator/codes": { own: "OP" },
  "/console/operator/codes/:code/revoke": { own: "OP" },
  "/console/operator/upstreams": { own: "OP" },
  "/console/operator/alerts": { own: "OPF" },
};

/** What is said to those who see what a form is about, or once did. */
const TOLD_WHY =
  /Only an (?:operator|owner) can|You may create keys only|(?:not found in|is not in) (?:this|the) (?:team|account)/;

/** Forms that a page shows of some orders, alerts and loans only. */
const SOMETIMES = /\/(?:reconcile|dismiss|alerts|write-off)$/;

function budgets(path: string, row: Row): Record<string, Row> {
  return Object.fromEntries(
    ["budget", "budget/raise", "budget/remove"].map((last) => [`${path}/${last}`, row]),
  );
}

/** What is typed into fields that are empty. */
const TYPED: Readonly<Record<string, string>> = {
  budget: "5",
  credits: "5",
  email: "person-u@example.com",
  until: "2099-01-01T00:00",
  note: "a note",
  name: "Name",
  code: "no-such-code",
  upstream: "local",
  key: "sk-own-0123456789wxyz",
  up_to: "1",
  gateway: "gw_gone",
};

interface Person {
  readonly account: Account;
  readonly browser: PlainBrowser;
  readonly csrf: string;
}

let made = 0;

/** Teams, accounts and what they have, which forms can be about. */
async function world({ gateway }: TestGateway, people: Readonly<Record<string, Person>>) {
  const { accounts, codes, database, keys, members, sales, teamKeys, teams, upstreamKeys } =
    gateway;
  const number = ++made;
  const account = async (name: string, role: Role = "none") =>
    await accounts.create({ email: `${name}${number}@example.com`, role });
  const [bob, owner, away, awayOwner] = [
    await account("bob"),
    await account("owner", "owner"),
    await account("away"),
    await account("away-owner", "owner"),
  ];
  const all: Record<string, Account> = { bob, owner, away, awayOwner };
  const limit = (owner: BudgetOwner, ownerId: string) =>
    setBudget(database, { owner, ownerId, period: "day", credits: 9 }, { nowMs: Date.now() });
  const known = new Map<string, Key>();
  const own = async (name: string, key: Key) => {
    known.set(name, key);
    await limit("key", key.id);
  };
  const ids: Record<string, string> = {};
  for (const kind of ["pooled", "poolless", "foreign", "stopped", "disabled"]) {
    const team = await teams.create({ name: `${kind} ${number}`, pool: kind !== "poolless" });
    ids[kind] = team.id;
    await members.add(team, bob);
    await limit("team", team.id);
    await limit("member", `${team.id}:${bob.id}`);
    await upstreamKeys.set({ teamId: team.id }, { upstream: "local", sealed: "x", hint: "" });
    await own(`${kind}:bob`, await teamKeys.issue(team, bob));
    if (kind === "poolless") {
      await members.add(team, owner);
      await own("poolless:owner", await teamKeys.issue(team, owner));
    } else await own(`${kind}:all`, await teamKeys.issue(team, null));
    for (const [name, { inTeam }] of Object.entries(ROLES)) {
      if (inTeam === undefined || kind === "foreign") continue;
      const person = people[name]!.account;
      await members.add(team, person, inTeam);
      if (kind.startsWith("pool")) await own(`${kind}:${name}`, await teamKeys.issue(team, person));
      if (name === "S") await members.stop(team, person);
    }
    if (kind === "stopped") await members.stop(team, bob);
    if (kind === "disabled") await teams.change(team, { disabled: true });
  }
  for (const [name, person] of Object.entries(people)) {
    await own(`own:${name}`, await keys.issue(person.account));
    await upstreamKeys.set(
      { accountId: person.account.id },
      { upstream: "local", sealed: "x", hint: "" },
    );
  }
  for (const [name, one] of Object.entries(all)) {
    await own(name, await keys.issue(one));
    await limit("account", one.id);
    await sales.grant(one, { credits: 10 });
    if (name.startsWith("away")) await accounts.disable(one.email);
  }
  await lendToGone(database, bob.id);
  const sale = await sales.sell(bob, sales.package("starter"), { paid: true });
  const [code] = await codes.make({ credits: 5, count: 1 });
  /** The path of a form about something, as a person has it. */
  const at = (path: string, target: string, person: string) => {
    const key = known.get(target === "own" ? `own:${person}` : target);
    return path.replace(":team", ids[target.split(":")[0]!] ?? "")
      .replace("/members/:account", `/members/${bob.id}`)
      .replace("/accounts/:id", `/accounts/${all[target]?.id}`)
      .replace("/orders/:id", `/orders/${sale.lotId.replace("lot_", "ord_")}`)
      .replace(":upstream", "local").replace(":code", code!.id)
      .replace(/:key|:id/, key?.id ?? "");
  };
  return { at, ids };
}

/** The page that has a form. */
function pageOf(action: string): string {
  const [, own] = /^(\/console\/(?:keys|account)\b)/.exec(action) ?? [];
  if (own !== undefined) return own;
  if (/^\/console\/(?:checkout|redeem)$/.test(action)) return "/console/credits";
  if (action.endsWith("/checkout")) return action.replace(/checkout$/, "credits");
  const [page] = /^\/console\/(?:operator\/)?[a-z]+(?:\/(?:team|acc|ord)_[^/]+)?/.exec(action)!;
  return page;
}

/** The fields of a form as they are shown, the empty ones filled in. */
function filled({ fields }: PageForm): (readonly [string, string])[] {
  return fields.filter(({ isChosen, name, value }) =>
    isChosen || name === "allow" && value === "all"
  ).map(({ name, value, kind }) =>
    [name, value === "" && kind === "text" ? TYPED[name] ?? "" : value] as const
  );
}

/** Names of operations in the log, with who did them. */
async function logged({ gateway }: TestGateway, afterRow = 0) {
  return await gateway.database.all(
    "select rowid as n, operation, actor_id from operation_log where rowid > ? order by rowid",
    [afterRow],
  );
}

Deno.test("a form is shown, and accepted, and an operation of the API allowed, for whom the table says", async () => {
  await using stripe = fakeStripe();
  await using upstream = fakeUpstream(({ headers }) =>
    headers.get("authorization")?.includes("sk-own")
      ? Response.json({ object: "list", data: [{ id: "m" }] })
      : Response.json({ error: { message: "no" } }, { status: 401 })
  );
  await using gateway = await startGateway({
    settings: {
      ...shopSettings(stripe),
      upstreams: { local: { url: upstream.url, key: "x" } },
      routes: { m: { targets: [{ upstream: "local", model: "m" }] } },
    },
  });
  const seed = testSeed();
  const random = new Random(seed);
  const routes = routesOf(gateway).filter((one) => one.method === "POST" && one.operation);
  assertEquals(routes.map(({ path }) => path).toSorted(), Object.keys(FORMS).toSorted());
  const people: Record<string, Person> = {};
  for (const [name, { role = "none" }] of Object.entries(ROLES)) {
    const email = `person-${name.toLowerCase()}@example.com`;
    const account = await gateway.gateway.accounts.create({ email, role });
    const browser = await signedIn(gateway, email);
    people[name] = { account, browser, csrf: await browser.token("/console/account") };
  }
  const cases = Object.entries(FORMS).flatMap(([path, row]) =>
    Object.entries(row).map(([target, letters]) => ({ path, target, letters }))
  );
  const operationOf = (path: string) => routes.find((one) => one.path === path)!.operation!;
  const send = async (
    name: string,
    action: string,
    fields: Iterable<readonly [string, string]>,
  ) => {
    const { browser, csrf } = people[name]!;
    const reply = await browser.post(action, { ...Object.fromEntries(fields), csrf });
    return { status: reply.status, text: reply.status === 303 ? "" : await reply.text() };
  };

  // as the pages are: shown to whom it is allowed, refused to all others
  let here = await world(gateway, people);
  const pages = new Map<string, Map<string, PageForm>>();
  const shownTo = async (name: string, action: string) => {
    const page = pageOf(action);
    const known = pages.get(`${name} ${page}`);
    if (known !== undefined) return known.get(action);
    const html = await (await people[name]!.browser.get(page)).text();
    const forms = new Map(formsOf(html).map((form) => [form.action, form]));
    pages.set(`${name} ${page}`, forms);
    return forms.get(action);
  };
  const before = (await logged(gateway)).length;
  for (const { path, target, letters } of sampled(cases, random, 2)) {
    for (const name of ALL) {
      const what = `${path} about ${target} as ${name}`;
      const action = here.at(path, target, name);
      const isAllowed = letters.includes(name);
      if (!SOMETIMES.test(path)) {
        assertEquals(await shownTo(name, action) !== undefined, isAllowed, `${what}: shown`);
      }
      if (isAllowed) continue;
      const [someone] = letters;
      const form = someone === undefined ? undefined : await shownTo(someone, action);
      const { status, text } = await send(name, action, form === undefined ? [] : filled(form));
      // for whom it is not there it does not exist; others are told why
      assertEquals(status, TOLD_WHY.test(text) ? 400 : 404, what);
    }
  }
  assertEquals((await logged(gateway)).length, before, "what was refused is in the log");

  // as it is posted: carried out, and the operation allows it to the same people
  const drawn = sampled(cases.filter(({ letters }) => letters !== ""), random, 24);
  for (const { path, target, letters } of drawn) {
    here = await world(gateway, people);
    pages.clear();
    const name = random.pick([...letters]);
    const what = `${path} about ${target} as ${name} (seed ${seed})`;
    const action = here.at(path, target, name);
    const form = await shownTo(name, action);
    const operation = operationOf(path);
    const last = (await logged(gateway)).at(-1)?.n as number | undefined;
    // buttons of a table belong to a form elsewhere
    const fields = form === undefined
      ? Object.entries(TYPED)
      : [["upstream", "local"] as const, ...filled(form)];
    const seen = await watched(operation, () => send(name, action, fields));
    const rows = await logged(gateway, last);
    const by = people[name]!.account.id;
    assertEquals(
      rows.map((row) => [row.operation, row.actor_id]).at(-1),
      [operation.name, by],
      `${what}: ${seen.result.status} ${
        /role="(?:status|alert)"[^>]*>[^<]*/.exec(seen.result.text)
      }`,
    );
    // a page of one's own is about less than the operation; for whom a key is made is a choice of its form (teams_test.ts)
    const isOwn = target === "own" || /^\/console\/(?:keys|teams\/:team\/keys$)/.test(path);
    if (!OPERATIONS.includes(operation) || seen.call === undefined || isOwn) continue;
    // of their key, those who were stopped see their own page only
    const allowed = path.endsWith("/revoke") && target === "pooled:S" ? `${letters}S` : letters;
    const [c, input] = seen.call;
    for (const one of ALL) {
      const { account } = people[one]!;
      const inTeam = ROLES[one]!.inTeam;
      const roles = one === "S" || inTeam === undefined || target.startsWith("foreign")
        ? []
        : [[here.ids[target.split(":")[0]!]!, inTeam] as const];
      const mayIn = async (actor: typeof c.actor) =>
        await operation.prepare({ ...c, actor }, input).then(() => true, (error) => {
          assert(error instanceof OperationError, String(error));
          return false;
        });
      const teams = new Map<string, TeamRole>(roles);
      assertEquals(
        await mayIn(sessionActor({ account, teams })),
        allowed.includes(one),
        `${what}: ${one} by the operation`,
      );
      assertEquals(
        await mayIn(keyActor(account, "key_x")),
        letters.includes(one) && "OPF".includes(one),
        `${what}: ${one} by a key`,
      );
    }
  }
});

/** Runs something, and returns what an operation was given meanwhile. */
async function watched<Result>(operation: WriteOperation, work: () => Promise<Result>) {
  const { prepare } = operation;
  let call: Parameters<typeof prepare> | undefined;
  const given = operation as { prepare: typeof prepare };
  given.prepare = (c, input) => prepare(...(call ??= [c, input]));
  try {
    return { result: await work(), call };
  } finally {
    given.prepare = prepare;
  }
}
