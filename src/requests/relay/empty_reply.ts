import type { Route } from "../../settings/catalog/mod.ts";
import { DIALECTS, NO_USAGE, type ParsedRequest, type Sealer } from "../../wire/dialects/mod.ts";
import { Refusal } from "../../ground/refusal.ts";
import { fingerprintOf } from "./fingerprint.ts";
import type { RelayParts, RelayReply, RelayRequest } from "./request.ts";

/** A request that was checked, and whose model is not to reply. */
export interface CheckedRequest {
  readonly request: ParsedRequest;
  readonly route: Route;
  readonly sealer: Sealer;
  readonly inputTokens: number;
}

/**
 * Replies without a model: a stream that is complete and has no output. It is admitted by no window and costs nothing.
 *
 * @throws {Refusal} `model_unknown` if the route has no target.
 */
export async function emptyReply(
  { admission, now }: RelayParts,
  { dialect, requestId, caller, onStatus, over }: RelayRequest,
  { request, route, sealer, inputTokens }: CheckedRequest,
): Promise<RelayReply> {
  const [target] = route.targets;
  if (target === undefined) throw new Refusal("model_unknown", `Unknown model '${request.model}'.`);
  onStatus(await admission.accountStatus(caller));
  const { front } = DIALECTS[dialect];
  const writer = front.writer({
    request,
    written: {},
    id: front.replyId(requestId),
    model: request.model,
    source: { route: route.id, upstream: target.upstream, model: target.model },
    sealer,
    inputTokens,
    createdAtS: Math.floor(now() / 1_000),
    fingerprint: fingerprintOf(route, target),
  });
  const body = new Response(writer.close(NO_USAGE)).body!;
  over();
  return { headers: {}, body, settled: undefined };
}
