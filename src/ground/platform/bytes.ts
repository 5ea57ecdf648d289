/**
 * A number of bytes in the largest binary unit that leaves a whole number.
 *
 * @param bytes A whole number.
 * @returns Such as `64 MiB`, `1 KiB` or `1000 bytes`.
 */
export function humanBytes(bytes: number): string {
  if (bytes % 1_048_576 === 0) return `${bytes / 1_048_576} MiB`;
  if (bytes % 1_024 === 0) return `${bytes / 1_024} KiB`;
  return `${bytes} bytes`;
}

/** Bytes in all pieces. */
export function sizeOf(pieces: readonly Uint8Array[]): number {
  return pieces.reduce((sum, { byteLength }) => sum + byteLength, 0);
}

/** Pieces of bytes as one; `size` is their sum. A single piece is not copied. */
export function joinBytes<B extends ArrayBufferLike>(
  pieces: readonly Uint8Array<B>[],
  size = sizeOf(pieces),
): Uint8Array<B | ArrayBuffer> {
  if (pieces.length === 1) return pieces[0]!;
  const whole = new Uint8Array(size);
  let at = 0;
  for (const piece of pieces) {
    whole.set(piece, at);
    at += piece.byteLength;
  }
  return whole;
}
