/** Request bodies without a socket: what is taken of them, what memory and turns that costs, and what is counted. */

import fc from "fast-check";
import { type BodyLimits, type BodyOwner, readJson } from "../../../src/doors/http/body.ts";
import { FairShare } from "../../../src/ground/fair_share/mod.ts";
import { CoarseTimers } from "../../../src/ground/platform/mod.ts";
import { invalid, Refusal } from "../../../src/ground/refusal.ts";
import { CHUNK_BYTES, type LargeBodies, MIN_CHARS } from "../../../src/wire/large_bodies/mod.ts";
import { assert, assertEquals, assertRejects, assertStringIncludes } from "../../assert.ts";
import { DEADLINE_MS } from "../../fake/temp.ts";
import { sized } from "../../tier.ts";

const MEGABYTE = 1_048_576;
const encoder = new TextEncoder();

/** What a body is read with, and what it took. */
function reading(more: Partial<BodyLimits> = {}) {
  const timers = new CoarseTimers();
  const memory = new FairShare({
    resource: "bytes",
    capacity: 100 * MEGABYTE,
    perAccount: 100 * MEGABYTE,
    waitMs: 0,
    timers,
  });
  const seen = {
    turns: 0,
    rooms: [] as number[],
    detached: 0,
    received: [] as number[],
    used: [] as number[],
    watched: 0,
    ended: 0,
  };
  const large = {
    memory,
    turn: () => (seen.turns++, Promise.resolve()),
    room: (size: number) => (seen.rooms.push(size), new ArrayBuffer(size)),
    detach: (bytes: Uint8Array) => (seen.detached++, Promise.resolve({ text: bytes })),
  } as unknown as LargeBodies;
  const limits: BodyLimits = {
    bodyBytes: 10 * MEGABYTE,
    bodyDepth: 100,
    bodyValues: 1_000,
    bodyKeys: 100,
    bodyIdleMs: DEADLINE_MS,
    bodyMs: DEADLINE_MS,
    bodyMinBytesPerSecond: 1,
    timers,
    large,
    ...more,
  };
  let refuse: (error: Refusal) => void = () => {};
  const owner: BodyOwner = {
    account: "a",
    received(bytes) {
      seen.received.push(bytes);
      seen.used.push(memory.used);
    },
    watch(_maxBytes, refused) {
      seen.watched++;
      refuse = refused;
      return { delivered() {}, end: () => void seen.ended++ };
    },
  };
  return {
    seen,
    memory,
    limits,
    refuse: (error: Refusal) => refuse(error),
    read: (request: Request) => readJson(request, limits, owner),
    [Symbol.dispose]: () => timers.close(),
  };
}

/** A request whose body comes in these pieces. */
function post(
  pieces: readonly (string | Uint8Array<ArrayBuffer>)[],
  headers: Record<string, string> = {},
  { isOpen = false, cancelled = () => {}, asked = () => {} }: {
    isOpen?: boolean;
    cancelled?: () => void;
    /** Called when more is asked for than there is. */
    asked?: () => void;
  } = {},
) {
  const left = pieces.map((one) => typeof one === "string" ? encoder.encode(one) : one);
  const body = new ReadableStream<Uint8Array<ArrayBuffer>>({
    pull(controller) {
      const piece = left.shift();
      if (piece !== undefined) return controller.enqueue(piece);
      asked();
      if (!isOpen) controller.close();
    },
    cancel: cancelled,
  }, { highWaterMark: 0 });
  return new Request("http://h/", { method: "POST", body, headers });
}

/** Pieces of a text in JSON of that size. */
function pieces(size: number, sizes: readonly number[]): string[] {
  const text = `"${"x".repeat(size - 2)}"`;
  let at = 0;
  const cut = sizes.map((length) => text.slice(at, at += length));
  return [...cut, text.slice(at)].filter((piece) => piece !== "");
}

const length = (size: number) => ({ "content-length": String(size) });

