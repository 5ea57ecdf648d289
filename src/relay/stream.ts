import { databaseRefusal } from "../database/mod.ts";
import type { Dialect, Usage } from "../dialects/mod.ts";
import { asRefusal, Refusal } from "../refusal.ts";
import type { Log } from "../telemetry/mod.ts";
import { TransportFault } from "../upstreams/mod.ts";
import type { OpenedStream } from "./opened.ts";
import type { Settlement } from "./settlement.ts";

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
  /** Cancels the upstream's work. */
  readonly leave: () => void;
  /** Aborted when the gateway cannot wait any longer. */
  readonly cutOff: AbortSignal;
  /** Called once, when everything including the settlement is over. */
  readonly over: () => void;
}

/**
 * The caller's event stream: decode theirs → meter → encode ours, one piece of the upstream at a
 * time and only when the caller has room for it.
 *
 * It ends in exactly one of three ways: complete (the usage is committed before the last bytes),
 * failed (an error event is the last one), or the caller leaves (the upstream is cancelled).
 */
export function streamAnswer(options: StreamOptions): ReadableStream<Uint8Array> {
  const { opened, dialect, settlement, leave, cutOff } = options;
  const { reader } = opened;
  const { answer } = reader;
  const encoder = new TextEncoder();
  let over = false;

  const end = (release: () => void) => {
    over = true;
    reader.close();
    release();
  };

  const complete = async (): Promise<string> => {
    const { usage, source } = settledUsage(answer, options.inputTokens);
    await settlement.settle({ ending: "complete", status: 200, usage, usageSource: source });
    return answer.close(usage);
  };

  const fail = async (error: unknown): Promise<string> => {
    const refusal = streamRefusal(error, cutOff);
    if (refusal.reason === "internal") {
      options.log.error("stream failed", { id: options.requestId, error: String(error) });
    }
    await settlement.settle({ ending: "upstream_failed", status: refusal.status }).catch(() => {});
    return dialect.errorEvent(refusal, options.requestId);
  };

  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      let text = "";
      let last = false;
      try {
        while (text === "" && !reader.finished) {
          cutOff.throwIfAborted();
          text = await reader.next();
          if (answer.hasOutput) settlement.outputBegan();
        }
        if (reader.finished) {
          last = true;
          text += await complete();
        }
      } catch (error) {
        if (over) return; // the caller left while we were waiting
        last = true;
        text += await fail(error);
      }
      if (over) return;
      controller.enqueue(encoder.encode(text));
      if (!last) return;
      controller.close();
      end(reader.finished ? opened.drain : opened.discard);
      options.over();
    },
    async cancel() {
      if (over) return;
      end(opened.discard);
      leave();
      const usage = answer.hasOutput ? counted(answer, options.inputTokens) : undefined;
      try {
        await settlement.settle({
          ending: "client_left",
          status: 200,
          usage,
          usageSource: usage === undefined ? undefined : "counted",
        });
      } finally {
        options.over();
      }
    },
  }, { highWaterMark: 0 });
}

/** What a complete answer is charged by: as reported, else as counted here. */
export function settledUsage(
  answer: { readonly usage: Usage | undefined; readonly countedOutput: number },
  inputTokens: number,
): { usage: Usage; source: "upstream" | "counted" } {
  return answer.usage === undefined
    ? { usage: counted(answer, inputTokens), source: "counted" }
    : { usage: answer.usage, source: "upstream" };
}

function counted(answer: { readonly countedOutput: number }, inputTokens: number): Usage {
  return {
    inputTokens,
    cachedTokens: 0,
    outputTokens: answer.countedOutput,
    reasoningTokens: 0,
  };
}

function streamRefusal(error: unknown, cutOff: AbortSignal): Refusal {
  if (cutOff.aborted) {
    return new Refusal("gateway_unavailable", "The gateway is stopping. Please try again.");
  }
  if (error instanceof TransportFault) {
    return new Refusal("upstream_unavailable", "The upstream's stream broke off.", {
      cause: error,
    });
  }
  return asRefusal(databaseRefusal(error));
}
