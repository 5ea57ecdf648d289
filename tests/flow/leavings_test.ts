/**
 * What requests, forms, payments and refusals leave behind, and that they leave nothing else: each row runs against one gateway,
 * with an account and a route of its own, and names all that may be there afterwards.
 */

import { DeviceCodes } from "../../src/people/accounts/mod.ts";
import { assertEquals } from "../assert.ts";
import { adminClient } from "../fake/admin_client.ts";
import { assertLedgerClean, customer } from "../fake/customer.ts";
import { lendToGone } from "../fake/ledger.ts";
import { startGateway, statusOf, type TestGateway, WIDE_TIERS } from "../fake/gateway.ts";
import { type Leavings, PRIVATE_WORDS } from "../fake/leavings.ts";
import { Random, testSeed } from "../fake/random.ts";
import { sluice } from "../fake/shell.ts";
import { chunk, completion, eventStream, fakeUpstream, sse } from "../fake/upstream.ts";
import { NEW_KEY, PlainBrowser, signedIn } from "../fake/visitor.ts";
import { fakeStripe, send, type StripeObject } from "../money/payments/fake_stripe.ts";
import { type Shop, shopOf, shopSettings } from "../money/payments/shop.ts";
import { sized } from "../tier.ts";

/** Noon: no window, hour or day ends while the rows run. */
const NOON = Date.UTC(2026, 10, 26, 12);
const UPSTREAM_KEY = "sk-upstream-0123456789abcdef";
const PASSWORD = `${PRIVATE_WORDS} of ada`;
const PROMPT = `Say ${PRIVATE_WORDS}, please.`;

const failure = (status: number, error: unknown = { message: "no" }) => () =>
  Response.json({ error }, { status });

/** What each upstream does. */
const DEEDS = {
  good: (streamed: boolean) =>
    streamed
      ? eventStream(sse(chunk({ content: "Hi" }), chunk({}, "stop"), "[DONE]"))
      : completion("Hi"),
  down: failure(500),
  page: () => new Response("<html>", { headers: { "content-type": "text/html" } }),
  redirects: () => Response.redirect("http://elsewhere.example/v1", 307),
  locked: failure(401),
  unpaid: failure(402),
  busy: failure(429),
  strict: failure(400, { message: `The key ${UPSTREAM_KEY} must not ask for this.` }),
  lacks: failure(404, { message: "no such model", code: "model_not_found" }),
  cut: () => eventStream(sse(chunk({ content: "well begun" }))),
} as const satisfies Record<string, (streamed: boolean) => Response>;

/** A request in the words of each dialect. */
const FRONTS = {
  "/v1/chat/completions": (prompt: unknown) => ({ messages: [{ role: "user", content: prompt }] }),
  "/v1/messages": (prompt: unknown) => ({
    max_tokens: 100,
    messages: [{ role: "user", content: prompt }],
  }),
  "/v1/responses": (prompt: unknown) => ({ input: prompt, store: false }),
};
type Front = keyof typeof FRONTS;

/** What the rows run against. */
interface World {
  readonly gateway: TestGateway;
  readonly shop: Shop;
  readonly images: string;
  /** How the request of this run is worded. */
  readonly front: Front;
  /** The route of this row. */
  readonly model: string;
}

type Action = () => Promise<number>;
type Later = () => Promise<Response>;

/** An action that has a status, and what it leaves. */
interface Row {
  readonly status: number;
  readonly leaves: Leavings;
  /** The upstream of the row's route: `good` by default. */
  readonly upstream?: keyof typeof DEEDS | "away";
  readonly route?: Readonly<Record<string, unknown>>;
  /** Makes what the action needs. */
  readonly ready: (world: World) => Action | Promise<Action>;
}

/** A request that was admitted, whatever became of it: counted in its windows, recorded and rolled up. */
const ADMITTED = {
  "account_windows": 3,
  "windows": 3,
  "key_uses": 1,
  "~balances": 1,
  "usage_records": 1,
  "usage_hours": 1,
  "usage_days": 1,
  "usage_totals": 1,
};
const CHARGED = { ...ADMITTED, "entries": 1, "~lots": 1 };
const SUCCEEDED: Leavings = {
  rows: CHARGED,
  calls: { "good/chat/completions": 1 },
  log: { "info request": 1 },
};
const REFUSED: Leavings = { log: { "info request refused": 1 } };
const NOTHING: Leavings = {};

