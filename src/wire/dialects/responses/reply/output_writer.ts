import type { JsonObject } from "../../json.ts";
import type { Citation, ReplyEvent } from "../../neutral/conversation.ts";
import type { UniqueCallIds } from "../../neutral/call_ids.ts";
import { CallItem, callPrefix } from "./call_item.ts";
import type { EventLines } from "./event_lines.ts";
import { ImageItem } from "./image_item.ts";
import { MessageItem } from "./message_item.ts";
import { type ItemEnd, ItemLines, type WrittenItem } from "./item_lines.ts";
import { type ReasoningForm, ReasoningItem, type ReasoningSeal } from "./reasoning_item.ts";
import type { ClientTool } from "../request/tools.ts";

/** A tool call, from its first piece on. */
interface Call {
  readonly type: "call";
  readonly key: string;
  id: string | undefined;
  name: string | undefined;
  /** Arguments that wait for their item. */
  waiting: string;
  item: CallItem | undefined;
}

/** What is written one after the other. */
type Waiting = Call | Exclude<ReplyEvent, { type: "call" | "finish" }>;

/** What the items of one reply are made with. */
export interface OutputOptions {
  readonly lines: EventLines;
  /** What the ids of all items have in common. */
  readonly idPart: string;
  /** The tools by the names under which upstreams are offered them. */
  readonly tools: ReadonlyMap<string, ClientTool>;
  readonly callIds: UniqueCallIds;
  /** Whether the client wants probabilities of tokens. */
  readonly wantsLogprobs: boolean;
  readonly reasoning: ReasoningForm & ReasoningSeal & { readonly isKept: boolean };
}

/**
 * Writes the output items of a reply. Their events are legal whatever comes in: one item is open at a time; it is added before
 * anything else of it, and done before the next one is added. What comes while a call is open waits until its arguments are complete.
 *
 * The whole text is kept, since the last event repeats it. The reply's own limit bounds it.
 */
export class OutputWriter {
  readonly #options: OutputOptions;
  /** Items that have ended. */
  readonly items: JsonObject[] = [];
  /** Items that the client may refer to by their ids. */
  readonly kept: JsonObject[] = [];
  readonly #calls = new Map<string, Call>();
  #waiting: Waiting[] = [];
  /** The first of them. */
  #next = 0;
  #open: WrittenItem | undefined;
  /** Characters of all text so far, and of that before the last message. */
  #textChars = 0;
  #partStart = 0;

  constructor(options: OutputOptions) {
    this.#options = options;
  }

  /** All items, the one that is being written included. */
  get soFar(): readonly JsonObject[] {
    return this.#open === undefined ? this.items : [...this.items, this.#open.object("incomplete")];
  }

  write(event: Exclude<ReplyEvent, { type: "finish" }>): string {
    if (event.type === "call") return this.#call(event);
    // the last probabilities of a text may come after it
    const isNothing = "text" in event && event.text === "" && !("logprobs" in event);
    if (!isNothing) this.#waiting.push(event);
    return this.#advance();
  }

  close(end: ItemEnd): string {
    let text = this.#advance();
    while (this.#isBusy) text += this.#closeItem(end) + this.#advance();
    return text + this.#closeItem(end);
  }

  /** Whether a call is open whose arguments are incomplete. */
  get #isBusy(): boolean {
    return this.#open instanceof CallItem && !this.#open.isComplete;
  }

