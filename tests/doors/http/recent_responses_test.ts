import { RecentMemory, RecentResponses } from "../../../src/doors/http/recent_responses.ts";
import { assertEquals } from "../../assert.ts";

const piece = (bytes: number) => new Uint8Array(bytes);

Deno.test("who fills the memory of all connections makes nobody else forget", () => {
  const memory = new RecentMemory(1_000);
  const quiet = new RecentResponses(memory, "quiet", 500);
  quiet.remember("resp_1", [piece(100)]);
  const loud = Array.from({ length: 5 }, () => new RecentResponses(memory, "loud", 500));
  for (const one of loud) one.remember("resp_2", [piece(300)]);
  assertEquals(quiet.find("resp_1")?.length, 1);
  assertEquals(loud.map((one) => one.find("resp_2") !== undefined), [
    false,
    false,
    true,
    true,
    true,
  ]);
  assertEquals(memory.bytes, 1_000);
  for (const one of loud) one.clear();
  quiet.forget("resp_1");
  assertEquals(memory.bytes, 0);
});

Deno.test("a conversation that is larger than all memory is forgotten, and nothing else breaks", () => {
  const memory = new RecentMemory(100);
  const one = new RecentResponses(memory, "one", 1_000);
  one.remember("resp_1", [piece(500)]);
  assertEquals([one.find("resp_1"), one.bytes, memory.bytes], [undefined, 0, 0]);
});
