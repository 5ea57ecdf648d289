import { ClientPace } from "../../../src/requests/relay/client_pace.ts";
import { assertEquals } from "../../assert.ts";

/** A stream of pieces, and a client that reads each a while after it was given. */
function paced() {
  const clock = { tick: 1_000 };
  const pace = new ClientPace(() => clock.tick);
  return {
    pace,
    waits: (ms: number) => clock.tick += ms,
    /** One piece: the upstream takes `upstreamMs` after the client has read on, the client `clientMs` to read on. */
    piece(upstreamMs: number, clientMs: number): void {
      pace.pulled();
      clock.tick += upstreamMs;
      pace.outputCame();
      pace.delivered();
      clock.tick += clientMs;
    },
  };
}

Deno.test("a client that was given nothing has kept nobody waiting", () => {
  const { pace, waits } = paced();
  waits(60_000);
  assertEquals([pace.keptWaiting(false), pace.keptWaiting(true)], [false, false]);
});

Deno.test("a client that reads at once has kept nobody waiting, however slow the upstream is", () => {
  const { pace, piece } = paced();
  for (let at = 0; at < 100; at++) piece(500, 1);
  assertEquals(pace.keptWaiting(true), false);
});

Deno.test("a client that has not read on for two seconds keeps the upstream waiting, while it has no room", () => {
  const { pace, piece, waits } = paced();
  for (let at = 0; at < 100; at++) piece(500, 1);
  piece(500, 0);
  waits(1_999);
  assertEquals(pace.keptWaiting(false), false);
  waits(1);
  assertEquals([pace.keptWaiting(false), pace.keptWaiting(true)], [true, false]);
});

Deno.test("small waits of a client add up: to two seconds, or to a quarter of a short stream", () => {
  const { pace, piece } = paced();
  const at = (pieces: number, upstreamMs: number, clientMs: number) => {
    for (let one = 0; one < pieces; one++) piece(upstreamMs, clientMs);
    pace.pulled();
    pace.outputCame();
  };
  at(3, 10, 80);
  assertEquals(pace.keptWaiting(true), false, "240 ms are a moment");
  at(1, 10, 80);
  assertEquals(pace.keptWaiting(true), true, "320 of 360 ms");
  const long = paced();
  for (let one = 0; one < 300; one++) long.piece(10, 1);
  for (let one = 0; one < 100; one++) long.piece(200, 30);
  assertEquals(long.pace.keptWaiting(true), false, "output came later than the client read on");
});

Deno.test("turns of the gateway's own are no waits", () => {
  const { pace, piece } = paced();
  for (let at = 0; at < 1_000; at++) piece(1, 19);
  assertEquals(pace.keptWaiting(true), false);
  for (let at = 0; at < 13; at++) piece(1, 20);
  pace.pulled();
  pace.outputCame();
  assertEquals(pace.keptWaiting(true), false, "260 ms of 19 s");
  for (let at = 0; at < 88; at++) piece(1, 20);
  assertEquals(pace.keptWaiting(true), true, "two seconds in all");
});

Deno.test("output that comes 20 ms after the client read on was not there before, nor within a tenth of its wait", () => {
  for (
    const [awayMs, upstreamMs, expected] of [
      [125, 19, true],
      [125, 20, false],
      [1_000, 99, true],
      [1_000, 100, false],
    ] as const
  ) {
    const { pace, piece } = paced();
    piece(5, awayMs);
    piece(upstreamMs, awayMs);
    piece(upstreamMs, awayMs);
    assertEquals(pace.keptWaiting(true), expected, `${awayMs} ms, ${upstreamMs} ms`);
  }
});

Deno.test("a moment is a quarter of a second, and of a longer stream a quarter of its time", () => {
  const waited = (awayMs: number, streamMs: number) => {
    const { pace, piece } = paced();
    piece(streamMs - awayMs, awayMs);
    pace.pulled();
    pace.outputCame();
    return pace.keptWaiting(true);
  };
  assertEquals([waited(249, 260), waited(250, 260)], [false, true]);
  assertEquals([waited(999, 4_000), waited(1_000, 4_000)], [false, true]);
  assertEquals([waited(1_999, 100_000), waited(2_000, 100_000)], [false, true]);
});
