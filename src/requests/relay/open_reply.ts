/** Opens what an upstream replied as what the client asked for, whole or streamed, in whichever of the two forms it came. */

import type { CoarseTimers } from "../../ground/platform/mod.ts";
import { Refusal } from "../../ground/refusal.ts";
import {
  type DialectName,
  isObject,
  type Reply,
  type ReplyContext,
  reportedError,
  upstreamFault,
  wholeOfStream,
  wholeReplyStream,
} from "../../wire/dialects/mod.ts";
import type { UpstreamReply } from "../upstreams/mod.ts";
import { EventSource } from "./event_source.ts";
import { type OpenedReply, openedStream, openedWhole } from "./opened_reply.ts";
import type { Plan } from "./plan.ts";
import { readWhole } from "./read_whole.ts";
import type { ReplyLimits } from "./reply_limits.ts";
import { LATE_USAGE_MS, ReplyReader } from "./reply_reader.ts";
import { withToldForm } from "./told_form.ts";

/** How a reply is opened. */
interface OpenOptions {
  /** The client's. */
  readonly dialect: DialectName;
  readonly plan: Plan;
  readonly context: ReplyContext;
  readonly limits: ReplyLimits;
  readonly timers: CoarseTimers;
}

/** How a stream is opened. */
interface OpenStreamOptions extends OpenOptions {
  readonly pingMs: number;
  /** Whether another target may be asked while the client has seen nothing. */
  readonly canFailOver: boolean;
  /** Output tokens that may be charged now, for all choices. */
  readonly outputTokens: number;
  /** All choices of the client's request, of which this may be one. */
  readonly choices: number;
}

/** @throws {Refusal} `upstream_unavailable` and the like for a reported error, or an invalid reply. */
export async function openWhole(
  reply: UpstreamReply,
  options: OpenOptions,
): Promise<OpenedReply> {
  const { plan, context, limits } = options;
  const told = await withToldForm(reply);
  const read = isOf("text/event-stream", told)
    ? await readStream(told, options)
    : plan.bridge.reply(await readWhole(told, limits), context);
  return openedWhole(read, context.request.choices, reply);
}

/** @throws {Refusal} likewise, before the client has seen anything of it. */
export async function openStream(
  reply: UpstreamReply,
  options: OpenStreamOptions,
): Promise<OpenedReply> {
  const { dialect, plan, context, limits, timers, outputTokens } = options;
  const told = await withToldForm(reply);
  // what tells nothing is taken for what was requested
  const isStream = !told.headers["content-type"] || isOf("text/event-stream", told);
  const whole = isStream ? undefined : await wholeInstead(told, limits);
  const choices = whole === undefined ? context.request.choices : 1;
  const source = new EventSource(whole ?? told, timers, limits);
  const stream = whole === undefined
    ? plan.bridge.stream(context)
    : wholeReplyStream(dialect, plan.upstream.dialect, context);
  const reader = new ReplyReader(source, stream, options.pingMs);
  reader.outputLimit = Math.floor(outputTokens * (choices / options.choices));
  return openedStream(await reader.begin(options.canFailOver), choices, reply);
}

/** A reply that is a stream although none was requested. */
async function readStream(
  reply: UpstreamReply,
  { dialect, plan, context, limits, timers }: OpenOptions,
): Promise<Reply> {
  const source = new EventSource(reply, timers, limits);
  const whole = wholeOfStream(dialect, plan.upstream.dialect, context);
  let untilTick = Infinity;
  while (!whole.done || whole.lacksUsage && performance.now() < untilTick) {
    const events = source.take();
    if (events === undefined) break;
    if (events === null) await new Promise<void>((wake) => source.whenReady({ wake }, untilTick));
    for (const event of events ?? []) if (!whole.done || whole.lacksUsage) whole.push(event);
    if (whole.done) untilTick = Math.min(untilTick, performance.now() + LATE_USAGE_MS);
  }
  source.close();
  reply.drain();
  return whole.reply();
}

function isOf(type: string, { headers }: UpstreamReply): boolean {
  return String(headers["content-type"]).toLowerCase().startsWith(type);
}

/**
 * A whole reply where a stream was requested, as a stream of one event: small servers know no streams, and some report an error as JSON
 * with status 200.
 *
 * @throws {Refusal} `upstream_unavailable` and the like for a reported error, or if it is not JSON either.
 */
async function wholeInstead(reply: UpstreamReply, limits: ReplyLimits): Promise<UpstreamReply> {
  const body = /json/i.test(String(reply.headers["content-type"]))
    ? await readWhole(reply, limits)
    : undefined;
  if (!isObject(body)) {
    throw new Refusal("upstream_unavailable", "The upstream's response is not an event stream.");
  }
  const error = reportedError(body);
  if (error !== undefined) throw upstreamFault(error);
  let event: Uint8Array | undefined = new TextEncoder().encode(`data: ${JSON.stringify(body)}\n\n`);
  const read = () => {
    const bytes = event;
    event = undefined;
    return Promise.resolve(bytes);
  };
  return { ...reply, body: { read } };
}