Deno.test("a body is read as it was sent, in whatever pieces, with its length or without (random)", async () => {
  using one = reading();
  const cuts = fc.array(fc.integer({ min: 1, max: 700_000 }), { maxLength: 6 });
  const size = fc.constantFrom(
    2,
    16_384,
    16_385,
    65_537,
    500_000,
    MEGABYTE,
    MEGABYTE + 1,
    3_000_000,
  );
  await fc.assert(
    fc.asyncProperty(size, cuts, fc.boolean(), async (size, cuts, isDeclared) => {
      const headers: Record<string, string> = isDeclared ? length(size) : {};
      const { json, bytes, detached } = await one.read(post(pieces(size, cuts), headers));
      assertEquals([(json as string).length, bytes], [size - 2, size]);
      detached.release();
      assertEquals(one.memory.used, 0);
    }),
    { numRuns: sized(20, 300) },
  );
});

Deno.test("a body has a maximum of bytes, declared and received, and as many as it declares (table)", async () => {
  for (
    const [size, headers, says] of [
      [100, length(100), undefined],
      [100, {}, undefined],
      [101, {}, "too large: the limit is 100 bytes"],
      [50, length(101), "too large: the limit is 100 bytes"],
      [50, length(99), undefined], // which the platform lets nobody do
      [50, { "content-length": "x" }, undefined],
    ] as const
  ) {
    using one = reading({ bodyBytes: 100 });
    const reads = one.read(post(pieces(size, [10]), headers as Record<string, string>));
    if (says === undefined) (await reads).detached.release();
    else assertStringIncludes((await assertRejects(() => reads, Refusal)).message, says);
  }
  using one = reading();
  for (const [size, says] of [[20_000, undefined], [19_999, "shorter"], [20_001, "too large"]]) {
    const reads = one.read(post(pieces(size as number, [10_000]), length(20_000)));
    if (says === undefined) (await reads).detached.release();
    else {
      const { message } = await assertRejects(() => reads, Refusal);
      assertStringIncludes(
        message,
        says === "too large" ? "too large" : "shorter than its Content",
      );
    }
  }
  assertEquals(one.seen.watched, one.seen.ended);
});

Deno.test("a small body that says its length is read at once; others are watched, counted by their pieces and not read on", async () => {
  for (
    const [size, headers, received] of [
      [16_384, length(16_384), [16_384]],
      [16_385, length(16_385), [10_000, 6_385]],
      [16_384, {}, [10_000, 6_384]],
    ] as const
  ) {
    using one = reading();
    const sent = post(pieces(size, [10_000]), headers as Record<string, string>);
    (await one.read(sent)).detached.release();
    assertEquals(one.seen.received, [...received]);
    const isWatched = received.length > 1 ? 1 : 0;
    assertEquals([one.seen.watched, one.seen.ended], [isWatched, isWatched]);
  }
  // with all that it said, it is not asked for an end, unless that is in its framing
  using one = reading();
  let [cancelled, asked] = [0, 0];
  const options = { cancelled: () => cancelled++, asked: () => asked++ };
  (await one.read(post(pieces(20_000, [10_000]), length(20_000), options))).detached.release();
  assertEquals([cancelled, asked], [1, 0]);
  const framed = { ...length(20_000), "transfer-encoding": "chunked" };
  (await one.read(post(pieces(20_000, [10_000]), framed, options))).detached.release();
  assertEquals([cancelled, asked], [1, 1]);
  assertEquals((await one.read(new Request("http://h/", { method: "POST", body: "7" }))).json, 7);
  const none = new Request("http://h/", { method: "POST" });
  assertStringIncludes((await assertRejects(() => one.read(none), Refusal)).message, "is empty");
});

Deno.test("more than 64 KiB take memory as they come, twice as much as came, up to what may come; the rest is given back", async () => {
  for (
    const [sizes, headers, bodyBytes, used, left] of [
      [[65_536], {}, MEGABYTE, [0], 0],
      [[65_537], {}, MEGABYTE, [131_074], 65_537],
      [[70_000, 70_000, 70_000], {}, MEGABYTE, [140_000, 140_000, 420_000], 210_000],
      [[70_000, 70_000, 70_000], {}, 250_000, [140_000, 140_000, 250_000], 210_000],
      [[70_000, 30_000], length(100_000), MEGABYTE, [100_000, 100_000], 100_000],
      [[70_000, 70_001], {}, MEGABYTE, [140_000, 280_002], 140_001],
    ] as const
  ) {
    using one = reading({ bodyBytes });
    const size = sizes.reduce((sum, size) => sum + size, 0);
    const sent = post(pieces(size, sizes), headers as Record<string, string>);
    const { detached } = await one.read(sent);
    assertEquals(one.seen.used, [...used], sizes.join());
    assertEquals(one.memory.used, left, sizes.join());
    detached.release();
    assertEquals(one.memory.used, 0);
  }
  using failed = reading();
  await assertRejects(() => failed.read(post(["x".repeat(70_000)])), Refusal);
  assertEquals(failed.memory.used, 0, "nor is any kept of what was refused");
});

