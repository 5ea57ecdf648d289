import { PortCalls } from "../../../src/ground/platform/mod.ts";
import { assertEquals, assertRejects } from "../../assert.ts";
import { until } from "../../fake/temp.ts";

type Sums = {
  add: (numbers: readonly number[]) => number;
  fail: (message: string) => Promise<never>;
  note: (text: string) => void;
};

Deno.test("calls between two ends return, throw and are taken in order", async () => {
  const { port1, port2 } = new MessageChannel();
  const noted: string[] = [];
  const sums: Sums = {
    add: (numbers) => numbers.reduce((sum, one) => sum + one, 0),
    fail: (message) => Promise.reject(new RangeError(message)),
    note: (text) => void noted.push(text),
  };
  const there = new PortCalls<Record<string, never>>(port1, sums);
  const here = new PortCalls<Sums>(port2, {});
  assertEquals(
    await Promise.all([here.call("add", [1, 2]), here.call("add", [3, 4])]),
    [3, 7],
  );
  await assertRejects(() => here.call("fail", "too far"), Error, "too far");
  for (const text of ["a", "b", "c"]) here.tell("note", text);
  await until(() => noted.length === 3, { what: "three notes" });
  assertEquals(noted, ["a", "b", "c"]);

  // an end that is gone fails what waits for it, and is told nothing more
  port1.onmessage = null;
  const waiting = here.call("add", [1]);
  here.fail(new Error("it ended"));
  await assertRejects(() => waiting, Error, "it ended");
  await assertRejects(() => here.call("add", [1]), Error, "it ended");
  here.tell("note", "d");
  there.fail(new Error("over"));
  port1.close();
  port2.close();
});
