import { type Browser, type BrowserContext, chromium, type Page } from "playwright-core";
import { DEADLINE_MS } from "./temp.ts";

/** Where Debian, and others, put the browser; `CHROMIUM` says where else. */
const PLACES = [Deno.env.get("CHROMIUM"), "/usr/bin/chromium", "/usr/bin/google-chrome"];

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

/** A test in a real browser; `CHROMIUM` says where it is, CI installs it. */
export function inBrowser(name: string, work: (browser: Browser) => Promise<void>): void {
  Deno.test(name, {
    ignore: browserProgram === undefined,
    // what the browser's own library keeps is not of the test
    sanitizeOps: false,
    sanitizeResources: false,
  }, async () => {
    await using started = await startBrowser();
    await work(started.browser);
  });
}

/** A page whose faults are kept. */
export async function openPage(context: BrowserContext): Promise<{ page: Page; faults: string[] }> {
  context.setDefaultTimeout(DEADLINE_MS);
  const page = await context.newPage();
  const faults: string[] = [];
  page.on("console", (message) => {
    if (message.type() === "error") faults.push(message.text());
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
