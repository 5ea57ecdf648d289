import { isObject, type JsonObject, objects, text } from "../json.ts";
import type { ParsedRequest, StreamContext } from "../dialect.ts";
import type { ReplyEvent, SealedReasoning } from "../neutral/conversation.ts";
import { openEach, openedReasoning } from "../neutral/sealed_reasoning.ts";
import { signatureIn } from "../neutral/thought_signatures.ts";
import { SEALED_PREFIX, type Sealer } from "../sealer.ts";

/** Where clients of Google's chat interface look for a signature, and return it (ai.google.dev, thought signatures). */
type Extra = { readonly extra_content: JsonObject };

/** The signatures of a reply, as its client keeps them for the gateway. */
export class SignedReply {
  readonly #context: Pick<StreamContext, "sealer" | "source">;
  readonly #ofCalls = new Map<number, Extra>();

  constructor(context: Pick<StreamContext, "sealer" | "source">) {
    this.#context = context;
  }

  /**
   * Takes what an upstream sealed.
   *
   * @returns What belongs beside the message; undefined for what belongs to a call, or has no place.
   */
  take({ seal }: ReplyEvent & { type: "seal" }): Extra | undefined {
    const signature = signatureIn(seal);
    if (signature === undefined) return undefined;
    const { sealer, source } = this.#context;
    const sealed = sealer.seal("reasoning", { ...source, parts: [{ text: "", seal }] });
    const extra = { extra_content: { google: { thought_signature: sealed } } };
    if (signature.call === undefined) return extra;
    this.#ofCalls.set(signature.call, extra);
    return undefined;
  }

  /** What belongs to a call; nothing for one without a signature. */
  of(call: number): Partial<Extra> {
    return this.#ofCalls.get(call) ?? {};
  }
}

/** The text that the gateway sealed beside a message or a call; undefined for any other signature. */
function sealedBeside({ extra_content: extra }: JsonObject): string | undefined {
  const google = isObject(extra) ? extra.google : undefined;
  const sealed = isObject(google) ? text(google.thought_signature) : undefined;
  return sealed?.startsWith(SEALED_PREFIX) ? sealed : undefined;
}

/** The sealed texts of a message and its calls. */
function sealedTexts(message: JsonObject): string[] {
  return [message, ...objects(message.tool_calls)].flatMap((one) => sealedBeside(one) ?? []);
}

/** Opens what the gateway sealed in a body: see {@linkcode openEach}. */
export function openSignatures(body: JsonObject, sealer: Sealer): ParsedRequest["opened"] {
  return openEach(objects(body.messages).flatMap(sealedTexts), sealer, "messages");
}

/** What upstreams sealed of a message, as far as it was opened. */
export function signaturesIn(
  message: JsonObject,
  opened: ParsedRequest["opened"],
): SealedReasoning[] {
  return sealedTexts(message).flatMap((sealed) => {
    const value = opened?.get(sealed);
    return value === undefined ? [] : openedReasoning(value).sealed;
  });
}

/** Messages without what the gateway sealed in them: upstreams of chat can make nothing of it. The same list if there is none. */
export function withoutSeals(messages: JsonObject["messages"]): JsonObject["messages"] {
  if (!objects(messages).some((one) => sealedTexts(one).length > 0)) return messages;
  return (messages as JsonObject[]).map((message) => {
    if (!isObject(message) || sealedTexts(message).length === 0) return message;
    const { tool_calls: calls } = message;
    return {
      ...withoutSeal(message),
      ...(Array.isArray(calls)
        ? { tool_calls: calls.map((call) => isObject(call) ? withoutSeal(call) : call) }
        : {}),
    };
  });
}

function withoutSeal(one: JsonObject): JsonObject {
  if (sealedBeside(one) === undefined) return one;
  const { extra_content: _, ...rest } = one;
  return rest;
}

/** Whether a message or a call has a signature that the gateway sealed. */
export function hasOwnSeal(one: JsonObject): boolean {
  return sealedBeside(one) !== undefined;
}
