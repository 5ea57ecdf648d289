import type { Front, ParsedRequest } from "./dialect.ts";
import type { JsonObject, JsonValue } from "./json.ts";

/**
 * A request with some of its images replaced. What of its body is not on the way to one of them is shared with the original.
 *
 * @param front Of the request's dialect.
 * @param urls Base64 data URLs, by the fields that hold the images, as `messages[0].content[1].image_url`.
 */
export function replaceImages(
  request: ParsedRequest,
  front: Pick<Front, "imageField">,
  urls: ReadonlyMap<string, string>,
): ParsedRequest {
  let body: JsonValue = request.body;
  for (const [param, url] of urls) {
    body = replaced(body, stepsOf(param), (field) => front.imageField(field, url));
  }
  return {
    ...request,
    body: body as JsonObject, // a path has at least one step, so the root stays an object
    images: request.images.map((image) => {
      const url = urls.get(image.param);
      return url === undefined ? image : { ...image, source: "inline", url };
    }),
  };
}

function replaced(
  value: JsonValue,
  [step, ...rest]: readonly (string | number)[],
  change: (value: JsonValue) => JsonValue,
): JsonValue {
  if (step === undefined) return change(value);
  if (Array.isArray(value) && typeof step === "number") {
    return value.with(step, replaced(value[step]!, rest, change));
  }
  const object = value as JsonObject; // the path was made from this body
  return { ...object, [step]: replaced(object[step]!, rest, change) };
}

function stepsOf(path: string): (string | number)[] {
  return path.split(/[.[\]]+/).filter((step) => step !== "")
    .map((step) => (/^\d+$/.test(step) ? Number(step) : step));
}
