import type { PageRequest } from "./request.tsx";

/** Reads where the previous page ended: time and IDs of its last row. */
export function cursorOf(
  c: PageRequest,
): [atMs: number, first: string | undefined, second: string | undefined] {
  const [time = "", first, second] = (c.req.query("before") ?? "").slice(0, 200).split(".");
  return /^\d{1,15}$/.test(time) ? [Number(time), first, second] : [0, undefined, undefined];
}
