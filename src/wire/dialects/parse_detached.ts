import type { JsonBody } from "../large_bodies/mod.ts";
import type { ParsedRequest } from "./dialect.ts";

/**
 * Parses a body some of whose base64 is detached.
 *
 * Only images may stay detached. Base64 anywhere else is text that has to be counted and checked, so the body is
 * parsed again with everything reattached.
 *
 * @param parse Parses the body as its dialect does.
 */
export function parseDetached<T extends Pick<ParsedRequest, "images">>(
  { json, detached }: JsonBody,
  parse: (body: unknown) => T,
): T {
  const request = parse(json);
  if (detached.count === 0) return request;
  const inImages = new Set(request.images.flatMap(({ url }) => detached.at(url) ?? []));
  if (inImages.size === detached.count) return request;
  const whole = detached.restored(json);
  detached.forget();
  return parse(whole);
}
