import * as z from "zod";
import { type NameOf, nameOf } from "../../../ground/row.ts";

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

type Time = "at" | `${string}_at`;
type Output<Shape extends z.ZodRawShape> = z.output<z.ZodObject<Shape>>;

/** What has a shape's members under the program's names, but for some: of times their milliseconds. */
type Described<Shape extends z.ZodRawShape, But> = {
  readonly [
    Member in Exclude<keyof Shape & string, But> as NameOf<
      Member extends Time ? `${Member}_ms` : Member
    >
  ]: Member extends Time ? null extends z.output<Shape[Member]> ? number | null : number
    : z.output<Shape[Member]>;
};

/**
 * Makes a function that describes things by a shape. A member has the value that the thing has under the program's name:
 * `team_id` that of `teamId`, and `created_at` the time in `createdAtMs`.
 *
 * @param own Returns the members that have other values.
 *
 * @example
 * ```ts
 * import { assertEquals } from "@std/assert";
 * import * as z from "zod";
 * import { describer, timestamp } from "./common.ts";
 *
 * const shape = z.strictObject({ key_id: z.string(), set_at: timestamp, lot: z.string() });
 * const describe = describer(shape, ({ lotId }: { lotId: string }) => ({ lot: lotId }));
 * const described = { key_id: "key_1", set_at: "1970-01-01T00:00:00.000Z", lot: "lot_1" };
 * assertEquals(describe({ keyId: "key_1", setAtMs: 0, lotId: "lot_1" }), described);
 * ```
 */
export function describer<
  Shape extends z.ZodRawShape,
  const Own extends Partial<Output<Shape>> = Record<never, never>,
  Thing = unknown,
  More extends unknown[] = [],
>(
  { shape }: z.ZodObject<Shape>,
  own?: (thing: Thing, ...more: More) => Own,
): (thing: Thing & Described<Shape, keyof Own>, ...more: More) => Output<Shape> {
  const members = Object.keys(shape).map((member) => {
    const isTime = /(^|_)at$/.test(member);
    return { member, isTime, name: nameOf(isTime ? `${member}_ms` : member) };
  });
  return (thing, ...more) => {
    const others: Readonly<Record<string, unknown>> = own?.(thing, ...more) ?? {};
    const values = thing as Readonly<Record<string, unknown>>;
    const valueOf = ({ member, isTime, name }: typeof members[number]) => {
      if (member in others) return others[member];
      return isTime ? iso(values[name] as number | null) : values[name];
    };
    return Object.fromEntries(members.map((one) => [one.member, valueOf(one)])) as Output<Shape>;
  };
}
