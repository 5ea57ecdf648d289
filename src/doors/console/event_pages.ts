import type { Action, Session } from "../../people/accounts/mod.ts";
import { can } from "../../people/accounts/mod.ts";
import { STATUS_CODE } from "../../ground/std/mod.ts";
import { isSameOrigin } from "../../ground/web/mod.ts";
import { ACCOUNT_PARTS } from "./live_account.tsx";
import type { LiveStreams } from "./live_streams.ts";
import { type ConsoleParts, notFound, type PageRequest } from "./request.tsx";

const MAX_PARTS = 10;
const MAX_CHARS = 2_000;
const RETRY_SECONDS = "30";

const EVENT_STREAM = {
  "content-type": "text/event-stream",
  "cache-control": "no-store, no-transform",
  "x-accel-buffering": "no",
};

/** Responds with the events of the parts that the address names. */
export async function respondWithEvents(
  c: PageRequest,
  session: Session,
  { streams, livePages }: {
    readonly streams: LiveStreams;
    readonly livePages: ConsoleParts["livePages"];
  },
): Promise<Response> {
  if (!isSameOrigin(c.req.raw)) {
    return c.text("Events are for pages of this console.\n", STATUS_CODE.Forbidden);
  }
  const names = (c.req.queries("part") ?? []).slice(0, MAX_PARTS);
  if (names.length === 0 || names.some((name) => name.length > MAX_CHARS)) {
    return c.text("Name a part of a page.\n", STATUS_CODE.BadRequest);
  }
  const actions: Action[] = ["self.use"];
  for (const name of names) {
    if (ACCOUNT_PARTS.includes(name)) continue;
    const part = livePages.find(session.account.id, name);
    if (part === undefined || !can(session, part.action)) return await notFound(c);
    actions.push(part.action);
  }
  // what a browser sends by itself when it connects again is newer than the address
  const seen = c.req.header("last-event-id") ?? c.req.query("seen") ?? "";
  const body = streams.open({
    session,
    token: c.var.token ?? "",
    parts: new Set(names),
    actions,
    seenMs: /^\d{1,15}$/.test(seen) ? Number(seen) : undefined,
  });
  if (body === undefined) {
    return c.text("Too many pages are open.\n", STATUS_CODE.TooManyRequests, {
      "retry-after": RETRY_SECONDS,
    });
  }
  return new Response(body, { headers: EVENT_STREAM });
}
