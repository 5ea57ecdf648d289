/** AWS's binary event streams: however a stream is cut all events come, and of a damaged one none that was not sent. */

import { EventStreamCodec } from "@smithy/eventstream-codec";
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
