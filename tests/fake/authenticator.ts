/** A browser with an authenticator in software (WebAuthn): it does as it is asked, or lies as it is told. */

import { Buffer } from "node:buffer";
import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign } from "node:crypto";

/** How a key is made for an algorithm of COSE, and with which digest it signs. */
const KINDS = {
  "-7": [() => generateKeyPairSync("ec", { namedCurve: "P-256" }), "sha256"],
  "-8": [() => generateKeyPairSync("ed25519"), null],
  "-257": [() => generateKeyPairSync("rsa", { modulusLength: 2_048 }), "sha256"],
} as const;

/** Present, verified; and with a credential that was made. */
export const FLAGS = 0x05;
const MADE = 0x40;

/** What is not as it should be. */
export interface Lies {
  readonly type?: string;
  readonly origin?: string;
  readonly crossOrigin?: boolean;
  readonly challenge?: string;
  readonly rpId?: string;
  readonly flags?: number;
  readonly counter?: number;
  readonly id?: Buffer;
  /** The credential's ID in what the authenticator says. */
  readonly madeId?: Buffer;
  readonly user?: string;
  readonly algorithm?: number;
  /** A key, or bytes in its place. */
  readonly publicKey?: KeyObject | Buffer;
  /** Signs in place of the passkey's own. */
  readonly privateKey?: KeyObject;
  /** Bytes that are sent of what the authenticator says. */
  readonly length?: number;
  /** What is signed in place of what is sent. */
  readonly signs?: Buffer;
}

/** What the script sends: bytes as base64url. */
export type Sent = Record<string, string | number>;

/** Options that the gateway gave, as far as they matter here. */
interface Options {
  readonly challenge: string;
  readonly rpId?: string;
  readonly rp?: { readonly id: string };
  readonly user?: { readonly id: string };
}

const text = (bytes: Uint8Array | string) => Buffer.from(bytes).toString("base64url");
const spkiOf = (key: KeyObject) => key.export({ type: "spki", format: "der" }) as Buffer;
const sha256 = (data: Uint8Array | string) => createHash("sha256").update(data).digest();

/** One passkey, at one site. */
export class Authenticator {
  readonly id = randomBytes(16);
  readonly algorithm: keyof typeof KINDS;
  readonly keys: { readonly publicKey: KeyObject; readonly privateKey: KeyObject };
  /** Counts the passkey's uses; some never count. */
  counter = 0;
  counts = true;
  user = "";

  constructor(algorithm: keyof typeof KINDS = "-7") {
    this.algorithm = algorithm;
    this.keys = KINDS[algorithm][0]();
  }

  /** Makes the passkey, at an origin. */
  create(options: Options, origin: string, lies: Lies = {}): Sent {
    const id = lies.id ?? this.id;
    const madeId = lies.madeId ?? id;
    this.user = Buffer.from(options.user!.id, "base64url").toString();
    const { publicKey = this.keys.publicKey } = lies;
    const length = Buffer.alloc(2);
    length.writeUInt16BE(madeId.length);
    const credential = [Buffer.alloc(16), length, madeId, Buffer.from("a0", "hex")];
    return {
      id: text(id),
      clientData: text(this.#client("webauthn.create", options, { origin, ...lies })),
      authenticatorData: text(
        Buffer.concat([
          this.#data(options.rp!.id, { flags: FLAGS | MADE, ...lies }),
          ...credential,
        ]).subarray(0, lies.length),
      ),
      publicKey: text(publicKey instanceof Uint8Array ? publicKey : spkiOf(publicKey)),
      algorithm: lies.algorithm ?? Number(this.algorithm),
    };
  }

  /** Signs, at an origin. */
  get(options: Options, origin: string, lies: Lies = {}): Sent {
    if (this.counts) this.counter++;
    const client = this.#client("webauthn.get", options, { origin, ...lies });
    const data = this.#data(options.rpId!, lies).subarray(0, lies.length);
    const signed = lies.signs ?? Buffer.concat([data, sha256(client)]);
    const [, digest] = KINDS[this.algorithm];
    return {
      id: text(lies.id ?? this.id),
      clientData: text(client),
      authenticatorData: text(data),
      signature: text(sign(digest, signed, lies.privateKey ?? this.keys.privateKey)),
      user: text(lies.user ?? this.user),
    };
  }

  #client(type: string, { challenge }: Options, lies: Lies): string {
    return JSON.stringify({
      type: lies.type ?? type,
      challenge: lies.challenge ?? challenge,
      origin: lies.origin,
      crossOrigin: lies.crossOrigin ?? false,
    });
  }

  #data(rpId: string, lies: Lies): Buffer {
    const data = Buffer.alloc(37);
    sha256(lies.rpId ?? rpId).copy(data);
    data[32] = lies.flags ?? FLAGS;
    data.writeUInt32BE(lies.counter ?? this.counter, 33);
    return data;
  }
}
