import type { Child } from "@hono/hono/jsx";
import type { Action, Session } from "../../people/accounts/mod.ts";
import type { LiveSource, Viewer } from "./live_streams.ts";

/** Pages that are remembered: those that somebody has opened. */
const MAX_PAGES = 500;
const TICK_MS = 1_000;

/** A part of a page that changes while the page is open. */
export interface PagePart {
  /** The action that guards the page; checked again while it is open. */
  readonly action: Action;
  readonly everyMs: number;
  /** Renders it for the session as it is at that moment: it may have lost permissions while the page was open. */
  readonly render: (session: Session) => Promise<Child>;
}

/** Parts of operators' pages, each rendered once for all of an account's viewers of a page. */
export class PageSource implements LiveSource {
  readonly #pages = new Map<string, { readonly part: PagePart; renderedTick: number }>();

  /** Notes that a page has a live part. */
  offer(accountId: string, path: string, part: PagePart): void {
    const id = idOf(accountId, path);
    this.#pages.delete(id);
    this.#pages.set(id, { part, renderedTick: -Infinity });
    if (this.#pages.size > MAX_PAGES) this.#pages.delete(this.#pages.keys().next().value!);
  }

  /** Finds the part of a page that the account has opened. */
  find(accountId: string, path: string): PagePart | undefined {
    return this.#pages.get(idOf(accountId, path))?.part;
  }

  async tick(viewers: readonly Viewer[]): Promise<void> {
    const rendered = new Map<string, Promise<string>>();
    const tick = performance.now();
    for (const viewer of viewers) {
      for (const path of viewer.parts) {
        const page = this.#pages.get(idOf(viewer.accountId, path));
        if (page === undefined) continue;
        const isDue = tick - page.renderedTick >= page.part.everyMs - TICK_MS / 2;
        if (!isDue && viewer.sent.has(path)) continue;
        const id = idOf(viewer.accountId, path);
        if (!rendered.has(id)) rendered.set(id, page.part.render(viewer.session).then(String));
        const html = await rendered.get(id)!;
        if (viewer.sent.get(path) === html) continue;
        viewer.sent.set(path, html);
        viewer.send({ part: path, html });
      }
    }
    for (const id of rendered.keys()) {
      const page = this.#pages.get(id);
      if (page !== undefined) page.renderedTick = tick;
    }
  }
}

function idOf(accountId: string, path: string): string {
  return `${accountId} ${path}`;
}
