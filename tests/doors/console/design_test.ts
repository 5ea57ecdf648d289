import axe from "axe-core";
import type { Page, ViewportSize } from "playwright-core";
import { assert, assertEquals, assertMatch } from "../../assert.ts";
import { AXE, browserProgram, startBrowser } from "../../fake/browser.ts";
import { startGateway, type TestGateway } from "../../fake/gateway.ts";
import { Random, testSeed } from "../../fake/random.ts";
import { until } from "../../fake/temp.ts";
import { sampled } from "../../tier.ts";
import { CUT, LOST, WATCH_SHIFTS, withRules, WORDLESS } from "./looks.ts";
import { fillRichly, LONG_NAME, RICH_SETTINGS, type RichData } from "./rich.ts";

const OWNER = "owner@localhost";

interface RichPages {
  readonly gateway: TestGateway;
  readonly data: RichData;
  /** A page of an account; `isPlain` for one that runs no scripts and is touched. The next of its kind is the same page. */
  signedIn(
    email: string,
    options?: { readonly isPlain?: boolean; readonly viewport?: ViewportSize },
  ): Promise<Page>;
}

const looks: { readonly name: string; readonly work: (rich: RichPages) => Promise<void> }[] = [];

/** A step in a browser, over a gateway with long names in it that all of them share. */
function onRichPages(name: string, work: (rich: RichPages) => Promise<void>): void {
  looks.push({ name, work });
}

Deno.test("pages with long names and large figures", {
  ignore: browserProgram === undefined,
  sanitizeOps: false,
  sanitizeResources: false,
}, async (t) => {
  await using gateway = await startGateway({ settings: RICH_SETTINGS });
  const data = await fillRichly(gateway, { keys: 12 });
  await using started = await startBrowser();
  const { accounts, sessions } = gateway.gateway;
  const pageOf = async (isPlain: boolean) => {
    const context = await started.browser.newContext({
      timezoneId: "Asia/Kolkata",
      reducedMotion: "reduce",
      hasTouch: isPlain,
      javaScriptEnabled: !isPlain,
    });
    if (!isPlain) await context.addInitScript({ content: `${axe.source};${WATCH_SHIFTS}` });
    return await context.newPage();
  };
  // a context of the browser costs as much as four pages
  const [scripted, plain] = [await pageOf(false), await pageOf(true)];
  const signedIn: RichPages["signedIn"] = async (email, { isPlain = false, viewport } = {}) => {
    const page = isPlain ? plain : scripted;
    await page.context().clearCookies();
    await page.setViewportSize(viewport ?? { width: 1280, height: 720 });
    const token = await sessions.makeLink(await accounts.get(email));
    await page.goto(`${gateway.url}/console/link/${token}`);
    // nothing of the look before: neither what the browser keeps, nor a pointer above something
    if (!isPlain) await page.evaluate("localStorage.clear()");
    await page.mouse.move(0, 0);
    return page;
  };
  for (const { name, work } of sampled(looks, new Random(testSeed()), 2)) {
    await t.step(name, () => work({ gateway, data, signedIn }));
  }
});

/** What `LOST` must find. */
const LOST_FAULTS: readonly (readonly [css: string, found: RegExp])[] = [
  [".name { max-width: none !important; grid-template-columns: max-content auto; }", /wider|cut/],
  ["td.figure { display: none !important; }", /hidden/],
  ["td.primary { overflow: hidden; max-width: 2rem !important; }", /cut/],
];

/** What `CUT` must find. */
const CUT_FAULTS: readonly (readonly [css: string, found: RegExp])[] = [
  [
    "td button { width: 1rem; white-space: normal; overflow-wrap: anywhere; }",
    /button of two lines/,
  ],
  ["main { width: 3000px; }", /wider than the screen/],
  ["td.figure { width: 0; position: absolute; left: -50px; }", /hidden figure/],
  ["h1 { width: 1rem; overflow: hidden; }", /cut h1/],
  [".table tbody td { white-space: nowrap !important; min-width: 20rem; }", /beyond its box/],
];

