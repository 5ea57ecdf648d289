/**
 * What is wrong with an image.
 *
 * `address`: its address is not one that is fetched. `unreachable`: it could not be fetched, for
 * whatever reason: a caller is not told which, or errors would map the network behind us.
 */
export type ImageFaultKind = "address" | "unreachable" | "late" | "large" | "content";

/** Thrown for an image that is not let in. The message goes on behind "the image at …". */
export class ImageFault extends Error {
  override readonly name = "ImageFault";
  readonly kind: ImageFaultKind;

  constructor(kind: ImageFaultKind, message: string, options?: ErrorOptions) {
    super(message, options);
    this.kind = kind;
  }
}

/** One sentence for everything that goes wrong between us and the other host. */
export function unreachable(cause: unknown): ImageFault {
  return new ImageFault("unreachable", "could not be fetched", { cause });
}
