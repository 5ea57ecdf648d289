import { Buffer } from "node:buffer";
import { createCipheriv, createDecipheriv, createHash, hkdfSync, randomBytes } from "node:crypto";

const ALGORITHM = "aes-256-gcm";
const KEY_BYTES = 32;
const KEY_ID_BYTES = 4;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** Encrypts texts. Each is bound to what it belongs to: elsewhere it cannot be decrypted. */
export class BoundCipher {
  readonly #key: Uint8Array;
  readonly #keyId: Buffer;

  /**
   * @param secret At least 32 bytes that nobody can guess.
   * @param purpose Ciphers of one secret for different purposes have different keys.
   */
  constructor(secret: Uint8Array, purpose: string) {
    this.#key = new Uint8Array(hkdfSync("sha256", secret, "", purpose, KEY_BYTES));
    this.#keyId = createHash("sha256").update(this.#key).digest().subarray(0, KEY_ID_BYTES);
  }

  /** Encrypts a text. @param owner What it belongs to: no two lists are the same to it. */
  encrypt(text: string, owner: readonly string[]): Buffer {
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv(ALGORITHM, this.#key, nonce).setAAD(bound(owner));
    const encrypted = [cipher.update(text, "utf8"), cipher.final()];
    return Buffer.concat([this.#keyId, nonce, ...encrypted, cipher.getAuthTag()]);
  }

  /**
   * Decrypts what `encrypt` returned.
   *
   * @returns The text; undefined if it was encrypted with another key.
   * @throws {Error} If it was changed, or belongs to another owner.
   */
  decrypt(bytes: Buffer, owner: readonly string[]): string | undefined {
    if (!bytes.subarray(0, KEY_ID_BYTES).equals(this.#keyId)) return undefined;
    if (bytes.length < KEY_ID_BYTES + NONCE_BYTES + TAG_BYTES) throw new RangeError("too short");
    const nonce = bytes.subarray(KEY_ID_BYTES, KEY_ID_BYTES + NONCE_BYTES);
    const decipher = createDecipheriv(ALGORITHM, this.#key, nonce).setAAD(bound(owner))
      .setAuthTag(bytes.subarray(-TAG_BYTES));
    const encrypted = bytes.subarray(KEY_ID_BYTES + NONCE_BYTES, -TAG_BYTES);
    return Buffer.concat([decipher.update(encrypted), decipher.final()]).toString("utf8");
  }
}

function bound(owner: readonly string[]): Buffer {
  return Buffer.from(owner.join("\0"));
}