/** A request that was sent in vain: its reason is rolled up, and nothing is charged. */
const failed = (upstream: Row["upstream"], attempts = 1): Leavings => ({
  rows: { ...ADMITTED, usage_tags: 2 },
  calls: { [`${upstream}/chat/completions`]: attempts },
  log: { "warn upstream attempt failed": attempts, "info request": 1, "info request refused": 1 },
});

const asks = (
  { prompt = PROMPT, credits = 100, budget, ...more }: Readonly<Record<string, unknown>> & {
    readonly credits?: number;
    readonly budget?: number;
  } = {},
): Row["ready"] =>
async ({ gateway, front, model }) => {
  const { keys: [key] } = await customer(gateway, credits, { budget });
  const body = { model, ...FRONTS[front](prompt), ...more };
  return () => statusOf(gateway.post(front, body, { key: key! }));
};

/** The same after `change` was made to the customer's account or key. */
const asksAfter = (
  change: (world: World, who: { key: string; keyId: string; email: string }) => Promise<unknown>,
  credits = 100,
): Row["ready"] =>
async (world) => {
  const { gateway: { gateway, post }, front, model } = world;
  const { keys: [key], accountId, email } = await customer(world.gateway, credits);
  const [{ id: keyId } = { id: "" }] = await gateway.keys.list(
    (await gateway.accounts.byId(accountId))!,
  );
  await change(world, { key: key!, keyId, email });
  return () => statusOf(post(front, { model, ...FRONTS[front](PROMPT) }, { key: key! }));
};

/** A request with a picture, in the words of chat completions. */
const pictures = (url: (world: World) => string): Row["ready"] => async (world) => {
  const prompt = [{ type: "image_url", image_url: { url: url(world) } }];
  return await asks({ prompt })({ ...world, front: "/v1/chat/completions" });
};

/** A form that somebody with an account sends who is signed in. */
const posts = (
  path: string,
  fields: Readonly<Record<string, string>>,
  options: Parameters<PlainBrowser["post"]>[2] = { from: "/console/account" },
): Row["ready"] =>
async ({ gateway }) => {
  const { email } = await customer(gateway, 100);
  const browser = await signedIn(gateway, email);
  if (options.from !== undefined) await browser.token(options.from);
  return () => statusOf(browser.post(path, fields, options));
};

/** A request of a customer without a session. */
const visits = (
  action: (browser: PlainBrowser, email: string, world: World) => Later | Promise<Later>,
): Row["ready"] =>
async (world) => {
  const { email } = await customer(world.gateway, 0);
  const account = await world.gateway.gateway.accounts.get(email);
  await world.gateway.gateway.passwords.set(account, PASSWORD);
  const run = await action(new PlainBrowser(world.gateway.url), email, world);
  return () => statusOf(run());
};

/** A form that changes the password of somebody who signed in with it. */
const changesPassword = (fields: Readonly<Record<string, string>>): Row["ready"] =>
  visits(async (browser, email) => {
    await browser.post("/console/sign-in", { email, password: PASSWORD });
    await browser.token("/console/account");
    return () => browser.post("/console/account/password", fields, { from: "/console/account" });
  });

/** An event of a payment that was made in a checkout. */
const pays = (
  deliver: (world: World, event: StripeObject) => Action | Promise<Action>,
): Row["ready"] =>
async (world) => {
  const { shop } = world;
  const { sessionId } = await shop.order(await shop.account());
  return await deliver(world, shop.stripe.pay(sessionId));
};
const timestamp = NOON / 1_000;

/** An operation of the operator's API, with a key of a scope. */
const operates = (
  scope: "admin" | "inference",
  path: string,
  body: (email: string) => unknown,
  { before = 0 }: { readonly before?: number } = {},
): Row["ready"] =>
async ({ gateway: { gateway, url } }) => {
  const { secret } = await gateway.keys.issue(gateway.owner, { scopes: [scope] });
  const name = `${crypto.randomUUID()}@example.com`;
  const request = { body: body(name), once: crypto.randomUUID() };
  const act = async () => (await adminClient(url, secret)("POST", path, request)).status;
  for (let times = 0; times < before; times++) await act();
  return act;
};

const TOOL = "/oauth/token";
const DEVICE_GRANT = "urn:ietf:params:oauth:grant-type:device_code";
/** How far a tool has come that then sends something. */
const STEPS = ["begun", "approved", "signed in"] as const;

