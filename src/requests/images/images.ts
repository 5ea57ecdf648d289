import { Buffer } from "node:buffer";
import { following, forEachOf, humanBytes } from "../../ground/platform/mod.ts";
import { type DetachedBase64, type LargeBodies, MIN_CHARS } from "../../wire/large_bodies/mod.ts";
import {
  type Front,
  type ImageView,
  type ParsedRequest,
  replaceImages,
} from "../../wire/dialects/mod.ts";
import type { FairShare } from "../../ground/fair_share/mod.ts";
import { examine } from "../../wire/pixels/mod.ts";
import { invalid, Refusal } from "../../ground/refusal.ts";
import type { Log } from "../../ground/telemetry/mod.ts";
import { ImageFault } from "./fault.ts";
import type { ImageFetcher } from "./fetcher.ts";
import {
  type Checked,
  checkImage,
  decodedSize,
  examineEncoded,
  type PictureLimits,
} from "./check_image.ts";

/** Limits on the images of a request. */
export interface ImageLimits extends PictureLimits {
  /** Max base64 characters of all images. */
  readonly maxEncodedChars: number;
  readonly maxImages: number;
  /** Max concurrent downloads for one request. */
  readonly fetchesPerRequest: number;
}

/** Dependencies of {@linkcode Images}. */
export interface ImagesOptions {
  readonly limits: ImageLimits;
  readonly fetcher: ImageFetcher;
  readonly log: Log;
  /** Download slots of the whole gateway. */
  readonly slots: FairShare;
  /** Checks large images on its own thread, and provides memory for fetched ones. */
  readonly large: LargeBodies;
}

/** The request that the images belong to. */
export interface ImageOwner {
  readonly requestId: string;
  /** Aborted when the caller disconnects. */
  readonly signal: AbortSignal;
  /** Detached base64 of the request, and the account that pays with memory. */
  readonly detached: DetachedBase64;
}

/** A checked image in base64. */
interface Encoded {
  /** The base64 as it appears in the request, possibly with a detached blob's mark. */
  readonly data: string;
  /** Total base64 characters. */
  readonly chars: number;
  readonly checked: Checked;
}

/** Checks the images of requests, and inlines remote ones as data. */
export class Images {
  readonly #limits: ImageLimits;
  readonly #fetcher: ImageFetcher;
  readonly #large: LargeBodies;
  readonly #log: Log;
  readonly #slots: FairShare;

  constructor({ limits, fetcher, large, slots, log }: ImagesOptions) {
    this.#limits = limits;
    this.#large = large;
    this.#fetcher = fetcher;
    this.#log = log;
    this.#slots = slots;
  }

  /**
   * Checks the number of images, and the size of those that are inline: what the body itself shows, before anything is counted or held.
   *
   * @param detached Detached base64 of the request.
   * @throws {Refusal} `request_invalid` if there are more than `maxImages`; `image_too_large` if inline ones have more than
   *   `maxEncodedChars`.
   */
  check(images: readonly ImageView[], detached: DetachedBase64): void {
    const { maxImages, maxEncodedChars } = this.#limits;
    if (images.length > maxImages) {
      const { param } = images[maxImages]!;
      throw invalid(param, `Too many images: the limit is ${maxImages}, reached before ${param}.`);
    }
    let chars = 0;
    for (const { source, url, param } of images) {
      if (source === "inline") chars += payloadOf(url, detached)?.chars ?? 0;
      if (chars > maxEncodedChars) throw refusalOf(new TooMuch(maxEncodedChars), param);
    }
  }

