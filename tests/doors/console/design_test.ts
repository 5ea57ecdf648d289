import axe from "axe-core";
import type { BrowserContext, BrowserContextOptions, Page } from "playwright-core";
import { assert, assertEquals, assertMatch } from "../../assert.ts";
import { browserProgram, startBrowser } from "../../fake/browser.ts";
import { startGateway, type TestGateway } from "../../fake/gateway.ts";
import { fakeStripe } from "../../money/payments/fake_stripe.ts";
import {
  fillOrders,
  fillRichly,
  LONG_NAME,
  type Orders,
  type RichData,
  richShopSettings,
} from "./rich.ts";

const OWNER = "owner@localhost";
const WIDTHS = [375, 768, 1280, 1920];

interface RichPages {
  readonly gateway: TestGateway;
  readonly data: RichData;
  readonly orders: Orders;
  signedIn(email: string, options?: BrowserContextOptions): Promise<Page>;
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
  await using stripe = fakeStripe();
  await using gateway = await startGateway({
    settings: richShopSettings(stripe),
  });
  const data = await fillRichly(gateway, { keys: 12 });
  const orders = await fillOrders(gateway, stripe, data.email);
  await using started = await startBrowser();
  const { accounts, sessions } = gateway.gateway;
  for (const { name, work } of looks) {
    await t.step(name, async () => {
      const contexts: BrowserContext[] = [];
      const signedIn = async (email: string, options: BrowserContextOptions = {}) => {
        const context = await started.browser.newContext(options);
        contexts.push(context);
        if (options.javaScriptEnabled !== false) {
          await context.addInitScript({ content: `${axe.source};${WATCH_SHIFTS}` });
        }
        const page = await context.newPage();
        const token = await sessions.makeLink(await accounts.get(email));
        await page.goto(`${gateway.url}/console/link/${token}`);
        return page;
      };
      await work({ gateway, data, orders, signedIn });
      for (const context of contexts) await context.close();
    });
  }
});

const WATCH_SHIFTS = `globalThis.shifts = 0;
new PerformanceObserver((list) => {
  for (const entry of list.getEntries()) if (!entry.hadRecentInput) globalThis.shifts += entry.value;
}).observe({ type: "layout-shift", buffered: true });`;

/** What the next program must find. */
const FAULTS: readonly (readonly [css: string, found: RegExp])[] = [
  [".name { max-width: none !important; grid-template-columns: max-content auto; }", /wider|cut/],
  ["td.figure { display: none !important; }", /hidden/],
  ["td.primary { overflow: hidden; max-width: 2rem !important; }", /cut/],
];

/** Cells that are cut, hidden, or beyond the screen, and numbers that are not aligned. */
const LOST = `(() => {
  const wrong = [];
  const width = document.documentElement.clientWidth;
  for (const table of document.querySelectorAll(".table table")) {
    if (table.checkVisibility() === false) continue;
    const isCards = getComputedStyle(table).display !== "table";
    const heads = [...table.querySelectorAll("thead th")];
    for (const row of table.querySelectorAll("tbody tr")) {
      [...row.cells].forEach((cell, at) => {
        const name = cell.dataset.name;
        if (cell.matches(".none") && isCards) return;
        const box = cell.getBoundingClientRect();
        const what = name + ": " + cell.textContent.slice(0, 40);
        if (box.width < 1 || box.height < 1) wrong.push("hidden " + what);
        if (box.left < 0 || box.right > width + 0.5) wrong.push("outside " + what);
        if (cell.scrollWidth > cell.clientWidth + 1) wrong.push("cut " + what);
        if (cell.matches(".number") && !isCards) {
          if (getComputedStyle(cell).textAlign !== "right") wrong.push("not aligned " + what);
          if (Math.abs(heads[at].getBoundingClientRect().right - box.right) > 1) wrong.push("askew " + what);
        }
      });
    }
    for (const name of table.querySelectorAll(".name")) {
      if (name.title !== name.textContent) wrong.push("without its whole text " + name.textContent);
      if (name.querySelector(".end").getBoundingClientRect().right > width) wrong.push("end outside " + name.title);
    }
    if (table.querySelectorAll("tbody tr").length === 0) wrong.push("no rows");
  }
  const over = document.documentElement.scrollWidth - width;
  if (over > 0) wrong.push("the page is wider than the screen by " + over);
  return [...new Set(wrong)].slice(0, 8);
})()`;

