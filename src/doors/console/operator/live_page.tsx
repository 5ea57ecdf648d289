import type { Child } from "@hono/hono/jsx";
import type { Action, Session } from "../../../people/accounts/mod.ts";
import { type ConsoleParts, page, type PageRequest } from "../request.tsx";

/** A page with a part that changes while it is open. */
export interface LivePageOptions {
  /** The action that guards the page; checked again while it is open. */
  readonly action: Action;
  readonly everyMs: number;
  /** Renders the part for the session as it is at that moment: it may have lost permissions while the page was open. */
  readonly part: (session: Session) => Promise<Child>;
  /** The whole page around the part. */
  readonly whole: (part: Child) => Child | Promise<Child>;
}

/** Responds with a page whose part is sent again, by the console's event stream, while the page is visible. */
export async function livePage(
  c: PageRequest,
  { livePages }: Pick<ConsoleParts, "livePages">,
  { action, everyMs, part, whole }: LivePageOptions,
): Promise<Response> {
  const { pathname, searchParams } = new URL(c.req.url);
  // a message about the last write goes from the address: the page is loaded without it when it connects again
  searchParams.delete("done");
  const path = searchParams.size === 0 ? pathname : `${pathname}?${searchParams}`;
  const session = c.var.session!;
  livePages.offer(session.account.id, path, { action, everyMs, render: part });
  return await page(c, whole(<div data-part={path}>{await part(session)}</div>));
}