/** What a tool sends, from what it got: its codes, and its tokens. */
const tools = (
  after: typeof STEPS[number],
  path: string,
  fields: (got: Readonly<Record<string, string>>) => Record<string, string>,
): Row["ready"] =>
async ({ gateway }) => {
  const { url, gateway: { accounts, database } } = gateway;
  const send = (at: string, form: Record<string, string>) =>
    fetch(`${url}${at}`, { method: "POST", body: new URLSearchParams(form) });
  const steps = STEPS.indexOf(after);
  const got = await (await send("/oauth/device_authorization", { client_id: "codex" })).json();
  const { email } = await customer(gateway, 100);
  if (steps > 0) {
    const codes = new DeviceCodes(database, () => NOON);
    await codes.decide(got.user_code, await accounts.get(email), true);
  }
  if (steps > 1) {
    const form = { grant_type: DEVICE_GRANT, device_code: got.device_code };
    Object.assign(got, await (await send(TOOL, form)).json());
  }
  const form = fields(got);
  if (!path.startsWith("/console/")) return () => statusOf(send(path, form));
  const browser = await signedIn(gateway, email);
  await browser.token("/console/account");
  return () => statusOf(browser.post(path, form, { from: "/console/account" }));
};

/** A command beside the gateway. */
const commands =
  (args: (email: string) => readonly string[]): Row["ready"] => async ({ gateway }) => {
    const { email } = await customer(gateway, 0);
    const { data } = gateway.gateway.config.settings;
    const shell = {
      directory: gateway.directory,
      env: { SLUICE_DATA: data },
      now: () => NOON,
    };
    return async () => (await sluice(args(email), shell)).code;
  };
const ADMIN_REFUSED: Leavings = { log: { "info admin request refused": 1 } };