onRichPages(
  "every cell is whole and within the screen, at every width, with long names",
  async (rich) => {
    const pages: readonly (readonly [email: string, paths: readonly string[]])[] = [
      [rich.data.email, [
        "",
        "keys",
        "models",
        "usage",
        "usage?by=model",
        "usage?by=key",
        "requests",
        "credits",
      ]],
      [
        OWNER,
        ["", "settings", "accounts", `accounts/${rich.data.accountId}`, "routes", "upstreams"]
          .map((name) => `operator/${name}`),
      ],
    ];
    for (const [email, paths] of pages) {
      const page = await rich.signedIn(email);
      for (const path of paths) {
        await page.goto(`${rich.gateway.url}/console/${path}`);
        assert(await page.locator(".table tbody td").count() > 0, path);
        for (const width of WIDTHS) {
          await page.setViewportSize({ width, height: 800 });
          assertEquals(await page.evaluate(LOST), [], `${path} at ${width}`);
        }
      }
      await page.setViewportSize({ width: 375, height: 800 });
      if (email === OWNER) continue;
      await page.goto(`${rich.gateway.url}/console/usage?by=model`);
      for (const [fault, found] of FAULTS) { // else the test would find nothing
        await page.evaluate(`{
          const sheet = new CSSStyleSheet();
          sheet.replaceSync(${JSON.stringify(fault)});
          document.adoptedStyleSheets = [sheet];
        }`);
        assertMatch(String(await page.evaluate(LOST)), found, fault);
      }
      await page.evaluate("document.adoptedStyleSheets = []");
      const name = page.locator("td .name").first();
      assertEquals(await name.getAttribute("title"), LONG_NAME);
      const short = (await name.boundingBox())!.height;
      await name.focus();
      assert((await name.boundingBox())!.height > 2 * short, "the whole name is shown on demand");
      assertEquals(await page.evaluate(LOST), [], "with a whole name");
    }
  },
);

/** Room in a cell that its content does not use. */
const ROOM = `(cell) => {
  const range = document.createRange();
  range.selectNodeContents(cell);
  const style = getComputedStyle(cell);
  const right = Math.max(0, ...[...range.getClientRects()].map((one) => one.right));
  const left = Math.min(Infinity, ...[...range.getClientRects()].map((one) => one.left));
  return cell.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight) - Math.max(0, right - left);
}`;

/** Text that is cut with nothing that shows the whole of it, figures that are hidden, a page that is too wide. */
const CUT = `(() => {
  const wrong = [];
  const roomIn = ${ROOM};
  const rooms = new Map(); // of the columns of each table
  const freeIn = (table, at) => {
    if (!rooms.has(table)) rooms.set(table, []);
    return rooms.get(table)[at] ??= Math.min(
      ...[...table.rows].map(({ cells }) => cells[at] ? roomIn(cells[at]) : Infinity),
    );
  };
  const width = document.documentElement.clientWidth;
  const over = document.documentElement.scrollWidth - width;
  if (over > 0) wrong.push("the page is wider than the screen by " + over);
  for (const one of document.querySelectorAll("body *")) {
    if (!one.checkVisibility()) continue;
    const { overflowX, clipPath } = getComputedStyle(one);
    const box = one.getBoundingClientRect();
    const what = one.localName + ": " + one.textContent.trim().slice(0, 40);
    const isClipped = overflowX === "hidden" || overflowX === "clip";
    if (isClipped && clipPath === "none" && one.scrollWidth > one.clientWidth + 1 &&
      one.textContent.trim() !== "" && one.closest("[title]") === null) wrong.push("cut " + what);
    if (one.matches(".table") && one.querySelector("td details[open]") === null && one.scrollWidth > one.clientWidth + 1) {
      wrong.push("beyond its box: " + what);
    }
    if (one.matches(".stat dd:not(.note)") && box.height > 1.8 * parseFloat(getComputedStyle(one).fontSize)) {
      wrong.push("in two lines: " + what);
    }
    if (one.matches("td") && one.scrollWidth > one.clientWidth + 1) wrong.push("beyond its cell " + what);
    if (one.matches("td.figure") && !one.matches(".none") && !(box.width > 0 && box.left >= 0 && box.right <= width + 1)) {
      wrong.push("hidden figure " + what);
    }
    if (one.matches(".name:not(:focus)") && one.firstChild.scrollWidth > one.firstChild.clientWidth + 1) {
      const item = one.closest(".legend li");
      const row = one.closest("tr");
      if (row !== null && getComputedStyle(row).display === "table-row" && box.width < 36 * 16) {
        for (const cell of row.cells) {
          const free = freeIn(row.closest("table"), cell.cellIndex);
          if (free > 64) wrong.push("shortened beside " + Math.round(free) + " px of " + cell.dataset.name + " " + what);
        }
      }
      if (item !== null && box.width < 300 && item.parentElement.clientWidth - item.offsetWidth > 64) {
        wrong.push("shortened in a legend with room " + what);
      }
    }
    if (one.matches("td button") && one.getClientRects().length > 0) {
      if (box.height > 1.9 * parseFloat(getComputedStyle(one).fontSize) * 1.5) wrong.push("a button of two lines " + what);
    }
  }
  return [...new Set(wrong)].slice(0, 8);
})()`;

