import fc from "fast-check";
import { TextQueue, TokenCounter } from "../../../src/wire/tokens/mod.ts";
import { assert, assertEquals } from "../../assert.ts";

Deno.test("TextQueue counts what one TokenCounter counts, surrogate pairs across pieces too (property)", async () => {
  const unit = fc.constantFrom("a", " ", "7", "\n", "é", "漢", "😀", "\ud83d", "\ude00");
  const piece = fc.string({ unit, maxLength: 12 });
  await fc.assert(fc.asyncProperty(fc.array(piece), fc.boolean(), async (pieces, later) => {
    const queue = new TextQueue();
    const counter = new TokenCounter();
    for (const one of pieces) {
      counter.add(one);
      if (later) queue.addLater(() => one);
      else queue.add(one);
    }
    await queue.count();
    assertEquals(queue.tokens, counter.tokens);
  }));
});

Deno.test("TextQueue cuts long texts anywhere and gives others turns in between", async () => {
  const text = "It was 1984, 漢字 and 😀😀 again. ".repeat(40_000);
  const counter = new TokenCounter();
  counter.add(text.slice(1) + text);
  const queue = new TextQueue();
  queue.add(text.slice(1));
  queue.addLater(() => text);
  let turns = 0;
  const others = setInterval(() => turns++, 0);
  await queue.count().finally(() => clearInterval(others));
  assertEquals(queue.tokens, counter.tokens);
  assert(turns > 2, `${turns} turns`);
});
