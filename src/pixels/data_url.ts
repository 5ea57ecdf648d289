import { Buffer } from "node:buffer";
import { inspect, type Picture } from "./inspect.ts";

/** Characters of base64 that are looked at: headers stand at the front, some of them far from it. */
const NEAR = 256;
const FAR = 64 * 1_024;

/** Kind and size of an image in a `data:` address; undefined for any other. */
export function inspectDataUrl(url: string): Picture | undefined {
  if (!/^data:/i.test(url)) return undefined;
  const comma = url.indexOf(",");
  if (!/;base64$/i.test(url.slice(0, comma))) return undefined;
  if (/[^A-Za-z0-9+/=\s]/.test(url.slice(comma + 1, comma + 1 + NEAR))) return undefined;
  const head = (chars: number) => {
    const text = url.slice(comma + 1, comma + 1 + chars);
    const odd = text.search(/[^A-Za-z0-9+/=\s]/); // a mark, or nothing that the decoder should see
    return Buffer.from(odd < 0 ? text : text.slice(0, odd), "base64");
  };
  return inspect(head(NEAR)) ?? inspect(head(FAR));
}
