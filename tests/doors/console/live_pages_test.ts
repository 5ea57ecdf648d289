/** The parts of operators' pages that live streams send: which pages are remembered, what is rendered, and who gets it. */

import { type PagePart, PageSource } from "../../../src/doors/console/live_pages.ts";
import type { Viewer } from "../../../src/doors/console/live_streams.ts";
import { assertEquals } from "../../assert.ts";

/** A part that tells how often it was rendered, up to a number. */
function counted(everyMs: number, most = Infinity): PagePart & { count: number } {
  const part = {
    action: "live.read" as const,
    everyMs,
    count: 0,
    render: () => Promise.resolve(`${Math.min(++part.count, most)}`),
  };
  return part;
}

function viewerOf(accountId: string, ...parts: readonly string[]): Viewer & { got: string[] } {
  const got: string[] = [];
  return {
    accountId,
    session: {} as Viewer["session"],
    parts: new Set(parts),
    seenMs: undefined,
    sent: new Map(),
    got,
    send: (event) => got.push(JSON.stringify(event)),
  };
}

const sent = (part: string, html: string) => JSON.stringify({ part, html });

Deno.test("of pages with live parts the 500 that were opened last are remembered", () => {
  const source = new PageSource();
  const part = counted(0);
  const path = (at: number) => `/console/${at}`;
  for (let at = 0; at < 500; at++) source.offer("acc_1", path(at), part);
  assertEquals(source.find("acc_1", path(0)), part);
  source.offer("acc_1", path(0), part); // opened again
  source.offer("acc_2", path(0), part);
  const known = (accountId: string, at: number) => source.find(accountId, path(at)) !== undefined;
  assertEquals(
    [known("acc_1", 0), known("acc_1", 1), known("acc_1", 2), known("acc_1", 499)],
    [true, false, true, true],
  );
  assertEquals([known("acc_2", 0), known("acc_2", 2)], [true, false]);
});

Deno.test("a part is rendered once for all of an account's viewers, who get what has changed", async () => {
  const source = new PageSource();
  const [changing, same] = [counted(0), counted(0, 1)];
  source.offer("acc_1", "/changing", changing);
  source.offer("acc_1", "/same", same);
  const viewers = [viewerOf("acc_1", "/changing", "/same", "/unknown"), viewerOf("acc_1", "/same")];
  const stranger = viewerOf("acc_2", "/same");
  for (let tick = 0; tick < 2; tick++) await source.tick([...viewers, stranger]);
  assertEquals([changing.count, same.count], [2, 2]);
  assertEquals(viewers.map(({ got }) => got), [
    [sent("/changing", "1"), sent("/same", "1"), sent("/changing", "2")],
    [sent("/same", "1")],
  ]);
  assertEquals(stranger.got, []);
});

Deno.test("a part that is not due is rendered only for who has nothing of it", async () => {
  const source = new PageSource();
  const slow = counted(3_600_000);
  source.offer("acc_1", "/slow", slow);
  const [first, second] = [viewerOf("acc_1", "/slow"), viewerOf("acc_1", "/slow")];
  await source.tick([first]);
  await source.tick([first]);
  assertEquals(slow.count, 1);
  await source.tick([first, second]);
  assertEquals([slow.count, first.got, second.got], [
    2,
    [sent("/slow", "1")],
    [sent("/slow", "2")],
  ]);
  source.offer("acc_1", "/slow", slow); // opened again: with what it shows now
  await source.tick([first]);
  assertEquals([slow.count, first.got.at(-1)], [3, sent("/slow", "3")]);
});
