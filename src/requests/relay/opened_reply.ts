import type { MultipleChoices, Reply, ReplyContext } from "../../wire/dialects/mod.ts";
import type { UpstreamReply } from "../upstreams/mod.ts";
import { JoinedReader } from "./joined_reader.ts";
import type { TextReader } from "./text_reader.ts";

/** What remains to be done with an upstream's reply. */
type ReplyEnds = Pick<UpstreamReply, "discard" | "drain">;

/** A whole reply. */
export interface OpenedWhole extends ReplyEnds {
  readonly kind: "whole";
  readonly reply: Reply;
  readonly choices: number;
  /** Upstream requests that it took; each of them read the whole input. */
  readonly requests: number;
}

/** A stream that has begun. */
export interface OpenedStream extends ReplyEnds {
  readonly kind: "stream";
  readonly reader: TextReader;
  /** Choices that it was asked for. */
  readonly choices: number;
}

/** An upstream's reply, read as far as is needed to know that it is one. */
export type OpenedReply = OpenedWhole | OpenedStream;

/** A whole reply to one request. */
export function openedWhole(reply: Reply, choices: number, ends: ReplyEnds): OpenedWhole {
  const { discard, drain } = ends;
  return {
    kind: "whole",
    reply,
    choices: Math.min(choices, reply.choices),
    requests: 1,
    discard,
    drain,
  };
}

/** The stream that replies to one request. */
export function openedStream(
  reader: TextReader,
  choices: number,
  { discard, drain }: ReplyEnds,
): OpenedStream {
  const giveUp = () => {
    reader.close();
    discard();
  };
  return { kind: "stream", reader, choices, discard: giveUp, drain };
}

/** Replies to single requests as the one reply that the client asked for. */
export function openedJoined(
  parts: readonly OpenedReply[],
  { joinReplies, joinStreams }: MultipleChoices,
  context: ReplyContext,
): OpenedReply {
  const base = {
    choices: parts.reduce((sum, { choices }) => sum + choices, 0),
    discard: () => parts.forEach((part) => part.discard()),
    drain: () => parts.forEach((part) => part.drain()),
  };
  const readers = parts.flatMap((part) => (part.kind === "stream" ? [part.reader] : []));
  if (readers.length > 0) {
    const state = joinStreams(readers.map(({ reply }) => reply), context);
    return { kind: "stream", reader: new JoinedReader(readers, state), ...base };
  }
  const wholes = parts.filter((part) => part.kind === "whole");
  const requests = wholes.reduce((sum, part) => sum + part.requests, 0);
  const reply = joinReplies(wholes.map(({ reply }) => reply));
  return { kind: "whole", reply, requests, ...base };
}
