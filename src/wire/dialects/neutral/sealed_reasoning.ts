import { Refusal } from "../../../ground/refusal.ts";
import type { ParsedRequest } from "../dialect.ts";
import { isObject, items, type JsonObject, objects, text } from "../json.ts";
import type { Sealer } from "../sealer.ts";
import type { SealedReasoning, Turn } from "./conversation.ts";

/** How a conversation is written for an upstream that may have sealed reasoning in it. */
export interface SealTarget {
  /** The upstream's name, and the model's there: what they sealed is returned to them alone. */
  readonly upstream: string;
  readonly model: string;
  /** The upstream verifies reasoning: what it did not seal is dropped. */
  readonly signed: boolean;
}

/** What one upstream's model sealed of a turn: it is returned to that one alone. */
export function ownSeals(
  { sealed = [] }: Turn & { role: "assistant" },
  { upstream, model }: { readonly upstream: string; readonly model: string },
): readonly SealedReasoning[] {
  return sealed.filter((piece) => piece.upstream === upstream && piece.model === model);
}

/** Whether a turn has reasoning that this upstream's model has not sealed. */
export function hasUnsealed(turns: readonly Turn[], target: Omit<SealTarget, "signed">): boolean {
  return turns.some((turn) =>
    turn.role === "assistant" && turn.reasoning !== "" && ownSeals(turn, target).length === 0
  );
}

/** Reasoning that the gateway has sealed and opened again: its texts, and what upstreams sealed in it. */
export function openedReasoning(
  { upstream, model, parts }: JsonObject,
): { readonly texts: string[]; readonly sealed: SealedReasoning[] } {
  const texts: string[] = [];
  const sealed: SealedReasoning[] = [];
  for (const part of items(parts)) {
    if (!isObject(part)) continue;
    const own = text(part.text) ?? "";
    const seal = text(part.seal);
    if (own !== "") texts.push(own);
    if (seal !== undefined && typeof upstream === "string" && typeof model === "string") {
      sealed.push({ upstream, model, text: own, seal });
    }
  }
  return { texts, sealed };
}

/**
 * Opens what the gateway sealed in the reasoning of earlier replies. What cannot be opened is left out: a coding tool continues its
 * conversation when its key is replaced by one of another account.
 *
 * @param param The field that holds the texts.
 * @returns The values by their sealed texts; undefined when there are none.
 */
export function openEach(
  texts: Iterable<string>,
  sealer: Sealer,
  param: string,
): ParsedRequest["opened"] {
  let opened: Map<string, JsonObject> | undefined;
  for (const sealed of new Set(texts)) {
    const value = openOne(sealed, sealer, param);
    if (value !== undefined) (opened ??= new Map()).set(sealed, value);
  }
  return opened;
}

function openOne(sealed: string, sealer: Sealer, param: string): JsonObject | undefined {
  try {
    return sealer.open("reasoning", sealed, param);
  } catch (error) {
    if (error instanceof Refusal) return undefined;
    throw error;
  }
}

/** What was opened, as another route may use it: its reasoning without the seals, which are for the route that wrote it. */
function forRoute(opened: ParsedRequest["opened"], route: string): ParsedRequest["opened"] {
  if (opened === undefined || [...opened.values()].every((value) => !isForeign(value, route))) {
    return opened;
  }
  return new Map(
    [...opened].map(([sealed, value]) => [
      sealed,
      isForeign(value, route) ? { ...value, parts: objects(value.parts).map(withoutSeal) } : value,
    ]),
  );
}

/** A request with what was opened in it, as the route that serves it may use it. */
export function withSealsOf(request: ParsedRequest, route: string | undefined): ParsedRequest {
  const { opened } = request;
  return opened === undefined || route === undefined
    ? request
    : { ...request, opened: forRoute(opened, route) };
}

function isForeign(value: JsonObject, route: string): boolean {
  return Array.isArray(value.parts) && value.route !== route;
}

function withoutSeal({ seal: _, ...part }: JsonObject): JsonObject {
  return part;
}