/** What is wrong with how wide a notice is, where a chart's labels are, and with a field that cuts what was typed. */
const ASKEW = `(() => {
  const wrong = [];
  const box = (one) => one.getBoundingClientRect();
  const [notice, stats] = ["main > .notice", "main > .stats"].map((css) => document.querySelector(css));
  if (notice && stats && Math.abs(box(notice).right - box(stats).right) > 1) wrong.push("a notice of another width");
  const slots = [...document.querySelectorAll(".chart .slots > li")];
  if (slots.length > 0 && slots.length < 8) {
    for (const slot of slots) {
      const tick = slot.querySelector(".tick");
      const middle = ({ left, right }) => (left + right) / 2;
      if (tick?.checkVisibility() && Math.abs(middle(box(tick)) - middle(box(slot))) > 1) {
        wrong.push("beside its bar: " + tick.textContent);
      }
    }
  }
  const id = document.querySelector("input[name=q]");
  if (id && id.scrollWidth > id.clientWidth) wrong.push("a field cuts " + id.value);
  return wrong;
})()`;

onRichPages(
  "figures of billions, notices, labels of charts and fields have their room",
  async (rich) => {
    const { gateway: { gateway, url }, data } = rich;
    const debtor = await gateway.database.one(
      "select email from accounts where email like 'buyer%'",
    );
    const pages = [
      [data.email, "usage?by=model&since=90d&compare=1"],
      [data.email, "usage?by=day,model"],
      [data.email, "usage?by=day,model&compare=1"],
      [data.email, "usage?by=day&since=7d"],
      [data.email, "usage?since=today"],
      [data.email, `requests?q=${data.requestId.slice(0, 12)}`],
      [String(debtor!.email), ""],
    ] as const;
    for (const [email, path] of pages) {
      const page = await rich.signedIn(email, { reducedMotion: "reduce" });
      await page.goto(`${url}/console/${path}`);
      await page.evaluate(`for (const cell of document.querySelectorAll("td.number")) {
      const { name } = cell.dataset;
      if (name === "input" || name === "cached") cell.textContent = "10,638,905,789";
      if (name === "output") cell.textContent = "181,482,229";
      if (name === "change") cell.textContent = "+140,033.3\u00a0%";
    }`);
      for (const width of WIDTHS) {
        await page.setViewportSize({ width, height: 800 });
        assertEquals(await page.evaluate(ASKEW), [], `${path} at ${width}`);
        assertEquals(await page.evaluate(CUT), [], `${path} at ${width}`);
      }
      await page.context().close();
    }
  },
);

