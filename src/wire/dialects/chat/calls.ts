import { isObject, type JsonObject, text } from "../json.ts";
import { JsonProgress } from "../neutral/json_progress.ts";
import type { ReplyEvent } from "../neutral/conversation.ts";

/** A piece of a tool call, told apart from the pieces of others. */
export type CallEvent = ReplyEvent & { readonly type: "call" };

/** Tells the pieces of tool calls apart, as chat upstreams send them. */
export class CallReader {
  #calls = 0;
  /** Upstream index → the call that it means now. Ollama sends several calls under index 0. */
  readonly #byIndex = new Map<number, Call>();
  /** The call that a piece without an index continues. */
  #last: Call | undefined;

  read(piece: JsonObject): CallEvent {
    const own = isObject(piece.function) ? piece.function : {};
    const id = text(piece.id) || undefined;
    const name = text(own.name) || undefined;
    const index = typeof piece.index === "number" ? piece.index : undefined;
    const args = argsText(own.arguments);
    let call = index === undefined ? this.#last : this.#byIndex.get(index);
    if (call === undefined || isAnother(call, { name, args })) {
      call = { key: `${KEY}${this.#calls++}`, name, args: new JsonProgress() };
    }
    call.name ??= name;
    this.#last = call;
    if (index !== undefined) this.#byIndex.set(index, call);
    call.args.add(args);
    return { type: "call", key: call.key, id, name, args };
  }
}

/** The number of a call in its message, in the order in which calls began. */
export function callNumber({ key }: CallEvent): number {
  return Number(key.slice(KEY.length));
}

/** Begins the keys of calls; their numbers follow. */
const KEY = "call";

/** Arguments as text; some upstreams send them as the object. */
export function argsText(args: unknown): string {
  return isObject(args) ? JSON.stringify(args) : text(args) ?? "";
}

/** A call that has begun. */
interface Call {
  readonly key: string;
  name: string | undefined;
  readonly args: JsonProgress;
}

/**
 * Whether a piece begins another call than the one at its index: it names another tool, or the same one although the
 * arguments are complete. Ids do not help: some upstreams give each piece its own, and repeat names as well.
 */
function isAnother(
  call: Call,
  { name, args }: { name: string | undefined; args: string },
): boolean {
  if (name === undefined || call.name === undefined) return false;
  return name !== call.name || call.args.complete && args !== "";
}

/** A piece of a call as chat clients expect it. */
export interface WrittenCall {
  /** Calls are numbered from 0 without a gap. */
  readonly index: number;
  /** With a call's first piece only. */
  readonly opening: { readonly id: string; readonly name: string } | undefined;
  readonly args: string;
}

/**
 * Writes pieces of tool calls as chat clients expect them: the id and the name come once, with a call's first
 * piece, and indices are dense. What comes before a call's name waits for it.
 */
export class CallWriter {
  readonly #calls = new Map<
    string,
    { index: number | undefined; id?: string; waiting: string; isArgued: boolean }
  >();
  readonly #ids: ChatCallIds;
  /** How many calls have been named. */
  named = 0;

  /** @param replyId Basis of the ids for calls that have none. */
  constructor(replyId: string) {
    this.#ids = new ChatCallIds(replyId);
  }

  /** Indices of the calls that were written without arguments: at the end they get {@linkcode NO_ARGUMENTS}. */
  get unargued(): number[] {
    return [...this.#calls.values()]
      .flatMap(({ index, isArgued }) => index === undefined || isArgued ? [] : [index]);
  }

  /** Returns undefined when there is nothing to write yet. */
  write({ key, id, name, args }: CallEvent): WrittenCall | undefined {
    let call = this.#calls.get(key);
    if (call === undefined) {
      call = { index: undefined, waiting: "", isArgued: false };
      this.#calls.set(key, call);
    }
    if (id !== undefined) call.id ??= id;
    call.isArgued ||= args !== "";
    if (call.index !== undefined) return { index: call.index, opening: undefined, args };
    call.waiting += args;
    if (name === undefined) return undefined;
    const index = call.index = this.named++;
    const opening = { id: this.#ids.of(call.id, index), name };
    return { index, opening, args: call.waiting };
  }
}

/** Arguments of a call that has none: clients parse them as JSON. */
export const NO_ARGUMENTS = "{}";

/** The ids of one reply's calls. SDKs throw when two calls have one, and nobody could tell their results apart. */
export class ChatCallIds {
  readonly #base: string;
  readonly #used = new Set<string>();

  /** @param replyId Basis of the ids for calls that have none, or another's. */
  constructor(replyId: string) {
    this.#base = `call_${replyId.replace(/^chatcmpl-/, "")}`;
  }

  /** The id of the call at a place: its own if it can be. */
  of(own: string | undefined, place: number): string {
    const id = own && !this.#used.has(own) ? own : `${this.#base}_${place}`;
    this.#used.add(id);
    return id;
  }
}
