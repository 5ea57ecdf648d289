import { number } from "../format.ts";

/** People who joined that a page lists: a thousand are a third of a megabyte. */
export const JOINED_SHOWN = 200;

/** Says of how many people the latest are listed. */
export function OtherJoined({ all }: { all: number }) {
  if (all <= JOINED_SHOWN) return null;
  return <p class="quiet">The latest {number(JOINED_SHOWN)} of {number(all)} people.</p>;
}
