import type { HeaderLookup, ParsedRequest } from "../dialect.ts";
import type { Sealer } from "../sealer.ts";

/** @throws {Refusal} `request_invalid` naming the first field at fault. */
export function parseResponses(
  _body: unknown,
  _header: HeaderLookup,
  _sealer: Sealer,
): ParsedRequest {
  throw new Error("not written yet");
}
