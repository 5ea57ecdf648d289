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
  const head = (chars: number) => Buffer.from(url.slice(comma + 1, comma + 1 + chars), "base64");
  return inspect(head(NEAR)) ?? inspect(head(FAR));
}
