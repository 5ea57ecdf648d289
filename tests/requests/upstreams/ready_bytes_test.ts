/** Values that come by promises, and are taken without one for each. */

import { Promised } from "../../../src/requests/upstreams/promised.ts";
import { readWhenReady, readyBytes } from "../../../src/requests/upstreams/ready_bytes.ts";
import { assert, assertEquals, assertThrows } from "../../assert.ts";

const turn = () => new Promise((resolve) => setTimeout(resolve, 0));

Deno.test("what has come is taken once; one read at a time, whatever waits; what it throws is thrown", async () => {
  const promised = new Promised<number>();
  const reads: PromiseWithResolvers<number>[] = [];
  const read = () => {
    reads.push(Promise.withResolvers<number>());
    return reads.at(-1)!.promise;
  };
  const woken: string[] = [];
  const waiter = (name: string) => ({ wake: () => void woken.push(name) });
  assertEquals([promised.isQuiet, promised.take()], [true, undefined]);
  promised.whenReady(waiter("first"), read);
  promised.whenReady(waiter("second"), read);
  assertEquals([promised.isQuiet, promised.take(), reads.length], [false, undefined, 1]);
  reads[0]!.resolve(7);
  await turn();
  assertEquals([woken, promised.isQuiet], [["second"], false]);
  promised.whenReady(waiter("at once"), read);
  assertEquals([woken, reads.length], [["second", "at once"], 1]);
  assertEquals([promised.take(), promised.take(), promised.isQuiet], [
    { value: 7 },
    undefined,
    true,
  ]);
  promised.whenReady(waiter("third"), read);
  reads[1]!.reject(new RangeError("no"));
  await turn();
  assertEquals(woken.at(-1), "third");
  assertThrows(() => promised.take(), RangeError, "no");
  assertEquals([promised.take(), promised.isQuiet], [undefined, true]);
});

Deno.test("a source of promises is taken from and read as one that is ready; a ready one is left as it is", async () => {
  const pieces = [[1], [2, 3]].map((one) => new Uint8Array(one));
  const left = [...pieces];
  const ready = readyBytes({ read: () => Promise.resolve(left.shift()) });
  assertEquals(ready.take(), null);
  assert(readyBytes(ready) === ready);
  assertEquals([await ready.read(), await readWhenReady(ready)], pieces as never);
  let isWoken = false;
  ready.whenReady({ wake: () => isWoken = true });
  await turn();
  assertEquals([isWoken, ready.take()], [true, undefined], "its end");
});