  /** Takes a piece of a call. It is in line from when it has a name; without one nobody can be told of it. */
  #call({ key, id, name, args }: ReplyEvent & { type: "call" }): string {
    let call = this.#calls.get(key);
    if (call === undefined) {
      call = { type: "call", key, id, name: undefined, waiting: "", item: undefined };
      this.#calls.set(key, call);
    }
    call.id ??= id;
    if (call.item !== undefined) {
      // once its JSON is complete and something else follows, no piece belongs to it
      return call.item === this.#open ? call.item.add(args) : "";
    }
    call.waiting += args;
    if (call.name === undefined && name !== undefined) {
      call.name = name;
      this.#waiting.push(call);
    }
    return this.#advance();
  }

  /** Writes what waits, until a call is open that is incomplete. */
  #advance(): string {
    let text = "";
    while (this.#next < this.#waiting.length && !this.#isBusy) {
      text += this.#write(this.#waiting[this.#next++]!);
    }
    if (this.#next === this.#waiting.length && this.#next > 0) {
      this.#waiting = [];
      this.#next = 0;
    }
    return text;
  }

  #write(next: Waiting): string {
    switch (next.type) {
      case "call":
        return this.#openCall(next);
      case "text":
      case "refusal":
        return this.#text(next);
      case "citation":
        return this.#cite(next);
      case "image":
        return this.#closeItem("completed") +
          this.#begin(new ImageItem(this.#place("ig"), next.url)) + this.#closeItem("completed");
      case "reasoning":
        return this.#reasoning((item) => item.add(next.text));
      case "seal":
        return this.#seal(next.seal);
    }
  }

  #text(event: ReplyEvent & { type: "text" | "refusal" }): string {
    const logprobs = event.type === "text" && this.#options.wantsLogprobs
      ? event.logprobs ?? []
      : [];
    if (event.type === "text") this.#textChars += event.text.length;
    const open = this.#open;
    if (open instanceof MessageItem && open.kind === event.type) {
      return open.add(event.text, logprobs);
    }
    const closed = this.#closeItem("completed");
    const item = new MessageItem(this.#place("msg"), event.type);
    if (event.type === "text") this.#partStart = this.#textChars - event.text.length;
    return closed + this.#begin(item) + item.add(event.text, logprobs);
  }

  /** A source for the text of the open message, or of one that has none. */
  #cite({ start, end, ...source }: Citation): string {
    const isOpen = this.#open instanceof MessageItem && this.#open.kind === "text";
    const begun = isOpen ? "" : this.#text({ type: "text", text: "" });
    const inPart = (at: number) => Math.max(0, at - this.#partStart);
    const cited = { ...source, start: inPart(start), end: inPart(end) };
    return begun + (this.#open as MessageItem).cite(cited);
  }

  #reasoning(add: (item: ReasoningItem) => string): string {
    if (this.#open instanceof ReasoningItem) return add(this.#open);
    const closed = this.#closeItem("completed");
    const { reasoning } = this.#options;
    const item = new ReasoningItem(this.#place("rs"), reasoning, reasoning);
    return closed + this.#begin(item) + add(item);
  }

  /** Reasoning of which there is only a seal is nothing to a client that returns neither it nor its id. */
  #seal(seal: string): string {
    const { isSealed, isKept } = this.#options.reasoning;
    return this.#open instanceof ReasoningItem || isSealed || isKept
      ? this.#reasoning((item) => item.seal(seal))
      : "";
  }

  #openCall(call: Call): string {
    const { idPart, tools, callIds } = this.#options;
    const closed = this.#closeItem("completed");
    const tool = tools.get(call.name!) ?? toolNamed(call.name!, tools) ??
      { kind: "function" as const, name: call.name!, namespace: undefined };
    const id = callIds.unique(call.id || `call_${idPart}_${this.items.length}`);
    call.item = new CallItem(this.#place(callPrefix(tool)), tool, id);
    const opened = closed + this.#begin(call.item) + call.item.add(call.waiting);
    call.waiting = "";
    return opened;
  }

  #place(prefix: string): ItemLines {
    const { lines, idPart } = this.#options;
    const index = this.items.length;
    return new ItemLines(lines, `${prefix}_${idPart}_${index}`, index);
  }

  #begin(item: WrittenItem): string {
    this.#open = item;
    return item.open();
  }

  #closeItem(end: ItemEnd): string {
    const item = this.#open;
    if (item === undefined) return "";
    this.#open = undefined;
    const text = item.close(end);
    const isCutCall = end === "incomplete" && item instanceof CallItem && !item.isComplete;
    const status = item instanceof CallItem && !isCutCall ? "completed" : end;
    this.items.push(item.object(status));
    if (!isCutCall) this.kept.push(item.kept?.() ?? this.items.at(-1)!);
    return text;
  }
}

/** The tool of that name in some namespace, which models leave out; undefined if there are several. */
function toolNamed(own: string, tools: ReadonlyMap<string, ClientTool>): ClientTool | undefined {
  const [found, other] = tools.values().filter(({ name }) => name === own);
  return other === undefined ? found : undefined;
}