  /**
   * Checks every image, and fetches and inlines remote ones.
   *
   * Inline images stay unchanged, except that a wrong media type is corrected.
   *
   * @param front Of the request's dialect.
   * @param owner The request's ID, signal and detached base64.
   * @returns The request with every image checked and inline; `asked` itself if nothing changed.
   * @throws {Refusal} `request_invalid` or `image_too_large`, naming the image; `gateway_unavailable` if no download
   *   slot or memory is free in time.
   */
  async inline(
    request: ParsedRequest,
    front: Pick<Front, "imageField">,
    owner: ImageOwner,
  ): Promise<ParsedRequest> {
    if (request.images.length === 0) return request;
    const { fetchesPerRequest, maxEncodedChars } = this.#limits;
    using leave = following(owner.signal);
    const changes = new Map<string, string>();
    let encodedChars = 0;
    const use = ({ chars, checked: { mediaType }, data }: Encoded, image: ImageView) => {
      encodedChars += chars;
      if (encodedChars > maxEncodedChars) throw new TooMuch(maxEncodedChars);
      if (image.source === "remote" || declaredOf(image.url) !== mediaType) {
        changes.set(image.param, `data:${mediaType};base64,${data}`);
      }
    };
    /** Uses one encoded image for all images with the same URL. */
    const take = async (images: readonly ImageView[], encode: () => Encoded | Promise<Encoded>) => {
      let [image] = images;
      try {
        const encoded = await encode();
        for (image of images) use(encoded, image);
      } catch (error) {
        leave.abort(error); // cancels the other downloads
        throw refusalOf(error, image!.param);
      }
    };
    try {
      for (const image of request.images.filter(({ source }) => source === "inline")) {
        await take([image], () => this.#decode(image, encodedChars, owner.detached));
      }
      const remote = request.images.filter(({ source }) => source === "remote");
      // the same address is fetched once for a request
      await forEachOf(
        Map.groupBy(remote, ({ url }) => url),
        fetchesPerRequest,
        ([url, images]) => take(images, () => this.#fetch(url, { ...owner, signal: leave.signal })),
      );
    } catch (error) {
      const { cause, message } = error as Error;
      this.#log.info("image refused", {
        id: owner.requestId,
        reason: message,
        detail: detailOf(cause),
      });
      throw error;
    }
    return changes.size === 0 ? request : replaceImages(request, front, changes);
  }

  #decode({ url }: ImageView, alreadyChars: number, detached: DetachedBase64): Encoded {
    const payload = payloadOf(url, detached);
    if (payload === undefined) throw new ImageFault("content", "must be a base64 data URL");
    const { blob, data, chars } = payload;
    if (alreadyChars + chars > this.#limits.maxEncodedChars) {
      throw new TooMuch(this.#limits.maxEncodedChars);
    }
    const size = blob?.size ?? decodedSize(data);
    const examine = () => blob?.examined ?? examineEncoded(data);
    const checked = checkImage({ size, declared: declaredOf(url), examine }, this.#limits);
    return { data, chars, checked };
  }

  async #fetch(url: string, { signal, detached }: ImageOwner): Promise<Encoded> {
    const { account } = detached;
    using _slot = await this.#slots.take(account, 1, signal);
    const room = await this.#large.memory.take(
      account,
      encodedSize(this.#limits.maxBytes),
      signal,
    );
    detached.hold(room);
    const { bytes, declared } = await this.#fetcher.fetch(url, signal);
    const size = bytes.byteLength;
    const chars = encodedSize(size);
    room.shrink(chars);
    if (chars < MIN_CHARS) {
      const checked = checkImage({ size, declared, examine: () => examine(bytes) }, this.#limits);
      const { buffer, byteOffset } = bytes;
      return { data: Buffer.from(buffer, byteOffset, size).toString("base64"), chars, checked };
    }
    const { data, examined } = await this.#large.encode(bytes, detached);
    const checked = checkImage({ size, declared, examine: () => examined }, this.#limits);
    return { data, chars, checked };
  }
}

/** The base64 of a data URL, possibly with a detached blob's mark, and its length; `undefined` for a URL that is none. */
function payloadOf(url: string, detached: DetachedBase64) {
  const [, parameters, payload] = /^\s*data:([^,]*),([\s\S]*)$/i.exec(url) ?? [];
  if (payload === undefined || !/;\s*base64\s*$/i.test(parameters!)) return undefined;
  const blob = detached.at(payload);
  const data = blob === undefined ? payload.replace(/\s+/g, "") : payload;
  return { blob, data, chars: blob?.base64.byteLength ?? data.length };
}

/** Returns the number of base64 characters that encode `bytes` bytes. */
function encodedSize(bytes: number): number {
  return Math.ceil(bytes / 3) * 4;
}

/** Thrown if the images of a request exceed their total limit. */
class TooMuch extends Error {
  constructor(maxEncodedChars: number) {
    super(`Images too large: the limit is ${humanBytes(maxEncodedChars)} of base64 per request.`);
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
