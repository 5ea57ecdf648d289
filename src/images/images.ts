import { Buffer } from "node:buffer";
import type { Asked, Dialect, ImageView } from "../dialects/mod.ts";
import { invalid, Refusal } from "../refusal.ts";
import type { Log } from "../telemetry/mod.ts";
import { type Checked, checkPicture } from "./check.ts";
import { ImageFault } from "./fault.ts";
import type { ImageFetcher } from "./fetcher.ts";
import { Slots } from "./slots.ts";

/** What a request's images may be. */
export interface ImageLimits {
  /** Raw bytes of one image. */
  readonly maxBytes: number;
  /** Characters of base64 of all images of a request. */
  readonly maxEncodedChars: number;
  /** Width times height of one image. */
  readonly maxPixels: number;
  /** Images fetched at once for one request, and by the whole gateway. */
  readonly fetchesPerRequest: number;
  readonly fetches: number;
}

/** What the images of requests need from outside. */
export interface ImagesOptions {
  readonly limits: ImageLimits;
  readonly fetcher: ImageFetcher;
  readonly log: Log;
}

/** An image in base64, of the kind that its bytes are. */
interface Encoded {
  readonly data: string;
  readonly checked: Checked;
}

/** Checks a request's images, and puts those at remote addresses into it as data. */
export class Images {
  readonly #limits: ImageLimits;
  readonly #fetcher: ImageFetcher;
  readonly #log: Log;
  readonly #slots: Slots;

  constructor({ limits, fetcher, log }: ImagesOptions) {
    this.#limits = limits;
    this.#fetcher = fetcher;
    this.#log = log;
    this.#slots = new Slots(limits.fetches);
  }

  /**
   * The request with every image checked and inside it.
   *
   * What is inline and of its declared kind stays as it was; a wrong kind is corrected.
   *
   * @param signal The caller has left.
   * @throws {Refusal} `request_invalid` or `image_too_large`, naming the image.
   */
  async inline(
    asked: Asked,
    dialect: Dialect,
    { requestId, signal }: { readonly requestId: string; readonly signal: AbortSignal },
  ): Promise<Asked> {
    if (asked.images.length === 0) return asked;
    const leave = new AbortController();
    const either = AbortSignal.any([signal, leave.signal]);
    const fetched = new Map<string, Promise<Encoded>>();
    const own = new Slots(this.#limits.fetchesPerRequest);
    const changes = new Map<string, string>();
    let encodedChars = 0;

    const take = async (image: ImageView): Promise<void> => {
      let encoded: Encoded;
      if (image.source === "inline") {
        encoded = this.#decode(image, encodedChars);
      } else {
        // the same address is fetched once for a request
        let fetching = fetched.get(image.url);
        if (fetching === undefined) {
          fetching = own.run(() => this.#slots.run(() => this.#fetch(image.url, either)));
          fetched.set(image.url, fetching);
        }
        encoded = await fetching;
      }
      encodedChars += encoded.data.length;
      if (encodedChars > this.#limits.maxEncodedChars) {
        throw new TooMuch(this.#limits.maxEncodedChars);
      }
      const { mediaType } = encoded.checked;
      if (image.source === "remote" || declaredOf(image.url) !== mediaType) {
        changes.set(image.param, `data:${mediaType};base64,${encoded.data}`);
      }
    };
    try {
      await Promise.all(asked.images.map((image) =>
        take(image).catch((error) => {
          throw refusalOf(error, image.param);
        })
      ));
    } catch (error) {
      leave.abort(); // whatever else is being fetched is not needed any more
      await Promise.allSettled(fetched.values());
      const { cause, message } = error as Error;
      this.#log.info("image refused", { id: requestId, reason: message, detail: detailOf(cause) });
      throw error;
    }
    return changes.size === 0 ? asked : dialect.replaceImages(asked, changes);
  }

  #decode({ url }: ImageView, alreadyChars: number): Encoded {
    const [, parameters, payload] = /^\s*data:([^,]*),([\s\S]*)$/i.exec(url) ?? [];
    if (payload === undefined || !/;\s*base64\s*$/i.test(parameters!)) {
      throw new ImageFault("content", "must be a base64 data URL");
    }
    const data = /\s/.test(payload) ? payload.replace(/\s+/g, "") : payload;
    if (alreadyChars + data.length > this.#limits.maxEncodedChars) {
      throw new TooMuch(this.#limits.maxEncodedChars);
    }
    if (!/^[A-Za-z0-9+/]+={0,2}$/.test(data) || data.length % 4 !== 0) {
      throw new ImageFault("content", "is not valid base64");
    }
    return { data, checked: this.#check(Buffer.from(data, "base64"), declaredOf(url)) };
  }

  async #fetch(url: string, signal: AbortSignal): Promise<Encoded> {
    const { bytes, declared } = await this.#fetcher.fetch(url, signal);
    const checked = this.#check(bytes, declared);
    const { buffer, byteOffset, byteLength } = bytes;
    return { data: Buffer.from(buffer, byteOffset, byteLength).toString("base64"), checked };
  }

  /** The kind is told by the bytes; a declared one that is no image's at all is a lie. */
  #check(bytes: Uint8Array, declared: string): Checked {
    const { maxBytes, maxPixels } = this.#limits;
    if (bytes.byteLength > maxBytes) {
      throw new ImageFault("large", `is larger than ${maxBytes} bytes`);
    }
    if (
      declared !== "" &&
      !/^(image\/.+|application\/octet-stream|binary\/octet-stream)$/.test(declared)
    ) {
      throw new ImageFault("content", `is declared as ${declared.slice(0, 60)}, not as an image`);
    }
    return checkPicture(bytes, maxPixels);
  }
}

/** Thrown when a request's images are too much together. */
class TooMuch extends Error {
  constructor(maxEncodedChars: number) {
    super(`The images of a request may have at most ${maxEncodedChars} characters of base64.`);
  }
}

/** The media type that a data URL declares, in lower case and without parameters. */
function declaredOf(url: string): string {
  return /^\s*data:([^;,]*)/i.exec(url)?.[1]?.trim().toLowerCase() ?? "";
}

function refusalOf(error: unknown, param: string): unknown {
  if (error instanceof TooMuch) {
    return new Refusal("image_too_large", error.message, { param, cause: error });
  }
  if (!(error instanceof ImageFault)) return error;
  return Object.assign(invalid(param, `The image at ${param} ${error.message}.`), { cause: error });
}

/** For the log only. */
function detailOf(error: unknown): string | undefined {
  if (!(error instanceof ImageFault)) return undefined;
  const { cause } = error;
  return cause instanceof Error
    ? `${cause.name}: ${cause.message}`
    : cause === undefined
    ? undefined
    : String(cause);
}
