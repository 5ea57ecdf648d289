import type { Hold } from "../admission/mod.ts";
import { databaseRefusal } from "../database/mod.ts";
import { brokenOff, countedUsage, type Dialect, type Usage } from "../dialects/mod.ts";
import { asRefusal, Refusal } from "../refusal.ts";
import type { Log } from "../telemetry/mod.ts";
import { TransportFault } from "../upstreams/mod.ts";
import type { OpenedStream } from "./opened.ts";
import type { Settlement } from "./settlement.ts";

/** A caller that reads nothing for so long while there is output has kept the upstream waiting. */
const KEPT_WAITING_MS = 2_000;

/** What a stream needs from its request. */
export interface StreamOptions {
  /** The answer, begun. */
  readonly opened: OpenedStream;
  readonly dialect: Dialect;
  readonly requestId: string;
  readonly settlement: Settlement;
  readonly log: Log;
  /** Input tokens as counted here. */
  readonly inputTokens: number;
  /** Input or output tokens above which an upstream's report is not believed. */
  readonly mostTokens: number;
  /** Called with the usage that an upstream reported and that is believed. */
  readonly reported: (usage: Usage) => void;
  /** Cancels the upstream's work. */
  readonly leave: () => void;
  /** Aborted when the gateway cannot wait any longer. */
  readonly cutOff: AbortSignal;
  /** Aborted when this request is to end, the gateway's stopping included. */
  readonly left: AbortSignal;
  readonly onClientDisconnect: "abort" | "drain";
  /** How long an answer is followed for its usage after the caller has left. */
  readonly followMs: number;
  /** What the stream may spend. */
  readonly hold: Hold;
  /** Called once, when everything including the settlement is over. */
  readonly over: () => void;
}

/**
 * The caller's event stream: decode theirs → meter → encode ours, one piece of the upstream at a
 * time and only when the caller has room for it.
 *
 * It ends in exactly one of four ways: complete (the charge is committed before the last bytes), cut
 * off as at its token limit because the balance pays for no more, failed (an error event is the last
 * one), or the caller leaves (the upstream is cancelled, or read to its end for its usage).
 */
