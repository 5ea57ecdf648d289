/** The pages that the walk visits, by whom, and what is asked at them besides what is asked everywhere. */

import type { Page } from "playwright-core";
import { raiseBudget, setBudget } from "../../../src/money/ledger/mod.ts";
import type { SettingsInput } from "../../../src/settings/config/mod.ts";
import { DeviceCodes } from "../../../src/people/accounts/mod.ts";
import type { TestGateway } from "../../fake/gateway.ts";
import type { FakeStripe } from "../../money/payments/fake_stripe.ts";
import { fillOrders, fillRichly, type Orders, type RichData, richShopSettings } from "./rich.ts";

/** A page, and what is asked at it. */
export interface Place {
  /** Below `/console/`. */
  readonly path: string;
  /** Whether it is another view of a page that is in the walk: axe looks at it in the proofs only. */
  readonly isVariant?: true;
  /** Whether it differs from others in the walk by little: only the proofs visit it. */
  readonly isInProofs?: true;
  /** Whether it has rows. */
  readonly hasRows?: true;
  /** Whether figures of billions are put into its tables. */
  readonly billions?: true;
  /** How many budgets it shows at least, once everything is unfolded. */
  readonly budgets?: number;
  /** Uncompressed bytes of all that it loads: more than the first, less than the second. */
  readonly bytes?: readonly [min: number, max: number];
  /** Whether it loads itself again after some seconds: what is looked at does not. */
  readonly refreshes?: true;
  /** The status that it has instead of 200. */
  readonly status?: number;
  /** Makes the page what it is looked at as. */
  readonly prepare?: (page: Page) => Promise<unknown>;
}

/** Somebody who walks through the console. */
export interface Walker {
  /** The account; undefined for somebody who is not signed in. */
  readonly email?: string;
  readonly places: readonly Place[];
  /** Whether the pages of the navigation are visited with scripts and without. */
  readonly navigates?: true;
}

const UPSTREAM = "a-very-long-upstream-name.of-the-department.example";
const OWNER = "owner@localhost";

/** Settings of the gateway that is walked through: many models, a shop, and an upstream that is real. */
export function walkSettings(
  stripe: FakeStripe,
  upstream: { readonly url: string },
): SettingsInput {
  const rich = richShopSettings(stripe);
  return {
    ...rich,
    signIn: { oidc: [{ name: "company", issuer: "https://login.example.com", client: "sluice" }] },
    upstreams: { [UPSTREAM]: { url: upstream.url } },
    routes: { ...rich.routes, real: { targets: [{ upstream: UPSTREAM, model: "m" }] } },
  };
}

/** What the gateway was filled with. */
export interface WalkData {
  readonly rich: RichData;
  readonly orders: Orders;
  /** The code of a tool that waits to be approved. */
  readonly userCode: string;
  /** A member of the team. */
  readonly member: { readonly id: string; readonly email: string };
  /** Email addresses by role. */
  readonly roles: Readonly<Record<string, string>>;
}

/** Fills a gateway with all that there are pages of. */
export async function fillWalk(
  gateway: TestGateway,
  stripe: FakeStripe,
  size: Parameters<typeof fillRichly>[1] = { keys: 12 },
): Promise<WalkData> {
  const rich = await fillRichly(gateway, size);
  const orders = await fillOrders(gateway, stripe, rich.email);
  const { accounts, codes, database, keys, members, teamKeys, teams } = gateway.gateway;
  for (const role of ["operator", "finance"] as const) {
    await accounts.create({ email: `${role}@example.com`, role });
  }
  await accounts.create({ email: "new@example.com" });
  await codes.make({ credits: 5, count: 2 });
  const { userCode } = (await new DeviceCodes(database, Date.now).begin("Claude Code", "::1"))!;
  const team = await teams.get(rich.teamId);
  const { email } = (await members.list(team)).find(({ role }) => role === "member")!;
  const member = await accounts.get(email);
  const owners = [
    ["team", team.id],
    ["member", `${team.id}:${member.id}`],
    ["key", (await teamKeys.issue(team, member)).id],
    ["key", (await keys.issue(member, { name: "own" })).id],
    ["account", member.id],
  ] as const;
  const nowMs = Date.now();
  const zone = "America/Argentina/Buenos_Aires";
  for (const [owner, ownerId] of owners) {
    for (const period of ["day", "month", "life"] as const) {
      const name = { owner, ownerId, period };
      await setBudget(database, { ...name, credits: 123_456_789_012, zone }, { nowMs });
      await raiseBudget(database, name, { credits: 1_000, untilMs: nowMs + 86_400_000, nowMs });
    }
  }
  const roles = {
    lead: rich.email,
    member: member.email,
    "new account": "new@example.com",
    finance: "finance@example.com",
    operator: "operator@example.com",
    owner: OWNER,
  };
  return { rich, orders, userCode, member, roles };
}

