/** How far the time in a signature may be from now, in either direction. */
const TOLERANCE_S = 300;
const MAX_HEADER_CHARS = 2_000;
/** Two secrets are live while one is replaced; more signatures than these are nobody's. */
const MAX_SIGNATURES = 8;

/** Why a signature was rejected. For logs and metrics, never for the sender. */
export type SignatureFault = "header" | "time" | "signature";

/**
 * Verifies the signature of a webhook, over its bytes as they were received.
 *
 * @param body The raw body.
 * @param header The header `Stripe-Signature`.
 * @param check The endpoint's secret, and the time now in milliseconds.
 * @returns Why it is not valid; `undefined` if it is.
 * @throws {TypeError} If the secret is empty: then nothing can be valid.
 */
export async function signatureFault(
  body: Uint8Array,
  header: string | null,
  { secret, nowMs }: { readonly secret: string; readonly nowMs: number },
): Promise<SignatureFault | undefined> {
  if (secret.trim() === "") throw new TypeError("Cannot verify a webhook as its secret is empty");
  const parsed = parseHeader(header);
  if (parsed === undefined) return "header";
  // a clock that is wrong either way would let an old event be sent again later
  if (Math.abs(nowMs / 1_000 - Number(parsed.time)) > TOLERANCE_S) return "time";
  const encoder = new TextEncoder();
  const key = await crypto.subtle.importKey(
    "raw",
    encoder.encode(secret),
    { name: "HMAC", hash: "SHA-256" },
    false,
    ["verify"],
  );
  const prefix = encoder.encode(`${parsed.time}.`);
  const signed = new Uint8Array(prefix.length + body.length);
  signed.set(prefix);
  signed.set(body, prefix.length);
  let isValid = false;
  for (const signature of parsed.signatures) {
    // compares in constant time; all are compared, so that time does not tell which one matched
    if (await crypto.subtle.verify("HMAC", key, signature, signed)) isValid = true;
  }
  return isValid ? undefined : "signature";
}

function parseHeader(
  header: string | null,
): { readonly time: string; readonly signatures: Uint8Array<ArrayBuffer>[] } | undefined {
  if (header === null || header.length > MAX_HEADER_CHARS) return undefined;
  const times: string[] = [];
  const signatures: Uint8Array<ArrayBuffer>[] = [];
  for (const part of header.split(",")) {
    const [, name, value = ""] = /^\s*(\w+)=(\S*)\s*$/.exec(part) ?? [];
    if (name === "t") times.push(value);
    if (name === "v1" && /^[0-9a-f]{64}$/.test(value)) {
      signatures.push(Uint8Array.from(value.match(/../g)!, (byte) => parseInt(byte, 16)));
    }
  }
  const [time = ""] = times;
  if (times.length !== 1 || !/^\d{1,12}$/.test(time)) return undefined;
  if (signatures.length === 0 || signatures.length > MAX_SIGNATURES) return undefined;
  return { time, signatures };
}
