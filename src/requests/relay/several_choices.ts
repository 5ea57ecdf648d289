/** Choices of one reply, from targets that may return one at a time. */

import type { AttemptRecord } from "../../money/ledger/mod.ts";
import type { MultipleChoices, ReplyContext } from "../../wire/dialects/mod.ts";
import { ExchangeFailed, type Sent } from "../upstreams/mod.ts";
import { openedJoined, type OpenedReply, type OpenedStream } from "./opened_reply.ts";
import type { Plan } from "./plan.ts";
import { openedToppedUp } from "./topped_up_reader.ts";

/** What one request to a target got. */
export interface Opened {
  readonly opened: OpenedReply;
  /** Names of fields that the targets which replied were not sent. */
  readonly dropped: readonly string[];
  /** Fields with the values that they were changed to. */
  readonly adjusted: readonly string[];
}

/** How the choices of a request are sent and joined. */
export interface ChoicesOptions<Reached> {
  /** Choices that the client asked for. */
  readonly choices: number;
  readonly stream: boolean;
  readonly multiple: MultipleChoices;
  /** Of the reply that is joined. */
  readonly context: () => ReplyContext;
  /** Requests one choice by itself. */
  readonly send: (choice: number) => Promise<Sent<Plan, Opened>>;
  /** Takes note of all that was sent. */
  readonly reached: (all: readonly Sent<Plan, Opened>[], opened: OpenedReply) => Reached;
}

/**
 * Requests the choices that the first reply leaves out. A whole reply, and a stream from a target that is known to return one at a
 * time, gets them at once; any other stream when it has ended without them.
 */
export async function withAllChoices<Reached>(
  first: Sent<Plan, Opened>,
  options: ChoicesOptions<Reached>,
): Promise<Reached> {
  const { choices, stream, multiple, context, reached } = options;
  const { opened } = first.opened;
  if (opened.kind === "stream" && opened.choices === choices && choices > 1) {
    return reached([first], toppedUp(first, opened, options));
  }
  if (opened.choices >= choices) return reached([first], opened);
  if (!stream) noteSingleChoice(first);
  const { sent: rest, error } = await sendSingles(opened.choices, options);
  const all = [first, ...rest];
  if (error !== undefined) {
    for (const one of all) one.opened.opened.discard();
    if (!(error instanceof ExchangeFailed)) throw error;
    throw new ExchangeFailed(error.refusal, allAttempts([...all, error]), error.last);
  }
  return reached(all, openedJoined(all.map((one) => one.opened.opened), multiple, context()));
}

/**
 * A stream that supplies the choices which its upstream leaves out. Those that fail before they begin stay out: the
 * client has what the upstream gave.
 */
function toppedUp<Reached>(
  first: Sent<Plan, Opened>,
  stream: OpenedStream,
  options: ChoicesOptions<Reached>,
): OpenedStream {
  const { choices, multiple, context, reached } = options;
  return openedToppedUp(stream, {
    choices,
    join: (parts) => multiple.joinStreams(parts, context()),
    request: async (from) => {
      noteSingleChoice(first);
      const { sent: rest } = await sendSingles(from, options);
      reached([first, ...rest], stream);
      return rest.map(({ opened: { opened } }) => opened).filter((one) => one.kind === "stream");
    },
  });
}

/** Requests the choices from `from` on, each by itself. */
async function sendSingles<Reached>(
  from: number,
  { choices, send }: ChoicesOptions<Reached>,
): Promise<{ sent: Sent<Plan, Opened>[]; error: unknown }> {
  const numbers = Array.from({ length: choices - from }, (_, at) => from + at);
  const ended = await Promise.allSettled(numbers.map((number) => send(number)));
  const sent = ended.flatMap((one) => (one.status === "fulfilled" ? [one.value] : []));
  return { sent, error: ended.find((one) => one.status === "rejected")?.reason };
}

/** Remembers a target that returned fewer choices than were requested: they are requested one by one from then on. */
function noteSingleChoice({ plan: { upstream, target } }: Sent<Plan, unknown>): void {
  upstream.health.singleChoiceModels.add(target.model);
}

/** The attempts of several exchanges; those of an exchange that needed one only are counted, not listed. */
export function allAttempts(
  all: readonly {
    readonly attempts: number;
    readonly outcomes: readonly AttemptRecord[] | undefined;
  }[],
) {
  return {
    attempts: all.reduce((sum, one) => sum + one.attempts, 0),
    outcomes: all.some(({ outcomes }) => outcomes !== undefined)
      ? all.flatMap(({ outcomes }) => outcomes ?? [])
      : undefined,
  };
}
