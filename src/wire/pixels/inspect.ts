/** Format and pixel size of an image, as its bytes say. */
export interface Picture {
  readonly kind: "png" | "jpeg" | "gif" | "webp";
  readonly width: number;
  readonly height: number;
}

/**
 * Reads the format and pixel size of an image from its header.
 *
 * @param bytes The start of the file; a JPEG's header may need up to 64 KiB.
 * @returns The format and size, or `undefined` if the bytes are not a PNG, JPEG, WEBP or GIF header.
 */
export function inspect(bytes: Uint8Array): Picture | undefined {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return png(bytes, view) ?? gif(bytes, view) ?? webp(bytes, view) ?? jpeg(bytes, view);
}

function starts(bytes: Uint8Array, text: string, at = 0): boolean {
  if (bytes.length < at + text.length) return false;
  for (let index = 0; index < text.length; index++) {
    if (bytes[at + index] !== text.charCodeAt(index)) return false;
  }
  return true;
}

function png(bytes: Uint8Array, view: DataView): Picture | undefined {
  if (!starts(bytes, "\x89PNG\r\n\x1a\n") || !starts(bytes, "IHDR", 12) || bytes.length < 24) {
    return undefined;
  }
  return { kind: "png", width: view.getUint32(16), height: view.getUint32(20) };
}

function gif(bytes: Uint8Array, view: DataView): Picture | undefined {
  if (!(starts(bytes, "GIF87a") || starts(bytes, "GIF89a")) || bytes.length < 10) return undefined;
  return { kind: "gif", width: view.getUint16(6, true), height: view.getUint16(8, true) };
}

function webp(bytes: Uint8Array, view: DataView): Picture | undefined {
  if (!starts(bytes, "RIFF") || !starts(bytes, "WEBP", 8) || bytes.length < 30) return undefined;
  const size = webpSize(view, 12);
  return size && { kind: "webp", ...size };
}

/**
 * Reads what a chunk of a WEBP says of a size: that of its picture, or of the canvas.
 *
 * @param at Index of the chunk, of which 18 bytes must be in the file.
 * @returns The size in pixels; `undefined` for a chunk that has none.
 */
export function webpSize(view: DataView, at: number): Omit<Picture, "kind"> | undefined {
  const uint24 = (at: number) => view.getUint16(at, true) + (view.getUint8(at + 2) << 16) + 1;
  switch (view.getUint32(at)) {
    case 0x56503820: // "VP8 "
      return {
        width: view.getUint16(at + 14, true) & 0x3fff,
        height: view.getUint16(at + 16, true) & 0x3fff,
      };
    case 0x5650384c: { // "VP8L"
      const bits = view.getUint32(at + 9, true);
      return { width: (bits & 0x3fff) + 1, height: ((bits >>> 14) & 0x3fff) + 1 };
    }
    case 0x56503858: // "VP8X"
      return { width: uint24(at + 12), height: uint24(at + 15) };
  }
  return undefined;
}

/** Whether a JPEG's marker has no segment: to take what follows for a length would miss the frame header that decoders find. */
export function isBareMarker(marker: number): boolean {
  return marker === 0x01 || marker >= 0xd0 && marker <= 0xd8;
}

/** Walks the segments to the frame header (SOF0 to SOF15, without DHT, JPG and DAC). */
function jpeg(bytes: Uint8Array, view: DataView): Picture | undefined {
  if (!starts(bytes, "\xff\xd8\xff")) return undefined;
  let at = 2;
  while (at + 9 <= bytes.length) {
    if (bytes[at] !== 0xff) return undefined;
    const marker = bytes[at + 1]!;
    if (marker === 0xff) {
      at++; // fill byte
    } else if (isBareMarker(marker)) {
      at += 2;
    } else if (marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker)) {
      return { kind: "jpeg", width: view.getUint16(at + 7), height: view.getUint16(at + 5) };
    } else {
      at += 2 + view.getUint16(at + 2);
    }
  }
  return undefined;
}
