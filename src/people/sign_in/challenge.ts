import { createHmac } from "node:crypto";
import { randomText } from "../../ground/platform/mod.ts";

/** 43 of 57 characters: 250 bits. */
const SECRET_CHARS = 43;

/** What a browser was sent to the provider with: what comes back must fit it. */
export interface Challenge {
  /** That only the browser has, of which the others are made. */
  readonly secret: string;
  readonly state: string;
  readonly nonce: string;
  /** Of PKCE (RFC 7636). */
  readonly verifier: string;
}

/** Makes a challenge of a secret: each part for its purpose alone, so that none gives away another. */
export function challengeOf(secret = randomText(SECRET_CHARS)): Challenge {
  const of = (purpose: string) =>
    createHmac("sha256", secret).update(`sign-in ${purpose}`).digest("base64url");
  return { secret, state: of("state"), nonce: of("nonce"), verifier: of("verifier") };
}
