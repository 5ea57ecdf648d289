import type { Child } from "@hono/hono/jsx";
import { accepts, delay, ServerSentEventStream, STATUS_CODE } from "../../std/mod.ts";
import { type ConsoleParts, page, type PageRequest } from "../request.tsx";
import { isOperator } from "./operator_only.ts";

/** A page with a part that changes while it is open. */
export interface LivePageOptions {
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
  { everyMs, part, whole }: LivePageOptions,
): Promise<Response> {
  if (accepts(c.req.raw, "text/html", "text/event-stream") !== "text/event-stream") {
    return await page(c, whole(<div data-live>{await part()}</div>));
  }
  const { token = "" } = c.var;
  async function* parts() {
    do {
      yield { data: String(await part()) };
      await delay(everyMs, { signal: closing }).catch(() => {});
    } while (!closing.aborted && isOperator(await sessions.find(token)));
  }
  const events = ReadableStream.from(parts()).pipeThrough(new ServerSentEventStream());
  return c.body(events, STATUS_CODE.OK, EVENT_STREAM);
}
