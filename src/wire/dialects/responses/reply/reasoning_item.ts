import type { ReplySource } from "../../dialect.ts";
import { isObject, items, type JsonObject } from "../../json.ts";
import type { Sealer } from "../../sealer.ts";
import { GrowingText } from "./growing_text.ts";
import type { ItemEnd, ItemLines, WrittenItem } from "./item_lines.ts";

/** How a request wants its reply's reasoning. */
export interface ReasoningForm {
  /** As text that the client can read. */
  readonly isShown: boolean;
  /** As text that only the gateway can read, for the client to return. */
  readonly isSealed: boolean;
}

/** Reasoning that is wanted back is shown only on request. */
export function reasoningForm({ include, reasoning }: JsonObject): ReasoningForm {
  const isSealed = items(include).includes("reasoning.encrypted_content");
  const summary = isObject(reasoning) ? reasoning.summary ?? "none" : "none";
  return { isShown: !isSealed || summary !== "none", isSealed };
}

/** What a reasoning item is sealed with. */
export interface ReasoningSeal {
  readonly source: ReplySource;
  readonly sealer: Sealer;
}

/** A piece of reasoning, and what its upstream wants back with it. */
interface ReasoningPart {
  readonly text: GrowingText;
  seal: string | undefined;
}

/** Reasoning: its text as summary, one part for each piece that its upstream sealed by itself. */
export class ReasoningItem implements WrittenItem {
  readonly #lines: ItemLines;
  readonly #form: ReasoningForm;
  readonly #seal: ReasoningSeal;
  readonly #parts: ReasoningPart[] = [];
  /** The part that is being written. */
  #open: ReasoningPart | undefined;
  #summary: JsonObject[] = [];
  #encrypted: string | undefined;

  constructor(lines: ItemLines, form: ReasoningForm, seal: ReasoningSeal) {
    this.#lines = lines;
    this.#form = form;
    this.#seal = seal;
  }

  open(): string {
    return this.#lines.added(this.#reasoning([], undefined));
  }

  add(piece: string): string {
    let begun = "";
    if (this.#open === undefined) {
      this.#open = { text: new GrowingText(), seal: undefined };
      this.#parts.push(this.#open);
      begun = this.#write("response.reasoning_summary_part.added", { part: summaryOf("") });
    }
    return begun + this.#delta(this.#open.text.add(piece));
  }

  /** Ends a piece. Without one before it, the seal is the reasoning itself. */
  seal(seal: string): string {
    if (this.#open === undefined) {
      this.#parts.push({ text: new GrowingText(), seal });
      return "";
    }
    this.#open.seal = seal;
    return this.#closePart();
  }

  close(end: ItemEnd): string {
    const closed = this.#closePart();
    return closed + this.#lines.done(this.object(end));
  }

  object(status: ItemEnd): JsonObject {
    const open = this.#open === undefined || !this.#form.isShown
      ? []
      : [summaryOf(this.#open.text.text)];
    const encrypted = this.#form.isSealed ? this.#sealed() : undefined;
    const item = this.#reasoning([...this.#summary, ...open], encrypted);
    return status === "completed" ? item : { ...item, status };
  }

  /** Seals are kept even if the client does not want them: it may refer to the item instead of returning it. */
  kept(): JsonObject {
    const item = this.object("completed");
    return this.#parts.some(({ seal }) => seal !== undefined)
      ? { ...item, encrypted_content: this.#sealed() }
      : item;
  }

  #closePart(): string {
    if (this.#open === undefined) return "";
    const { text } = this.#open;
    const rest = this.#delta(text.end());
    const part = summaryOf(text.text);
    const closed = rest +
      this.#write("response.reasoning_summary_text.done", { text: text.text }) +
      this.#write("response.reasoning_summary_part.done", { part });
    if (this.#form.isShown) this.#summary.push(part);
    this.#open = undefined;
    return closed;
  }

  /** Sealed once: each time it would be another text. */
  #sealed(): string {
    const parts = this.#parts.map(({ text: { text }, seal }) =>
      seal === undefined ? { text } : { text, seal }
    );
    const { source, sealer } = this.#seal;
    return this.#encrypted ??= sealer.seal("reasoning", { ...source, parts });
  }

  #reasoning(summary: JsonObject[], encrypted: string | undefined): JsonObject {
    const item = { id: this.#lines.id, type: "reasoning", summary };
    return encrypted === undefined ? item : { ...item, encrypted_content: encrypted };
  }

  #delta(delta: string): string {
    return delta === "" ? "" : this.#write("response.reasoning_summary_text.delta", { delta });
  }

  #write(type: string, fields: JsonObject): string {
    if (!this.#form.isShown) return "";
    return this.#lines.write(type, { summary_index: this.#summary.length, ...fields });
  }
}

function summaryOf(text: string): JsonObject {
  return { type: "summary_text", text };
}
