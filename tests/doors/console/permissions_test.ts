import {
  type Account,
  ACTIONS,
  can,
  type Holder,
  HOLDERS,
  PERMISSIONS,
  type Role,
  type TeamRole,
} from "../../../src/people/accounts/mod.ts";
import { assert, assertEquals, assertStringIncludes } from "../../assert.ts";
import { routesOf } from "../../fake/console_routes.ts";
import { startGateway, statusOf, type TestGateway } from "../../fake/gateway.ts";
import { startProvider } from "../../fake/oidc_provider.ts";
import { Random, testSeed } from "../../fake/random.ts";
import { PlainBrowser, signedIn } from "../../fake/visitor.ts";
import { sized } from "../../tier.ts";

/** Pages that everybody may see, and the forms by which people sign in. */
const PUBLIC = [
  "GET /console/assets/:name",
  "GET /",
  "GET /docs",
  "GET /console/models",
  "GET /console/sign-in",
  "POST /console/sign-in",
  "GET /console/sign-in/oidc/:provider",
  "GET /console/sign-in/oidc/:provider/callback",
  "POST /console/sign-in/oidc/:provider/logout",
  "POST /console/sign-in/passkey",
  "POST /console/sign-in/passkey/options",
  "GET /console/link/:token",
  "GET /console/register",
  "POST /console/register",
];

interface Visitor {
  readonly account: Account;
  browser: PlainBrowser;
  /** Its role in the team that a page is about. */
  readonly inTeam?: TeamRole;
  readonly isStopped?: boolean;
}

/** A form whose choices are all gone by now. */
const STALE = Object.fromEntries(
  ["allow", "models", "member", "expires", "period", "role", "use", "package", "upstream", "pool"]
    .map((name) => [name, "gone"]),
);

/** How many of the roles, drawn again for each page, ask for it. */
const ROLES_OF_A_PAGE = sized(1, Infinity);

let made = 0;

/** What a page is about: another account and a team, with what each visitor has of them. */
async function target({ gateway }: TestGateway, visitors: Iterable<Visitor>) {
  const { accounts, keys, members, sales, teamKeys, teams } = gateway;
  const number = ++made;
  const other = await accounts.create({ email: `target${number}@example.com` });
  const othersKey = await keys.issue(other);
  const team = await teams.create({ name: `Team ${number}`, pool: true });
  await members.add(team, other);
  const stoppedKeys = new Map<string, string>();
  for (const { account, inTeam, isStopped } of visitors) {
    if (inTeam !== undefined) await members.add(team, account, inTeam);
    if (!isStopped) continue;
    stoppedKeys.set(account.id, (await teamKeys.issue(team, account)).id);
    await members.stop(team, account);
  }
  const sale = await sales.sell(other, sales.package("starter"), { paid: true });
  const orderId = sale.lotId.replace("lot_", "ord_");
  /** The address of a page as a visitor asks for it: with a key of their own, of the team, or of the other account. */
  return async (path: string, { account, inTeam }: Visitor) => {
    const isOfTeam = path.includes("/teams/") && path.includes(":key");
    const ownKey = path.includes("/keys/:id/") ? await keys.issue(account) : undefined;
    const teamKey = async () =>
      stoppedKeys.get(account.id) ??
        (await teamKeys.issue(team, inTeam === undefined ? other : account)).id;
    const keyId = isOfTeam ? await teamKey() : othersKey.id;
    return path.replace(":team", team.id).replace(":account", other.id)
      .replace(":provider", "company")
      .replace("/operator/orders/:id", `/operator/orders/${orderId}`)
      .replace("/keys/:id/", `/keys/${ownKey?.id}/`).replace(
        "/accounts/:id",
        `/accounts/${other.id}`,
      )
      .replace(":key", keyId);
  };
}

/** Whether a form may have changed a table: one that says nothing, or what is gone, makes no key or team, unless it asks for nothing. */
function mayChange(table: string, path: string, status: number): boolean {
  const makes = /\/accounts\/:id\/keys$|\/playground\/key$/.test(path);
  if (status >= 400) return ["operation_log", "code_tries", "~code_tries"].includes(table);
  return makes || !["keys", "teams"].includes(table);
}

/** What is not an operation of the log: that somebody signed out or is sent to a provider, and how often codes were guessed. */
const isUnlogged = (table: string) =>
  ["-sessions", "code_tries", "~code_tries", "passkey_challenges", "provider_visits"].includes(
    table,
  );

