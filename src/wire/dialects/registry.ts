import { chat } from "./chat/mod.ts";
import type {
  Back,
  Bridge,
  Dialect,
  Front,
  HeaderLookup,
  ReplyContext,
  ReplyStream,
  WholeOfStream,
} from "./dialect.ts";
import { generateBack } from "./generate/mod.ts";
import { messages } from "./messages/mod.ts";
import { responses } from "./responses/mod.ts";
import { StreamAsWhole, translation, wholeAsStream } from "./translation.ts";

/** Every dialect that clients speak: the one list of them. The first is spoken where nothing shows another. */
export const DIALECTS = { chat, messages, responses } as const satisfies Record<string, Dialect>;

/** The name of a dialect that clients speak, as records have it. */
export type DialectName = keyof typeof DIALECTS;

/** The names of all of them. */
export const DIALECT_NAMES = Object.keys(DIALECTS) as [DialectName, ...DialectName[]];

/** Every dialect that upstreams speak: those of clients, and those that only providers have. */
export const BACKS = {
  chat: chat.back,
  messages: messages.back,
  responses: responses.back,
  generate: generateBack,
} as const satisfies Record<DialectName, Back> & Record<string, Back>;

/** The name of a dialect that upstreams speak, as settings have it. */
export type BackName = keyof typeof BACKS;

/** The names of all of them. */
export const BACK_NAMES = Object.keys(BACKS) as [BackName, ...BackName[]];

const bridges: Partial<Record<`${DialectName} ${BackName}`, Bridge>> = {};

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
export function bridgeBetween(front: DialectName, back: BackName): Bridge {
  return bridges[`${front} ${back}`] ??= front === back
    ? DIALECTS[front].carry
    : translation(DIALECTS[front].front, BACKS[back]);
}

/** The whole reply of an upstream as a stream for a client. */
export function wholeReplyStream(
  front: DialectName,
  back: BackName,
  context: ReplyContext,
): ReplyStream {
  return wholeAsStream(DIALECTS[front].front, BACKS[back], context);
}

/** The stream of an upstream as a whole reply for a client. */
export function wholeOfStream(
  front: DialectName,
  back: BackName,
  context: ReplyContext,
): WholeOfStream {
  return bridgeBetween(front, back).streamAsWhole?.(context) ??
    new StreamAsWhole(DIALECTS[front].front, BACKS[back], context);
}

/** The dialect that a client speaks on a path that all dialects share. */
export function frontSpoken(header: HeaderLookup): Front {
  const all: readonly Dialect[] = Object.values(DIALECTS);
  return all.find(({ front }) => front.isSpoken(header))?.front ?? DIALECTS.chat.front;
}
