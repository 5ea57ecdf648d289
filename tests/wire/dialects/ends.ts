import { Sealing } from "../../../src/wire/sealing/mod.ts";
import {
  bridgeBetween,
  countedUsage,
  DIALECTS,
  type HeaderLookup,
  meterInput,
  type ParsedRequest,
  type ReplyContext,
  type ReplyStream,
  SseDecoder,
} from "../../../src/wire/dialects/mod.ts";
import { asRefusal, Refusal } from "../../../src/ground/refusal.ts";
import { assert } from "../../assert.ts";

/** Seals for one account. */
export const SEALER = new Sealing(new Uint8Array(32)).of("acct_1");

/** The bridges, named by the client's dialect and the upstream's. */
export const chatToChat = bridgeBetween("chat", "chat");
export const chatToMessages = bridgeBetween("chat", "messages");
export const messagesToChat = bridgeBetween("messages", "chat");
export const messagesToMessages = bridgeBetween("messages", "messages");
export const chatToResponses = bridgeBetween("chat", "responses");
export const messagesToResponses = bridgeBetween("messages", "responses");
export const responsesToChat = bridgeBetween("responses", "chat");
export const responsesToMessages = bridgeBetween("responses", "messages");
export const chatToGenerate = bridgeBetween("chat", "generate");
export const messagesToGenerate = bridgeBetween("messages", "generate");
export const responsesToGenerate = bridgeBetween("responses", "generate");
export const responsesToResponses = bridgeBetween("responses", "responses");

function headers({ beta = false }: { readonly beta?: boolean }): HeaderLookup {
  return (name) => (beta && name === "anthropic-beta" ? "x" : null);
}

export function parseChat(body: unknown): ParsedRequest {
  return DIALECTS.chat.front.parse(body, headers({}), SEALER);
}

export function parseMessages(body: unknown, options: { beta?: boolean } = {}): ParsedRequest {
  return DIALECTS.messages.front.parse(body, headers(options), SEALER);
}

export function parseResponses(body: unknown, headers: HeadersInit = {}): ParsedRequest {
  const lookup = new Headers(headers);
  return DIALECTS.responses.front.parse(body, (name) => lookup.get(name), SEALER);
}

/** The same at the endpoint that compacts a conversation. */
export function parseCompact(body: unknown): ParsedRequest {
  return DIALECTS.responses.front.further![0]!.parse(body, headers({}), SEALER);
}

export function countInput({ body, images, opened }: ParsedRequest): number {
  return meterInput(body, images, opened);
}

/** A reply's context, with ordinary names. */
export function contextOf(
  request: ParsedRequest,
  more: Partial<ReplyContext> = {},
): ReplyContext {
  return {
    request,
    written: {},
    id: "id",
    model: "m",
    inputTokens: 3,
    createdAtS: 1,
    source: { route: "route", upstream: "up", model: "m" },
    sealer: SEALER,
    fingerprint: "fp_1",
    ...more,
  };
}

/**
 * A stream as the client gets it, errors included.
 *
 * @param errorEvent Writes the last event of a stream that failed, where the stream does not write it itself.
 */
export function clientStream(
  stream: ReplyStream,
  text: string,
  errorEvent: (refusal: Refusal) => string = () => "",
): string {
  let out = "";
  try {
    for (const event of new SseDecoder().push(new TextEncoder().encode(text))) {
      if (!stream.finished) out += stream.push(event);
    }
    stream.end();
    return out + stream.close(stream.usage ?? countedUsage(3, stream.countedOutput));
  } catch (error) {
    assert(error instanceof Refusal, `${error}`);
    const refusal = asRefusal(error);
    return out + (stream.fail?.(refusal) ?? errorEvent(refusal));
  }
}
