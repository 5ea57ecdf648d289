const ALPHABET = "ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz23456789";

/** Random bytes, fetched from the system a few hundred ids' worth at a time. */
const pool = new Uint8Array(8_192);
let used = pool.length;

function randomByte(): number {
  if (used === pool.length) {
    crypto.getRandomValues(pool);
    used = 0;
  }
  const byte = pool[used]!;
  pool[used++] = 0; // given out once, and not to be found in memory afterwards
  return byte;
}

/** Random text, of letters and digits that are not mistaken for each other unless other characters are given. */
export function randomText(length: number, characters = ALPHABET): string {
  const fair = 256 - 256 % characters.length; // larger bytes would favour the first characters
  let text = "";
  while (text.length < length) {
    const byte = randomByte();
    if (byte < fair) text += characters[byte % characters.length];
  }
  return text;
}

/** A new id, such as `acc_h3KxTq8mPw2Nc5Ry`: 16 characters, 93 bits. */
export function newId(
  prefix: "acc" | "alert" | "code" | "key" | "loan" | "op" | "ord" | "refund" | "scim" | "team",
): string {
  return `${prefix}_${randomText(16)}`;
}

/**
 * A request's id, such as `req_019a2f3c4d5Kx8mPw2Nc5RyQ3tZ7`: the time in milliseconds, hexadecimal,
 * then 16 random characters. Later requests sort after earlier ones, so that their records are
 * appended to the database's trees instead of scattered over them.
 */
export function newRequestId(nowMs: number): string {
  return `req_${nowMs.toString(16).padStart(12, "0")}${randomText(16)}`;
}