const ROWS: Readonly<Record<string, Row>> = {
  "a request": { status: 200, leaves: SUCCEEDED, ready: asks() },
  "a stream": { status: 200, leaves: SUCCEEDED, ready: asks({ stream: true }) },
  "counting tokens": {
    status: 200,
    leaves: NOTHING,
    ready: ({ gateway, model }) => {
      const body = { model, ...FRONTS["/v1/messages"](PROMPT) };
      return () => statusOf(gateway.post("/v1/messages/count_tokens", body));
    },
  },
  "the caller's credits": {
    status: 200,
    leaves: NOTHING,
    ready: ({ gateway: { url, key } }) => () =>
      statusOf(fetch(`${url}/user/credits`, { headers: { "x-api-key": key } })),
  },

  "a body that is not JSON": {
    status: 400,
    leaves: REFUSED,
    ready: ({ gateway, front }) => () => statusOf(gateway.post(front, `{"${PRIVATE_WORDS}`)),
  },
  "an invalid field": { status: 400, leaves: REFUSED, ready: asks({ temperature: PRIVATE_WORDS }) },
  "a body that is too large": {
    status: 400,
    leaves: REFUSED,
    ready: asks({ prompt: `${PRIVATE_WORDS}${"x".repeat(300_000)}` }),
  },
  "a prompt that is too long": {
    status: 400,
    leaves: REFUSED,
    route: { context: 1_000 },
    ready: asks({ prompt: `${PRIVATE_WORDS} `.repeat(10_000) }),
  },
  "an unknown model": { status: 404, leaves: REFUSED, ready: asks({ model: "nobody" }) },
  "an unknown path": {
    status: 404,
    leaves: NOTHING,
    ready: ({ gateway }) => () => statusOf(gateway.post("/v1/nothing", {})),
  },
  "an unknown key": {
    status: 401,
    leaves: REFUSED,
    ready: ({ gateway, front, model }) => () =>
      statusOf(
        gateway.post(front, { model, ...FRONTS[front](PROMPT) }, { key: `sk-${"x".repeat(43)}` }),
      ),
  },
  "a revoked key": {
    status: 401,
    leaves: REFUSED,
    ready: asksAfter(({ gateway: { gateway } }, { keyId }) => gateway.keys.revoke(keyId)),
  },
  "a key of other models": {
    status: 403,
    leaves: REFUSED,
    ready: async ({ gateway, front, model }) => {
      const { gateway: { keys, accounts } } = gateway;
      const { accountId } = await customer(gateway, 100);
      const { secret } = await keys.issue((await accounts.byId(accountId))!, {
        models: ["nobody"],
      });
      const body = { model, ...FRONTS[front](PROMPT) };
      return () => statusOf(gateway.post(front, body, { key: secret }));
    },
  },
  "a stopped account": {
    status: 403,
    leaves: REFUSED,
    ready: asksAfter(({ gateway: { gateway } }, { email }) => gateway.accounts.disable(email)),
  },
  "no credits": { status: 403, leaves: REFUSED, ready: asks({ credits: 0 }) },
  "too few credits": {
    status: 403,
    leaves: REFUSED,
    route: { minimum: 1_000 },
    ready: asks({ credits: 20 }),
  },
  "a budget that is spent": { status: 403, leaves: REFUSED, ready: asks({ budget: 0 }) },
  "a window that is full": {
    status: 429,
    leaves: REFUSED,
    ready: asksAfter(async ({ gateway, front, model }, { key }) => {
      const first = gateway.post(front, { model, ...FRONTS[front](PROMPT) }, { key });
      assertEquals(await statusOf(first), 200);
    }, 9),
  },

  "an image at a private address": {
    status: 400,
    route: { images: "remote" },
    leaves: {
      rows: { ...ADMITTED, usage_tags: 2 },
      log: { "info image refused": 1, "info request": 1, "info request refused": 1 },
    },
    ready: pictures(() => `http://127.0.0.1:1/${PRIVATE_WORDS}.png`),
  },
  "an image that redirects to a private address": {
    status: 400,
    route: { images: "remote" },
    leaves: {
      rows: { ...ADMITTED, usage_tags: 2 },
      calls: { "images/x.png": 1 },
      log: { "info image refused": 1, "info request": 1, "info request refused": 1 },
    },
    ready: pictures(({ images }) => `${images}/x.png`),
  },

  ...Object.fromEntries(
    ([
      ["down", 503, 2],
      ["away", 503, 2],
      ["page", 503],
      ["redirects", 503],
      ["locked", 503],
      ["unpaid", 503],
      ["busy", 429],
      ["strict", 400],
      ["lacks", 404],
    ] as const).map(([upstream, status, attempts]) => [
      `an upstream that is ${upstream}`,
      { status, upstream, leaves: failed(upstream, attempts), ready: asks() },
    ]),
  ),
  "an upstream that breaks off": {
    status: 200,
    upstream: "cut",
    leaves: {
      rows: { ...CHARGED, usage_tags: 2 },
      calls: { "cut/chat/completions": 1 },
      log: { "info request": 1 },
    },
    ready: asks({ stream: true }),
  },

  "a payment": {
    status: 200,
    leaves: {
      rows: {
        "~balances": 1,
        "entries": 1,
        "first_payments": 1,
        "grants": 1,
        "lots": 1,
        "order_credits": 1,
        "order_events": 1,
        "~orders": 1,
        "payment_events": 1,
      },
      log: { "info order paid": 1 },
    },
    ready: pays(({ gateway }, event) => () => send(gateway.url, event, { timestamp })),
  },
  "a payment event again": {
    status: 200,
    leaves: NOTHING,
    ready: pays(async ({ gateway }, event) => {
      await send(gateway.url, event, { timestamp });
      return () => send(gateway.url, event, { timestamp });
    }),
  },
  "a forged payment event": {
    status: 400,
    leaves: { log: { "warn webhook refused": 1 } },
    ready: pays(({ gateway }, event) => () =>
      send(gateway.url, event, { secret: `whsec_of_somebody_else`, timestamp })
    ),
  },
  "a payment event of long ago": {
    status: 400,
    leaves: { log: { "warn webhook refused": 1 } },
    ready: pays(({ gateway }, event) => () =>
      send(gateway.url, event, { timestamp: timestamp - 400 })
    ),
  },
  "a payment event of the other mode": {
    status: 200,
    leaves: {
      rows: { payment_events: 1, payment_contacts: 1 },
      log: { "warn payment event of the other mode": 1 },
    },
    ready: pays(({ gateway }, event) => () =>
      send(gateway.url, { ...event, id: "evt_live", livemode: true }, { timestamp })
    ),
  },
  "a checkout": {
    status: 200,
    leaves: { rows: { orders: 1, order_events: 1 }, calls: { "stripe/v1/checkout/sessions": 1 } },
    ready: async ({ shop }) => {
      const account = await shop.account();
      return () => shop.order(account).then(() => 200);
    },
  },

  "a form of operators": {
    status: 404,
    leaves: NOTHING,
    ready: posts("/console/operator/accounts", { email: "new@example.com", role: "operator" }),
  },
  "a form with the token of another session": {
    status: 403,
    leaves: NOTHING,
    ready: posts("/console/keys", { ...NEW_KEY, name: "x", csrf: "0".repeat(64) }, {}),
  },
  "a form of another site": {
    status: 403,
    leaves: NOTHING,
    ready: posts("/console/keys", { ...NEW_KEY, name: "x" }, {
      from: "/console/keys",
      headers: { "sec-fetch-site": "cross-site" },
    }),
  },
  "a form with an invalid field": {
    status: 400,
    leaves: NOTHING,
    ready: posts("/console/keys", { ...NEW_KEY, name: "x", budget: "-3" }),
  },
  "a form of nobody": {
    status: 303,
    leaves: NOTHING,
    ready: visits((browser) => () => browser.post("/console/keys", { ...NEW_KEY })),
  },
  "a form that makes a key": {
    status: 200,
    leaves: { rows: { "keys": 1, "operation_log": 1, "~revisions": 1 } },
    ready: posts("/console/keys", { ...NEW_KEY, name: "x" }),
  },
  "a wrong redemption code": {
    status: 400,
    leaves: { rows: { code_tries: 2, operation_log: 1 } },
    ready: posts("/console/redeem", { code: "WRONG-CODE" }),
  },
  "a wrong current password": {
    status: 400,
    leaves: NOTHING,
    ready: changesPassword({ current: `wrong ${PASSWORD}`, password: `new ${PASSWORD}` }),
  },
  "a new password": {
    status: 303,
    leaves: { rows: { "~passwords": 1, "operation_log": 1 } },
    ready: changesPassword({ current: PASSWORD, password: `new ${PASSWORD}` }),
  },
  "a sign-in": {
    status: 303,
    leaves: { rows: { sessions: 1 } },
    ready: visits((browser, email) => () =>
      browser.post("/console/sign-in", { email, password: PASSWORD })
    ),
  },
  "a wrong password": {
    status: 401,
    leaves: NOTHING,
    ready: visits((browser, email) => () =>
      browser.post("/console/sign-in", { email, password: `wrong ${PASSWORD}` })
    ),
  },
  "the password of a stopped account": {
    status: 401,
    leaves: NOTHING,
    ready: visits(async (browser, email, { gateway: { gateway } }) => {
      await gateway.accounts.disable(email);
      return () => browser.post("/console/sign-in", { email, password: PASSWORD });
    }),
  },
  "a sign-in link": {
    status: 303,
    leaves: { rows: { "sessions": 1, "-sign_in_links": 1 } },
    ready: visits(async (browser, email, { gateway: { gateway } }) => {
      const link = await gateway.sessions.makeLink(await gateway.accounts.get(email));
      return () => browser.get(`/console/link/${link}`);
    }),
  },
  "a sign-in link that was never made": {
    status: 404,
    leaves: NOTHING,
    ready: visits((browser) => () => browser.get(`/console/link/${PRIVATE_WORDS}`)),
  },

  "a tool that begins to sign in": {
    status: 200,
    leaves: { rows: { device_codes: 1 } },
    ready: tools("begun", "/oauth/device_authorization", () => ({ client_id: "tool" })),
  },
  "a tool that nobody approved": {
    status: 400,
    leaves: { rows: { "~device_codes": 1 } },
    ready: tools("begun", TOOL, (got) => ({ ...got, grant_type: DEVICE_GRANT })),
  },
  "the approval of a tool": {
    status: 200,
    leaves: { rows: { "~device_codes": 1, "operation_log": 1 } },
    ready: tools("begun", "/console/device", ({ user_code: code = "" }) => ({
      code,
      decision: "approve",
    })),
  },
  "the approval of a tool that was approved": {
    status: 400,
    leaves: NOTHING,
    ready: tools("approved", "/console/device", ({ user_code: code = "" }) => ({
      code,
      decision: "approve",
    })),
  },
  "a tool that was approved": {
    status: 200,
    leaves: { rows: { "-device_codes": 1, "keys": 1, "tool_grants": 1, "~revisions": 1 } },
    ready: tools("approved", TOOL, (got) => ({ ...got, grant_type: DEVICE_GRANT })),
  },
  "a tool that refreshes": {
    status: 200,
    leaves: { rows: { "~keys": 1, "~tool_grants": 1, "~revisions": 1 } },
    ready: tools("signed in", TOOL, (got) => ({ ...got, grant_type: "refresh_token" })),
  },
  "a tool whose refresh token is another": {
    status: 401,
    leaves: NOTHING,
    ready: tools("signed in", TOOL, ({ refresh_token: token }) => ({
      grant_type: "refresh_token",
      refresh_token: `${token}x`,
    })),
  },
  "a tool that signs out": {
    status: 200,
    leaves: { rows: { "~keys": 1, "~revisions": 1 } },
    ready: tools("signed in", "/oauth/revoke", ({ refresh_token: token = "" }) => ({ token })),
  },
  "a session that ended before": {
    status: 303,
    leaves: NOTHING,
    ready: posts("/console/account/sessions/0123456789abcdef/end", {}),
  },
  "an identity that was unlinked before": {
    status: 303,
    leaves: NOTHING,
    ready: posts("/console/account/unlink", { issuer: PRIVATE_WORDS, subject: PRIVATE_WORDS }),
  },
  "a provider that is away": {
    status: 503,
    leaves: {
      calls: { "127.0.0.1:1/.well-known/openid-configuration": 1 },
      log: { "warn sign-in refused": 1 },
    },
    ready: visits((browser) => () => browser.get("/console/sign-in/oidc/company")),
  },
  "a callback that no browser waits for": {
    status: 403,
    leaves: { log: { "warn sign-in refused": 1 } },
    ready: visits((browser) => () =>
      browser.get(
        `/console/sign-in/oidc/company/callback?state=${PRIVATE_WORDS}&code=${PRIVATE_WORDS}`,
      )
    ),
  },

  "an operation": {
    status: 201,
    leaves: {
      rows: {
        "accounts": 1,
        "balances": 1,
        "operation_log": 1,
        "operation_requests": 1,
        "~revisions": 1,
      },
    },
    ready: operates("admin", "/accounts", (email) => ({ email })),
  },
  "an operation again": {
    status: 201,
    leaves: NOTHING,
    ready: operates("admin", "/accounts", (email) => ({ email }), { before: 1 }),
  },
  "an operation with an invalid field": {
    status: 400,
    leaves: ADMIN_REFUSED,
    ready: operates("admin", "/accounts", () => ({ email: PRIVATE_WORDS, role: PRIVATE_WORDS })),
  },
  "an operation that cannot be done": {
    status: 409,
    leaves: { rows: { operation_log: 1, operation_requests: 1 } },
    ready: operates("admin", "/accounts", () => ({ email: "owner@localhost" })),
  },
  "an operation without the scope": {
    status: 403,
    leaves: ADMIN_REFUSED,
    ready: operates("inference", "/accounts", (email) => ({ email })),
  },
  "a command": {
    status: 0,
    leaves: { rows: { "keys": 1, "operation_log": 1, "~revisions": 1 } },
    ready: commands((email) => ["key", "create", "--account", email]),
  },
  "a command about nobody": {
    status: 1,
    leaves: NOTHING,
    ready: commands(() => ["credits", "grant", "--account", "nobody@example.com", "--credits=1"]),
  },
  "a command with wrong usage": {
    status: 2,
    leaves: NOTHING,
    ready: commands((email) => ["key", "create", "--account", email, "--expires", "soon"]),
  },
  "a response that is kept": {
    status: 200,
    leaves: { ...SUCCEEDED, rows: { ...CHARGED, kept_items: 1 } },
    ready: (world) => asks({ store: true })({ ...world, front: "/v1/responses" }),
  },
  "the key of a member who was stopped": {
    status: 403,
    leaves: REFUSED,
    ready: async ({ gateway, front, model }) => {
      const { members, teams, teamKeys, accounts } = gateway.gateway;
      const team = await teams.create({ name: crypto.randomUUID(), pool: false });
      const account = (await accounts.byId((await customer(gateway, 100)).accountId))!;
      await members.add(team, account);
      const { secret } = await teamKeys.issue(team, account);
      await members.stop(team, account);
      const body = { model, ...FRONTS[front](PROMPT) };
      return () => statusOf(gateway.post(front, body, { key: secret }));
    },
  },
  "a form of a stopped account": {
    status: 303,
    leaves: NOTHING,
    ready: async ({ gateway }) => {
      const { email } = await customer(gateway, 100);
      const browser = await signedIn(gateway, email);
      await browser.token("/console/keys");
      await gateway.gateway.accounts.disable(email);
      return () =>
        statusOf(
          browser.post("/console/keys", { ...NEW_KEY, name: "x" }, { from: "/console/keys" }),
        );
    },
  },
  "a redemption code": {
    status: 303,
    leaves: {
      rows: {
        "~balances": 1,
        "entries": 1,
        "grants": 1,
        "lots": 1,
        "operation_log": 1,
        "~redemption_codes": 1,
      },
    },
    ready: async (world) => {
      const [{ code } = { code: "" }] = await world.gateway.gateway.codes.make({ credits: 5 });
      return await posts("/console/redeem", { code })(world);
    },
  },
  "a refund": {
    status: 200,
    leaves: {
      rows: {
        "alerts": 1,
        "~balances": 1,
        "entries": 1,
        "~lots": 1,
        "order_credits": 1,
        "order_events": 1,
        "~orders": 1,
        "payment_events": 1,
        "payment_facts": 1,
        "take_backs": 1,
      },
      log: { "warn payment changed": 1, "warn alerts raised": 1 },
    },
    ready: async ({ gateway, shop }) => {
      const order = await shop.buy(await shop.account());
      const refund = shop.stripe.refund(order.paymentId);
      const event = shop.stripe.event("refund.created", refund);
      return () => send(gateway.url, event, { timestamp });
    },
  },
  "credits that are taken back": {
    status: 201,
    leaves: {
      rows: {
        "~balances": 1,
        "entries": 1,
        "~lots": 1,
        "operation_log": 1,
        "operation_requests": 1,
        "take_backs": 1,
      },
    },
    ready: async (world) => {
      const { gateway: { gateway } } = world;
      const { accountId } = await customer(world.gateway, 100);
      const [lot] = await gateway.database.all("select id from lots where account_id = ?", [
        accountId,
      ]);
      const body = { account: accountId, lot: lot!.id, credits: 5, note: "x" };
      return await operates("admin", "/credits/take-backs", () => body)(world);
    },
  },
  "what a gateway was lent that is gone, written off": {
    status: 201,
    leaves: {
      rows: {
        "~balances": 1,
        "loan_write_offs": 1,
        "-loans": 1,
        "operation_log": 1,
        "operation_requests": 1,
      },
    },
    ready: async (world) => {
      const { gateway: { gateway } } = world;
      const { accountId } = await customer(world.gateway, 100);
      await lendToGone(gateway.database, accountId);
      return await operates("admin", "/loans/gw_gone/write-off", () => ({ note: "x" }))(world);
    },
  },
  "a receiver of alerts that redirects": {
    status: 200,
    leaves: {
      rows: { operation_log: 1, operation_requests: 1 },
      calls: { pager: 1 },
    },
    ready: operates("admin", "/alerts/test", () => ({ receiver: "pager" })),
  },
};

