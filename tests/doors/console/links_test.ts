/** For each role: what the console links to is there, is theirs to see, and works without scripts. */

import type { Page } from "playwright-core";
import { assert, assertEquals } from "../../assert.ts";
import { inBrowser, openPage } from "../../fake/browser.ts";
import { startGateway, type TestGateway } from "../../fake/gateway.ts";
import { signedIn } from "../../fake/visitor.ts";
import { fakeStripe } from "../../money/payments/fake_stripe.ts";
import { fillOrders, fillRichly, richShopSettings } from "./rich.ts";

/** Pages of one kind that are opened: those of other keys, requests or days are like them. */
const MAX_OF_KIND = 2;
/** Links that lead out of what is looked at: files, the end of the session, streams. */
const LEFT_OUT = /^\/(?:console\/(?:assets|events|sign-out|operator\/backup)|openapi|metrics)/;

/** A gateway with much in it, and its roles' email addresses. */
async function filled(gateway: TestGateway, stripe: ReturnType<typeof fakeStripe>) {
  const { email } = await fillRichly(gateway, { requests: 120, keys: 6 });
  await fillOrders(gateway, stripe, email);
  const { accounts, teams, members } = gateway.gateway;
  for (const role of ["operator", "finance"] as const) {
    await accounts.create({ email: `${role}@example.com`, role });
  }
  await accounts.create({ email: "new@example.com" });
  const [team] = await teams.list();
  const [member] = (await members.list(team!)).filter(({ role }) => role === "member");
  return {
    lead: email,
    member: member!.email,
    "new account": "new@example.com",
    finance: "finance@example.com",
    operator: "operator@example.com",
    owner: "owner@localhost",
  };
}

/** Paths of this console that a page links to. */
function linksOf(html: string, from: string): string[] {
  return [...html.matchAll(/<a [^>]*href="([^"]*)"/g)]
    .map(([, href]) => new URL(href!.replaceAll("&amp;", "&"), `http://console${from}`))
    .filter(({ host }) => host === "console")
    .map(({ pathname, search }) => `${pathname}${search}`)
    .filter((path) => !LEFT_OUT.test(path));
}

/** What a path is one of: IDs, values and dates are like each other. */
function kindOf(path: string): string {
  const { pathname, searchParams } = new URL(path, "http://console");
  const place = pathname.replaceAll(/\/[a-z]+_[A-Za-z0-9]+/g, "/:id").replaceAll(
    /\/[^/]*\d[^/]*/g,
    "/:name",
  );
  return `${place}?${[...searchParams.keys()].toSorted().join("&")}`;
}

Deno.test("every link that a role is shown leads to a page that it may see", async (t) => {
  await using stripe = fakeStripe();
  await using gateway = await startGateway({
    settings: richShopSettings(stripe),
  });
  const roles = await filled(gateway, stripe);
  const kinds = new Map<string, Set<string>>();
  for (const [role, email] of Object.entries(roles)) {
    await t.step(role, async () => {
      const browser = await signedIn(gateway, email);
      const seen = new Map<string, number>();
      const open = [{ path: "/console/", from: "the start" }];
      const wrong: string[] = [];
      for (let one = open.pop(); one !== undefined; one = open.pop()) {
        const kind = kindOf(one.path);
        const count = seen.get(kind) ?? 0;
        if (count >= MAX_OF_KIND) continue;
        seen.set(kind, count + 1);
        const reply = await browser.get(one.path);
        const text = await reply.text();
        const type = reply.headers.get("content-type") ?? "";
        if (reply.status !== 200) wrong.push(`${one.path} of ${one.from}: ${reply.status}`);
        if (!type.startsWith("text/html")) continue;
        const { path } = one;
        if (text.match(/<h1/g)?.length !== 1) wrong.push(`${path}: not one heading`);
        if (/\bundefined\b|\bNaN\b|\[object /.test(text.replaceAll(/<[^>]*>/g, " "))) {
          wrong.push(`${path}: not for people`);
        }
        open.push(...linksOf(text, path).map((to) => ({ path: to, from: path })));
      }
      assertEquals(wrong, []);
      kinds.set(role, new Set(seen.keys()));
    });
  }
  const count = (role: string) => kinds.get(role)?.size ?? 0;
  assert(count("new account") >= 15 && count("owner") >= 60, JSON.stringify([...kinds.keys()]));
  assert(count("lead") > count("member") && count("operator") > count("finance"));
});

/** Buttons that do nothing without scripts, although they are shown. */
const IDLE_BUTTONS = `[...document.querySelectorAll("button")]
  .filter((one) => one.checkVisibility() && one.form === null && !one.hasAttribute("popovertarget"))
  .map((one) => one.textContent.trim())`;

inBrowser(
  "pages of every role, with scripts and without: no fault, no idle button",
  async (browser) => {
    await using stripe = fakeStripe();
    await using gateway = await startGateway({
      settings: richShopSettings(stripe),
    });
    const { lead, finance, owner } = await filled(gateway, stripe);
    for (const email of [lead, finance, owner]) {
      for (const javaScriptEnabled of [true, false]) {
        const context = await browser.newContext({ javaScriptEnabled });
        const { page, faults } = await openPage(context);
        const { sessions, accounts } = gateway.gateway;
        await page.goto(
          `${gateway.url}/console/link/${await sessions.makeLink(await accounts.get(email))}`,
        );
        for (const path of await navigation(page)) {
          await page.goto(`${gateway.url}${path}`);
          const where = `${path} of ${email}${javaScriptEnabled ? "" : " without scripts"}`;
          if (!javaScriptEnabled) assertEquals(await page.evaluate(IDLE_BUTTONS), [], where);
          assertEquals(faults, [], where);
        }
        await context.close();
      }
    }
  },
);

/** Paths that the navigations lead to. */
async function navigation(page: Page): Promise<string[]> {
  return await page.locator("header nav a").evaluateAll((links) =>
    links.map((one) => one.getAttribute("href")!)
  );
}
