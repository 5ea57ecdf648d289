import type { ParsedRequest } from "./dialect.ts";
import type { JsonObject, JsonValue } from "./json.ts";

/**
 * A request with some of its images replaced.
 *
 * @param urls Base64 data URLs, by the fields that hold the images.
 * @param write What such a field holds then.
 */
export function replaceImages(
  request: ParsedRequest,
  urls: ReadonlyMap<string, string>,
  write: (value: JsonValue, url: string) => JsonValue,
): ParsedRequest {
  const changes = new Map(
    [...urls].map(([param, url]) => [param, (value: JsonValue) => write(value, url)]),
  );
  return {
    ...request,
    body: replaceAt(request.body, changes),
    images: request.images.map((image) => {
      const url = urls.get(image.param);
      return url === undefined ? image : { ...image, source: "inline", url };
    }),
  };
}

/**
 * A copy of a body in which some values are replaced; what is not on the way to one of them is shared
 * with the original.
 *
 * @param changes By path, as `messages[0].content[1].image_url`, which must exist.
 */
function replaceAt(
  body: JsonObject,
  changes: ReadonlyMap<string, (value: JsonValue) => JsonValue>,
): JsonObject {
  let changed: JsonValue = body;
  for (const [path, change] of changes) changed = replaced(changed, stepsOf(path), change);
  return changed as JsonObject; // a path has at least one step, so the root stays an object
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
