/**
 * Walks through all pages of the console in a browser, as each of those who use it, over one gateway with much in it. At
 * each page it asks everything at once: faults, what looks wrong at each width, what axe finds, words that explain
 * themselves, bytes, parts that move. The gate has the most telling widths and schemes, the proofs all of them; the gate
 * leaves out half of the pages that are like others, and axe and the narrow screen look at some, others each run. Of the
 * links it follows those of two roles, others each run: prefix_test.ts follows those of a lead and of an owner.
 */

import axe from "axe-core";
import type { Browser, BrowserContextOptions, Page, Route } from "playwright-core";
import { assert, assertEquals } from "../../assert.ts";
import {
  AXE,
  browserProgram,
  openPage,
  SETTLED,
  startBrowser,
  WIDER_THAN_SCREEN,
} from "../../fake/browser.ts";
import { startGateway, type TestGateway } from "../../fake/gateway.ts";
import { Random, testSeed } from "../../fake/random.ts";
import { until } from "../../fake/temp.ts";
import { completion, fakeUpstream } from "../../fake/upstream.ts";
import { fakeStripe } from "../../money/payments/fake_stripe.ts";
import { isProof, sampled, sized } from "../../tier.ts";
import {
  ASKEW,
  BILLIONS,
  CUT,
  IDLE_BUTTONS,
  LOADED_BYTES,
  LOST,
  PRUNE,
  UNFOLD,
  WATCH_SHIFTS,
  WORDLESS,
} from "./looks.ts";
import { followLinks } from "./walk_links.ts";
import { fillWalk, type Place, walkersOf, walkSettings } from "./walk_places.ts";

const PHONE = 375;
const DESKTOP = 1_280;
/** From the width that pages are loaded at on, as each change costs. */
const WIDTHS = sized([DESKTOP, PHONE], [DESKTOP, 768, PHONE, 1_920]);

type Scheme = "light" | "dark";
const REFRESH = '<meta http-equiv="refresh" ';

/** The page that is shown by its script, and so moves once. */
const MADE_BY_SCRIPTS = "playground";

type View = readonly [width: number, scheme: Scheme];
const VIEWS: readonly View[] = [
  [PHONE, "light"],
  [DESKTOP, "dark"],
  [DESKTOP, "light"],
  [PHONE, "dark"],
];

/** All pages are made of the components that this one has: the gate always looks at it. */
const COMPONENTS = "_components";

/**
 * The views in which axe looks at a page: all of them in the proofs; in the gate two of the page of components, and one of a
 * third of the others.
 */
function viewsOf({ path }: Place, random: Random): readonly View[] {
  if (isProof) return VIEWS;
  if (path === COMPONENTS) return VIEWS.slice(0, 2);
  return random.integer(1, 3) === 1 ? [random.pick(VIEWS)] : [];
}

/** The widths that a page is looked at with: in the gate half of the pages on a narrow screen, too. */
function widthsOf({ path }: Place, random: Random): readonly number[] {
  const isNarrow = isProof || path === COMPONENTS || random.integer(1, 2) === 1;
  return isNarrow ? WIDTHS : WIDTHS.slice(0, 1);
}

/** Roles whose links are followed: of each two, the second sees more. In the gate two of them. */
const FOLLOWED = [["new account", "owner"], ["member", "lead"], ["finance", "operator"]] as const;

/** What must be empty, on every page at every width. */
const LOOKS = `({ cut: ${CUT}, lost: ${LOST}, askew: ${ASKEW}, wordless: ${WORDLESS} })`;
const NOTHING = { cut: [], lost: [], askew: [], wordless: [] };

/** What axe finds besides contrast, which takes more of its time than everything else. */
const AXE_BUT_CONTRAST = AXE.replace(
  "axe.run({",
  `axe.run({ rules: { "color-contrast": { enabled: false } },`,
);

/**
 * Whether axe computes contrast, too. `contrast_test.ts` has all pairs of colours; the gate looks at how they are used on
 * the page of components, and on a fourth of the others.
 */
function hasContrast({ path }: Place, random: Random): boolean {
  return isProof || path === COMPONENTS || random.integer(1, 4) === 1;
}

