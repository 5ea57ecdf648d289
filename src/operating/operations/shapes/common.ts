import * as z from "zod";

/** A point in time as JSON has it. */
export const timestamp = z.iso.datetime().describe("RFC 3339, UTC.");

/** A number of credits. */
export const credits = z.int().describe("Whole credits.");

/** Describes a point in time; `null` stays. */
export function iso(ms: number): string;
export function iso(ms: number | null): string | null;
export function iso(ms: number | null): string | null {
  return ms === null ? null : new Date(Math.min(ms, 8.64e15)).toISOString();
}
