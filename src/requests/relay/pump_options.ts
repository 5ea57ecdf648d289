import type { Hold } from "../admission/mod.ts";
import type { JsonObject } from "../../wire/dialects/mod.ts";
import type { Refusal } from "../../ground/refusal.ts";
import type { TargetPlan } from "../upstreams/mod.ts";
import type { ChargedUsage } from "./charged_usage.ts";
import type { Lifecycle } from "./lifecycle.ts";
import type { OpenedStream } from "./opened_reply.ts";

/** What a stream needs from its request. */
export interface PumpOptions {
  /** The reply, begun. */
  readonly opened: Pick<OpenedStream, "reader" | "discard" | "drain">;
  readonly life:
    & Pick<
      Lifecycle,
      "settle" | "outputBegan" | "abort" | "end" | "signal" | "cutOff" | "hasLeft"
    >
    & { readonly hold: Pick<Hold, "outputTokens" | "maxDelivered" | "extend" | "lookAhead"> };
  readonly usage: ChargedUsage;
  /** The target that replies, where a break of the stream says something of it. */
  readonly plan?: TargetPlan | undefined;
  /** What becomes of a reply whose client disconnects in the middle of it. */
  readonly onClientDisconnect: "abort" | "drain";
  /** How long such a reply is followed for its usage. */
  readonly followMs: number;
  /** Begins to follow a reply; returns what ends that, or undefined if the account has too many of them. */
  readonly follow: () => (() => void) | undefined;
  /** The last event of a stream that failed. */
  readonly errorEvent: (refusal: Refusal) => string;
  /** Keeps what the client may refer to in later requests. Never rejects. */
  readonly keepItems: (items: readonly JsonObject[]) => Promise<void>;
  /** Called with an error that nobody expects. */
  readonly onFault: (error: unknown) => void;
  /** Called once, when everything including the settlement is over. */
  readonly onEnd: () => void;
}
