import type { Adjust } from "../../../../src/requests/upstreams/quirks/adjust.ts";
import type { JsonObject } from "../../../../src/wire/dialects/mod.ts";
import { assertEquals } from "../../../assert.ts";

/** A body, and what is sent instead, with what is noted; undefined if it is sent as it is, as the same object. */
export type Case = readonly [body: JsonObject, sent?: JsonObject, ...notes: readonly string[]];

/** Checks what a rule makes of bodies, which stay as they are. */
export function check(adjust: Adjust, cases: readonly Case[]): void {
  for (const [body, sent, ...expected] of cases) {
    const notes: string[] = [];
    const text = JSON.stringify(body);
    const adjusted = adjust(body, (change) => notes.push(change));
    assertEquals(adjusted, sent ?? body, text);
    assertEquals(adjusted === body, sent === undefined, text);
    assertEquals(JSON.stringify(body), text);
    assertEquals(notes, expected, text);
  }
}
