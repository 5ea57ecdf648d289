import { plainNames } from "../../../src/requests/relay/plain_names.ts";
import { assertEquals } from "../../assert.ts";

Deno.test("names are kept once, short and plain, as long as a header line may have them all", () => {
  assertEquals(plainNames(["seed", "ключ", "seed"]), ["seed", "%D0%BA%D0%BB%D1%8E%D1%87"]);
  assertEquals(plainNames(["a".repeat(101), "\ud800"]), ["a".repeat(100), "%EF%BF%BD"]);
  const names = Array.from({ length: 20 }, (_, at) => `${10 + at}`.padEnd(98, "a"));
  assertEquals(plainNames(names.slice(0, 19)), names.slice(0, 19));
  assertEquals(plainNames(names), [...names.slice(0, 19), "..."]);
});
