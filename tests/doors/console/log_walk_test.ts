import { Console } from "../../../src/doors/console/mod.ts";
import { DeviceCodes, ToolGrants } from "../../../src/people/accounts/mod.ts";
import { digestOf } from "../../../src/ground/platform/mod.ts";
import { setBudget } from "../../../src/money/ledger/mod.ts";
import { assert, assertEquals } from "../../assert.ts";
import { contentOf } from "../../fake/admin_client.ts";
import { startGateway } from "../../fake/gateway.ts";
import { lendToGone, possible } from "../../fake/ledger.ts";
import { Random, testSeed } from "../../fake/random.ts";
import { sampled, sized } from "../../tier.ts";
import { startProvider } from "../../fake/oidc_provider.ts";
import { PlainBrowser, signedIn } from "../../fake/visitor.ts";
import { fakeStripe } from "../../money/payments/fake_stripe.ts";
import { shopSettings } from "../../money/payments/shop.ts";
import { fakeUpstream } from "../../fake/upstream.ts";

/** Forms that change nothing but what their own visitor sees, or a session. */
const NOT_LOGGED = [
  "/console/account/link/:provider", // the browser is sent to the provider, nothing is linked yet
  "/console/sign-in",
  "/console/sign-out",
  "/console/notices", // which of their own notices somebody has read
  "/console/operator/audit", // reads only
  "/console/operator/routes/edit", // reads only
  "/console/operator/routes/preview", // reads only
  "/console/playground/body", // writes what the page is to send
];

/** Forms that carry out two operations: turning top-up on leads to the checkout that saves the payment method. */
const TWO_OPERATIONS = ["/console/top-up"];

