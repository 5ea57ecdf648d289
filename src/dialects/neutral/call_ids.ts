/** Suffix of an id that occurred earlier in the conversation. */
const REPEATED = /_again\d+$/;

/** The `count`-th use of an id in a conversation. */
export function repeatedId(id: string, count: number): string {
  return `${id}_again${count}`;
}

/** Whether an id is not as its upstream wrote it. */
export function isRepeatedId(id: string): boolean {
  return REPEATED.test(id);
}

/**
 * Restores the ids of one message's calls to what their upstream wrote: models that number their calls are confused
 * by another form. An id that would then occur twice in the message is left as it is.
 */
export function upstreamIds(ids: readonly string[]): string[] {
  const used = new Set(ids);
  return ids.map((id) => {
    const original = id.replace(REPEATED, "");
    if (original === id || used.has(original)) return id;
    used.add(original);
    return original;
  });
}