/** What axe finds in a meaning that is open. */
const AXE_OF_MEANING = AXE.replace("axe.run(", `axe.run(".meaning:popover-open", `);

/** Words of a page that are opened by keyboard in the gate: `WORDLESS` opens all of them with a click. */
const MAX_WORDS = sized(3, Infinity);

/** Gives a page a width, if it has another. */
async function resize(page: Page, width: number): Promise<void> {
  if (page.viewportSize()?.width !== width) await page.setViewportSize({ width, height: 800 });
}

/** The first, the last and what is between, up to `max` of them. */
function spread<T>(all: readonly T[], max: number): readonly T[] {
  if (all.length <= max) return all;
  return Array.from(
    { length: max },
    (_, at) => all[Math.round(at * (all.length - 1) / (max - 1))]!,
  );
}

/** A page, and its faults. */
interface Opened {
  readonly page: Page;
  readonly faults: string[];
}

/** A page that all walk with, one after the other: another one costs as much as loading four. */
async function openOne(browser: Browser, options: BrowserContextOptions): Promise<Opened> {
  const context = await browser.newContext({
    timezoneId: "Asia/Kolkata",
    reducedMotion: "reduce",
    viewport: { width: DESKTOP, height: 800 },
    ...options,
  });
  if (options.javaScriptEnabled !== false) {
    // what is put in by the browser, not by the page, is not of its policy
    await context.addInitScript({ content: WATCH_SHIFTS });
  }
  const { page, faults } = await openPage(context);
  page.on("response", (response) => {
    if (response.status() >= 400) faults.push(`${response.status()} for ${response.url()}`);
  });
  page.on("requestfailed", (request) => {
    const why = request.failure()?.errorText;
    // the page's events end when it is left
    if (why !== "net::ERR_ABORTED") faults.push(`${why} for ${request.url()}`);
  });
  return { page, faults };
}

/** Hands a page to somebody else, who is signed in if they have an account, and to whom nothing is left of who had it. */
async function handTo(
  { page, faults }: Opened,
  { url, gateway: { accounts, sessions } }: TestGateway,
  email: string | undefined,
): Promise<void> {
  // a page that is live would ask for more in the name of nobody; one of another origin would cost a process of the browser's
  await page.goto(`${url}/healthz`);
  await page.context().clearCookies();
  faults.length = 0;
  if (email === undefined) return;
  await page.goto(`${url}/console/link/${await sessions.makeLink(await accounts.get(email))}`);
}

/** Each word that explains itself does so by keyboard, within the screen. */
async function assertWords(page: Page, where: string): Promise<void> {
  const ids = await page.locator(".meaning").evaluateAll((all) => all.map(({ id }) => id));
  assertEquals(new Set(ids).size, ids.length, where);
  const open = page.locator(".meaning:popover-open");
  for (const word of spread(await page.locator(".term:visible").all(), MAX_WORDS)) {
    await word.focus();
    await page.keyboard.press("Enter");
    assertEquals(await open.count(), 1, where);
    const { x, width } = (await open.boundingBox())!;
    assert(
      x >= 0 && x + width <= page.viewportSize()!.width,
      `${await word.textContent()} is on the screen of ${where}`,
    );
    await page.keyboard.press("Escape");
    assertEquals(await open.count(), 0, where);
  }
}

/** Responds with a page that does not load itself again while it is looked at. */
async function withoutRefresh(route: Route): Promise<void> {
  const response = await route.fetch();
  const text = await response.text();
  assert(text.includes(REFRESH), route.request().url());
  await route.fulfill({ response, body: text.replace(REFRESH, "<meta ") });
}

/** Loads a page: it is there, as light as it must be, and does not move. */
async function load({ page }: Opened, place: Place, where: string): Promise<void> {
  await resize(page, DESKTOP);
  if (place.refreshes) await page.route(where, withoutRefresh);
  const reply = await page.goto(where);
  assertEquals(reply!.status(), place.status ?? 200, where);
  const [bytes, shifts, rows] = await page.evaluate<[number, number, number]>(
    `new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))
      .then(() => [${LOADED_BYTES}, globalThis.shifts, document.querySelectorAll(".table tbody td").length])`,
  );
  const [min, max] = place.bytes ?? [0, Infinity];
  assert(bytes > min && bytes < max, `${where}: ${bytes} bytes`);
  assert(shifts < 0.01 || place.path === MADE_BY_SCRIPTS, `${where} shifts by ${shifts}`);
  assert(rows > 0 || !place.hasRows, where);
}

