/** AWS's binary event streams: however a stream is cut all events come, and of a damaged one none that was not sent. */

import { EventStreamCodec } from "@smithy/eventstream-codec";
import { crc32 } from "node:zlib";
import fc from "fast-check";
import { FrameReader } from "../../../../src/requests/upstreams/clouds/event_frames.ts";
import { TransportFault } from "../../../../src/requests/upstreams/transport.ts";
import { assert, assertEquals } from "../../../assert.ts";
import { sized } from "../../../tier.ts";

const codec = new EventStreamCodec(
  (bytes) => new TextDecoder().decode(bytes),
  (words) => new TextEncoder().encode(words),
);

function frameOf(words: string): Uint8Array {
  const event = JSON.stringify({ type: "content_block_delta", words });
  const bytes = btoa(String.fromCharCode(...new TextEncoder().encode(event)));
  return codec.encode({
    headers: {
      ":message-type": { type: "string", value: "event" },
      ":event-type": { type: "string", value: "chunk" },
    },
    body: new TextEncoder().encode(JSON.stringify({ bytes, p: "abc" })),
  });
}

/** A stream that is cut at these places, and what is left of it. */
function cut(stream: Uint8Array, at: readonly number[]) {
  const places = [...new Set([0, ...at.map((one) => one % stream.length), stream.length])]
    .sort((one, other) => one - other);
  const pieces = places.slice(1).map((end, index) => stream.subarray(places[index], end));
  return {
    pieces,
    read: () => Promise.resolve(pieces.shift()),
  };
}

/** The words of the events that are read, and the fault at the end. */
async function readAll(reader: FrameReader) {
  let text = "";
  try {
    for (let bytes = await reader.read(); bytes !== undefined; bytes = await reader.read()) {
      text += new TextDecoder().decode(bytes);
    }
  } catch (error) {
    if (!(error instanceof TransportFault)) throw error;
    return { words: wordsIn(text), fault: error };
  }
  return { words: wordsIn(text), fault: undefined };
}

function wordsIn(text: string): string[] {
  return text.split("\n").filter((line) => line.startsWith("data: "))
    .map((line) => JSON.parse(line.slice("data: ".length)).words);
}

const words = fc.array(fc.string({ unit: "grapheme", maxLength: 300 }), {
  minLength: 1,
  maxLength: 8,
});
const places = fc.array(fc.nat(5_000), { maxLength: 60 });
const NUMBER = sized(200, 5_000);

Deno.test("frames are read however a stream is cut (random)", async () => {
  await fc.assert(
    fc.asyncProperty(words, places, async (all, at) => {
      const stream = new Uint8Array(all.flatMap((one) => [...frameOf(one)]));
      assertEquals(await readAll(new FrameReader(cut(stream, at))), {
        words: all,
        fault: undefined,
      });
    }),
    { numRuns: NUMBER },
  );
});

Deno.test("a stream with a bit that is wrong, or that ends early, has the events before it and a fault (random)", async () => {
  await fc.assert(
    fc.asyncProperty(words, places, fc.nat(), fc.boolean(), async (all, at, place, isCut) => {
      const frames = all.map(frameOf);
      const stream = new Uint8Array(frames.flatMap((one) => [...one]));
      const bit = place % (8 * stream.length);
      const ends = frames.map((_, end) =>
        frames.slice(0, end + 1).reduce((sum, one) => sum + one.length, 0)
      );
      const before = ends.filter((end) => end <= bit / 8).length;
      if (isCut && (bit < 8 || ends.includes(bit >> 3))) return; // it ends between two frames
      if (!isCut) stream[bit >> 3]! ^= 1 << (bit & 7);
      const source = cut(isCut ? stream.subarray(0, bit >> 3) : stream, at);
      const { words, fault } = await readAll(new FrameReader(source));
      assert(fault !== undefined, `${bit} ${isCut}`);
      assertEquals(words, all.slice(0, before));
    }),
    { numRuns: NUMBER },
  );
});

Deno.test("a length that is wrong is noticed at once, not when as much has come", async () => {
  const stream = frameOf("Hi");
  stream[1]! ^= 16; // a megabyte more
  let reads = 0;
  const read = () => Promise.resolve(reads++ === 0 ? stream : new Uint8Array(1_000));
  const { fault } = await readAll(new FrameReader({ read }));
  assert(fault !== undefined);
  assertEquals(reads, 1);
});

/** The beginning of a frame that says how long it is, with a checksum that is right. */
function preludeOf(length: number): Uint8Array {
  const bytes = new Uint8Array(16);
  const view = new DataView(bytes.buffer);
  view.setUint32(0, length);
  view.setUint32(8, crc32(bytes.subarray(0, 8)));
  return bytes;
}

Deno.test("a frame has sixteen bytes at least and sixteen megabytes at most, and is read as soon as it is whole (table)", async () => {
  const MAX = 16 * 1_048_576;
  for (
    const [length, says] of [
      [15, "says that it has 15 bytes"],
      [0, "says that it has 0 bytes"],
      [17, "ended within a frame"],
      [MAX, "ended within a frame"],
      [MAX + 1, `says that it has ${MAX + 1} bytes`],
    ] as const
  ) {
    const { fault } = await readAll(new FrameReader(cut(preludeOf(length), [])));
    assert(fault?.message.includes(says), `${length}: ${fault?.message}`);
  }
  // nothing that comes later is waited for
  const never = new Promise<undefined>(() => {});
  for (const frame of [frameOf("Hi"), codec.encode({ headers: {}, body: new Uint8Array(0) })]) {
    const sources = [Promise.resolve(frame), never];
    const bytes = await new FrameReader({ read: () => sources.shift()! }).read();
    const text = new TextDecoder().decode(bytes);
    assert(frame.length === 16 ? text.startsWith("event: error") : text.includes("Hi"), text);
  }
});

Deno.test("what a frame says: an event in base64 or itself, nothing for one without a type, else an error by its kind (table)", async () => {
  const event = { ":message-type": "event" };
  const exception = (kind: string) => ({
    ":message-type": "exception",
    ":exception-type": kind,
  });
  for (
    const [headers, body, expected] of [
      [event, { bytes: btoa('{"type":"ping","n":1}') }, ["ping", { type: "ping", n: 1 }]],
      [event, { type: "ping" }, ["ping", { type: "ping" }]],
      [event, { bytes: btoa('{"n":1}') }, undefined],
      [event, {}, undefined],
      [event, [], undefined],
      [exception("ThrottlingException"), { message: "slow" }, ["rate_limit_error", "slow"]],
      [exception("validationException"), { message: "no" }, ["invalid_request_error", "no"]],
      [exception("constructor"), {}, ["api_error", "constructor"]],
      [{ ":error-code": "Odd", ":error-message": "so" }, {}, ["api_error", "so"]],
      [{}, {}, ["api_error", "exception"]],
    ] as const
  ) {
    const frame = codec.encode({
      headers: Object.fromEntries(
        Object.entries(headers).map(([name, value]) => [name, { type: "string", value }]),
      ),
      body: new TextEncoder().encode(JSON.stringify(body)),
    });
    const bytes = await new FrameReader(cut(frame, [])).read();
    if (expected === undefined) {
      assertEquals(bytes, undefined);
      continue;
    }
    const [, name, data] = /^event: (.*)\ndata: (.*)\n\n$/.exec(new TextDecoder().decode(bytes))!;
    const { error, ...rest } = JSON.parse(data!);
    if (error === undefined) assertEquals([name, rest], [...expected]);
    else assertEquals([name, error], ["error", { type: expected[0], message: expected[1] }]);
  }
});
