const ALPHABET = "ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz23456789";

/** Random text of letters and digits that are not mistaken for each other. */
export function randomText(length: number): string {
  let text = "";
  while (text.length < length) {
    for (const byte of crypto.getRandomValues(new Uint8Array(length))) {
      // the alphabet has 57 characters; larger bytes would favour the first ones
      if (byte < 228 && text.length < length) text += ALPHABET[byte % 57];
    }
  }
  return text;
}

/** A new id, such as `acc_h3KxTq8mPw2Nc5Ry`: 16 characters, 93 bits. */
export function newId(prefix: "acc" | "key"): string {
  return `${prefix}_${randomText(16)}`;
}
