import { DatabaseError, type FileState } from "../database.ts";
import { SlotMap } from "../../platform/mod.ts";
import { LOOK_MS, Presence } from "../presence.ts";

/** Time without any answer from which on the file counts as away: a large set on a slow disk takes a part of it. */
const SILENT_MS = 2_000;
/** How long a gateway waits for a file that does not answer, for what can be rejected: as for a server. */
const PATIENCE_MS = 5_000;

/**
 * Notices that the thread of an embedded file does not answer, as its disk does not: a thread that waits for a call of the system
 * reports nothing.
 */
export class FileWatch {
  readonly presence: Presence;
  /** What is rejected if the file stays silent. */
  readonly #impatient = new SlotMap<PromiseWithResolvers<never>>();
  #looking: ReturnType<typeof setInterval> | undefined;

  /** @param now A clock that nobody sets, in milliseconds. Default: `performance.now()`. */
  constructor(now?: () => number) {
    this.presence = new Presence({
      silentMs: SILENT_MS,
      code: "SLUICE_SILENT",
      ...(now && { now }),
    });
  }

  /**
   * Watches from now on, until {@linkcode stop}.
   *
   * @param onState Called while the file does not answer, again and again, and once when it does.
   */
  start(onState: (state: FileState) => void): void {
    const { presence } = this;
    let wasAway = false;
    this.#looking = setInterval(() => {
      // a thread that was busy itself finds the answers at its next turn
      if (wasAway === presence.isAway) presence.tell(onState);
      wasAway = presence.isAway;
      if (presence.silentForMs < PATIENCE_MS) return;
      for (const { reject } of this.#impatient.clear()) {
        reject(new DatabaseError("SLUICE_SILENT", "no answer", { outcomeUnknown: true }));
      }
    }, LOOK_MS);
    Deno.unrefTimer(this.#looking);
  }

  /** Fails if the file of a gateway does not answer for long; what was asked may be done all the same. */
  async unlessSilent<T>(work: Promise<T>): Promise<T> {
    if (this.#looking === undefined) return await work;
    const silent = Promise.withResolvers<never>();
    const place = this.#impatient.add(silent);
    try {
      return await Promise.race([work, silent.promise]);
    } finally {
      this.#impatient.take(place, silent);
    }
  }

  /** Stops: what is asked is waited for. */
  stop(): void {
    clearInterval(this.#looking);
    this.#looking = undefined;
  }
}
