import { Buffer } from "node:buffer";
import { type Blobs, type LargeBodies, LEAST_CHARS } from "../blobs/mod.ts";
import type { Asked, Dialect, ImageView } from "../dialects/mod.ts";
import { examine } from "../pixels/mod.ts";
import { invalid, Refusal } from "../refusal.ts";
import type { Log } from "../telemetry/mod.ts";
import { ImageFault } from "./fault.ts";
import type { ImageFetcher } from "./fetcher.ts";
import { type Checked, decodedSize, examineEncoded, judge, type PictureLimits } from "./judge.ts";
import { Slots } from "./slots.ts";

/** What a request's images may be. */
export interface ImageLimits extends PictureLimits {
  /** Characters of base64 of all images of a request. */
  readonly maxEncodedChars: number;
  /** Images fetched at once for one request, and by the whole gateway. */
  readonly fetchesPerRequest: number;
  readonly fetches: number;
}

/** What the images of requests need from outside. */
export interface ImagesOptions {
  readonly limits: ImageLimits;
  readonly fetcher: ImageFetcher;
  readonly log: Log;
  /** Where large ones are looked through, and what those that are fetched take their room from. */
  readonly large: LargeBodies;
}

/** The request that images belong to. */
export interface ImageOwner {
  readonly requestId: string;
  /** The caller has left. */
  readonly signal: AbortSignal;
  /** Where long base64 stands aside. */
  readonly blobs: Blobs;
}

/** An image in base64, of the kind that its bytes are. */
interface Encoded {
  /** As it stands in the request's text, its blob's mark included. */
  readonly data: string;
  /** Characters of base64 in all. */
  readonly chars: number;
  readonly checked: Checked;
}

/** Checks a request's images, and puts those at remote addresses into it as data. */
export class Images {
  readonly #limits: ImageLimits;
  readonly #fetcher: ImageFetcher;
  readonly #large: LargeBodies;
  readonly #log: Log;
  readonly #slots: Slots;

  constructor({ limits, fetcher, large, log }: ImagesOptions) {
    this.#limits = limits;
    this.#large = large;
    this.#fetcher = fetcher;
    this.#log = log;
    this.#slots = new Slots(limits.fetches);
  }

  /**
   * The request with every image checked and inside it.
   *
   * What is inline and of its declared kind stays as it was; a wrong kind is corrected.
   *
   * @throws {Refusal} `request_invalid` or `image_too_large`, naming the image.
   */
  async inline(asked: Asked, dialect: Dialect, owner: ImageOwner): Promise<Asked> {
    if (asked.images.length === 0) return asked;
    const leave = new AbortController();
    const either = AbortSignal.any([owner.signal, leave.signal]);
    const fetched = new Map<string, Promise<Encoded>>();
    const own = new Slots(this.#limits.fetchesPerRequest);
    const changes = new Map<string, string>();
    let encodedChars = 0;

    const take = async (image: ImageView): Promise<void> => {
      let encoded: Encoded;
      if (image.source === "inline") {
        encoded = this.#decode(image, encodedChars, owner.blobs);
      } else {
        // the same address is fetched once for a request
        let fetching = fetched.get(image.url);
        if (fetching === undefined) {
          fetching = own.run(() =>
            this.#slots.run(() => this.#fetch(image.url, { ...owner, signal: either }))
          );
          fetched.set(image.url, fetching);
        }
        encoded = await fetching;
      }
      encodedChars += encoded.chars;
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
      this.#log.info("image refused", {
        id: owner.requestId,
        reason: message,
        detail: detailOf(cause),
      });
      throw error;
    }
    return changes.size === 0 ? asked : dialect.replaceImages(asked, changes);
  }

  #decode({ url }: ImageView, alreadyChars: number, blobs: Blobs): Encoded {
    const [, parameters, payload] = /^\s*data:([^,]*),([\s\S]*)$/i.exec(url) ?? [];
    if (payload === undefined || !/;\s*base64\s*$/i.test(parameters!)) {
      throw new ImageFault("content", "must be a base64 data URL");
    }
    const blob = blobs.at(payload);
    const data = blob === undefined ? payload.replace(/\s+/g, "") : payload;
    const chars = blob?.base64.byteLength ?? data.length;
    if (alreadyChars + chars > this.#limits.maxEncodedChars) {
      throw new TooMuch(this.#limits.maxEncodedChars);
    }
    const size = blob?.size ?? decodedSize(data);
    const examine = () => blob?.examined ?? examineEncoded(data);
    const checked = judge({ size, declared: declaredOf(url), examine }, this.#limits);
    return { data, chars, checked };
  }

  async #fetch(url: string, { signal, blobs }: ImageOwner): Promise<Encoded> {
    const room = await this.#large.budget.take(encodedSize(this.#limits.maxBytes));
    blobs.hold(room);
    const { bytes, declared } = await this.#fetcher.fetch(url, signal);
    const size = bytes.byteLength;
    const chars = encodedSize(size);
    room.shrink(chars);
    if (chars < LEAST_CHARS) {
      const checked = judge({ size, declared, examine: () => examine(bytes) }, this.#limits);
      const { buffer, byteOffset } = bytes;
      return { data: Buffer.from(buffer, byteOffset, size).toString("base64"), chars, checked };
    }
    const { data, examined } = await this.#large.encode(bytes, blobs);
    const checked = judge({ size, declared, examine: () => examined }, this.#limits);
    return { data, chars, checked };
  }
}

/** Characters of base64 that so many bytes become. */
function encodedSize(bytes: number): number {
  return Math.ceil(bytes / 3) * 4;
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
