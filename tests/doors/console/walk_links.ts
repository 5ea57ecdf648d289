/** What the console links to is there, is theirs to see who are shown the link, and works without scripts. */

import { assertEquals } from "../../assert.ts";
import type { TestGateway } from "../../fake/gateway.ts";
import { signedIn } from "../../fake/visitor.ts";
import { sized } from "../../tier.ts";

/** Pages of one kind that are opened: those of other keys, requests or days are like them. */
const MAX_OF_KIND = sized(1, 2);
/** Links that lead out of what is looked at: files, the end of the session, streams. */
const LEFT_OUT = /^\/(?:console\/(?:assets|events|sign-out|operator\/backup)|openapi|metrics)/;

/** Paths of this console that a page links to. */
function linksOf(html: string, from: string): string[] {
  return [...html.matchAll(/<a [^>]*href="([^"]*)"/g)]
    .map(([, href]) => new URL(href!.replaceAll("&amp;", "&"), `http://console${from}`))
    .filter(({ host }) => host === "console")
    .map(({ pathname, search }) => `${pathname}${search}`)
    .filter((path) => !LEFT_OUT.test(path));
}

/** What a path is one of: IDs, values and dates are like each other. */
export function kindOf(path: string): string {
  const { pathname, searchParams } = new URL(path, "http://console");
  const place = pathname.replaceAll(/\/[a-z]+_[A-Za-z0-9]+/g, "/:id").replaceAll(
    /\/[^/]*\d[^/]*/g,
    "/:name",
  );
  return `${place}?${[...searchParams.keys()].toSorted().join("&")}`;
}

/**
 * Follows all links from the first page on, as somebody without scripts.
 *
 * @returns How many kinds of pages there are.
 */
export async function followLinks(gateway: TestGateway, email: string): Promise<number> {
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
  return seen.size;
}
