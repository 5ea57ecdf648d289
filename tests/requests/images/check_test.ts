import { type Checked, checkImage, ImageFault } from "../../../src/requests/images/mod.ts";
import { examine } from "../../../src/wire/pixels/mod.ts";
import { assert, assertEquals, assertThrows } from "../../assert.ts";
import { Random, testSeed } from "../../fake/random.ts";

const MAX_PIXELS = 100_000_000;
const directory = new URL("./files/", import.meta.url);
const files = new Map<string, Uint8Array>();
for (const { name } of Deno.readDirSync(directory)) {
  files.set(name, await Deno.readFile(new URL(name, directory)));
}
const KINDS: Readonly<Record<string, string>> = {
  png: "image/png",
  jpg: "image/jpeg",
  gif: "image/gif",
  webp: "image/webp",
};
const kindOf = (name: string) => KINDS[name.split(".").at(-1)!];
const file = (name: string) => files.get(name)!;
const encoder = new TextEncoder();
const joined = (...parts: Uint8Array[]) => new Uint8Array(parts.flatMap((part) => [...part]));

function check(bytes: Uint8Array, maxPixels = MAX_PIXELS): Checked {
  const suspect = { size: bytes.byteLength, declared: "", examine: () => examine(bytes) };
  return checkImage(suspect, { maxBytes: 1e9, maxPixels });
}

function faultOf(bytes: Uint8Array, maxPixels = MAX_PIXELS): string {
  return assertThrows(() => check(bytes, maxPixels), ImageFault).message;
}

for (const [name, bytes] of files) {
  Deno.test(`pictures: ${name} is let in`, () => {
    const { mediaType, width, height } = check(bytes);
    assertEquals([mediaType, width, height], [kindOf(name), 48, 32]);
  });

  Deno.test(`pictures: ${name} cut off anywhere is not`, () => {
    for (let length = 0; length < bytes.length; length++) faultOf(bytes.subarray(0, length));
  });

  Deno.test(`pictures: ${name} with something behind it is not`, () => {
    for (
      const more of [
        encoder.encode("PK\x03\x04 a zip archive"),
        encoder.encode("<script>alert(1)</script>"),
        encoder.encode("%PDF-1.7"),
      ]
    ) {
      assertEquals(
        faultOf(joined(bytes, more)),
        `is a ${kindOf(name)!.slice(6).toUpperCase()} that has trailing data`,
      );
    }
  });
}

Deno.test("pictures: another whole JPEG behind a JPEG is what cameras do", () => {
  const bytes = joined(file("baseline.jpg"), file("gray.jpg"));
  assertEquals(check(bytes).mediaType, "image/jpeg");
});

Deno.test("pictures: what is none is told as that", () => {
  const none = "is not a PNG, JPEG, WEBP or GIF";
  const others: Readonly<Record<string, Uint8Array>> = {
    svg: encoder.encode('<svg xmlns="http://www.w3.org/2000/svg"/>'),
    html: encoder.encode("<!doctype html><title>x</title>"),
    pdf: encoder.encode("%PDF-1.7"),
    mp4: joined(Uint8Array.of(0, 0, 0, 24), encoder.encode("ftypmp42")),
    webm: Uint8Array.of(0x1a, 0x45, 0xdf, 0xa3),
    bmp: encoder.encode("BM"),
    avif: joined(Uint8Array.of(0, 0, 0, 24), encoder.encode("ftypavif")),
    ico: Uint8Array.of(0, 0, 1, 0),
    text: encoder.encode("hello"),
  };
  for (const [kind, bytes] of Object.entries(others)) assertEquals(faultOf(bytes), none, kind);
  assertEquals(faultOf(new Uint8Array()), "is empty");
});

Deno.test("pictures: absurd sizes are refused", () => {
  const sized = (width: number, height: number) => {
    const bytes = file("rgb.png").slice();
    const view = new DataView(bytes.buffer);
    view.setUint32(16, width);
    view.setUint32(20, height);
    return bytes;
  };
  assertEquals(faultOf(sized(0, 10)), "has no pixels");
  assertEquals(
    faultOf(sized(100_000, 100_000)),
    "has 100000 × 100000 pixels: the limit is 100,000,000",
  );
  assertEquals(check(sized(10_000, 10_000)).width, 10_000);
  assertEquals(faultOf(sized(10_001, 10_000)).includes("the limit is"), true);
});

Deno.test("pictures: the size is the one that decoders see, and not one beside it", () => {
  // a marker without a segment, behind which a length would be read: it leads to a frame header that is none
  const comment = new Uint8Array(2 + 0xfffd);
  comment.set([0xff, 0xee, 0xff, 0xfd]);
  comment.set([0xff, 0xc0, 0, 17, 8, 0, 1, 0, 1], 2 + 0xffee - 2);
  const baseline = file("baseline.jpg");
  const jpeg = joined(Uint8Array.of(0xff, 0xd8, 0xff, 1), comment, baseline.subarray(2));
  assertEquals([check(jpeg).width, check(jpeg).height], [48, 32]);

  const patched = (name: string, patches: Readonly<Record<number, number>>) => {
    const bytes = file(name).slice();
    for (const [at, byte] of Object.entries(patches)) bytes[Number(at)] = byte;
    return faultOf(bytes);
  };
  const outside = "has a frame larger than its canvas";
  for (const name of ["still.gif", "animated.gif", "gif87a.gif"]) {
    for (const at of [6, 8]) assertEquals(patched(name, { [at]: 1 }), `is a GIF that ${outside}`);
  }
  for (const at of [24, 27]) {
    assertEquals(patched("vp8x_exif.webp", { [at]: 0 }), `is a WEBP that ${outside}`);
  }
});

Deno.test("pictures: two hundred mutated ones of each file never crash, hang, or pass as another kind", () => {
  const seed = testSeed();
  const random = new Random(seed);
  let passed = 0;
  let refused = 0;
  for (const [name, bytes] of files) {
    for (let round = 0; round < 200; round++) {
      let mutated = bytes.slice();
      for (let times = random.integer(1, 6); times > 0; times--) {
        const at = random.integer(0, Math.max(0, mutated.length - 1));
        switch (random.integer(0, 4)) {
          case 0:
            mutated[at] = random.integer(0, 255);
            break;
          case 1:
            mutated = mutated.slice(0, at);
            break;
          case 2:
            mutated = joined(mutated.subarray(0, at), mutated.subarray(at + random.integer(0, 40)));
            break;
          case 3:
            mutated.fill(random.pick([0, 0xff, 0x80]), at, at + random.integer(1, 8));
            break;
          default: {
            const other = random.pick([...files.values()]);
            mutated = joined(mutated.subarray(0, at), other.subarray(0, random.integer(0, 60)));
          }
        }
      }
      try {
        const { mediaType, width, height } = check(mutated);
        assertEquals(mediaType, kindOf(name), `seed ${seed}`);
        assert(width > 0 && height > 0);
        passed++;
      } catch (error) {
        if (!(error instanceof ImageFault)) throw new Error(`seed ${seed}`, { cause: error });
        refused++;
      }
    }
  }
  assert(passed > 100 && refused > 1_000, `${passed} passed, ${refused} refused`);
});
