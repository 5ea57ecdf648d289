import { Buffer } from "node:buffer";
import {
  isObject,
  type JsonObject,
  SEALED_PREFIX,
  type SealedKind,
  type Sealer,
} from "../dialects/mod.ts";
import { invalid } from "../../ground/refusal.ts";
import { BoundCipher } from "./bound_cipher.ts";

/** Seals texts for the accounts of a gateway, with one key for all. */
export class Sealing {
  readonly #cipher: BoundCipher;

  /** @param secret At least 32 bytes, the same in all gateways that share a database. */
  constructor(secret: Uint8Array) {
    this.#cipher = new BoundCipher(secret, "sluice sealed texts");
  }

  /** A sealer whose texts only this account can return. */
  of(accountId: string): Sealer {
    return {
      seal: (kind, value) => this.#seal([kind, accountId], value),
      open: (kind, text, param) => this.#open([kind, accountId], text, param),
    };
  }

  #seal(owner: readonly [SealedKind, string], value: JsonObject): string {
    return SEALED_PREFIX + this.#cipher.encrypt(JSON.stringify(value), owner).toString("base64url");
  }

  #open(
    owner: readonly [SealedKind, string],
    text: string,
    param: string,
  ): JsonObject | undefined {
    if (!text.startsWith(SEALED_PREFIX)) return undefined;
    const sealed = text.slice(SEALED_PREFIX.length);
    try {
      if (!isBase64Url(sealed)) throw new TypeError("not base64url");
      const json = this.#cipher.decrypt(Buffer.from(sealed, "base64url"), owner);
      if (json === undefined) return undefined; // of another installation
      const value: unknown = JSON.parse(json);
      if (!isObject(value)) throw new TypeError("not an object");
      return value;
    } catch {
      throw invalid(
        param,
        `${param} was changed, or was not made for this account. Send it as it was received, or leave the item out.`,
      );
    }
  }
}

/** Whether a text can be decoded. Some versions of the platform throw for other texts, others skip what they cannot read. */
function isBase64Url(text: string): boolean {
  return /^[A-Za-z0-9_-]*$/.test(text) && text.length % 4 !== 1;
}
