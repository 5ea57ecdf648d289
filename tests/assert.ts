/** The assertions that tests use, with their types written down: the npm mirror ships none. */
import * as assertModule from "@std/assert";

type Message = string | undefined;

export const assert: (condition: unknown, message?: Message) => asserts condition =
  assertModule.assert;
export const assertEquals: <T>(actual: T, expected: T, message?: Message) => void =
  assertModule.assertEquals;
export const assertNotEquals: <T>(actual: T, expected: T, message?: Message) => void =
  assertModule.assertNotEquals;
export const assertMatch: (actual: string, expected: RegExp, message?: Message) => void =
  assertModule.assertMatch;
export const assertStringIncludes: (actual: string, expected: string, message?: Message) => void =
  assertModule.assertStringIncludes;
export const assertThrows: <E extends Error>(
  work: () => unknown,
  kind: new (...args: never[]) => E,
  includes?: string,
) => E = assertModule.assertThrows;
export const assertRejects: <E extends Error>(
  work: () => Promise<unknown>,
  kind: new (...args: never[]) => E,
  includes?: string,
) => Promise<E> = assertModule.assertRejects;
