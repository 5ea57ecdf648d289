import type { Asked } from "../bridge.ts";
import { isObject } from "../json.ts";
import { replaceImages } from "../replace.ts";

/** The request with some of its images replaced by others, by the fields that hold them. */
export function replaceChatImages(asked: Asked, urls: ReadonlyMap<string, string>): Asked {
  return replaceImages(asked, urls, (image, url) => isObject(image) ? { ...image, url } : url);
}
