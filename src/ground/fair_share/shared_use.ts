/** Accounts are distinguished by a hash of their ID: two in one place share what one may have. */
const PLACES = 4_096;
/** All places of one thread, and its sum. */
const ROW = PLACES + 1;

/** Memory of a {@linkcode SharedUse}, which is sent to each thread. */
export interface SharedUseMemory {
  readonly counts: SharedArrayBuffer;
  /** Units that are counted as one, so that counts fit into 32 bits. */
  readonly unit: number;
}

/** What may be in use. */
export interface UseLimits {
  readonly capacity: number;
  readonly perAccount: number;
}

/**
 * Units that the threads of a process have in use together: a pool's bounds hold for all of them.
 *
 * The first row counts what all threads use; each thread notes its own part in a row of its own, so that it can be given
 * back when the thread dies.
 */
export class SharedUse {
  readonly #counts: Int32Array<SharedArrayBuffer>;
  readonly #unit: number;
  /** Where this thread's row begins. */
  readonly #own: number;

  /** @param thread The number of this thread, from 1. */
  constructor({ counts, unit }: SharedUseMemory, thread: number) {
    this.#counts = new Int32Array(counts);
    this.#unit = unit;
    this.#own = thread * ROW;
  }

  /** Makes the memory for a number of threads. */
  static memory(
    { threads, unit }: { readonly threads: number; readonly unit: number },
  ): SharedUseMemory {
    const bytes = (threads + 1) * ROW * Int32Array.BYTES_PER_ELEMENT;
    return { counts: new SharedArrayBuffer(bytes), unit };
  }

  /** Units of all accounts in use. */
  get used(): number {
    return Atomics.load(this.#counts, PLACES) * this.#unit;
  }

  /**
   * Raises what an account has in use.
   *
   * @param account ID of the account.
   * @param units What the one that asks has in use, and what it wants to have.
   * @returns `yes` if it has it now; otherwise whose limit stands against it.
   */
  raise(
    account: string,
    { from, to }: { readonly from: number; readonly to: number },
    { capacity, perAccount }: UseLimits,
  ): "yes" | "account" | "pool" {
    const more = this.#counted(to) - this.#counted(from);
    const place = placeOf(account);
    if (Atomics.add(this.#counts, place, more) + more > this.#counted(perAccount)) {
      Atomics.sub(this.#counts, place, more);
      return "account";
    }
    if (Atomics.add(this.#counts, PLACES, more) + more > this.#counted(capacity)) {
      Atomics.sub(this.#counts, PLACES, more);
      Atomics.sub(this.#counts, place, more);
      return "pool";
    }
    this.#note(place, more);
    return "yes";
  }

  /** Gives back what an account has in use no more. */
  lower(account: string, { from, to }: { readonly from: number; readonly to: number }): void {
    const less = this.#counted(from) - this.#counted(to);
    const place = placeOf(account);
    Atomics.sub(this.#counts, place, less);
    Atomics.sub(this.#counts, PLACES, less);
    this.#note(place, -less);
  }

  /** Whether an account could have a number of units more; others may take them before it does. */
  fits(
    account: string,
    more: number,
    { capacity, perAccount }: UseLimits,
  ): "yes" | "account" | "pool" {
    const held = Atomics.load(this.#counts, placeOf(account)) * this.#unit;
    if (held + more > this.#counted(perAccount) * this.#unit) return "account";
    return this.used + more > this.#counted(capacity) * this.#unit ? "pool" : "yes";
  }

  /** Gives back all that this thread has in use; for one that has died. */
  clear(): void {
    for (let place = 0; place < ROW; place++) {
      const own = Atomics.exchange(this.#counts, this.#own + place, 0);
      if (own !== 0) Atomics.sub(this.#counts, place, own);
    }
  }

  #note(place: number, change: number): void {
    Atomics.add(this.#counts, this.#own + place, change);
    Atomics.add(this.#counts, this.#own + PLACES, change);
  }

  #counted(units: number): number {
    return Math.min(Math.ceil(units / this.#unit), MAX_COUNT);
  }
}

/** Far below where sums of several threads overflow; larger limits are none. */
const MAX_COUNT = 2 ** 30;

function placeOf(account: string): number {
  let hash = 0x811c9dc5; // FNV-1a
  for (let at = 0; at < account.length; at++) {
    hash = Math.imul(hash ^ account.charCodeAt(at), 0x01000193);
  }
  return (hash >>> 0) % PLACES;
}
