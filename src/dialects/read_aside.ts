import type { JsonBody } from "../blobs/mod.ts";
import type { Asked } from "./bridge.ts";

/**
 * Reads a body some of whose base64 stands aside.
 *
 * Only images may stand aside. What looks like one anywhere else is text that has to be counted and
 * checked, so then the body is read again with everything in its place.
 *
 * @param read Reads the body as its dialect does.
 */
export function readAside<T extends Pick<Asked, "images">>(
  { json, blobs }: JsonBody,
  read: (body: unknown) => T,
): T {
  const asked = read(json);
  if (blobs.count === 0) return asked;
  const inImages = new Set(asked.images.flatMap(({ url }) => blobs.at(url) ?? []));
  if (inImages.size === blobs.count) return asked;
  const whole = blobs.restored(json);
  blobs.forget();
  return read(whole);
}