onRichPages("no page is too wide, cuts text or hides a figure, at every width", async (rich) => {
  const { gateway: { url }, data, orders } = rich;
  const pages: readonly (readonly [email: string, paths: readonly string[]])[] = [
    [data.email, [
      "",
      "keys",
      "usage",
      "usage?by=model&compare=1",
      "usage?by=day,model",
      "usage?by=reason",
      "requests",
      "requests?status=failed",
      `requests/${data.failedId}`,
      `requests/${data.requestId}`,
      "credits",
      "statement",
      `orders/${orders.openId}`,
      "playground",
      "models",
      "teams",
      `teams/${data.teamId}`,
      "notices",
      "account",
      "nothing",
      "_components",
      "../docs",
    ]],
    [
      OWNER,
      [
        "",
        "accounts",
        `accounts/${data.accountId}`,
        "upstreams",
        "routes",
        "routes/edit?route=model-1",
        "invites",
        "payments",
        `orders/${orders.refundedId}`,
        `orders/${orders.differsId}`,
        "alerts",
        "audit",
        "log",
        "live",
        "settings",
      ].map((name) => `operator/${name}`),
    ],
    ["", ["sign-in", "register"]],
  ];
  for (const [email, paths] of pages) {
    const page = await rich.signedIn(email || data.email, { reducedMotion: "reduce" });
    if (email === "") await page.context().clearCookies();
    for (const path of paths) {
      await page.goto(`${url}/console/${path}`);
      for (const width of WIDTHS) {
        await page.setViewportSize({ width, height: 800 });
        assertEquals(await page.evaluate(CUT), [], `${path} at ${width}`);
      }
    }
    await page.context().close();
  }
  const owner = await rich.signedIn(OWNER, { viewport: { width: 768, height: 800 } });
  await owner.setViewportSize({ width: 1280, height: 800 });
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
  await owner.context().close();
  const page = await rich.signedIn(data.email, { viewport: { width: 375, height: 800 } });
  await page.goto(`${url}/console`);
  await page.evaluate(`document.body.insertAdjacentHTML("beforeend",
    '<dl class="stats">${
    `<div class="stat"><dt>x</dt><dd>1,074,681,074</dd></div>`.repeat(2)
  }</dl>')`);
  assertMatch(String(await page.evaluate(CUT)), /in two lines/);
  await page.goto(`${url}/console/keys`);
  for (
    const [fault, found] of [
      [
        "td button { width: 1rem; white-space: normal; overflow-wrap: anywhere; }",
        /button of two lines/,
      ],
      ["main { width: 3000px; }", /wider than the screen/],
      ["td.figure { width: 0; position: absolute; left: -50px; }", /hidden figure/],
      ["h1 { width: 1rem; overflow: hidden; }", /cut h1/],
      [".table tbody td { white-space: nowrap !important; min-width: 20rem; }", /beyond its box/],
      ["td button { width: 1rem; white-space: normal; overflow-wrap: anywhere; }", /two lines/],
    ] as const
  ) { // else the test would find nothing
    await page.evaluate(`{
      const sheet = new CSSStyleSheet();
      sheet.replaceSync(${JSON.stringify(fault)});
      document.adoptedStyleSheets = [sheet];
    }`);
    assertMatch(String(await page.evaluate(CUT)), found, fault);
  }
});

const AXE = `axe.run().then(({ violations }) => violations
  .filter(({ impact }) => impact !== "minor" && impact !== null)
  .map(({ id, nodes }) => id + ": " + nodes[0].html.slice(0, 200)))`;

/** All that a page loads, uncompressed; what was cached counts, too. */
const LOADED_BYTES =
  `["navigation", "resource"].flatMap((type) => performance.getEntriesByType(type))
  .reduce((sum, { decodedBodySize }) => sum + decodedBodySize, 0)`;

onRichPages(
  "all components: axe in both schemes, no overflow, no layout shift, light pages",
  async (rich) => {
    const page = await rich.signedIn(rich.data.email);
    await page.goto(`${rich.gateway.url}/console/_components`);
    for (const width of [375, 1280]) {
      await page.setViewportSize({ width, height: 800 });
      for (const colorScheme of ["light", "dark"] as const) {
        await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
        assertEquals(await page.evaluate(AXE), [], `${colorScheme} at ${width}`);
      }
      assertEquals(await page.evaluate(LOST), [], `components at ${width}`);
    }
    const other = await rich.signedIn(rich.data.email, { timezoneId: "Asia/Kolkata" });
    const light = ["", "requests", "usage?by=model"];
    for (const path of [...light, "keys", `teams/${rich.data.teamId}`]) {
      await other.goto(`${rich.gateway.url}/console/${path}`, { waitUntil: "load" });
      const bytes = await other.evaluate<number>(LOADED_BYTES);
      assert(
        bytes > 30_000 && (bytes < 100_000 || !light.includes(path)),
        `${path}: ${bytes} bytes`,
      );
      const shifts = await other.evaluate<number>("globalThis.shifts");
      assert(shifts < 0.01, `${path} shifts by ${shifts}`);
    }
  },
);

onRichPages("charts: by keyboard, by touch, without scripts, as a table", async (rich) => {
  const seen = (page: Page) =>
    page.evaluate<string[]>(`[...document.querySelectorAll(".tip")]
      .filter((tip) => getComputedStyle(tip).opacity === "1").map((tip) => tip.textContent)`);
  const path = `${rich.gateway.url}/console/usage?by=model`;
  const page = await rich.signedIn(rich.data.email, { reducedMotion: "reduce" });
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
    hasTouch: true,
    viewport: { width: 375, height: 800 },
    reducedMotion: "reduce",
    javaScriptEnabled: false,
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
    javaScriptEnabled: false,
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

  const page = await rich.signedIn(OWNER, { timezoneId: "Asia/Kolkata" });
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
  await page.locator("h1").click();
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