/** Who walks, and where. */
export function walkersOf({ rich, orders, userCode, member }: WalkData): Record<string, Walker> {
  return {
    nobody: {
      places: [{ path: "sign-in" }, { path: "register" }, { path: "models" }, { path: "../docs" }],
    },
    lead: {
      email: rich.email,
      navigates: true,
      places: [
        { path: "", hasRows: true, bytes: [30_000, 100_000] },
        { path: "keys", hasRows: true, bytes: [30_000, Infinity] },
        { path: "models", hasRows: true, isVariant: true },
        { path: "usage", hasRows: true },
        { path: "usage?by=model", hasRows: true, bytes: [30_000, 100_000] },
        { path: "usage?by=key", hasRows: true, isVariant: true, isInProofs: true },
        { path: "usage?by=reason", isVariant: true, isInProofs: true },
        { path: "usage?by=model&compare=1", isVariant: true, isInProofs: true },
        { path: "usage?by=model&since=90d&compare=1", isVariant: true, billions: true },
        { path: "usage?by=day,model", isVariant: true, isInProofs: true, billions: true },
        { path: "usage?by=day,model&compare=1", isVariant: true, billions: true },
        { path: "usage?by=day&since=7d", isVariant: true, isInProofs: true, billions: true },
        { path: "usage?since=today", isVariant: true, isInProofs: true, billions: true },
        { path: "requests", hasRows: true, bytes: [30_000, 100_000] },
        { path: "requests?status=failed", isVariant: true, isInProofs: true },
        { path: `requests?q=${rich.requestId.slice(0, 12)}`, isVariant: true, status: 400 },
        { path: `requests/${rich.failedId}` },
        { path: `requests/${rich.requestId}` },
        { path: "credits", hasRows: true },
        { path: "statement" },
        { path: `orders/${orders.openId}`, isVariant: true, refreshes: true },
        { path: `orders/${orders.paidId}` },
        { path: `orders/${orders.paidId}/receipt` },
        { path: "playground" },
        { path: "teams", isVariant: true },
        { path: `teams/${rich.teamId}`, budgets: 3, bytes: [30_000, Infinity] },
        { path: `teams/${rich.teamId}/credits` },
        { path: `teams/${rich.teamId}/statement` },
        { path: "notices", isVariant: true },
        { path: "account", hasRows: true },
        { path: "device", isVariant: true },
        { path: "device?code=BBBB-BBBB", isVariant: true, status: 400 },
        { path: `device?code=${userCode}` },
        { path: "nothing", status: 404 },
        { path: "_components", hasRows: true },
        { path: "../docs", isVariant: true },
      ],
    },
    member: {
      email: member.email,
      places: [
        { path: "", budgets: 3 },
        { path: "keys", budgets: 3, isVariant: true },
        { path: `teams/${rich.teamId}`, budgets: 3, isVariant: true },
      ],
    },
    "new account": {
      email: "new@example.com",
      places: [
        ...["", "usage", "requests", "credits"].map((path) => ({ path })),
        ...["keys", "usage?by=model", "account"].map((path) => ({
          path,
          isVariant: true as const,
        })),
      ],
    },
    debtor: { email: orders.debtor, places: [{ path: "", isVariant: true }] },
    finance: { email: "finance@example.com", navigates: true, places: [] },
    owner: {
      email: OWNER,
      navigates: true,
      places: [
        { path: "operator", hasRows: true, bytes: [20_000, 130_000] },
        { path: "operator?range=90d", isVariant: true, isInProofs: true },
        { path: "operator/settings", hasRows: true },
        {
          path: "operator/settings/sign-in",
          prepare: async (page) => {
            await page.getByLabel("Issuer").fill("https://127.0.0.1");
            await page.getByRole("button", { name: "Check", exact: true }).click();
            await page.getByText("Nobody can sign in with").waitFor();
          },
        },
        { path: "operator/accounts", hasRows: true },
        { path: `operator/accounts/${rich.accountId}`, hasRows: true },
        { path: `operator/accounts/${member.id}`, budgets: 3 },
        { path: "operator/routes", hasRows: true },
        { path: "operator/routes/edit?route=model-1" },
        {
          path: "operator/routes/edit?route=model-1",
          isVariant: true,
          prepare: async (page) => {
            await page.getByLabel("Output", { exact: true }).fill("44");
            await page.getByRole("button", { name: "Preview the changes" }).click();
            await page.getByRole("button", { name: "Write the file and reload" }).waitFor();
          },
        },
        { path: "operator/upstreams", isVariant: true, isInProofs: true, hasRows: true },
        {
          path: "operator/upstreams",
          prepare: async (page) => {
            await page.getByRole("button", { name: /^Test a-very/ }).click();
            await page.getByText("lists no models").waitFor();
          },
        },
        { path: "operator/invites" },
        { path: "operator/payments" },
        { path: `operator/orders/${orders.refundedId}`, isVariant: true, isInProofs: true },
        { path: `operator/orders/${orders.differsId}`, isVariant: true },
        { path: `operator/orders/${orders.paidId}` },
        { path: "operator/codes" },
        { path: "operator/alerts", isVariant: true },
        { path: "operator/audit" },
        { path: "operator/log" },
        { path: "operator/live" },
      ],
    },
  };
}