for (const kind of possible(["file", ...sized<"postgres"[]>([], ["postgres"])])) {
  Deno.test(`every form that changes something leaves a row in the log (${kind})`, async () => {
    await using stripe = fakeStripe();
    await using provider = await startProvider({ redirectUris: () => ["http://127.0.0.1/"] });
    await using upstream = fakeUpstream(() => Response.json({ object: "list", data: [] }));
    await using gateway = await startGateway({
      database: kind,
      lendFrom: 1e9,
      settings: {
        payments: shopSettings(stripe).payments,
        registration: "open",
        signIn: { oidc: [{ name: "company", issuer: provider.issuer, client: "sluice" }] },
        upstreams: { local: { url: upstream.url, key: "x" } },
        routes: { "svc-k2": { targets: [{ upstream: "local", model: "svc-k2" }] } },
      },
    });
    const { accounts, codes, keys, members, sales, teamKeys, teams } = gateway.gateway;
    const { database, owner, sessions } = gateway.gateway;
    const routes = new Console(
      {
        ...gateway.gateway,
        closing: AbortSignal.timeout(60_000),
      } as unknown as ConstructorParameters<
        typeof Console
      >[0],
    ).routes.filter(({ method, path }) =>
      // what a provider says, and passkeys: tested in sign_in_test.ts and passkeys_test.ts
      method === "POST" &&
      !/\*$|\/oidc\/:provider\/logout$|\/passkeys?(?:\/|$)|\/sign-in-again$/.test(path) &&
      !(kind === "postgres" && path.endsWith("/backup")) // its operator makes them
    );
    assert(routes.length > 35, String(routes.length));
    const seed = testSeed();
    const drawn = sampled(routes, new Random(seed), 3);
    let browser = await signedIn(gateway, gateway.gateway.owner.email);
    const content = () => contentOf(database, ["sessions", "sign_in_links", "operation_log"]);
    const logged = async () =>
      Number((await database.one("select count(*) as n from operation_log"))!.n);

    const sealKey = () => Promise.resolve(new Uint8Array(32));
    const grants = new ToolGrants({ database, now: Date.now, key: sealKey });

    const unchanged: string[] = [];
    for (const [number, { path }] of drawn.entries()) {
      // forms come in any order: what one approved, signing out everywhere would end
      await database.batch(
        ["device_codes", "tool_codes"].map((table) => ({ sql: `delete from ${table}` })),
      );
      const email = `walk${number}@example.com`;
      const account = await accounts.create({ email });
      const team = await teams.create({ name: `Team ${number}`, pool: true });
      const isNew = /\/members$/.test(path);
      if (!isNew) await members.add(team, account);
      if (path.endsWith("/start")) await members.stop(team, account);
      const key = path.includes("/teams/")
        ? path.endsWith("/:team/keys") ? undefined : await teamKeys.issue(team, null)
        : path.includes("/operator/")
        ? await keys.issue(account)
        : await keys.issue(gateway.gateway.owner);
      if (path.endsWith("/enable")) {
        await accounts.disable(email);
        await teams.change(team, { disabled: true });
      }
      const { lotId } = await sales.grant(account, { credits: 20 });
      const sale = await sales.sell(account, sales.package("starter"), { paid: true });
      const [code] = await codes.make({ credits: 3 });
      const waiting = path === "/console/device"
        ? await new DeviceCodes(database, Date.now).begin("tool", "192.0.2.1")
        : undefined;
      const tool = path.includes("/tools/") ? await grants.issue(owner, "tool") : undefined;
      const own = path.includes(":session") ? await sessions.begin(owner) : undefined;
      const session = (await sessions.list(owner, { own })).find(({ isOwn }) => isOwn);
      if (path === "/console/account/unlink") {
        await database.batch([{
          sql: `insert into identities
          (issuer, subject, account_id, provider, linked_by, linked_at_ms)
          values (?, 's-1', ?, 'company', 'hand', 1)`,
          args: [provider.issuer, owner.id],
        }]);
      }
      const at = path.replace(":team", team.id).replace(":account", account.id)
        .replace("/accounts/:id", `/accounts/${account.id}`)
        .replace("/orders/:id", `/orders/${sale.lotId.replace("lot_", "ord_")}`)
        .replace(":key", tool?.keyId ?? key?.id ?? "").replace(":id", key?.id ?? "")
        .replace(":code", code!.id).replace(":upstream", "local")
        .replace(":provider", "company").replace(":session", session?.id ?? "");
      if (path.endsWith("/:upstream/remove")) {
        const [column, id] = path.includes("/teams/")
          ? ["team_id", team.id]
          : ["account_id", gateway.gateway.owner.id];
        await database.batch([
          { sql: `delete from upstream_keys where ${column} = ?`, args: [id!] },
          {
            sql: `insert into upstream_keys (id, ${column}, upstream, sealed, hint, set_at_ms)
            values (?, ?, 'local', 'x', '', 1)`,
            args: [`${id}:local`, id!],
          },
        ]);
      }
      if (/\/budget\/(raise|remove)$/.test(path)) {
        const owner = path.includes("/keys/")
          ? { owner: "key", ownerId: key!.id } as const
          : path.includes("/members/")
          ? { owner: "member", ownerId: `${team.id}:${account.id}` } as const
          : path.includes("/teams/")
          ? { owner: "team", ownerId: team.id } as const
          : { owner: "account", ownerId: account.id } as const;
        await setBudget(database, { ...owner, period: "day", credits: 7 }, { nowMs: Date.now() });
      }
      if (path.endsWith("/audit/write-off")) await lendToGone(database, account.id);
      const fields = {
        gateway: "gw_gone",
        budget: "9",
        period: "day",
        until: "2099-01-01T00:00",
        email: path === "/console/operator/accounts" || path === "/console/register"
          ? `new${number}@example.com`
          : email,
        name: path.startsWith("/console/operator/upstreams") ? `walk${number}` : `Name ${number}`,
        key: "sk-own-0123456789abcd",
        use: "last",
        provider: "other",
        url: "http://127.0.0.1:9/v1",
        role: path.includes("/members") ? "lead" : "finance",
        password: "correct horse battery staple",
        credits: "5",
        lot: lotId,
        note: "walk",
        package: path === "/console/operator/codes" ? "" : "starter",
        code: path === "/console/redeem" ? code!.code : waiting?.userCode ?? "",
        decision: "approve",
        ...(path === "/console/authorize" && {
          client_id: "sluice",
          redirect_uri: "http://127.0.0.1/callback",
          response_type: "code",
          state: "s",
          code_challenge: "c".repeat(43),
          code_challenge_method: "S256",
        }),
        issuer: provider.issuer,
        subject: "s-1",
        turn: "on",
        below: "5",
        max: "1",
        count: "1",
        form: `form${number}`,
        up_to: String(Date.now()),
        ...(path.startsWith("/console/operator/upstreams/") ? { key: "" } : {}),
        upstream: "local",
        allow: "all",
        member: "team",
        pool: "yes",
        discover: "yes",
        expires: path === "/console/operator/codes" ? "" : "30",
        ...Object.fromEntries(
          ["days", "hours", "valid", "amount", "at_once"].map((name) => [name, ""]),
        ),
        route: "svc-k2",
        "price-input": "7",
        "price-cached": "7",
        "price-output": String(number),
        request: JSON.stringify({
          dialect: "chat",
          model: "svc-k2",
          stream: false,
          system: "",
          turns: [],
          last: { text: "Hi" },
          maxTokens: 9,
          offersTool: false,
        }),
        digest: digestOf(await Deno.readTextFile(`${gateway.directory}/sluice.jsonc`)),
      };
      const [before, rows] = [await content(), await logged()];
      const reply = path === "/console/register"
        ? await new PlainBrowser(gateway.url).post(at, fields)
        : await browser.post(at, fields, { from: "/console/account" });
      await reply.body?.cancel();
      assert(reply.status < 400 || path.endsWith("/sign-in"), `${path}: ${reply.status}`);
      const isChanged = await content() !== before;
      const isExempt = NOT_LOGGED.includes(path);
      if (!isChanged) unchanged.push(path);
      const wanted = TWO_OPERATIONS.includes(path) ? 2 : 1;
      if (isChanged && !isExempt) assertEquals(await logged(), rows + wanted, path);
      if (isExempt) assertEquals(await logged(), rows, path);
      if (/sign-out|password|\/link\//.test(path)) {
        browser = await signedIn(gateway, gateway.gateway.owner.email);
      }
    }
    // nothing was left out because the form was filled in wrongly
    const changeNothing = [
      "/console/account/sessions/:session/end", // sessions only, and logged
      "/console/account/sign-out-everywhere", // sessions only, and logged
      "/console/notices",
      "/console/operator/accounts/:id/link", // a link only, and logged
      "/console/operator/alerts",
      "/console/operator/audit",
      ...kind === "postgres" ? [] : ["/console/operator/backup"], // which is logged
      "/console/operator/orders/:id/dismiss", // there is nothing to look at, and logged
      "/console/operator/orders/:id/reconcile", // it was paid by hand, and logged
      "/console/operator/routes/edit", // shows the form again
      "/console/operator/routes/preview", // shows only
      "/console/operator/routes/save", // a file only, and logged
      "/console/operator/settings/sign-in", // asks a provider only
      "/console/operator/upstreams", // asks an upstream only, and logged
      "/console/operator/upstreams/add", // shows the form again
      "/console/operator/upstreams/preview", // shows only
      "/console/operator/upstreams/save", // a file only, and logged
      "/console/playground/body",
      "/console/sign-in",
      "/console/sign-out",
    ];
    const asked = new Set(drawn.map(({ path }) => path));
    assertEquals(
      unchanged.toSorted(),
      changeNothing.filter((path) => asked.has(path)),
      `seed ${seed}`,
    );
    const doors = await database.all("select distinct door, address from operation_log");
    assertEquals(doors.map((row) => ({ ...row })), [{ door: "console", address: "127.0.0.1" }]);
    const text = JSON.stringify(await database.all("select * from operation_log"));
    // neither keys nor links nor passwords, nor codes of which more than the beginning is shown
    assert(!/sk-[A-Za-z0-9]{20}|console\/link|battery|([A-Z2-9]{4}-){3}/.test(text));
  });
}
