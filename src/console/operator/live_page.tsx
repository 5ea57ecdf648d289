import type { Child } from "@hono/hono/jsx";
import { type Action, can, type Session } from "../../accounts/mod.ts";
import { accepts, delay, ServerSentEventStream, STATUS_CODE } from "../../std/mod.ts";
import { type ConsoleParts, page, type PageRequest } from "../request.tsx";

/** A page with a part that changes while it is open. */
export interface LivePageOptions {
  /** The action that guards the page; checked again each time. */
  readonly action: Action;
  readonly everyMs: number;
  readonly part: () => Promise<Child>;
  /** The whole page around the part. */
  readonly whole: (part: Child) => Child;
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
    return await page(c, whole(<div data-live>{await part()}</div>));
  }
  const { token = "" } = c.var;
  const isAllowed = (session: Session | undefined) => session !== undefined && can(session, action);
  async function* parts() {
    do {
      yield { data: String(await part()) };
      await delay(everyMs, { signal: closing }).catch(() => {});
    } while (!closing.aborted && isAllowed(await sessions.find(token)));
  }
  const events = ReadableStream.from(parts()).pipeThrough(new ServerSentEventStream());
  return c.body(events, STATUS_CODE.OK, EVENT_STREAM);
}
