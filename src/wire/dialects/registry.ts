import { chat } from "./chat/mod.ts";
import type {
  Bridge,
  Dialect,
  Front,
  HeaderLookup,
  ReplyContext,
  ReplyStream,
  WholeOfStream,
} from "./dialect.ts";
import { messages } from "./messages/mod.ts";
import { responses } from "./responses/mod.ts";
import { StreamAsWhole, translation, wholeAsStream } from "./translation.ts";

/** Every dialect: the one list of them. The first is spoken where nothing shows another. */
export const DIALECTS = { chat, messages, responses } as const satisfies Record<string, Dialect>;

/** The name of a dialect, as settings and records have it. */
export type DialectName = keyof typeof DIALECTS;

/** The names of all dialects. */
export const DIALECT_NAMES = Object.keys(DIALECTS) as [DialectName, ...DialectName[]];

const bridges: Partial<Record<`${DialectName} ${DialectName}`, Bridge>> = {};

/**
 * The bridge from a client's dialect to an upstream's: carried between the same one, else translated.
 *
 * @example
 * ```ts
 * import { assertEquals } from "@std/assert";
 * import { bridgeBetween } from "./mod.ts";
 *
 * assertEquals(bridgeBetween("chat", "chat").singleChoice, false);
 * assertEquals(bridgeBetween("chat", "messages").singleChoice, true);
 * ```
 */
export function bridgeBetween(front: DialectName, back: DialectName): Bridge {
  return bridges[`${front} ${back}`] ??= front === back
    ? DIALECTS[front].carry
    : translation(DIALECTS[front].front, DIALECTS[back].back);
}

/** The whole reply of an upstream as a stream for a client. */
export function wholeReplyStream(
  front: DialectName,
  back: DialectName,
  context: ReplyContext,
): ReplyStream {
  return wholeAsStream(DIALECTS[front].front, DIALECTS[back].back, context);
}

/** The stream of an upstream as a whole reply for a client. */
export function wholeOfStream(
  front: DialectName,
  back: DialectName,
  context: ReplyContext,
): WholeOfStream {
  return bridgeBetween(front, back).streamAsWhole?.(context) ??
    new StreamAsWhole(DIALECTS[front].front, DIALECTS[back].back, context);
}

/** The dialect that a client speaks on a path that all dialects share. */
export function frontSpoken(header: HeaderLookup): Front {
  const all: readonly Dialect[] = Object.values(DIALECTS);
  return all.find(({ front }) => front.isSpoken(header))?.front ?? DIALECTS.chat.front;
}
