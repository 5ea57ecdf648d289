import type { Asked } from "../bridge.ts";
import { replaceImages } from "../replace.ts";

/** The request with some of its images replaced by others, by the fields that hold them. */
export function replaceMessagesImages(asked: Asked, urls: ReadonlyMap<string, string>): Asked {
  return replaceImages(asked, urls, (_source, url) => {
    const [, mediaType, data] = /^data:([^;,]*);base64,([\s\S]*)$/.exec(url)!;
    return { type: "base64", media_type: mediaType!, data: data! };
  });
}
