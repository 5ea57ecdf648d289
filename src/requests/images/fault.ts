/**
 * What is wrong with an image.
 *
 * - `address`: the URL is not allowed.
 * - `unreachable`: the image could not be fetched. The caller does not learn why, since errors would otherwise map the
 *   network behind the gateway.
 * - `late`: the download took too long.
 * - `large`: the image exceeds the size limit.
 * - `content`: the bytes are not an acceptable image.
 */
export type ImageFaultKind = "address" | "unreachable" | "late" | "large" | "content";

/** Thrown for a rejected image. The message continues the sentence "The image at … ". */
export class ImageFault extends Error {
  override readonly name = "ImageFault";
  readonly kind: ImageFaultKind;

  constructor(kind: ImageFaultKind, message: string, options?: ErrorOptions) {
    super(message, options);
    this.kind = kind;
  }
}

/** Makes the fault for any failure between the gateway and another host; the cause is only logged. */
export function unreachable(cause: unknown): ImageFault {
  return new ImageFault("unreachable", "could not be fetched", { cause });
}
