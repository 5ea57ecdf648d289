import { inspect, isBareMarker, type Picture, webpSize } from "./inspect.ts";

/** Result of {@linkcode examine}: a complete image, or what is wrong with it, to follow "the image". */
export type Examined =
  | { readonly picture: Picture; readonly fault?: undefined }
  | { readonly fault: string };

/**
 * Checks an image from its first to its last byte.
 *
 * Accepts a complete PNG, JPEG, WEBP or GIF, animated or not, without trailing data: a file that is valid in two
 * formats could hide data for another reader.
 *
 * @param bytes The whole file.
 * @returns The format and size, or the fault: `is a PNG that is truncated`.
 */
export function examine(bytes: Uint8Array): Examined {
  if (bytes.length === 0) return { fault: "is empty" };
  const picture = inspect(bytes);
  if (picture === undefined) return { fault: "is not a PNG, JPEG, WEBP or GIF" };
  const { kind, width, height } = picture;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const fault = WALKS[kind](bytes, view, picture);
  if (fault !== undefined) return { fault: `is a ${kind.toUpperCase()} that ${fault}` };
  return width === 0 || height === 0 ? { fault: "has no pixels" } : { picture };
}

/** Returns what is wrong with a file's structure, or `undefined` if the file is complete. */
type Walk = (bytes: Uint8Array, view: DataView, picture: Picture) => string | undefined;

const TRUNCATED = "is truncated";
/** Decoders enlarge the picture to its frames: its size would not be the one that is limited and counted. */
const OUTSIDE = "has a frame larger than its canvas";
const MORE = "has trailing data";

const WALKS: Readonly<Record<Picture["kind"], Walk>> = {
  png: walkPng,
  jpeg: walkJpeg,
  gif: walkGif,
  webp: walkWebp,
};

/** Chunks of length, type, data, checksum; `IHDR` first, `IEND` last (PNG specification, section 5). */
function walkPng(bytes: Uint8Array, view: DataView): string | undefined {
  let at = 8;
  let data = false;
  while (at + 12 <= bytes.length) {
    const length = view.getUint32(at);
    const type = text(bytes, at + 4, 4);
    if (at === 8 && length !== 13) return "has an invalid header";
    at += 12 + length;
    if (at > bytes.length) return TRUNCATED;
    if (type === "IDAT") data = true;
    if (type !== "IEND") continue;
    if (!data) return "has no pixels";
    return at === bytes.length ? undefined : MORE;
  }
  return TRUNCATED;
}

/** Blocks after the screen descriptor, to the trailer (GIF89a specification). */
function walkGif(bytes: Uint8Array, view: DataView, picture: Picture): string | undefined {
  const tableBytes = (flags: number) => (flags & 0x80) === 0 ? 0 : 3 * 2 ** ((flags & 7) + 1);
  const skipBlocks = (from: number): number => {
    let at = from;
    while (at < bytes.length && bytes[at] !== 0) at += 1 + bytes[at]!;
    return at + 1;
  };
  if (bytes.length < 13) return TRUNCATED;
  let at = 13 + tableBytes(bytes[10]!);
  let frames = 0;
  while (at < bytes.length) {
    const block = bytes[at];
    if (block === 0x3b) {
      if (frames === 0) return "has no frames";
      return at + 1 === bytes.length ? undefined : MORE;
    }
    if (block === 0x21) at = skipBlocks(at + 2);
    else if (block === 0x2c) {
      if (at + 10 > bytes.length) return TRUNCATED;
      const [left, top, width, height] = [1, 3, 5, 7].map((field) =>
        view.getUint16(at + field, true)
      );
      if (left! + width! > picture.width || top! + height! > picture.height) return OUTSIDE;
      at = skipBlocks(at + 10 + tableBytes(bytes[at + 9]!) + 1);
      frames++;
    } else return "has an invalid block";
  }
  return TRUNCATED;
}

/** A RIFF of the file's own length, its chunks padded to even lengths (WebP container format). */
function walkWebp(bytes: Uint8Array, view: DataView, picture: Picture): string | undefined {
  const end = 8 + view.getUint32(4, true);
  if (end > bytes.length) return TRUNCATED;
  if (end + (end & 1) < bytes.length) return MORE;
  let at = 12;
  let pictures = 0;
  while (at + 8 <= end) {
    const type = text(bytes, at, 4);
    const length = view.getUint32(at + 4, true);
    const size = at + 18 <= end ? webpSize(view, at) : undefined;
    if (size && (size.width > picture.width || size.height > picture.height)) return OUTSIDE;
    at += 8 + length + (length & 1);
    if (at > end + 1) return TRUNCATED;
    if (["VP8 ", "VP8L", "ANMF"].includes(type)) pictures++;
  }
  return pictures === 0 ? "has no pixels" : undefined;
}

/**
 * Segments, then scans of coded data up to the end marker (ITU-T T.81, annex B). Cameras put more whole
 * JPEGs behind the first one (previews, gain maps): those may follow, nothing else.
 */
function walkJpeg(bytes: Uint8Array, view: DataView): string | undefined {
  let at = 0;
  while (at < bytes.length) {
    if (at > 0 && !(bytes[at] === 0xff && bytes[at + 1] === 0xd8 && bytes[at + 2] === 0xff)) {
      return MORE;
    }
    const end = jpegEnd(bytes, view, at);
    if (typeof end === "string") return end;
    at = end;
  }
  return undefined;
}

/** Returns where the JPEG that begins at `from` ends, or what is wrong with it. */
function jpegEnd(bytes: Uint8Array, view: DataView, from: number): number | string {
  let at = from + 2;
  let scans = 0;
  while (at + 2 <= bytes.length) {
    if (bytes[at] !== 0xff) return "has an invalid segment";
    const marker = bytes[at + 1]!;
    if (marker === 0xff) {
      at++; // fill byte
    } else if (marker === 0xd9) {
      return scans === 0 ? "has no pixels" : at + 2;
    } else if (isBareMarker(marker)) {
      at += 2;
    } else {
      if (at + 4 > bytes.length) return TRUNCATED;
      const length = view.getUint16(at + 2);
      if (length < 2) return "has an invalid segment";
      at += 2 + length;
      if (marker !== 0xda) continue;
      scans++;
      at = scanEnd(bytes, at);
    }
  }
  return TRUNCATED;
}

/** The next marker that is not part of coded data. */
function scanEnd(bytes: Uint8Array, from: number): number {
  let at = bytes.indexOf(0xff, from);
  while (at >= 0 && at + 1 < bytes.length) {
    const next = bytes[at + 1]!;
    if (next !== 0 && next !== 0xff && !(next >= 0xd0 && next <= 0xd7)) return at;
    at = bytes.indexOf(0xff, next === 0xff ? at + 1 : at + 2);
  }
  return bytes.length;
}

function text(bytes: Uint8Array, at: number, length: number): string {
  return String.fromCharCode(...bytes.subarray(at, at + length));
}
