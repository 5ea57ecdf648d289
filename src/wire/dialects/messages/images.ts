import type { ParsedRequest } from "../dialect.ts";
import { replaceImages } from "../replace.ts";

/** The request with some of its images replaced by others, by the fields that hold them. */
export function replaceMessagesImages(
  request: ParsedRequest,
  urls: ReadonlyMap<string, string>,
): ParsedRequest {
  return replaceImages(request, urls, (_source, url) => {
    const [, mediaType, data] = /^data:([^;,]*);base64,([\s\S]*)$/.exec(url)!;
    return { type: "base64", media_type: mediaType!, data: data! };
  });
}