/** Unfolds everything: budgets are there, and nothing is wider than the screen. */
async function unfold(
  page: Page,
  budgets: number,
  widths: readonly number[],
  where: string,
): Promise<void> {
  await page.evaluate(UNFOLD);
  assert(await page.locator(".budget").count() >= budgets, where);
  for (const width of widths) {
    await resize(page, width);
    const over = await page.evaluate(WIDER_THAN_SCREEN);
    assertEquals(over, 0, `${where}, unfolded, is wider than the screen at ${width}`);
  }
}

/** Asks axe in these views; in the gate about two of all that are alike. */
async function askAxe(
  page: Page,
  program: string,
  views: readonly View[],
  where: string,
): Promise<void> {
  if (views.length === 0) return;
  if (!isProof) await page.evaluate(PRUNE);
  await page.evaluate(axe.source);
  for (const [width, colorScheme] of views) {
    await resize(page, width);
    await page.emulateMedia({ colorScheme });
    await page.evaluate(SETTLED);
    assertEquals(await page.evaluate(program), [], `${where} at ${width} in ${colorScheme}`);
  }
}

/** Asks everything at a page. */
async function visit(
  opened: Opened,
  { url }: TestGateway,
  place: Place,
  { widths, views, program }: {
    readonly widths: readonly number[];
    readonly views: readonly View[];
    readonly program: string;
  },
): Promise<void> {
  const { page, faults } = opened;
  const where = `${url}/console/${place.path}`;
  await load(opened, place, where);
  await place.prepare?.(page);
  const look = async () => {
    for (const width of widths) {
      await resize(page, width);
      assertEquals(await page.evaluate(LOOKS), NOTHING, `${where} at ${width}`);
    }
  };
  if (isProof || !place.billions) await look();
  if (place.billions) {
    await page.evaluate(BILLIONS);
    await look();
  }
  if (isProof) {
    await resize(page, PHONE);
    await assertWords(page, where);
  }
  if (isProof || place.budgets === undefined) await askAxe(page, program, views, where);
  if (place.budgets !== undefined) {
    await unfold(page, place.budgets, widths, where);
    await askAxe(page, program, views, `${where}, unfolded,`);
  }
  if (place.status !== undefined) {
    // the browser tells of it, which may be after the page has loaded
    const isOfStatus = (fault: string) => fault.endsWith(where);
    await until(() => faults.filter(isOfStatus).length === 2, { what: "the fault of the status" });
    faults.splice(0, Infinity, ...faults.filter((fault) => !isOfStatus(fault)));
  }
  assertEquals(faults.splice(0), [], where);
}

/** Paths that the navigation of a page leads to, below `/console/`. */
async function navigationOf(page: Page): Promise<string[]> {
  const links = await page.locator("header nav a").evaluateAll((all) =>
    all.map((one) => one.getAttribute("href")!)
  );
  return links.map((path) =>
    path.replace(/^\/(?:console\/?)?/, (root: string) => root === "/" ? "../" : "")
  );
}

