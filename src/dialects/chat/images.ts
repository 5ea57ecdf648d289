import type { Asked } from "../bridge.ts";
import { isObject, type JsonValue } from "../json.ts";
import { replaceAt } from "../replace.ts";

/** The request with some of its images replaced by others, by the fields that hold them. */
export function replaceChatImages(asked: Asked, urls: ReadonlyMap<string, string>): Asked {
  const changes = new Map(
    [...urls].map(([param, url]) => [
      param,
      (value: JsonValue): JsonValue => isObject(value) ? { ...value, url } : url,
    ]),
  );
  return {
    ...asked,
    body: replaceAt(asked.body, changes),
    images: asked.images.map((image) => {
      const url = urls.get(image.param);
      return url === undefined ? image : { ...image, source: "inline", url };
    }),
  };
}
