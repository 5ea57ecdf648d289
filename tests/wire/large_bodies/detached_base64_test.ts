import { setImmediate } from "node:timers";
import { DetachedBase64, LargeBodies } from "../../../src/wire/large_bodies/mod.ts";
import { CoarseTimers } from "../../../src/ground/platform/coarse_timers.ts";
import { FairShare } from "../../../src/ground/fair_share/mod.ts";
import { assert, assertEquals } from "../../assert.ts";
import { Random, testSeed } from "../../fake/random.ts";

const encoder = new TextEncoder();
const decoder = new TextDecoder();
const png = await Deno.readFile(new URL("../../requests/images/files/rgb.png", import.meta.url));

const BOUNDS = { depth: 100, values: 1_000, members: 100 };

/** Base64 of random bytes. */
function base64Of(random: Random, bytes: number): string {
  let binary = "";
  for (let at = 0; at < bytes; at++) binary += String.fromCharCode(random.integer(0, 255));
  return btoa(binary);
}

/** The thread and its budget, for the time of a test. */
function largeBodies(bytes = 100_000_000) {
  const timers = new CoarseTimers();
  const memory = new FairShare({
    resource: "large request bodies",
    capacity: bytes,
    perAccount: bytes,
    waitMs: 200,
    timers,
  });
  const large = new LargeBodies(memory, timers);
  return {
    large,
    [Symbol.dispose]() {
      large.close();
      timers.close();
    },
  };
}

async function detach(large: LargeBodies, json: string) {
  const blobs = new DetachedBase64(large.turn, "ada");
  const found = await large.detach(encoder.encode(json).slice(), blobs, BOUNDS);
  assert("text" in found);
  return { blobs, text: decoder.decode(found.text) };
}

/** What would be sent of a text. */
async function sent(blobs: DetachedBase64, text: string): Promise<string> {
  const whole = blobs.reattach(text);
  if (typeof whole === "string") return whole;
  let said = "";
  let size = 0;
  for await (const portion of whole) {
    said += decoder.decode(portion, { stream: true });
    size += portion.byteLength;
  }
  assertEquals(size, whole.size);
  return said;
}

Deno.test("blobs: whatever stands aside is sent as it was read, and read as it was", async () => {
  const seed = testSeed();
  const random = new Random(seed);
  using parts = largeBodies();
  // a run is worth standing aside from 131,072 characters of base64 on, 98,304 bytes
  const sizes = [10, 98_301, 98_304, 98_305, 98_306, 150_000];
  const string = (): string => {
    const run = base64Of(random, random.pick(sizes));
    return random.pick([
      () => run,
      () => `data:image/png;base64,${run}`,
      () => `data:image/png;charset=ü;base64,${run}`,
      () => `${run}=`,
      () => `${run} and text`,
      () => `"${run}"`,
      () => `\\${run}\n`,
      () => `${"é".repeat(40)};base64,${run}`,
      () => "short \u{1f600}",
    ])();
  };
  for (let round = 0; round < 60; round++) {
    const value = {
      [random.integer(0, 5) === 0 ? string() : "key"]: string(),
      list: [string(), { url: string() }, null, 1.5],
      same: random.integer(0, 1) === 0 ? "" : string(),
    };
    const json = JSON.stringify(value, null, random.integer(0, 2));
    const { blobs, text } = await detach(parts.large, json);
    assert(text.length <= json.length + 200 * (blobs.count + 1));
    const read = JSON.parse(text);
    assertEquals(blobs.restored(read), value, `seed ${seed}`);
    assertEquals(JSON.parse(await sent(blobs, JSON.stringify(read))), value, `seed ${seed}`);
  }
});