Deno.test("each action leaves what its row says, and nothing else", async () => {
  await using upstream = fakeUpstream(({ path, body }) =>
    DEEDS[path.split("/")[2] as keyof typeof DEEDS](body.stream === true)
  );
  await using images = fakeUpstream(() => Response.redirect("http://127.0.0.1:1/y.png", 302));
  await using stripe = fakeStripe();
  stripe.clockMs = NOON - Date.now();
  const imageUrl = new URL(images.url).origin;
  await using gateway = await startGateway({
    lendFrom: Infinity, // a loan is returned when it has been idle for a time
    firstWaitMs: 1,
    now: () => NOON,
    settings: {
      ...shopSettings(stripe),
      tiers: [{ above: 0, minute: 1, hour: 1, day: 1 }, { ...WIDE_TIERS[0]!, above: 10 }],
      limits: { bodyBytes: 250_000 },
      signIn: { oidc: [{ name: "company", issuer: "http://127.0.0.1:1", client: "sluice" }] },
      images: { allowPrivateHosts: [new URL(imageUrl).host] },
      alerts: {
        dailyAudit: false,
        receivers: { pager: { url: `${imageUrl}/pager`, kind: "slack", alerts: ["audit_failed"] } },
        allowPrivateHosts: [new URL(imageUrl).host],
      },
      upstreams: {
        ...Object.fromEntries(
          Object.keys(DEEDS).map((
            name,
          ) => [name, { url: `${upstream.url}/${name}`, key: UPSTREAM_KEY }]),
        ),
        away: { url: "http://127.0.0.1:1/v1" },
      },
      routes: Object.fromEntries(
        Object.values(ROWS).map(({ upstream = "good", route }, at) => [`row-${at}`, {
          targets: [{ upstream, model: "m" }],
          prices: { input: 1, cached: 1, output: 1 },
          context: 16_000,
          ...route,
        }]),
      ),
    },
  });
  const shop = shopOf(gateway, stripe, stripe, () => NOON);
  await shop.buy(await shop.account()); // the first contact is a row
  const seed = testSeed();
  const random = new Random(seed);
  const faults: string[] = [];
  let at = 0;
  for (const [name, { status, leaves, ready }] of Object.entries(ROWS)) {
    const front = random.pick(Object.keys(FRONTS) as Front[]);
    const act = await ready({ gateway, shop, images: imageUrl, front, model: `row-${at++}` });
    const calls = Object.entries(leaves.calls ?? {})
      .map(([call, times]) => [call.replace("images", new URL(imageUrl).host), times]);
    const named = { ...leaves, calls: Object.fromEntries(calls) };
    await gateway.leaves(named, async () => assertEquals(await act(), status, "its status"))
      .catch((error) => faults.push(`${name} (${front}, seed ${seed}): ${error.message}`));
  }
  assertEquals(faults.join("\n\n"), "");
  await assertLedgerClean(gateway);
});