Deno.test("all pages, by each who may see them", {
  ignore: browserProgram === undefined,
  // what the browser's own library keeps is not of the test
  sanitizeOps: false,
  sanitizeResources: false,
}, async (t) => {
  const seed = testSeed();
  const random = new Random(seed);
  await using stripe = fakeStripe();
  await using upstream = fakeUpstream(({ path }) =>
    path.endsWith("/models") ? Response.json({}, { status: 404 }) : completion("well")
  );
  await using gateway = await startGateway({ settings: walkSettings(stripe, upstream) });
  const data = await fillWalk(gateway, stripe);
  await (await gateway.chat("Hi", { model: "real" })).body?.cancel();
  await using started = await startBrowser();
  const { browser } = started;
  const scripted = await openOne(browser, {});
  const plain = await openOne(browser, { javaScriptEnabled: false, hasTouch: true });
  /** What is in the navigation of several looks alike to them: the gate looks once. */
  const looked = new Set<string>();
  const withoutScripts = new Set<string>();
  for (const [name, { email, places, navigates }] of Object.entries(walkersOf(data))) {
    await t.step(`${name}: looks, axe, faults, words`, async () => {
      await handTo(scripted, gateway, email);
      const paths = new Set(places.map(({ path }) => path));
      const others = navigates ? await navigationOf(scripted.page) : [];
      assert(!navigates || others.length > 5, name);
      const more = others.filter((path) => !paths.has(path) && (isProof || !looked.has(path)));
      const own = isProof ? places : places.filter(({ isInProofs }) => !isInProofs);
      const all = [...own, ...more.map((path): Place => ({ path, isVariant: true }))];
      const wrong: unknown[] = [];
      for (const place of all) {
        // of pages that are like others the gate looks at half
        if (!isProof && place.isVariant && random.integer(1, 2) === 1) continue;
        looked.add(place.path);
        const views = isProof || !place.isVariant ? viewsOf(place, random) : [];
        const widths = widthsOf(place, random);
        const program = hasContrast(place, random) ? AXE : AXE_BUT_CONTRAST;
        await visit(scripted, gateway, place, { widths, views, program }).catch((error) =>
          wrong.push(error)
        );
      }
      if (wrong.length > 0) {
        throw new AggregateError(wrong, `${wrong.join("\n")}\nSLUICE_TEST_SEED=${seed}`);
      }
    });
    if (!navigates) continue;
    await t.step(`${name}: no idle button and no fault without scripts`, async () => {
      await handTo(plain, gateway, email);
      const { page, faults } = plain;
      for (const path of await navigationOf(page)) {
        if (!isProof && withoutScripts.has(path)) continue;
        withoutScripts.add(path);
        await page.goto(`${gateway.url}/console/${path}`);
        assertEquals(await page.evaluate(IDLE_BUTTONS), [], path);
        assertEquals(faults, [], path);
      }
    });
  }
  assertEquals(FOLLOWED.flat().toSorted(), Object.keys(data.roles).toSorted());
  for (const pair of sampled(FOLLOWED, random, 3)) {
    const counts: number[] = [];
    for (const name of pair) {
      await t.step(`${name}: every link leads to a page that they may see`, async () => {
        counts.push(await followLinks(gateway, data.roles[name]!));
      });
    }
    const [below, above] = pair;
    await t.step(`${above}: sees more than ${below}`, () => {
      assert(counts.length === 2 && counts[1]! > counts[0]!, `${counts}`);
      if (above === "owner") assert(counts[0]! >= 15 && counts[1]! >= 60, `${counts}`);
    });
  }
  for (const javaScriptEnabled of [true, false]) {
    const how = javaScriptEnabled ? "with" : "without";
    await t.step(`words are explained on demand, ${how} scripts, by touch, too`, async () => {
      const opened = javaScriptEnabled ? await openOne(browser, { hasTouch: true }) : plain;
      await handTo(opened, gateway, undefined);
      const { page } = opened;
      await page.setViewportSize({ width: PHONE, height: 700 });
      // each way on one page in the gate; the components have every kind of word
      const paths = javaScriptEnabled ? [COMPONENTS, "models"] : ["models", COMPONENTS];
      for (const path of paths.slice(0, sized(1, 2)).map((one) => `/console/${one}`)) {
        await page.goto(`${gateway.url}${path}`);
        await assertWords(page, path);
        await page.locator(".term").last().tap();
        await page.locator(".meaning:popover-open").waitFor();
        if (!javaScriptEnabled) continue;
        await page.evaluate(axe.source);
        for (const colorScheme of ["light", "dark"] as const) {
          await page.emulateMedia({ colorScheme });
          assertEquals(
            await page.evaluate(isProof ? AXE : AXE_OF_MEANING),
            [],
            `${path} in ${colorScheme}`,
          );
        }
      }
    });
  }
});
