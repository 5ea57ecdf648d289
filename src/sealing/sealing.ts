import { Buffer } from "node:buffer";
import { createCipheriv, createDecipheriv, createHash, hkdfSync, randomBytes } from "node:crypto";
import { isObject, type JsonObject, type SealedKind, type Sealer } from "../dialects/mod.ts";
import { invalid } from "../refusal.ts";

/** Begins every sealed text; the number is the format's. */
const PREFIX = "sl1.";
const ALGORITHM = "aes-256-gcm";
const KEY_BYTES = 32;
const KEY_ID_BYTES = 4;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** Seals texts for the accounts of a gateway, with one key for all. */
export class Sealing {
  readonly #key: Uint8Array;
  readonly #keyId: Buffer;

  /** @param secret At least 32 bytes, the same in all gateways that share a database. */
  constructor(secret: Uint8Array) {
    this.#key = new Uint8Array(hkdfSync("sha256", secret, "", "sluice sealed texts", KEY_BYTES));
    this.#keyId = createHash("sha256").update(this.#key).digest().subarray(0, KEY_ID_BYTES);
  }

  /** A sealer whose texts only this account can return. */
  of(accountId: string): Sealer {
    return {
      seal: (kind, value) => this.#seal(boundTo(kind, accountId), value),
      open: (kind, text, param) => this.#open(boundTo(kind, accountId), text, param),
    };
  }

  #seal(bound: Buffer, value: JsonObject): string {
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv(ALGORITHM, this.#key, nonce).setAAD(bound);
    const sealed = [cipher.update(JSON.stringify(value), "utf8"), cipher.final()];
    return PREFIX +
      Buffer.concat([this.#keyId, nonce, ...sealed, cipher.getAuthTag()]).toString("base64url");
  }

  #open(bound: Buffer, text: string, param: string): JsonObject | undefined {
    if (!text.startsWith(PREFIX)) return undefined;
    const bytes = Buffer.from(text.slice(PREFIX.length), "base64url");
    if (!bytes.subarray(0, KEY_ID_BYTES).equals(this.#keyId)) return undefined; // of another installation
    try {
      return this.#decrypt(bound, bytes.subarray(KEY_ID_BYTES));
    } catch {
      throw invalid(
        param,
        `${param} was changed, or was not made for this account. Send it as it was received, or leave the item out.`,
      );
    }
  }

  #decrypt(bound: Buffer, bytes: Buffer): JsonObject {
    const nonce = bytes.subarray(0, NONCE_BYTES);
    const tag = bytes.subarray(-TAG_BYTES);
    const decipher = createDecipheriv(ALGORITHM, this.#key, nonce).setAAD(bound).setAuthTag(tag);
    const sealed = bytes.subarray(NONCE_BYTES, -TAG_BYTES);
    const json = Buffer.concat([decipher.update(sealed), decipher.final()]).toString("utf8");
    const value: unknown = JSON.parse(json);
    if (!isObject(value)) throw new TypeError("not an object");
    return value;
  }
}

function boundTo(kind: SealedKind, accountId: string): Buffer {
  return Buffer.from(`${kind}\0${accountId}`);
}