const QUOTED = `Cannot read "${PROMPT}"`;
/** Statuses of errors, and of what is none. */
const STATUSES = [200, 307, 400, 401, 402, 403, 404, 408, 413, 422, 429, 451, 500, 502, 503, 529];
/** Where an error can quote the request. */
const QUOTING: readonly ((status: number) => Response)[] = [
  (status) => Response.json({ error: { message: QUOTED } }, { status }),
  (status) => Response.json({ error: { message: QUOTED, code: status, type: "a_b" } }, { status }),
  (status) => Response.json({ error: { message: "no", code: QUOTED, type: QUOTED } }, { status }),
  (status) => Response.json({ error: QUOTED }, { status }),
  (status) => Response.json({ detail: QUOTED }, { status }),
  (status) => Response.json({ type: "error", error: { type: "x_y", message: QUOTED } }, { status }),
  (status) => Response.json({ id: QUOTED, choices: QUOTED }, { status }),
  (status) => new Response(QUOTED, { status }),
  (status) => new Response(`<html>${QUOTED}`, { status, statusText: PRIVATE_WORDS }),
  (status) =>
    new Response(`{"${QUOTED}`, { status, headers: { "content-type": "application/json" } }),
  (status) =>
    new Response(null, {
      status,
      headers: { "retry-after": QUOTED, location: `/${PRIVATE_WORDS}`, "content-type": QUOTED },
    }),
  () => eventStream(sse(JSON.stringify({ error: { message: QUOTED, code: 503 } }))),
  () => eventStream(`data: ${QUOTED}\n\n`, `event: ${QUOTED}\ndata: {"${QUOTED}\n\n`),
];

