/** A thread that is asked now and then, and what it is known to be doing. */
interface Asked<Doing> {
  /** Looks since it was asked, while there is no reply. */
  looks: number;
  isWaiting: boolean;
  doing: Doing | undefined;
}

/** Dependencies of {@linkcode ThreadWatchdog}. */
export interface ThreadWatchdogOptions<Thread, Doing> {
  readonly threads: () => Iterable<Thread>;
  /** Asks a thread what it is doing. */
  readonly ask: (thread: Thread) => Promise<Doing>;
  /** Called for a thread that has not replied for a while, with what it said last. */
  readonly hung: (thread: Thread, doing: Doing | undefined) => void;
  readonly lookMs?: number;
  readonly maxLooks?: number;
}

/** A thread may be busy for a moment; nothing that it does takes a quarter of a minute. */
const LOOK_MS = 1_000;
const MAX_LOOKS = 15;

/**
 * Notices threads that hang. Their patience is counted in looks and not in time, as all of the process may have been stopped.
 */
export class ThreadWatchdog<Thread extends object, Doing> {
  readonly #options: ThreadWatchdogOptions<Thread, Doing>;
  readonly #asked = new WeakMap<Thread, Asked<Doing>>();
  readonly #timer: ReturnType<typeof setInterval>;

  constructor(options: ThreadWatchdogOptions<Thread, Doing>) {
    this.#options = options;
    this.#timer = setInterval(() => this.#look(), options.lookMs ?? LOOK_MS);
    Deno.unrefTimer(this.#timer);
  }

  /** Stops looking. */
  close(): void {
    clearInterval(this.#timer);
  }

  #look(): void {
    const { threads, ask, hung, maxLooks = MAX_LOOKS } = this.#options;
    for (const thread of [...threads()]) {
      const asked = this.#asked.get(thread) ?? { looks: 0, isWaiting: false, doing: undefined };
      this.#asked.set(thread, asked);
      if (asked.isWaiting) {
        if (++asked.looks === maxLooks) hung(thread, asked.doing);
        continue;
      }
      asked.isWaiting = true;
      asked.looks = 0;
      ask(thread).then((doing) => {
        asked.doing = doing;
        asked.isWaiting = false;
      }, () => {}); // it has ended
    }
  }
}
