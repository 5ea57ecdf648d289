import { Buffer } from "node:buffer";
import { inspect, type Picture } from "./inspect.ts";

/** Characters of base64 that are decoded to find the header: usually the first few suffice. */
const NEAR = 256;
const FAR = 64 * 1_024;

/**
 * Reads the format and pixel size of an image in a `data:` URL.
 *
 * @param url The URL, which may have some of its base64 detached: only the start is decoded.
 * @returns The format and size, or `undefined` if the URL holds no image that {@linkcode inspect} knows.
 */
export function inspectDataUrl(url: string): Picture | undefined {
  if (!/^data:/i.test(url)) return undefined;
  const comma = url.indexOf(",");
  if (!/;base64$/i.test(url.slice(0, comma))) return undefined;
  if (/[^A-Za-z0-9+/=\s]/.test(url.slice(comma + 1, comma + 1 + NEAR))) return undefined;
  const head = (chars: number) => {
    const text = url.slice(comma + 1, comma + 1 + chars);
    const odd = text.search(/[^A-Za-z0-9+/=\s]/); // the mark of detached base64, or invalid input
    return Buffer.from(odd < 0 ? text : text.slice(0, odd), "base64");
  };
  return inspect(head(NEAR)) ?? inspect(head(FAR));
}
