import { Buffer } from "node:buffer";
import { createHash, createPublicKey, type KeyObject, verify } from "node:crypto";
import * as z from "zod";
import { displayed, jsonIn } from "../../ground/platform/mod.ts";
import { SignInError } from "./sign_in_error.ts";

/**
 * Algorithms of passkeys that are accepted, as COSE numbers them (RFC 9053, RFC 8812), in order of preference: ES256, EdDSA with
 * Ed25519, RS256. For these every browser gives the public key in a form that needs no CBOR (WebAuthn, 5.2.1.1).
 */
export const ALGORITHMS = [-7, -8, -257] as const;
/** One of {@linkcode ALGORITHMS}. */
export type Algorithm = (typeof ALGORITHMS)[number];

const MIN_RSA_BITS = 2_048;
/** Names of the curve P-256; the second one is Deno 2.4's. */
const P256 = ["prime256v1", "p256"];
/** Of a credential's ID, of a user handle, and of anything else. */
const MAX_ID_BYTES = 1_023;
const MAX_USER_BYTES = 64;
const MAX_BYTES = 8_192;

/** Authenticator data (WebAuthn, 6.1): a digest of the site, flags, a counter, and maybe the credential that was made. */
const FLAGS_AT = 32;
const COUNTER_AT = 33;
const CREDENTIAL_AT = 37;
const AAGUID_BYTES = 16;
const PRESENT = 0x01;
const VERIFIED = 0x04;
const HAS_CREDENTIAL = 0x40;

/** Where a passkey is used: both are those of the console's address. */
export interface Site {
  /** As the browser shows it: `https://llm.example.com`. */
  readonly origin: string;
  /** The relying party's ID: the host's name. */
  readonly rpId: string;
}

/** The site of an address of the console. */
export function siteOf(address: string): Site {
  const { origin, hostname } = new URL(address);
  return { origin, rpId: hostname };
}

/** Base64url, as bytes. */
const bytes = (max = MAX_BYTES) =>
  z.string().max(Math.ceil(max * 4 / 3)).regex(/^[\w-]+$/)
    .transform((text) => Buffer.from(text, "base64url"));

const common = { id: bytes(MAX_ID_BYTES), clientData: bytes(), authenticatorData: bytes() };
const assertion = z.object({ ...common, signature: bytes(), user: bytes(MAX_USER_BYTES) });
const attestation = z.object({ ...common, publicKey: bytes(), algorithm: z.int() });
const clientData = z.object({
  type: z.string(),
  challenge: z.string(),
  origin: z.string(),
  crossOrigin: z.boolean().optional(),
});

/** What a browser sends of a passkey that was used, besides what it says that it did. */
export type Assertion = z.output<typeof assertion> & { readonly client: ClientData };
/** The same of a passkey that was made. What an authenticator attests is not asked for. */
export type Attestation = z.output<typeof attestation> & { readonly client: ClientData };
type ClientData = z.output<typeof clientData>;

/** Reads what a browser sends of a passkey that was used. @throws {SignInError} If it is nothing of the kind. */
export function readAssertion(text: string): Assertion {
  return read(text, assertion);
}

/** Reads what a browser sends of a passkey that was made. @throws {SignInError} If it is nothing of the kind. */
export function readAttestation(text: string): Attestation {
  return read(text, attestation);
}

function read<Sent extends { readonly clientData: Buffer }>(text: string, schema: z.ZodType<Sent>) {
  const sent = schema.safeParse(jsonIn(text));
  const client = clientData.safeParse(jsonIn(sent.data?.clientData.toString() ?? ""));
  if (!sent.success || !client.success) {
    throw new SignInError("What the browser sent of the passkey is incomplete: try again");
  }
  return { ...sent.data, client: client.data };
}

/**
 * Checks a passkey that was made for a site (WebAuthn, 7.1); its challenge is for the caller to check.
 *
 * @returns What is to be kept of it.
 * @throws {SignInError} If it was made for another site, without verifying its user, or cannot be used.
 */
