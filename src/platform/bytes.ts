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
