import type { Child } from "@hono/hono/jsx";
import type { PagePart } from "../live_pages.ts";
import { type ConsoleParts, page, type PageRequest } from "../request.tsx";

/** A page with a part that changes while it is open. */
interface LivePage extends PagePart {
  /** The whole page around the part. */
  readonly whole: (part: Child) => Child | Promise<Child>;
}

/** Responds with a page whose part is sent again, by the console's event stream, while the page is visible. */
export async function livePage(
  c: PageRequest,
  { livePages }: Pick<ConsoleParts, "livePages">,
  { whole, ...part }: LivePage,
): Promise<Response> {
  const { pathname, searchParams } = new URL(c.req.url);
  // a message about the last write goes from the address: the page is loaded without it when it connects again
  searchParams.delete("done");
  const path = searchParams.size === 0 ? pathname : `${pathname}?${searchParams}`;
  const session = c.var.session!;
  livePages.offer(session.account.id, path, part);
  return await page(c, whole(<div data-part={path}>{await part.render(session)}</div>));
}