export function checkAttestation(
  { id, client, authenticatorData, publicKey, algorithm }: Attestation,
  site: Site,
): { readonly publicKey: string; readonly algorithm: Algorithm; readonly counter: number } {
  checkClient(client, "webauthn.create", site);
  const counter = checkAuthenticator(authenticatorData, site);
  const idAt = CREDENTIAL_AT + AAGUID_BYTES + 2;
  const isMade = (authenticatorData[FLAGS_AT]! & HAS_CREDENTIAL) !== 0 &&
    authenticatorData.length > idAt + id.length &&
    authenticatorData.readUInt16BE(idAt - 2) === id.length &&
    authenticatorData.subarray(idAt, idAt + id.length).equals(id);
  if (!isMade) throw new SignInError("The authenticator made another passkey: try again");
  const known = ALGORITHMS.find((one) => one === algorithm);
  const key = known && keyOf(publicKey, known);
  if (known === undefined || key === undefined) {
    throw new SignInError("The authenticator makes keys of a kind that is not accepted");
  }
  const spki = key.export({ type: "spki", format: "der" }) as Buffer;
  return { publicKey: Buffer.from(spki).toString("base64url"), algorithm: known, counter };
}

/**
 * Checks that a passkey was used for a site (WebAuthn, 7.2); its challenge, its account and its counter are for the caller to check.
 *
 * @returns The passkey's counter.
 * @throws {SignInError} If it was used for another site, without verifying its user, or did not sign.
 */
export function checkAssertion(
  { client, clientData, authenticatorData, signature }: Assertion,
  { publicKey, algorithm }: { readonly publicKey: string; readonly algorithm: Algorithm },
  site: Site,
): number {
  checkClient(client, "webauthn.get", site);
  const counter = checkAuthenticator(authenticatorData, site);
  const key = keyOf(Buffer.from(publicKey, "base64url"), algorithm);
  const signed = Buffer.concat([authenticatorData, sha256(clientData)]);
  if (key === undefined || !isSigned(signed, signature, key)) {
    throw new SignInError("The passkey's signature is not valid");
  }
  return counter;
}

/** Checks what the browser says that it did, and for whom. */
function checkClient({ type, origin, crossOrigin }: ClientData, wanted: string, site: Site): void {
  if (type !== wanted) throw new SignInError("The passkey was used for something else");
  if (origin !== site.origin || crossOrigin === true) {
    throw new SignInError(
      `The passkey was used at ${displayed(origin.slice(0, 200))}, and the console is at ` +
        `${site.origin}: if both are, the operator has to set publicUrl`,
    );
  }
}

/** Checks what the authenticator says that it did, and returns its counter. */
function checkAuthenticator(data: Buffer, { rpId }: Site): number {
  if (data.length < CREDENTIAL_AT || !data.subarray(0, FLAGS_AT).equals(sha256(rpId))) {
    throw new SignInError("The passkey is another site's");
  }
  const flags = data[FLAGS_AT]!;
  if ((flags & PRESENT) === 0 || (flags & VERIFIED) === 0) {
    throw new SignInError("The authenticator has not verified its user, by a PIN or biometrics");
  }
  return data.readUInt32BE(COUNTER_AT);
}

/** Reads a public key; `undefined` if it is not one of the algorithm, or too short. */
function keyOf(spki: Buffer, algorithm: Algorithm): KeyObject | undefined {
  try {
    const key = createPublicKey({ key: spki, format: "der", type: "spki" });
    const { asymmetricKeyType: type, asymmetricKeyDetails: details } = key;
    const isOfKind = algorithm === -7
      ? type === "ec" && P256.includes(details?.namedCurve ?? "")
      : algorithm === -8
      ? type === "ed25519"
      : type === "rsa" && (details?.modulusLength ?? 0) >= MIN_RSA_BITS;
    return isOfKind ? key : undefined;
  } catch {
    return undefined;
  }
}

function isSigned(data: Buffer, signature: Buffer, key: KeyObject): boolean {
  try {
    return verify(key.asymmetricKeyType === "ed25519" ? null : "sha256", data, key, signature);
  } catch {
    return false; // not even the form of a signature
  }
}

function sha256(data: Buffer | string): Buffer {
  return createHash("sha256").update(data).digest();
}