Deno.test("memory of more than a megabyte is used again: as much as is said, or twice what has come", async () => {
  for (
    const [sizes, headers, rooms] of [
      [[600_000, 400_000], {}, []],
      [[600_000, 600_000], {}, [1_200_000]],
      [[600_000, 600_000, 600_000], {}, [1_200_000, 2_400_000]],
      [[600_000, 600_000, 600_000], length(1_800_000), [1_800_000]],
      [[MEGABYTE], {}, []],
      [[MEGABYTE + 1], {}, [MEGABYTE + 1]],
    ] as const
  ) {
    using one = reading();
    const size = sizes.reduce((sum, size) => sum + size, 0);
    const sent = post(pieces(size, sizes), headers as Record<string, string>);
    (await one.read(sent)).detached.release();
    assertEquals(one.seen.rooms, [...rooms], sizes.join());
  }
});

Deno.test("what comes of a large body takes its turns, each 128 KiB; the bytes of a large one are checked elsewhere", async () => {
  for (
    const [size, step, turns] of [
      [MEGABYTE, CHUNK_BYTES, 1], // before its end is known
      [MEGABYTE - 1, CHUNK_BYTES - 1, 0],
      [2 * MEGABYTE, CHUNK_BYTES, 9],
      [2 * MEGABYTE, CHUNK_BYTES / 2, 9],
    ] as const
  ) {
    using one = reading();
    const sizes = new Array(Math.ceil(size / step)).fill(step);
    (await one.read(post(pieces(size, sizes)))).detached.release();
    assertEquals(one.seen.turns, turns, `${size} by ${step}`);
  }
  for (const [size, detached] of [[MIN_CHARS - 1, 0], [MIN_CHARS, 1]] as const) {
    using one = reading();
    (await one.read(post(pieces(size, [])))).detached.release();
    assertEquals(one.seen.detached, detached);
  }
});

Deno.test("what a body must not be is said in words, small or large (table)", async () => {
  for (
    const [text, says] of [
      ["", "is empty"],
      [" \n", "is empty"],
      ["{", "is not valid JSON: Expected"],
      [`${"[".repeat(101)}${"]".repeat(101)}`, "nested too deeply: the limit is 100 levels"],
      [`[${"1,".repeat(1_000)}1]`, "too many JSON values: the limit is 1,000"],
      [`{${Array.from({ length: 101 }, (_, at) => `"${at}":1`)}}`, "too many keys"],
      [new Uint8Array([0x22, 0xff, 0x22]), "not valid UTF-8"],
    ] as const
  ) {
    using one = reading();
    const { message } = await assertRejects(() => one.read(post([text])), Refusal);
    assertStringIncludes(message, says);
  }
  using tiny = reading();
  const bytes = new Array(3_000).fill("1");
  const chunks = await assertRejects(() => tiny.read(post(bytes)), Refusal);
  assertStringIncludes(chunks.message, "chunks");
  using large = reading();
  Object.assign(large.limits.large, { detach: () => Promise.resolve({ excess: "depth" }) });
  const sent = post(pieces(MIN_CHARS, []));
  const { message } = await assertRejects(() => large.read(sent), Refusal);
  assertStringIncludes(message, "nested too deeply");
});

