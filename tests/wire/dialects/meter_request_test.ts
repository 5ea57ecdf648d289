import fc from "fast-check";
import { type JsonObject, meterInTurns, meterRequest } from "../../../src/wire/dialects/mod.ts";
import { assert, assertEquals } from "../../assert.ts";

Deno.test("a request's input is the same, counted at once and in turns (property)", async () => {
  const message = fc.record({
    role: fc.constantFrom("user", "assistant"),
    content: fc.jsonValue(),
  });
  const body = fc.record({
    messages: fc.array(message),
    tools: fc.array(fc.jsonValue()),
    input: fc.jsonValue(),
    metadata: fc.jsonValue(),
    unknown: fc.jsonValue(),
  }, { requiredKeys: [] });
  await fc.assert(fc.asyncProperty(body, async (one) => {
    const request = one as JsonObject;
    assertEquals(await meterInTurns(request, []), meterRequest(request, []));
  }));
});

Deno.test("others have turns while megabytes of texts and tools are counted", async () => {
  const words = "to be or not to be ".repeat(100_000);
  const tool = { type: "function", function: { name: "f", description: words } };
  const body: JsonObject = { messages: [{ role: "user", content: words }], tools: [tool, tool] };
  let turns = 0;
  const others = setInterval(() => turns++, 0);
  const { tokens } = await meterInTurns(body, []).finally(() => clearInterval(others));
  assertEquals(tokens, meterRequest(body, []).tokens);
  assert(turns > 5, `${turns} turns`);
});
