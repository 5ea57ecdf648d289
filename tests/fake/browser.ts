import {
  type Browser,
  type BrowserContext,
  type BrowserContextOptions,
  chromium,
  type Page,
} from "playwright-core";
import { DEADLINE_MS } from "./temp.ts";

/** Where Debian, and others, put the browser, the one without windows first, which takes half the time; `CHROMIUM` says where else. */
const PLACES = [
  Deno.env.get("CHROMIUM"),
  "/usr/bin/chromium-headless-shell",
  "/usr/bin/chromium",
  "/usr/bin/google-chrome",
];

/** A real browser's program; undefined where there is none. CI installs one. */
export const browserProgram: string | undefined = PLACES.find((place) => {
  try {
    return place !== undefined && Deno.statSync(place).isFile;
  } catch {
    return false;
  }
});

/** Starts the browser. Disposing ends it. */
export async function startBrowser(): Promise<{ browser: Browser } & AsyncDisposable> {
  const browser = await chromium.launch({
    executablePath: browserProgram!,
    args: ["--no-sandbox"],
  });
  return { browser, [Symbol.asyncDispose]: () => browser.close() };
}

/** A page, and what its console and scripts said was wrong. */
export interface Opened {
  readonly page: Page;
  readonly faults: string[];
}

/**
 * Pages that the steps of a test share.
 *
 * @param who Those of the same name share a page, one step after the other; a step with several users names each.
 * @param options What the page is like, for the first of that name.
 * @returns The page, with no session and no faults left of the step before.
 */
export type SharedPages = (who?: string, options?: BrowserContextOptions) => Promise<Opened>;

/** What is done in a test, by name. */
export type Steps = Readonly<Record<string, (pages: SharedPages) => Promise<void>>>;

/**
 * A test of several steps in one real browser; `CHROMIUM` says where it is, CI installs it. A browser costs as much as ten
 * loaded pages, and each of its contexts as much as four. A step has a gateway of its own, so that nothing is stored for
 * its origin.
 */
export function inOneBrowser(name: string, steps: Steps): void {
  Deno.test(name, {
    ignore: browserProgram === undefined,
    // what the browser's own library keeps is not of the test
    sanitizeOps: false,
    sanitizeResources: false,
  }, async (t) => {
    await using started = await startBrowser();
    const all = new Map<string, Opened>();
    const leave = async ({ page }: Opened) => {
      await page.unrouteAll({ behavior: "ignoreErrors" });
      await page.goto("about:blank");
      await page.context().clearCookies();
      await page.context().clearPermissions();
    };
    for (const [step, work] of Object.entries(steps)) {
      const used = new Set<Opened>();
      const isWell = await t.step(step, () =>
        work(async (who = "somebody", options = {}) => {
          const opened = all.get(who) ?? await openPage(await started.browser.newContext(options));
          all.set(who, opened);
          used.add(opened);
          opened.faults.length = 0;
          return opened;
        }));
      for (const opened of isWell ? used : []) await leave(opened);
      // what a step that failed left open is not for the next
      if (!isWell) all.clear();
    }
  });
}

/**
 * A page whose faults are kept, each with the address that it is of: the browser may tell of one when the page has been
 * left. The icon that it asks for where a page names none, as JSON cannot, is nobody's fault.
 */
export async function openPage(context: BrowserContext): Promise<Opened> {
  context.setDefaultTimeout(DEADLINE_MS);
  const page = await context.newPage();
  const faults: string[] = [];
  page.on("console", (message) => {
    const { url } = message.location();
    if (message.type() !== "error" || url.endsWith("/favicon.ico")) return;
    faults.push(`${message.text()} at ${url}`);
  });
  page.on("pageerror", (error) => faults.push(String(error)));
  return { page, faults };
}

/** Finds what axe finds on a page. */
export const AXE =
  `axe.run({ resultTypes: ["violations"] }).then(({ violations }) => violations.map(({ id, impact, nodes }) => ({
  id,
  impact,
  nodes: nodes.slice(0, 3).map(({ html }) => html.slice(0, 160)),
})))`;

/** Waits until colours, which change gradually, are what they will be. */
export const SETTLED =
  "Promise.all(document.getAnimations().map(({ finished }) => finished)).then(() => {})";

/** By how many pixels a page is wider than its screen. */
export const WIDER_THAN_SCREEN =
  "document.documentElement.scrollWidth - document.documentElement.clientWidth";
