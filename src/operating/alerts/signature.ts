import { createHmac } from "node:crypto";

/**
 * Signs a delivery: `t=SECONDS,v1=HEX`, where HEX is the HMAC-SHA256 of `SECONDS.BODY`. The time is part of what is signed,
 * so that a receiver can reject a delivery that somebody recorded and repeats.
 *
 * @example
 * ```ts
 * import { assertEquals } from "@std/assert";
 * import { signatureOf } from "./signature.ts";
 *
 * const signature = signatureOf("{}", { secret: "secret", atMs: 1_000 });
 * assertEquals(signature.slice(0, 17), "t=1,v1=1122767b19");
 * ```
 */
export function signatureOf(
  body: string,
  { secret, atMs }: { readonly secret: string; readonly atMs: number },
): string {
  const seconds = Math.floor(atMs / 1_000);
  const digest = createHmac("sha256", secret).update(`${seconds}.${body}`).digest("hex");
  return `t=${seconds},v1=${digest}`;
}