Deno.test("blobs: only what is nothing but long base64 to the end of its string stands aside", async () => {
  using parts = largeBodies();
  const run = "A".repeat(131_072);
  const counts: [string, number][] = [
    [`{"a":"${run}"}`, 1],
    [`{"a":"data:image/png;base64,${run}"}`, 1],
    [`{"a":"${run}","b":"${run.slice(2)}==","c":"${run.slice(1)}="}`, 3],
    [`{"a":"${run.slice(1)}"}`, 0], // shorter
    [`{"a":"${run}A"}`, 0], // not in fours
    [`{"a":"${run.slice(3)}==="}`, 0],
    [`{"a":"${run}/\\/${"A".repeat(2)}"}`, 0], // escaped
    [`{"a":"${run} "}`, 0],
    [`{"a":"${run}é"}`, 0],
    [`{"a":"x;base64,${run}"}`, 0], // no data: address
    [`{"a":"${run}`, 0], // the text breaks off
    [`{"a":"\\"${run}"}`, 0], // begins behind an escaped quotation mark
    [run, 0],
    ["", 0],
  ];
  for (const [json, count] of counts) {
    const { blobs, text } = await detach(parts.large, json);
    assertEquals(blobs.count, count, json.slice(0, 30));
    if (count === 0) assertEquals(text, json);
  }
});

Deno.test("blobs: an image in one is told by its bytes", async () => {
  using parts = largeBodies();
  const large = new Uint8Array(200_001);
  large.set(png.subarray(0, 33));
  new DataView(large.buffer).setUint32(33, large.length - 33 - 12 - 12);
  large.set(encoder.encode("IDAT"), 37);
  large.set(png.subarray(-12), large.length - 12);
  const binary = Array.from(large, (one) => String.fromCharCode(one)).join("");
  const { blobs, text } = await detach(parts.large, JSON.stringify([btoa(binary), "x"]));
  const { picture } = blobs.at(JSON.parse(text)[0])!.examined as { picture: unknown };
  assertEquals(picture, { kind: "png", width: 48, height: 32 });
  assertEquals(blobs.at(JSON.parse(text)[1]), undefined);

  const encoded = await parts.large.encode(large.slice(), blobs);
  assertEquals(encoded.examined, { picture: { kind: "png", width: 48, height: 32 } });
  assertEquals(await sent(blobs, encoded.data), btoa(binary));
});

Deno.test("blobs: what was released is sent no more, and its memory is used again", async () => {
  using parts = largeBodies();
  const { large } = parts;
  const room = large.room(2_000_000);
  const json = encoder.encode(`{"a":"${"A".repeat(1_600_000)}"}`);
  new Uint8Array(room).set(json);
  const blobs = new DetachedBase64(large.turn, "ada");
  const found = await large.detach(new Uint8Array(room, 0, json.byteLength), blobs, BOUNDS);
  assert("text" in found);
  const text = decoder.decode(found.text);
  const whole = blobs.reattach(text);
  assert(typeof whole !== "string");
  blobs.release();
  const again = large.room(1_900_000);
  assertEquals(new Uint8Array(again, 6, 3), encoder.encode("AAA")); // what was left there
  assertEquals(large.room(1_900_000).byteLength, again.byteLength); // nobody else has it
  let left = 0;
  for await (const portion of whole) left += portion.byteLength;
  assert(left < 100_000, `${left} bytes of what was released`);

  // while it is being sent it stays where it is
  const other = await detach(large, JSON.stringify(["B".repeat(1_600_000)]));
  const sending = (other.blobs.reattach(other.text) as AsyncIterable<Uint8Array>)
    [Symbol.asyncIterator]();
  await sending.next();
  other.blobs.release();
  let rest = 0;
  for (let next = await sending.next(); !next.done; next = await sending.next()) {
    rest += next.value.byteLength;
  }
  assert(rest > 1_400_000, `${rest} bytes`);
});

Deno.test("turns are given one at a time, with others in between", async () => {
  using parts = largeBodies();
  const order: string[] = [];
  const isOver = () => order.filter((whose) => whose === "turn").length === 50;
  const others = () => {
    if (isOver()) return;
    order.push("other");
    setImmediate(others);
  };
  const turns = Array.from({ length: 50 }, async () => {
    await parts.large.turn("ada");
    order.push("turn");
  });
  setImmediate(others);
  await Promise.all(turns);
  for (let at = 1; at < order.length; at++) {
    assert(order[at] !== "turn" || order[at - 1] === "other", `${at}: ${order.join(" ")}`);
  }
});