onRichPages("what the walk looks for is found, else it would find nothing", async (rich) => {
  const { gateway: { url }, data } = rich;
  const page = await rich.signedIn(data.email, { viewport: { width: 375, height: 800 } });
  await page.goto(`${url}/console/usage?by=model`);
  for (const [fault, found] of LOST_FAULTS) {
    await page.evaluate(withRules(fault));
    assertMatch(String(await page.evaluate(LOST)), found, fault);
  }
  await page.evaluate(withRules(""));
  const name = page.locator("td .name").first();
  assertEquals(await name.getAttribute("title"), LONG_NAME);
  const short = (await name.boundingBox())!.height;
  await name.focus();
  assert((await name.boundingBox())!.height > 2 * short, "the whole name is shown on demand");
  assertEquals(await page.evaluate(LOST), [], "with a whole name");

  await page.goto(`${url}/console`);
  await page.evaluate(`document.body.insertAdjacentHTML("beforeend",
    '<dl class="stats">${
    `<div class="stat"><dt>x</dt><dd>1,074,681,074</dd></div>`.repeat(2)
  }</dl>')`);
  assertMatch(String(await page.evaluate(CUT)), /in two lines/);
  await page.goto(`${url}/console/keys`);
  for (const [fault, found] of CUT_FAULTS) {
    await page.evaluate(withRules(fault));
    assertMatch(String(await page.evaluate(CUT)), found, fault);
  }
  await page.goto(`${url}/console/models`);
  assertEquals(await page.evaluate(WORDLESS), []);
  await page.evaluate(withRules(".meaning { margin-left: -500px !important; }"));
  assertMatch(String(await page.evaluate(WORDLESS)), /beyond the screen/);
  await page.evaluate(
    `document.querySelector("main").insertAdjacentHTML("afterbegin", '<p class="notice">x</p>'.repeat(9))`,
  );
  await until(async () => await page.evaluate<number>("globalThis.shifts") > 0.01, {
    what: "what was put in above the rest",
  });
});

onRichPages("charts beside each other, cards and the zone of times", async (rich) => {
  const { url } = rich.gateway;
  const owner = await rich.signedIn(OWNER, { viewport: { width: 1280, height: 800 } });
  await owner.goto(`${url}/console/operator`);
  const axes = await owner.evaluate<number[]>(
    `[...document.querySelectorAll(".pair > .chart .plot")].map((one) => one.getBoundingClientRect().bottom)`,
  );
  assertEquals(axes.length, 2);
  assert(Math.abs(axes[0]! - axes[1]!) < 1, `axes at ${axes}`);
  await owner.setViewportSize({ width: 768, height: 800 });
  const zone = owner.locator("footer [data-zone]");
  await owner.goto(`${url}/console/operator/routes/edit?route=model-1`);
  assertEquals(await zone.isVisible(), false, "there is no time on the page");
  const [left, right] = await owner.evaluate<[number, number]>(
    `[document.querySelector(".grid"), document.querySelector(".grid > :nth-child(3)")]
      .map((one) => one.getBoundingClientRect().right)`,
  );
  assertEquals(left, right, "a third card leaves no half row empty");
  await owner.goto(`${url}/console/operator/accounts`);
  assertEquals(await zone.isVisible(), true);
});

onRichPages("charts: by keyboard, by touch, without scripts, as a table", async (rich) => {
  const seen = (page: Page) =>
    page.evaluate<string[]>(`[...document.querySelectorAll(".tip")]
      .filter((tip) => getComputedStyle(tip).opacity === "1").map((tip) => tip.textContent)`);
  const path = `${rich.gateway.url}/console/usage?by=model`;
  const page = await rich.signedIn(rich.data.email);
  await page.goto(path);
  const slots = page.locator(".slots > li");
  assertEquals([await slots.count(), await page.locator(".slots > li[tabindex='0']").count()], [
    30,
    1,
  ]);
  await page.locator(".tabs a").last().focus();
  await page.keyboard.press("Tab"); // the long name in the legend
  while (await page.evaluate("document.activeElement.matches('.slots > li') === false")) {
    await page.keyboard.press("Tab");
  }
  assertEquals((await seen(page)).length, 1);
  const last = (await seen(page))[0]!;
  assertMatch(last, /^\d+ \w+ \d{4}[\d,]+ credits/);
  await page.keyboard.press("ArrowLeft");
  const before = await seen(page);
  assert(before.length === 1 && before[0] !== last);
  await page.keyboard.press("Home");
  assert(await slots.first().evaluate((one) => one === one.ownerDocument.activeElement));

  const touched = await rich.signedIn(rich.data.email, {
    viewport: { width: 375, height: 800 },
    isPlain: true,
  });
  await touched.goto(path);
  assertEquals(await touched.locator(".slots > li[tabindex='0']").count(), 30);
  const ordinary = touched.locator(".legend .name[title^='provider-'] .start").first();
  assertEquals(
    await ordinary.evaluate((one) => one.scrollWidth > one.clientWidth),
    false,
    "a legend has room for an ordinary name on a phone",
  );
  await touched.locator(".slots > li").nth(20).tap();
  const box = (await touched.locator(".slots > li:focus .tip").boundingBox())!;
  assert(box.x >= 0 && box.x + box.width <= 375, "a touched bar's values are on the screen");
  await touched.getByText("Values as a table").click();
  assert(await touched.locator(".chart tbody tr").count() > 10);
});

