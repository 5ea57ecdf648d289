import { Attempts, CodeGuesses } from "../../../src/doors/console/attempts.ts";
import { assert, assertEquals } from "../../assert.ts";

const MINUTE_MS = 60_000;

Deno.test("wrong passwords: five for an account from an address, then ten minutes", () => {
  let nowMs = 1_900_000_000_000;
  const attempts = new Attempts(() => nowMs);
  for (let times = 0; times < 5; times++) {
    assertEquals(attempts.waitMs("ada@example.com", "203.0.113.7"), 0);
    attempts.failed("ada@example.com", "203.0.113.7");
  }
  assertEquals(attempts.waitMs("ada@example.com", "203.0.113.7"), 10 * MINUTE_MS);
  assertEquals(attempts.waitMs("ada@example.com", "203.0.113.8"), 0, "another address");
  assertEquals(attempts.waitMs("bob@example.com", "203.0.113.7"), 0, "another account");
  nowMs += 10 * MINUTE_MS;
  assertEquals(attempts.waitMs("ada@example.com", "203.0.113.7"), 0);
});

Deno.test("wrong passwords: 60 for an account from many addresses, 30 from an address for many", () => {
  const attempts = new Attempts(() => 1_900_000_000_000);
  for (let index = 0; index < 60; index++) attempts.failed("ada@example.com", `203.0.113.${index}`);
  assert(attempts.waitMs("ada@example.com", "203.0.113.200") > 0);
  for (let index = 0; index < 30; index++) attempts.failed(`${index}@example.com`, "198.51.100.1");
  assert(attempts.waitMs("bob@example.com", "198.51.100.1") > 0);
  assertEquals(attempts.waitMs("bob@example.com", "198.51.100.2"), 0);
});

Deno.test("a right password was no wrong one, and ends those of its owner", () => {
  const attempts = new Attempts(() => 1_900_000_000_000);
  for (let times = 0; times < 200; times++) {
    attempts.failed("ada@example.com", "203.0.113.7"); // noted before it is known
    assertEquals(attempts.waitMs("bob@example.com", "203.0.113.7"), 0);
    attempts.succeeded("ada@example.com", "203.0.113.7");
  }
  assertEquals(attempts.waitMs("ada@example.com", "203.0.113.7"), 0);
});

Deno.test("wrong codes: ten of an account; two while all are over a thousand, and none is kept out by others", () => {
  let nowMs = 1_900_000_000_000;
  const guesses = new CodeGuesses(() => nowMs);
  /** How many an account may type. */
  const typed = (account: string) => {
    let times = 0;
    for (; times < 50 && !guesses.isOver(account); times++) guesses.add(account);
    return times;
  };
  for (let at = 0; at < 100; at++) assertEquals(typed(`thief ${at}`), 10);
  assertEquals(guesses.isOver("ada"), false, "who has typed no wrong one");
  for (let at = 100; at < 200; at++) assertEquals(typed(`thief ${at}`), 2);
  guesses.add("ada");
  assertEquals([guesses.isOver("ada"), guesses.isOver("bob")], [false, false], "nor by one");
  nowMs += 10 * MINUTE_MS;
  assertEquals(typed("thief 1"), 10);
});
