import { ConnectionMemory } from "../../../src/doors/http/connection_memory.ts";
import { RecentResponses } from "../../../src/doors/http/recent_responses.ts";
import { assertEquals } from "../../assert.ts";

const piece = (bytes: number) => new Uint8Array(bytes);

Deno.test("who fills the memory of all connections makes nobody else forget", () => {
  const memory = new ConnectionMemory(1_000);
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
  const memory = new ConnectionMemory(100);
  const one = new RecentResponses(memory, "one", 1_000);
  one.remember("resp_1", [piece(500)]);
  assertEquals([one.find("resp_1"), one.bytes, memory.bytes], [undefined, 0, 0]);
});

Deno.test("a connection remembers its last eight responses, within its bytes; pieces that they share count once", () => {
  const memory = new ConnectionMemory(10_000);
  const one = new RecentResponses(memory, "one", 100);
  const shared = piece(40);
  for (let at = 1; at <= 8; at++) one.remember(`resp_${at}`, [shared, piece(1)]);
  assertEquals([one.bytes, memory.bytes, one.find("resp_1")?.length], [48, 48, 2]);
  one.remember("resp_9", [shared]);
  assertEquals([one.find("resp_1"), one.find("resp_2")?.length], [undefined, 2]);
  assertEquals([one.bytes, memory.bytes], [47, 47]);
  one.remember("resp_9", [shared, piece(53)]); // in place of itself
  assertEquals([one.bytes, one.find("resp_2")?.length], [100, 2], "as much as it may");
  one.remember("resp_10", [piece(2)]);
  assertEquals([one.bytes, one.find("resp_3"), one.find("resp_4")?.length], [100, undefined, 2]);
  one.forget("resp_none");
  assertEquals([one.bytes, memory.bytes], [100, 100]);
});

Deno.test("of accounts with as much memory the first forgets, beginning with what it has not used for longest", () => {
  const memory = new ConnectionMemory(900);
  const [one, other] = ["a", "b"].map((account) => new RecentResponses(memory, account, 1_000));
  one!.remember("resp_1", [piece(500)]);
  other!.remember("resp_2", [piece(500)]);
  assertEquals([one!.find("resp_1"), other!.find("resp_2")?.length], [undefined, 1]);
  one!.remember("resp_3", [piece(400)]);
  assertEquals([memory.bytes, one!.find("resp_3")?.length], [900, 1]);
});

Deno.test("what leads to the response of a turn in progress takes memory, and is remembered once that is complete", () => {
  const memory = new ConnectionMemory(1_000);
  const one = new RecentResponses(memory, "one", 100);
  for (let at = 1; at <= 8; at++) one.remember(`resp_${at}`, [piece(1)]);
  one.begin([piece(40)]);
  assertEquals([one.find("resp_1")?.length, memory.bytes], [1, 48], "beside eight responses");
  one.complete("resp_9", piece(2));
  assertEquals([one.find("resp_1"), one.find("resp_9")?.length, memory.bytes], [undefined, 2, 49]);
  one.begin([piece(40)]);
  one.end();
  assertEquals([one.find("resp_2")?.length, memory.bytes], [1, 49]);
  // larger than what a connection may have: nothing else is forgotten for it
  one.begin([piece(101)]);
  one.complete("resp_10", piece(2));
  assertEquals([one.find("resp_2")?.length, one.find("resp_10"), memory.bytes], [1, undefined, 49]);
});