onRichPages("navigation on a phone, shortcuts, times, messages", async (rich) => {
  const { url } = rich.gateway;
  const phone = await rich.signedIn(OWNER, {
    viewport: { width: 375, height: 800 },
    isPlain: true,
  });
  await phone.goto(`${url}/console/operator/settings`);
  const menu = phone.locator(".menu summary");
  assertMatch((await menu.textContent())!, /Settings/);
  assertEquals(await phone.locator("header nav a:visible").count(), 0);
  await phone.keyboard.press("Tab");
  assertEquals(
    await phone.locator(".skip:focus").count(),
    1,
    "the first stop skips the navigation",
  );
  await menu.focus();
  await phone.keyboard.press("Enter");
  const link = phone.locator("header nav a", { hasText: "Requests" });
  await link.click();
  await phone.getByRole("heading", { name: "Requests" }).waitFor();
  assertMatch((await menu.textContent())!, /Requests/);
  await phone.goto(`${url}/console/operator/accounts/${rich.data.accountId}?done=granted`);
  const message = phone.getByText("Credits granted.");
  await message.waitFor();
  await phone.locator(".dismiss").click();
  assertEquals(await message.isVisible(), false);

  const page = await rich.signedIn(OWNER);
  const ringsClipped = `[...document.querySelectorAll("header a, header summary, header button")]
    .filter((one) => { for (let up = one.parentElement; up; up = up.parentElement) {
      if (up !== document.documentElement && getComputedStyle(up).overflow !== "visible") return true;
    } }).length`;
  assertEquals(await page.evaluate(ringsClipped), 0);
  await page.goto(`${url}/console/operator/accounts`);
  await page.keyboard.press("/");
  assertEquals(await page.locator("[type=search]:focus").count(), 1);
  await page.keyboard.type("gk?"); // typing is no shortcut
  assertEquals(await page.locator("[type=search]").inputValue(), "gk?");
  await page.goto(`${url}/console/usage`);
  await page.keyboard.press("/");
  assertEquals(await page.locator("[name=since]:focus").count(), 1, "in folded filters, too");
  await page.goto(`${url}/console/operator/accounts`);
  await page.keyboard.press("?");
  await page.getByRole("heading", { name: "Keyboard shortcuts" }).waitFor();
  assertEquals(await page.evaluate(AXE), []);
  await page.keyboard.press("g");
  await page.keyboard.press("k");
  await page.keyboard.press("Escape");
  assertMatch(page.url(), /accounts$/, "nothing behind the dialog moves");
  await page.keyboard.press("g");
  await page.keyboard.press("k");
  await page.getByRole("heading", { name: "Keys", exact: true }).waitFor();
  await page.keyboard.press("?");
  await page.getByLabel("Single-key shortcuts").uncheck();
  await page.keyboard.press("Escape");
  await page.keyboard.press("g");
  await page.keyboard.press("h");
  await page.keyboard.press("?");
  assertEquals(await page.locator("dialog[open]").count(), 0, "switched off");

  await page.goto(`${url}/console/requests/${rich.data.requestId}`);
  const time = page.locator("dd time").first();
  const [iso, local] = [await time.getAttribute("datetime"), await time.textContent()];
  const kolkata = new Date(Date.parse(iso!) + 5.5 * 3_600_000).toISOString();
  assertEquals(local!.slice(-8), kolkata.slice(11, 19));
  assertMatch((await time.getAttribute("title"))!, /Asia\/(Kolkata|Calcutta) \(.* UTC\)$/);
  await page.getByRole("button", { name: "Show UTC" }).click();
  assertEquals((await time.textContent())!.slice(-8), iso!.slice(11, 19));
  await page.reload();
  assertEquals((await time.textContent())!.slice(-8), iso!.slice(11, 19), "the choice is kept");
});
