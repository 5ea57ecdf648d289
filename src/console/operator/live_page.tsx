import type { Child } from "@hono/hono/jsx";
import { type Action, can, type Session } from "../../accounts/mod.ts";
import { accepts, delay, ServerSentEventStream, STATUS_CODE } from "../../std/mod.ts";
import { type ConsoleParts, page, type PageRequest } from "../request.tsx";

/** A page with a part that changes while it is open. */
export interface LivePageOptions {
  /** The action that guards the page; checked again each time. */
  readonly action: Action;
  readonly everyMs: number;
  /** Renders the part for the session as it is at that moment: it may have lost permissions while the page was open. */
  readonly part: (session: Session) => Promise<Child>;
  /** The whole page around the part. */
  readonly whole: (part: Child) => Child | Promise<Child>;
}

const EVENT_STREAM = {
  "content-type": "text/event-stream",
  "cache-control": "no-store, no-transform",
  "x-accel-buffering": "no",
};

/**
 * Responds with the page or, to its script, which accepts events only, with its part again and again: until the
 * gateway closes, the client disconnects or the session ends.
 */
export async function livePage(
  c: PageRequest,
  { sessions, closing }: Pick<ConsoleParts, "sessions" | "closing">,
  { action, everyMs, part, whole }: LivePageOptions,
): Promise<Response> {
  if (accepts(c.req.raw, "text/html", "text/event-stream") !== "text/event-stream") {
    return await page(c, whole(<div data-live>{await part(c.var.session!)}</div>));
  }
  const { token = "" } = c.var;
  async function* parts() {
    let session = c.var.session;
    while (!closing.aborted && session !== undefined && can(session, action)) {
      yield { data: String(await part(session)) };
      await delay(everyMs, { signal: closing }).catch(() => {});
      if (!closing.aborted) session = await sessions.find(token);
    }
  }
  const events = ReadableStream.from(parts()).pipeThrough(new ServerSentEventStream());
  return c.body(events, STATUS_CODE.OK, EVENT_STREAM);
}