Deno.test("whatever of a request an upstream's error quotes is kept with the request's record, and nowhere else", async () => {
  const seed = testSeed();
  const random = new Random(seed);
  const all = STATUSES.flatMap((status) => QUOTING.map((reply) => () => reply(status)));
  const cases = random.some(all, sized(12, 120));
  let reply = all[0]!;
  await using upstream = fakeUpstream(() => reply());
  await using pager = fakeUpstream(() => new Response());
  await using gateway = await startGateway({
    lendFrom: Infinity,
    firstWaitMs: 1,
    settings: {
      alerts: {
        receivers: { pager: { url: `${pager.url}/pager`, kind: "slack" } },
        allowPrivateHosts: [new URL(pager.url).host],
      },
      upstreams: { quotes: { url: upstream.url, key: UPSTREAM_KEY } },
      // a circuit of its own for each
      routes: Object.fromEntries(cases.map((_, at) => [`case-${at}`, {
        targets: [{ upstream: "quotes", model: `m-${at}` }],
      }])),
    },
  });
  const visitor = await signedIn(gateway, "owner@localhost");
  for (const [at, one] of cases.entries()) {
    reply = one;
    const front = random.pick(Object.keys(FRONTS) as Front[]);
    const what = `${one().status} ${await one().text()} to ${front} (SLUICE_TEST_SEED=${seed})`;
    const { left: { secrets } } = await gateway.left(async () => {
      for (let again = 0; again < 6; again++) { // a circuit opens
        const body = { model: `case-${at}`, ...FRONTS[front](PROMPT), stream: again % 2 === 0 };
        await statusOf(gateway.post(front, body));
      }
    });
    assertEquals(secrets.filter((text) => !("request_id" in JSON.parse(text))), [], what);
    const pages = await Promise.all(
      ["/console/operator/upstreams", "/console/notices"].map(async (path) =>
        await (await visitor.get(path)).text()
      ),
    );
    assertEquals(pages.filter((text) => text.includes(PRIVATE_WORDS)), [], what);
  }
  const sent = pager.received.map(({ body }) => JSON.stringify(body));
  assertEquals(sent.filter((text) => text.includes(PRIVATE_WORDS)), []);
});
