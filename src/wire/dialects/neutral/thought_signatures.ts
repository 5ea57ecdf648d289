import { parseJson } from "../../json/mod.ts";
import { isObject, text } from "../json.ts";

/** Begins the seal of a signature of thoughts. */
const PREFIX = "thought_signature.";

/** A signature of a model's thoughts, which belongs to a call or to the text of its reply. */
export interface ThoughtSignature {
  /** The number of the call in its reply; undefined for the text. */
  readonly call: number | undefined;
  /** Opaque, in base64. */
  readonly signature: string;
}

/** A signature of thoughts as a seal. */
export function sealOfSignature({ call, signature }: ThoughtSignature): string {
  return PREFIX + JSON.stringify({ call, signature });
}

/** The signature that a seal is; undefined for other seals. */
export function signatureIn(seal: string): ThoughtSignature | undefined {
  const value = seal.startsWith(PREFIX) ? parseJson(seal.slice(PREFIX.length)) : undefined;
  const signature = isObject(value) ? text(value.signature) : undefined;
  if (!isObject(value) || signature === undefined) return undefined;
  return { call: typeof value.call === "number" ? value.call : undefined, signature };
}
