import type { Writing } from "../group_writer.ts";
import { joinedItems } from "../pieces.ts";

/**
 * How long what is written behind may be gathered before it is sent to the file's thread, which writes it in larger sets anyway, and how
 * much of it: to wake a thread costs as much as what it is woken for.
 */
const GATHER_MS = 20;
const MAX_ITEMS = 64;

/** Sends items of one write to the file's thread: a JSON array, and how many they are. */
type Send = (write: Writing, items: string, count: number) => void;

/** Items that were passed on to be written behind, and are sent with the next ones: soon, or when {@linkcode Unsent.send} is called. */
export class Unsent {
  readonly #send: Send;
  /** Items of one write, as JSON arrays; none is empty. */
  #write: Writing | undefined;
  #items: string[] = [];
  #count = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(send: Send) {
    this.#send = send;
  }

  /** Gathers items, a JSON array that is not empty. */
  add(write: Writing, items: string, count: number): void {
    if (this.#write !== write) this.send();
    this.#write = write;
    this.#items.push(items);
    this.#count += count;
    if (this.#count >= MAX_ITEMS) return this.send();
    if (this.#timer !== undefined) return;
    this.#timer = setTimeout(() => this.send(), GATHER_MS);
    Deno.unrefTimer(this.#timer); // if the process ends first, the outbox has them
  }

  /** Sends what is gathered. */
  send(): void {
    if (this.#write === undefined) return;
    const [write, items, count] = [this.#write, joinedItems(this.#items), this.#count];
    this.drop();
    this.#send(write, items, count);
  }

  /** Forgets what is gathered: the outbox has it. */
  drop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#write = undefined;
    this.#items = [];
    this.#count = 0;
  }
}
