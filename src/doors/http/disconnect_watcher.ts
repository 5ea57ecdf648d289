import type { CoarseTimers } from "../../ground/platform/mod.ts";
import type { DisconnectWatcher } from "../../requests/relay/mod.ts";
import type { Connections } from "./connections.ts";
import { peerFrom } from "./peer.ts";

const [MAJOR = 0, MINOR = 0] = Deno.version.deno.split(".").map(Number);
/**
 * Delay before a request's connection is watched. Watching costs a tenth of a small request, so fast requests go without.
 * Before Deno 2.9, the platform does not report a client that disconnected before the watch began.
 */
const WATCH_AFTER_MS = 1_000 * MAJOR + MINOR >= 2_009 ? 20 : 0;

/** What tells that a client is gone. */
export interface DisconnectWatcherOptions {
  readonly timers: CoarseTimers;
  readonly connections: Connections;
  /** Address of the client's end of the connection. */
  readonly peer: Deno.Addr | undefined;
}

/**
 * Watches for a disconnect before the response begins, by the request's signal and by its connection. On Deno 2.9, the
 * signal fires only if the whole request arrived in one small piece.
 */
export class ConnectionWatcher implements DisconnectWatcher {
  readonly #options: DisconnectWatcherOptions;
  /** Until the response has begun: an open stream must not keep the request's body. */
  #request: Request | undefined;

  constructor(request: Request, options: DisconnectWatcherOptions) {
    this.#request = request;
    this.#options = options;
  }

  watch(left: () => void): () => void {
    const { timers, connections, peer } = this.#options;
    let signal: AbortSignal | undefined;
    let unwatch: (() => void) | undefined;
    const watch = () => {
      signal = this.#request?.signal;
      signal?.addEventListener("abort", left);
      const from = peerFrom(peer);
      if (from !== undefined) unwatch = connections.watch(from, left);
    };
    const dismiss = WATCH_AFTER_MS === 0 ? watch() : timers.after(WATCH_AFTER_MS, watch);
    return () => {
      this.#request = undefined;
      dismiss?.();
      unwatch?.();
      signal?.removeEventListener("abort", left);
    };
  }

  hasLeft(): boolean {
    const from = peerFrom(this.#options.peer);
    return from !== undefined && this.#options.connections.hasLeft(from);
  }
}
