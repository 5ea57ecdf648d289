/** Descriptors reserved for other uses: database, log, listener, idle connections. */
const RESERVED = 128;
/** Descriptors per in-flight request: its client's connection and one to an upstream. */
const PER_REQUEST = 2;
const MAX_OPEN_REQUESTS = 16_384;

/**
 * Computes the default limit of in-flight requests.
 *
 * @param descriptors Max file descriptors of this process; `undefined` if unknown.
 * @returns 16 to 16,384 requests.
 */
export function openRequestsFor(descriptors: number | undefined): number {
  if (descriptors === undefined) return MAX_OPEN_REQUESTS;
  const room = Math.floor((descriptors - RESERVED) / PER_REQUEST);
  return Math.min(MAX_OPEN_REQUESTS, Math.max(room, 16));
}
