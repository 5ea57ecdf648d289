import { type Browser, chromium } from "playwright-core";

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