export function streamAnswer(options: StreamOptions): ReadableStream<Uint8Array> {
  const { opened, hold, dialect, settlement, leave, cutOff } = options;
  const { reader } = opened;
  const { answer } = reader;
  const encoder = new TextEncoder();
  let over = false;

  const end = (release: () => void) => {
    over = true;
    reader.close();
    release();
  };

  /** Output tokens of the hold that the reader may use; several answers share them. */
  let granted = hold.outputTokens;

  /** Waits for room under the limit; false when the balance has none. */
  const extend = async (): Promise<boolean> => {
    while (reader.atLimit) {
      const before = granted;
      granted = await hold.extend(before);
      reader.outputLimit = granted;
      if (granted <= before) return false;
    }
    return true;
  };

  let reading: Promise<unknown> = Promise.resolve();
  let pulling = false;
  let gone = false;
  /** Whether any output was given to the caller; what was only read is not charged. */
  let hasGiven = false;
  /** When the caller was last given something. */
  let gaveTick = Infinity;
  /** Whether the caller ever kept the upstream waiting: what breaks then may have broken for that. */
  let keptWaiting = false;

  /** The next text, one at a time. Undefined when the balance pays for no more. */
  const read = (): Promise<string | undefined> => {
    const next = readNext();
    reading = next.catch(() => {});
    return next;
  };

  const readNext = async (): Promise<string | undefined> => {
    cutOff.throwIfAborted();
    if (reader.atLimit && !await extend()) return undefined;
    const text = await reader.next();
    if (answer.hasOutput) settlement.outputBegan();
    hold.lookAhead(answer.countedOutput);
    return text;
  };

  const complete = async (): Promise<string> => {
    const { usage, source } = settledUsage(answer.usage, () => answer.countedOutput, options);
    await settlement.settle({ ending: "complete", status: 200, usage, usageSource: source });
    return answer.close(usage);
  };

  const truncate = async (): Promise<string> => {
    const usage = countedUsage(options.inputTokens, answer.countedOutput);
    await settlement.settle({ ending: "complete", status: 200, usage, usageSource: "counted" });
    return answer.truncate() + answer.close(usage);
  };

  const fail = async (error: unknown): Promise<string> => {
    const refusal = streamRefusal(error, cutOff);
    if (refusal.reason === "internal") {
      options.log.error("stream failed", { id: options.requestId, error: String(error) });
    }
    const heard = keptWaiting && hasGiven && refusal.reason === "upstream_unavailable";
    await settlement.settle(
      heard
        ? {
          ending: "client_left",
          status: 200,
          usage: countedUsage(options.inputTokens, answer.countedOutput),
          usageSource: "counted",
        }
        : { ending: "upstream_failed", status: refusal.status },
    ).catch(() => {});
    return dialect.errorEvent(refusal, options.requestId);
  };

  /** Reads on without a caller, for the usage at the end. */
  const drain = async (): Promise<Usage | undefined> => {
    const timer = setTimeout(() => opened.discard(), options.followMs);
    try {
      await reading; // the caller may have left in the middle of a read
      while (!reader.finished) if (await read() === undefined) return undefined;
      const { usage, source } = settledUsage(answer.usage, () => answer.countedOutput, options);
      return source === "upstream" ? usage : undefined;
    } catch {
      return undefined; // then it is charged as it was heard
    } finally {
      clearTimeout(timer);
    }
  };

  const left = async (): Promise<void> => {
    const heard = hasGiven ? countedUsage(options.inputTokens, answer.countedOutput) : undefined;
    const drains = heard !== undefined && options.onClientDisconnect === "drain";
    const reported = drains ? await drain() : undefined;
    if (reader.finished) end(opened.drain);
    else {
      end(opened.discard);
      leave();
    }
    const usage = reported ?? heard;
    const source = reported === undefined ? "counted" : "upstream";
    try {
      await settlement.settle({
        ending: "client_left",
        status: 200,
        usage,
        usageSource: usage === undefined ? undefined : source,
        patient: true,
      });
    } finally {
      options.over();
    }
  };

  /** Ends it for a caller who has stopped reading: nothing is pulled then that could meet the end. */
  const stop = async (controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> => {
    end(opened.discard);
    const text = await fail(cutOff.reason);
    options.over();
    if (gone) return;
    controller.enqueue(encoder.encode(text));
    controller.close();
  };

  const pull = async (controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> => {
    let text: string | undefined = "";
    let last = false;
    let whole = false;
    keptWaiting ||= performance.now() - gaveTick >= KEPT_WAITING_MS;
    try {
      while (text === "" && !reader.finished) {
        text = await read();
        if (over) return; // the caller left while we were waiting
      }
      if (text === undefined) {
        last = true;
        text = await truncate();
      } else if (reader.finished) {
        last = whole = true;
        text += await complete();
      }
    } catch (error) {
      if (over) return;
      last = true;
      whole = false;
      text = (text ?? "") + await fail(error);
    }
    if (over) return;
    controller.enqueue(encoder.encode(text));
    gaveTick = performance.now();
    hasGiven ||= answer.hasOutput;
    if (!last) return;
    controller.close();
    end(whole ? opened.drain : opened.discard);
    options.over();
  };

  return new ReadableStream<Uint8Array>({
    start(controller) {
      options.left.addEventListener("abort", () => {
        if (cutOff.aborted && !pulling && !over) void stop(controller);
      }, { once: true });
    },
    async pull(controller) {
      pulling = true;
      try {
        await pull(controller);
      } finally {
        pulling = false;
      }
    },
    async cancel() {
      gone = true;
      if (over) return;
      over = true;
      await left();
    },
  }, { highWaterMark: 0 });
}

/** What a complete answer is charged by: as reported, else as counted here. */
export function settledUsage(
  usage: Usage | undefined,
  countOutput: () => number,
  { inputTokens, mostTokens, reported }: Pick<
    StreamOptions,
    "inputTokens" | "mostTokens" | "reported"
  >,
): { usage: Usage; source: "upstream" | "counted" } {
  if (
    usage === undefined || usage.inputTokens > mostTokens || usage.outputTokens > mostTokens
  ) {
    return { usage: countedUsage(inputTokens, countOutput()), source: "counted" };
  }
  reported(usage);
  return { usage, source: "upstream" };
}

function streamRefusal(error: unknown, cutOff: AbortSignal): Refusal {
  if (cutOff.aborted) {
    return new Refusal("gateway_unavailable", "The gateway is stopping. Please try again.");
  }
  if (error instanceof TransportFault) {
    return brokenOff(error);
  }
  return asRefusal(databaseRefusal(error));
}
