import { isObject } from "../json.ts";
import { JsonProgress } from "./json_progress.ts";

/** Arguments of a call that has none: clients parse them as JSON. */
export const NO_ARGUMENTS = "{}";

/** Arguments of none: others may follow. */
const EMPTY = /^\s*(?:\{\s*\}|\[\s*\]|null)\s*$/;
/** The beginning of an object, with a key that cannot go on after the end of a string. */
const OBJECT = /^\s*\{\s*"[^:,}\]\s]/;
/** How much is kept of arguments to find out whether a piece begins with all before. */
const MAX_HEAD_CHARS = 4_096;

/** Takes the arguments of one call in pieces, as upstreams send them, and gives each part of them once. */
export class CallArgs {
  isEmpty = false;
  readonly #progress = new JsonProgress();
  #head = "";
  #chars = 0;
  /** Whether each piece begins with all before (DashScope, Qianfan). */
  #isCumulative = false;
  /** The pieces of a JSON text that has the arguments' text in it. */
  #encoded: string[] | undefined;

  get isComplete(): boolean {
    return this.#progress.complete || this.isEmpty;
  }

  /** Whether these arguments, which are complete, are those of the call. */
  isRepeatedBy(args: string): boolean {
    return args.length === this.#chars && args.startsWith(this.#head);
  }

  /**
   * Takes a piece, and returns what of it is new.
   *
   * @param isFirst Whether it comes with the beginning of its call, or with its name: empty arguments wait for others then.
   */
  add(args: string, isFirst = false): string {
    if (args === "") return "";
    if (this.#progress.complete) {
      // empty ones were passed on: that nobody can parse what follows is better than a call with none
      return EMPTY.test(this.#head) && !EMPTY.test(args) ? args : "";
    }
    if (this.#chars === 0 && this.#encoded === undefined) {
      if (isFirst && EMPTY.test(args)) {
        this.isEmpty = true;
        return "";
      }
      this.isEmpty = false;
      if (args.trimStart().startsWith('"')) this.#encoded = [];
    }
    if (this.#encoded !== undefined) {
      this.#encoded.push(args);
      return "";
    }
    this.#isCumulative ||= this.#isBefore(args);
    const added = this.#isCumulative ? args.slice(this.#chars) : args;
    this.#chars += added.length;
    if (this.#head.length <= MAX_HEAD_CHARS) this.#head += added.slice(0, MAX_HEAD_CHARS + 1);
    this.#progress.add(added);
    return added;
  }

  /** Whether a piece begins with all before and can be nothing else: what begins an object goes on in one in few places. */
  #isBefore(args: string): boolean {
    const head = this.#head;
    if (head === "" || this.#chars > MAX_HEAD_CHARS || !args.startsWith(head)) return false;
    return this.#progress.inString
      ? OBJECT.test(args)
      : /^\s*\{/.test(head) && !/[:,[]\s*$/.test(head);
  }

  /** What was held back: empty arguments, or the text within a JSON text where it is of an object. */
  end(): string {
    if (this.isComplete && !this.#progress.complete) {
      this.#progress.complete = true;
      return NO_ARGUMENTS;
    }
    if (this.#encoded === undefined) return "";
    const encoded = this.#encoded.join("");
    this.#encoded = undefined;
    this.#progress.complete = true;
    try {
      const inner: unknown = JSON.parse(encoded);
      if (typeof inner === "string" && isObject(JSON.parse(inner))) return inner;
    } catch {
      // it is passed on as it is
    }
    return encoded;
  }
}
