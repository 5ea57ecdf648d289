import type { Asked } from "../bridge.ts";
import type { JsonObject } from "../json.ts";
import { replaceAt } from "../replace.ts";

/** The request with some of its images replaced by others, by the fields that hold them. */
export function replaceMessagesImages(asked: Asked, urls: ReadonlyMap<string, string>): Asked {
  const changes = new Map(
    [...urls].map(([param, url]) => {
      const [, media_type, data] = /^data:([^;,]*);base64,([\s\S]*)$/.exec(url)!;
      const source: JsonObject = { type: "base64", media_type: media_type!, data: data! };
      return [param, () => source];
    }),
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
