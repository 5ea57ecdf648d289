import { inspect, type Picture } from "./inspect.ts";

/** Characters of base64 that are looked at: headers stand at the front. */
const INSPECTED_BASE64 = 64 * 1_024;

/** Kind and size of an image in a `data:` address; undefined for any other. */
export function inspectDataUrl(url: string): Picture | undefined {
  const [, base64] = /^data:[^,]*;base64,([\s\S]*)$/.exec(url) ?? [];
  if (base64 === undefined) return undefined;
  const head = base64.slice(0, INSPECTED_BASE64);
  try {
    return inspect(Uint8Array.from(atob(head.slice(0, head.length & ~3)), (c) => c.charCodeAt(0)));
  } catch {
    return undefined;
  }
}
