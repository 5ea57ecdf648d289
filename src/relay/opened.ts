import {
  type Answer,
  type AnswerNames,
  type Asked,
  joinAnswers,
  joinStreams,
} from "../dialects/mod.ts";
import type { UpstreamReply } from "../upstreams/mod.ts";
import { JoinedReader } from "./joined_reader.ts";
import type { TextReader } from "./text_reader.ts";

/** What remains to be done with an upstream's reply. */
type ReplyEnds = Pick<UpstreamReply, "discard" | "drain">;

interface OpenedBase extends ReplyEnds {
  /** Answers in it. */
  readonly choices: number;
  /** Requests to upstreams that it took; each of them read the whole input. */
  readonly requests: number;
}

/** A whole answer that an upstream has given. */
export interface OpenedWhole extends OpenedBase {
  readonly kind: "whole";
  readonly answer: Answer;
}

/** A stream that an upstream has begun. */
export interface OpenedStream extends OpenedBase {
  readonly kind: "stream";
  readonly reader: TextReader;
}

/** An upstream's answer, read as far as is needed to know that it is one. */
export type Opened = OpenedWhole | OpenedStream;

/** An answer that one request got. */
export function openedOne(
  read: { readonly answer: Answer } | { readonly reader: TextReader },
  choices: number,
  { discard, drain }: ReplyEnds,
): Opened {
  const base = { choices, requests: 1, drain };
  if ("answer" in read) {
    const { answer } = read;
    return { kind: "whole", answer, ...base, choices: Math.min(choices, answer.choices), discard };
  }
  const { reader } = read;
  const giveUp = () => {
    reader.close();
    discard();
  };
  return { kind: "stream", reader, ...base, discard: giveUp };
}

/** Answers that were asked for one by one, as the one that the caller asked for. */
export function openedJoined(parts: readonly Opened[], asked: Asked, names: AnswerNames): Opened {
  const base = {
    choices: parts.reduce((sum, { choices }) => sum + choices, 0),
    requests: parts.length,
    discard: () => parts.forEach((part) => part.discard()),
    drain: () => parts.forEach((part) => part.drain()),
  };
  const readers = parts.flatMap((part) => (part.kind === "stream" ? [part.reader] : []));
  if (readers.length > 0) {
    const state = joinStreams(readers.map(({ answer }) => answer), asked, names);
    return { kind: "stream", reader: new JoinedReader(readers, state), ...base };
  }
  const answers = parts.flatMap((part) => (part.kind === "whole" ? [part.answer] : []));
  return { kind: "whole", answer: joinAnswers(answers), ...base };
}