Deno.test("every page and form, as every role, is as the table of permissions says", async () => {
  await using provider = await startProvider({ redirectUris: () => ["http://127.0.0.1/"] });
  const { issuer, client } = provider;
  await using gateway = await startGateway({
    settings: { signIn: { oidc: [{ name: "company", issuer, client: client.id }] } },
  });
  // what the provider says of itself is asked for once
  await statusOf(fetch(`${gateway.url}/console/sign-in/oidc/company`, { redirect: "manual" }));
  const { accounts } = gateway.gateway;
  const visitor = async (
    name: string,
    role: Role,
    more: Pick<Visitor, "inTeam" | "isStopped"> = {},
  ): Promise<Visitor> => {
    const made = await accounts.create({ email: `${name}@example.com`, role });
    return { account: made, browser: await signedIn(gateway, made.email), ...more };
  };
  const visitors: Readonly<Record<string, Visitor>> = {
    owner: await visitor("owner", "owner"),
    operator: await visitor("operator", "operator"),
    finance: await visitor("finance", "finance"),
    lead: await visitor("lead", "none", { inTeam: "lead" }),
    member: await visitor("member", "none", { inTeam: "member" }),
    "stopped lead": await visitor("stopped", "none", { inTeam: "lead", isStopped: true }),
    user: await visitor("user", "none"),
  };
  const routes = routesOf(gateway);
  const guarded = routes.filter(({ action }) => action !== undefined);
  assert(guarded.length > 50, String(guarded.length));
  const open = routes.filter(({ action }) => action === undefined);
  assertEquals(open.map(({ method, path }) => `${method} ${path}`).toSorted(), PUBLIC.toSorted());

  const seed = testSeed();
  const random = new Random(seed);
  const drawn = () =>
    Object.entries(visitors).map((one) => [random.next(), one] as const)
      .toSorted(([one], [other]) => one - other).slice(0, ROLES_OF_A_PAGE).map(([, one]) => one);
  const nobody = new PlainBrowser(gateway.url);
  let about = await target(gateway, Object.values(visitors));
  for (const { method, path, action, operation } of guarded) {
    // the visitor's own objects: pages_test.ts and passkeys_test.ts beside this, tests/money/payments/console_test.ts
    if (/^\/console\/(requests|orders)\/:id|\/passkeys(?:\/|$)/.test(path)) continue;
    for (const [name, one] of drawn()) {
      const { account, inTeam, isStopped = false, browser } = one;
      const at = await about(path, one);
      const teams = new Map(inTeam !== undefined && !isStopped ? [["here", inTeam]] : []);
      const where = path.includes(":team") ? { teamId: "here" } : {};
      const expected = can({ account, teams }, action!, { ...where, accountId: account.id });
      const fields = random.pick([{}, STALE]);
      const { result: status, left: { rows, ...left } } = await gateway.left(() =>
        statusOf(
          method === "GET"
            ? browser.get(at)
            : browser.post(at, fields, { from: "/console/account" }),
        )
      );
      const what = `${method} ${path} as ${name}: ${status} (seed ${seed})`;
      // whom a form's operation allows: rights_test.ts
      if (operation === undefined || !expected) assertEquals(status !== 404, expected, what);
      assert(status < 500, what);
      assertEquals(left, { calls: {}, log: {}, files: {}, secrets: [] }, what);
      if (method === "GET" || !expected) assertEquals(rows, {}, what);
      assertEquals(Object.keys(rows).filter((table) => !mayChange(table, path, status)), [], what);
      assert(rows.operation_log === 1 || Object.keys(rows).every(isUnlogged), what);
      if (/sign-out|sign-in-again|password|\/link\//.test(path)) {
        one.browser = await signedIn(gateway, account.email);
      }
      // what a form may have changed is made again for the next visitor
      if (Object.keys(rows).length > 0 && status < 400) {
        about = await target(gateway, Object.values(visitors));
      }
    }
    const at = await about(path, visitors.user!);
    const reply = await (method === "GET" ? nobody.get(at) : nobody.post(at, {}));
    const door = method === "GET" ? "/console/sign-in" : "/console/sign-in?done=unsent";
    assertEquals([reply.status, reply.headers.get("location")], [303, door], at);
    await reply.body?.cancel();
  }
});

Deno.test("docs/permissions.md has the table", async () => {
  const text = await Deno.readTextFile(new URL("../../../docs/permissions.md", import.meta.url));
  assertStringIncludes(text, tableOfPermissions());
});

Deno.test("the owner may do everything that is not another's own; who has no role may use what is theirs", () => {
  const account = (role: Role): Account => ({
    id: `acc_${role}`,
    email: "x@example.com",
    name: "",
    kind: "person",
    role,
    createdAtMs: 0,
    disabledAtMs: null,
  });
  const none = new Map<string, TeamRole>();
  for (const action of ACTIONS) {
    const allowed: readonly Holder[] = PERMISSIONS[action].allowed;
    assert(allowed.includes("owner") || allowed.includes("self"), action);
    assertEquals(can({ account: account("none"), teams: none }, action), false, action);
    assertEquals(allowed.toSorted(), HOLDERS.filter((one) => allowed.includes(one)).toSorted());
    const elsewhere = new Map<string, TeamRole>([["team_other", "lead"]]);
    assertEquals(
      can({ account: account("none"), teams: elsewhere }, action, { teamId: "team_here" }),
      false,
      action,
    );
  }
});

/** The table of permissions in Markdown, as `docs/permissions.md` has it: a header, and one row per action. */
function tableOfPermissions(): string {
  const rows = [
    ["action", "allows to", ...HOLDERS],
    ...ACTIONS.map((action) => {
      const { does, allowed }: { does: string; allowed: readonly Holder[] } = PERMISSIONS[action];
      return [
        `\`${action}\``,
        does,
        ...HOLDERS.map((holder) => allowed.includes(holder) ? "yes" : "–"),
      ];
    }),
  ];
  const widths = rows[0]!.map((_, at) => Math.max(...rows.map((row) => row[at]!.length)));
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell, at) => cell.padEnd(widths[at]!)).join(" | ")} |`;
  return [
    line(rows[0]!),
    line(widths.map((width) => "-".repeat(width))),
    ...rows.slice(1).map(line),
  ].join("\n");
}
