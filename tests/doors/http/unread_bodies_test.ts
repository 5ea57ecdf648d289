/** Bodies that nobody has read to their end: how much more of them is read, and when they are let go of. */

import { UnreadBodies } from "../../../src/doors/http/unread_bodies.ts";
import { assert, assertEquals } from "../../assert.ts";
import { sleep, until } from "../../fake/temp.ts";

/** A request whose body comes in pieces, as many as are asked for, or a given number. */
function post(
  { bytes = 1_000, pieces = Infinity, headers = {} }: {
    bytes?: number;
    pieces?: number;
    headers?: Record<string, string>;
  } = {},
) {
  const seen = { pulls: 0, isCancelled: false };
  const body = new ReadableStream<Uint8Array<ArrayBuffer>>({
    pull(controller) {
      if (seen.pulls++ < pieces) controller.enqueue(new Uint8Array(bytes));
      else controller.close();
    },
    cancel: () => void (seen.isCancelled = true),
  }, { highWaterMark: 0 });
  return { seen, request: new Request("http://h/", { method: "POST", body, headers }) };
}

const ok = () => new Response("ok");
const refused = () => new Response("no", { status: 400 });

/** Reads a first piece, and leaves the rest. */
async function begin(request: Request): Promise<void> {
  const reader = request.body!.getReader();
  await reader.read();
  reader.releaseLock();
}

Deno.test("of a body that was read, is being read or is none nothing more is read", async () => {
  const unread = new UnreadBodies();
  const read = post({ pieces: 1 });
  await read.request.arrayBuffer();
  const locked = post();
  locked.request.body!.getReader();
  const upgraded = post();
  const begun = post();
  await begin(begun.request);
  for (
    const [{ request, seen }, response] of [
      [read, ok()],
      [locked, ok()],
      [locked, refused()],
      [begun, ok()], // as much of it as was wanted
      [upgraded, Object.defineProperty(ok(), "status", { value: 101 })],
      [{ request: new Request("http://h/"), seen: { pulls: 0 } }, ok()],
    ] as const
  ) {
    const before = seen.pulls;
    assert(unread.after(request, response) === response);
    await sleep(0);
    assertEquals(seen.pulls, before);
  }
  assertEquals(upgraded.request.bodyUsed, false);
  unread.close();
  const late = post();
  const response = refused();
  assert(unread.after(late.request, response) === response, "nothing is read after the end");
  assertEquals(late.seen.pulls, 0);
});

Deno.test("a response waits for a little more of a body of which nothing was read: 256 pieces or 768 KiB (table)", async () => {
  for (
    const [given, response, pulls] of [
      [{ pieces: 3 }, ok(), 4],
      [{ pieces: 3 }, refused(), 4],
      [{ bytes: 1_000 }, refused(), 256],
      [{ bytes: 262_144 }, refused(), 3],
      [{ bytes: 262_143 }, refused(), 4],
    ] as const
  ) {
    const unread = new UnreadBodies();
    const { request, seen } = post(given);
    const after = unread.after(request, response);
    assert(after instanceof Promise);
    assert(await after === response);
    assertEquals(seen.pulls, pulls, JSON.stringify(given));
    unread.close();
  }
});

Deno.test("a response is not held up by chunks, or by a body that was begun: these are read on beside it", async () => {
  const chunked = post({ headers: { "transfer-encoding": "chunked" }, pieces: 3 });
  const begun = post({ pieces: 3 });
  await begin(begun.request);
  for (const { request, seen } of [chunked, begun]) {
    const unread = new UnreadBodies();
    const response = refused();
    assert(unread.after(request, response) === response);
    await until(() => seen.pulls === 4, { what: "the end of the body" });
    await sleep(20); // it is let go of
    unread.close();
  }
  // one that was refused after it was read needs nothing, but to be let go of
  const read = post({ pieces: 1 });
  await read.request.arrayBuffer();
  const unread = new UnreadBodies();
  const response = refused();
  assert(await unread.after(read.request, response) === response);
  unread.close();
});

Deno.test("what is left of a body is let go of when its client has had time to read why, or the server closes", async () => {
  const unread = new UnreadBodies();
  const { request, seen } = post();
  await unread.after(request, refused());
  await sleep(100);
  assertEquals(seen.isCancelled, false, "the client is still reading");
  await until(() => seen.isCancelled, { what: "that it is let go of" });
  const other = post();
  await unread.after(other.request, refused());
  unread.close();
  await sleep(0);
  assertEquals(other.seen.isCancelled, true, "at once");
});
