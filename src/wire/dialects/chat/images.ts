import type { ParsedRequest } from "../dialect.ts";
import { isObject } from "../json.ts";
import { replaceImages } from "../replace.ts";

/** The request with some of its images replaced by others, by the fields that hold them. */
export function replaceChatImages(
  request: ParsedRequest,
  urls: ReadonlyMap<string, string>,
): ParsedRequest {
  return replaceImages(request, urls, (image, url) => isObject(image) ? { ...image, url } : url);
}
