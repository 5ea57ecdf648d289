import { isObject, type JsonObject, text } from "../json.ts";
import { CallArgs } from "../neutral/call_args.ts";
import type { ReplyEvent } from "../neutral/conversation.ts";

/** A piece of a tool call, told apart from the pieces of others. */
export type CallEvent = ReplyEvent & { readonly type: "call" };

/**
 * Tells the pieces of tool calls apart, as chat upstreams send them, and reads each as one call: a name in pieces is joined, empty
 * arguments before others are none, and arguments that were sent before are left out.
 */
export class CallReader {
  #calls = 0;
  /** Upstream index → the call that it means now. Ollama sends several calls under index 0. */
  readonly #byIndex = new Map<number, Call>();
  readonly #all: Call[] = [];
  /** How many of them have ended. */
  #ended = 0;
  /** The call that a piece without an index continues. */
  #last: Call | undefined;
  readonly #offered: readonly string[];

  /** @param offered Names of the tools that may be called: what one of them begins with may be a piece of it. */
  constructor(offered: readonly string[] = []) {
    this.#offered = offered;
  }

  read(piece: JsonObject): CallEvent {
    const own = isObject(piece.function) ? piece.function : {};
    const id = text(piece.id) || undefined;
    const name = text(own.name) || undefined;
    const index = typeof piece.index === "number" ? piece.index : undefined;
    const args = argsText(own.arguments);
    let call = index === undefined ? this.#last : this.#byIndex.get(index);
    const next = args === "" ? undefined : call?.next;
    const isFirst = call === undefined || next !== undefined ||
      this.#isAnother(call, { id, name, args });
    if (call === undefined || isFirst) {
      call = {
        key: `${KEY}${this.#calls++}`,
        id: id ?? next?.id,
        name: name ?? next?.name,
        isNamed: false,
        args: new CallArgs(),
        next: undefined,
      };
      this.#all.push(call);
    } else if (args === "" && mayBeAnother(call, { id, name })) call.next = { id, name };
    else if (call.name === undefined) call.name = name;
    else if (name !== undefined && !call.isNamed) call.name = joinedName(call.name, name);
    call.id ??= id;
    this.#last = call;
    if (index !== undefined) this.#byIndex.set(index, call);
    const added = call.args.add(args, isFirst || name !== undefined);
    const isWhole = args !== "" || !this.#mayGrow(call.name);
    return {
      type: "call",
      key: call.key,
      id: isFirst ? call.id : id,
      name: isWhole ? nameOf(call) : undefined,
      args: added,
    };
  }

  /** What was held back of the calls when the reply ends; upstreams may say so more than once. */
  end(): CallEvent[] {
    const all = this.#all.slice(this.#ended);
    this.#ended = this.#all.length;
    return all.flatMap((call): CallEvent[] => {
      const { key, isNamed, args } = call;
      const held = args.end();
      if (held === "" && (isNamed || call.name === undefined)) return [];
      return [{ type: "call", key, id: undefined, name: nameOf(call), args: held }];
    });
  }

  /** Whether there are calls with a name, and the arguments of each are complete. */
  get isComplete(): boolean {
    const named = this.#all.filter(({ name }) => name !== undefined);
    return named.length > 0 && named.every(({ args }) => args.isComplete);
  }

  /** Whether a name may be the beginning of that of a tool. */
  #mayGrow(name: string | undefined): boolean {
    return name !== undefined &&
      this.#offered.some((one) => one.length > name.length && one.startsWith(name));
  }

  /**
   * Whether a piece begins another call than the one at its index: it names another tool, or the same one although the
   * arguments are complete. Ids alone do not help: some upstreams give each piece its own, and repeat names as well.
   */
  #isAnother(
    call: Call,
    { id, name, args }: { id?: string | undefined; name: string | undefined; args: string },
  ): boolean {
    if (name === undefined || call.name === undefined) return false;
    const isSameId = id === undefined || id === call.id;
    if (!call.isNamed) {
      const joined = joinedName(call.name, name);
      const isPiece = this.#offered.includes(joined) || this.#mayGrow(joined);
      return !isPiece || !isSameId && this.#offered.includes(call.name) && joined !== call.name;
    }
    if (name !== call.name) return true;
    if (args === "" || !call.args.isComplete) return false;
    return !isSameId || !call.args.isEmpty && !call.args.isRepeatedBy(args);
  }
}

/** A name with its next piece, which may begin with what came before. */
function joinedName(name: string, piece: string): string {
  return piece.startsWith(name) ? piece : name + piece;
}

/** Whether a piece without arguments may begin another call: it repeats the name of a complete one under another id. */
function mayBeAnother(call: Call, { id, name }: NonNullable<Call["next"]>): boolean {
  return call.args.isComplete && name === call.name && id !== undefined && id !== call.id;
}

/** The name of a call, once. */
function nameOf(call: Call): string | undefined {
  if (call.isNamed) return undefined;
  call.isNamed = call.name !== undefined;
  return call.name;
}

/** The number of a call in its message, in the order in which calls began. */
export function callNumber({ key }: CallEvent): number {
  return Number(key.slice(KEY.length));
}

/** Begins the keys of calls; their numbers follow. */
const KEY = "call";

/** Arguments as text; some upstreams send them as the object. */
function argsText(args: unknown): string {
  return isObject(args) ? JSON.stringify(args) : text(args) ?? "";
}

/** The arguments of a whole call as JSON text; empty for none. */
export function wholeArgs(args: unknown): string {
  const own = new CallArgs();
  return own.add(argsText(args)) + own.end();
}

/** A call that has begun. */
interface Call {
  readonly key: string;
  id: string | undefined;
  name: string | undefined;
  /** Whether the name was passed on. */
  isNamed: boolean;
  readonly args: CallArgs;
  /** A repetition of its name under another id: the beginning of another call if arguments follow. */
  next: { readonly id: string | undefined; readonly name: string | undefined } | undefined;
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

  /**
   * Indices of the calls that were written without arguments: at the end they get {@linkcode NO_ARGUMENTS}.
   *
   * @param isCut Whether the reply was cut off: the arguments of its last call had not begun then.
   */
  unargued(isCut: boolean): number[] {
    return [...this.#calls.values()].flatMap(({ index, isArgued }) =>
      index === undefined || isArgued || isCut && index === this.named - 1 ? [] : [index]
    );
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
