import { Buffer } from "node:buffer";
import { examine, type Examined, type Picture } from "../pixels/mod.ts";
import { humanBytes } from "../platform/mod.ts";
import { ImageFault } from "./fault.ts";

/** What one image may be. */
export interface PictureLimits {
  /** Raw bytes. */
  readonly maxBytes: number;
  /** Width times height. */
  readonly maxPixels: number;
}

/** An image to be judged. */
export interface Suspect {
  /** Raw bytes in it. */
  readonly size: number;
  /** Its media type as its sender says, in lower case; empty when it does not. */
  readonly declared: string;
  /** Looks through it. */
  readonly examine: () => Examined;
}

/** An image that was let in. */
export interface Checked extends Picture {
  /** Such as `image/png`, by its bytes. */
  readonly mediaType: string;
}

/**
 * Judges an image. Its kind is told by its bytes; a declared one that is no image's at all is a lie.
 *
 * @throws {ImageFault} `large` or `content`.
 */
export function checkImage(
  { size, declared, examine }: Suspect,
  { maxBytes, maxPixels }: PictureLimits,
): Checked {
  if (size > maxBytes) throw new ImageFault("large", `is larger than ${humanBytes(maxBytes)}`);
  const refuse = (why: string) => new ImageFault("content", why);
  if (
    declared !== "" &&
    !/^(image\/.+|application\/octet-stream|binary\/octet-stream)$/.test(declared)
  ) {
    throw refuse(`is declared as ${declared.slice(0, 60)}, not as an image`);
  }
  const examined = examine();
  if (examined.fault !== undefined) throw refuse(examined.fault);
  const { picture } = examined;
  const { kind, width, height } = picture;
  if (width * height > maxPixels) {
    throw refuse(
      `has ${width} × ${height} pixels: the limit is ${maxPixels.toLocaleString("en-US")}`,
    );
  }
  return { ...picture, mediaType: `image/${kind}` };
}

/** Raw bytes that stand in base64, if it is that. */
export function decodedSize(base64: string): number {
  const padding = base64.endsWith("==") ? 2 : base64.endsWith("=") ? 1 : 0;
  return base64.length / 4 * 3 - padding;
}

/** Looks through an image in base64. */
export function examineEncoded(base64: string): Examined {
  // The decoder passes over what is not base64, and takes minutes for megabytes of it (Deno 2.9).
  if (base64 === "" || /[^A-Za-z0-9+/=]/.test(base64)) return { fault: "is not valid base64" };
  const bytes = Buffer.from(base64, "base64");
  return bytes.byteLength === decodedSize(base64)
    ? examine(bytes)
    : { fault: "is not valid base64" };
}
