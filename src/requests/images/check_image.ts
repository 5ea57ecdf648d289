import { Buffer } from "node:buffer";
import { examine, type Examined, type Picture } from "../../wire/pixels/mod.ts";
import { humanBytes } from "../../ground/platform/mod.ts";
import { ImageFault } from "./fault.ts";

/** Limits on one image. */
export interface PictureLimits {
  /** Max decoded bytes. */
  readonly maxBytes: number;
  /** Max width times height. */
  readonly maxPixels: number;
}

/** An image to be checked. */
export interface Suspect {
  /** Decoded bytes. */
  readonly size: number;
  /** Declared media type in lower case; empty if there is none. */
  readonly declared: string;
  /** Checks the bytes. Called only if size and declared type are acceptable. */
  readonly examine: () => Examined;
}

/** An accepted image. */
export interface Checked extends Picture {
  /** Media type detected from the bytes, such as `image/png`. */
  readonly mediaType: string;
}

/**
 * Checks an image. The format is detected from the bytes; a declared type that is not an image type is rejected.
 *
 * @param limits Max bytes and pixels.
 * @returns Format, size in pixels, and media type.
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

/**
 * Computes the decoded size of base64.
 *
 * @param base64 Text that may be base64.
 * @returns The number of bytes, if the text is valid base64.
 */
export function decodedSize(base64: string): number {
  const padding = base64.endsWith("==") ? 2 : base64.endsWith("=") ? 1 : 0;
  return base64.length / 4 * 3 - padding;
}

/** Checks an image in base64, as `examine()` does. */
export function examineEncoded(base64: string): Examined {
  // The decoder skips invalid characters, and takes minutes for megabytes of them (Deno 2.9).
  if (base64 === "" || /[^A-Za-z0-9+/=]/.test(base64)) return { fault: "is not valid base64" };
  const bytes = Buffer.from(base64, "base64");
  return bytes.byteLength === decodedSize(base64)
    ? examine(bytes)
    : { fault: "is not valid base64" };
}