Deno.test("a packed body counts as if it had come unpacked, within the same bounds, and takes turns", async () => {
  const packed = async (size: number) => {
    const whole = new Response(pieces(size, []).join(""));
    const stream = whole.body!.pipeThrough(new CompressionStream("gzip"));
    return new Uint8Array(await new Response(stream).arrayBuffer());
  };
  const headers = { "content-encoding": "gzip" };
  for (const [size, bodyBytes, fits] of [[300_000, 300_000, true], [300_001, 300_000, false]]) {
    using one = reading({ bodyBytes: bodyBytes as number });
    const sent = await packed(size as number);
    const reads = one.read(post([sent], headers));
    if (!fits) {
      assertStringIncludes((await assertRejects(() => reads, Refusal)).message, "too large");
      assertEquals(one.memory.used, 0);
      continue;
    }
    const { bytes, detached } = await reads;
    assertEquals(bytes, size);
    assertEquals(one.seen.received.reduce((sum, one) => sum + one), size);
    assertEquals(one.memory.used, size);
    assert(one.seen.turns >= 1 && one.seen.turns <= 2, `${one.seen.turns} turns`);
    detached.release();
  }
  // of what is unpacked in many pieces, too, each byte counts once, and a turn is for 128 KiB
  using random = reading();
  const hex = Array.from({ length: 40_000 }, () => Math.random().toString(16).slice(2, 10));
  const text = `"${hex.join("")}"`;
  const stream = new Response(text).body!.pipeThrough(new CompressionStream("gzip"));
  const many = new Uint8Array(await new Response(stream).arrayBuffer());
  (await random.read(post([many], headers))).detached.release();
  assertEquals(random.seen.received.reduce((sum, one) => sum + one), text.length);
  assert(random.seen.received.length > 20, `${random.seen.received.length} pieces`);
  assert(random.seen.turns >= 1 && random.seen.turns <= 3, `${random.seen.turns} turns`);
  // what was longer when it came has counted by then
  using short = reading();
  const sent = await packed(2);
  assert(sent.byteLength > 2);
  await short.read(post([sent], headers));
  assertEquals(short.seen.received, [sent.byteLength]);
});

Deno.test("a body that is refused while it comes, or breaks off, is refused for that reason", async () => {
  using one = reading();
  const refusing = post(["["], {}, { isOpen: true });
  const reads = one.read(refusing);
  await Promise.resolve();
  one.refuse(invalid(undefined, "Frame too large."));
  assertEquals((await assertRejects(() => reads, Refusal)).message, "Frame too large.");
  const broken = new ReadableStream({ start: (controller) => controller.error(new Error("x")) });
  const sent = new Request("http://h/", { method: "POST", body: broken });
  const { message } = await assertRejects(() => one.read(sent), Refusal);
  assertStringIncludes(message, "the connection ended early");
  assertEquals(one.seen.watched, one.seen.ended);
});

Deno.test("a body that is slower than it may be is refused, by the time that its client takes for it (table)", async () => {
  const now = performance.now;
  let tick = 0;
  performance.now = () => tick;
  try {
    const limits = { bodyIdleMs: 1_000, bodyMs: 10_000, bodyMinBytesPerSecond: 100 };
    const timers = { after: () => () => {} } as unknown as CoarseTimers;
    for (
      const [all, says] of [
        [[[500, 10], [400, 10]], undefined],
        [[[1_000, 10]], undefined],
        [[[1_001, 10]], "the minimum speed is 100 bytes per second"],
        [[[600, 119], [600, 10]], "the minimum speed"],
        [[[600, 120], [600, 10]], undefined],
        [[[100, 50], [1_500, 0]], undefined], // its end comes late
        [[[1_000, 2_000], [9_000, 10]], undefined],
        [[[1_000, 2_000], [9_001, 10]], "the limit for the whole body is 10 s"],
        [[[1_000, 20], [9_001, 0]], "the limit for the whole body is 10 s"],
      ] as const
    ) {
      using one = reading({ ...limits, timers });
      const left: (readonly [ms: number, bytes: number])[] = [...all];
      const size = left.reduce((sum, [, bytes]) => sum + bytes, 0);
      const [whole] = pieces(size, []);
      let at = 0;
      const body = new ReadableStream<Uint8Array<ArrayBuffer>>({
        pull(controller) {
          const [ms, bytes] = left.shift() ?? [0, 0];
          tick += ms;
          if (bytes > 0) controller.enqueue(encoder.encode(whole!.slice(at, at += bytes)));
          else controller.close();
        },
      }, { highWaterMark: 0 });
      const reads = one.read(new Request("http://h/", { method: "POST", body }));
      if (says === undefined) (await reads).detached.release();
      else assertStringIncludes((await assertRejects(() => reads, Refusal)).message, says);
    }
  } finally {
    performance.now = now;
  }
  using silent = reading({ bodyIdleMs: 20 });
  const never = new ReadableStream({ pull: () => new Promise(() => {}) });
  const sent = new Request("http://h/", { method: "POST", body: never });
  const { message } = await assertRejects(() => silent.read(sent), Refusal);
  assertStringIncludes(message, "no data for 0.02 s");
});
