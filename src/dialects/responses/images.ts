import type { ParsedRequest } from "../dialect.ts";

/** The request with images replaced by others. */
export function replaceResponsesImages(
  _request: ParsedRequest,
  _urls: ReadonlyMap<string, string>,
): ParsedRequest {
  throw new Error("not written yet");
}
