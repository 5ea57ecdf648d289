import * as fs from "node:fs"; // its promises lack statfs before Deno 2.5
import { promisify } from "node:util";
import { humanBytes } from "../../ground/platform/mod.ts";
import type { SeenCondition } from "./conditions.ts";

/** A disk is nearly full below either. */
const LOW_BYTES = 1e9;
const LOW_PART = 0.05;

/** The space of a file system, in bytes. */
export interface DiskSpace {
  readonly freeBytes: number;
  readonly allBytes: number;
}

/** Reads the space of the file system that a directory is on. */
export async function diskSpace(directory: string): Promise<DiskSpace> {
  const { bavail, blocks, bsize } = await promisify(fs.statfs)(directory);
  return { freeBytes: bavail * bsize, allBytes: blocks * bsize };
}

/** The condition of a disk that is nearly full; undefined if there is room. */
export function diskCondition(
  directory: string,
  { freeBytes, allBytes }: DiskSpace,
): SeenCondition | undefined {
  if (freeBytes >= LOW_BYTES && freeBytes >= allBytes * LOW_PART) return undefined;
  const detail = `${humanBytes(freeBytes)} of ${humanBytes(allBytes)} free in ${directory}`;
  return { name: `disk:${directory}`, kind: "disk", detail };
}
