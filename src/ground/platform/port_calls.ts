/** One end of a channel between two threads: a `MessagePort`, a `Worker`, or a worker's own scope. */
export interface ChannelEnd {
  postMessage(message: unknown, transfer: Transferable[]): void;
  onmessage: ((event: MessageEvent) => void) | null;
}

/** What one side of a channel can be called for: functions of one argument, which can be cloned, as can what they return. */
export type Methods = Record<string, (argument: never) => unknown>;

/** The argument of a method. */
export type ArgumentOf<Called extends Methods, Name extends keyof Called> = Parameters<
  Called[Name]
>[0];

type Message =
  | { readonly id: number; readonly name: string; readonly argument: unknown }
  | { readonly id: number; readonly result: unknown }
  | { readonly id: number; readonly error: string };

/** The number of a call whose result nobody waits for. */
const UNANSWERED = -1;

/** Calls between two threads over a channel, in the order in which they are made. */
export class PortCalls<Theirs extends Methods> {
  readonly #end: ChannelEnd;
  readonly #waiting = new Map<number, PromiseWithResolvers<unknown>>();
  #next = 0;
  #fault: Error | undefined;

  /**
   * @param end This thread's end of the channel.
   * @param own What the other thread may call.
   */
  constructor(end: ChannelEnd, own: Methods) {
    this.#end = end;
    end.onmessage = ({ data }: MessageEvent<Message>) => {
      if ("name" in data) void this.#run(own, data);
      else this.#settle(data);
    };
  }

  /**
   * Calls the other thread.
   *
   * @returns What the method returned.
   * @throws {Error} What it threw, with the same message; or that the other thread has ended.
   */
  call<Name extends keyof Theirs & string>(
    name: Name,
    argument: ArgumentOf<Theirs, Name>,
    transfer: Transferable[] = [],
  ): Promise<Awaited<ReturnType<Theirs[Name]>>> {
    if (this.#fault !== undefined) return Promise.reject(this.#fault);
    const waiting = Promise.withResolvers<unknown>();
    const id = this.#next++;
    this.#waiting.set(id, waiting);
    this.#end.postMessage({ id, name, argument } satisfies Message, transfer);
    // the other side has the method of that name, and what it returns
    return waiting.promise as Promise<Awaited<ReturnType<Theirs[Name]>>>;
  }

  /** Calls the other thread without waiting for it. Does nothing if it has ended. */
  tell<Name extends keyof Theirs & string>(
    name: Name,
    argument: ArgumentOf<Theirs, Name>,
    transfer: Transferable[] = [],
  ): void {
    if (this.#fault !== undefined) return;
    this.#end.postMessage({ id: UNANSWERED, name, argument } satisfies Message, transfer);
  }

  /** Notes that the other thread has ended: calls that wait fail, and so does each further one. */
  fail(error: Error): void {
    this.#fault = error;
    for (const { reject } of this.#waiting.values()) reject(error);
    this.#waiting.clear();
  }

  async #run(
    own: Methods,
    { id, name, argument }: Extract<Message, { readonly name: string }>,
  ): Promise<void> {
    let reply: Message;
    try {
      reply = { id, result: await own[name]!(argument as never) };
    } catch (error) {
      if (id === UNANSWERED) throw error;
      reply = { id, error: error instanceof Error ? error.message : String(error) };
    }
    if (id !== UNANSWERED) this.#end.postMessage(reply, []);
  }

  #settle(reply: Exclude<Message, { readonly name: string }>): void {
    const waiting = this.#waiting.get(reply.id);
    this.#waiting.delete(reply.id);
    if ("error" in reply) waiting?.reject(new Error(reply.error));
    else waiting?.resolve(reply.result);
  }
}
