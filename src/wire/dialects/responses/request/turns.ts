import type { ParsedRequest } from "../../dialect.ts";
import { type JsonObject, objects, text } from "../../json.ts";
import { lastMark } from "../../neutral/cache_marks.ts";
import type { Part, SealedReasoning, ToolCall, Turn } from "../../neutral/conversation.ts";
import { calledImage } from "../../neutral/made_images.ts";
import { argsOfInput } from "../../neutral/custom_tools.ts";
import { openedReasoning } from "../../neutral/sealed_reasoning.ts";
import type { RequestFields } from "../../request_fields.ts";
import { summaryTurn } from "./compaction.ts";
import { isInstruction, kindOf } from "../items.ts";
import { partsOf, piecesOf } from "./parts.ts";
import { calledTool, type ToolNames } from "./tools.ts";

/** What items are read with. */
export interface TurnContext {
  readonly names: ToolNames;
  /** What the gateway sealed, by the sealed text. */
  readonly opened: ParsedRequest["opened"];
}

/**
 * Reads the items of a conversation as its turns.
 *
 * What the model wrote in one reply is one turn: reasoning, texts and calls that nothing interrupts. Each result follows the
 * turn of its call, wherever it is in the input.
 *
 * @throws {Refusal} `request_invalid` for a part of a message or a result that cannot be translated.
 */
export function turnsOf(all: readonly RequestFields[], context: TurnContext): Turn[] {
  const builder = new TurnBuilder(context);
  for (const item of all) builder.add(item);
  return builder.turns();
}

type ToolTurn = Turn & { readonly role: "tool" };

/** A turn of the model's that may still grow, and the results of its calls. */
interface ModelTurn {
  readonly reasoning: string[];
  readonly sealed: SealedReasoning[];
  readonly texts: string[];
  readonly refusals: string[];
  readonly images: string[];
  readonly calls: ToolCall[];
  readonly results: ToolTurn[];
}

class TurnBuilder {
  readonly #context: TurnContext;
  readonly #turns: (Turn | ModelTurn)[] = [];
  /** The turn that the model's next item belongs to. */
  #open: ModelTurn | undefined;
  /** By the ids of their calls, the last turn for each. */
  readonly #callers = new Map<string, ModelTurn>();

  constructor(context: TurnContext) {
    this.#context = context;
  }

  turns(): Turn[] {
    return this.#turns.flatMap((turn) => "role" in turn ? [turn] : closed(turn));
  }

  add(item: RequestFields): void {
    const kind = kindOf(item.object) ?? "";
    switch (kind) {
      case "message":
        return this.#addMessage(item);
      case "reasoning":
        return this.#addReasoning(item);
      case "compaction": {
        const sealed = item.text("encrypted_content") ?? "";
        const own = this.#context.opened?.get(sealed);
        if (own === undefined && sealed !== "") return item.drop("input.compaction");
        const summary = text(own?.text);
        return summary === undefined ? undefined : this.#addTurn(summaryTurn(summary));
      }
      case "function_call_output":
      case "custom_tool_call_output":
        return this.#addResult(item, partsOf(item, "output"));
      case "tool_search_output":
        if (!text(item.object.call_id)) return item.drop(`input.${kind}`); // the server ran it
        item.ignore("tools", "execution");
        return this.#addResult(item, [{ type: "text", text: this.#foundTools(item.object) }]);
      case "image_generation_call": {
        const image = calledImage(item.object);
        // most upstreams take no image, and one that is not there is no upstream's
        item.drop(image === undefined ? kind : `input.${kind}`);
        if (image !== undefined) this.#model().images.push(image);
        return;
      }
      default:
        return this.#addCall(item, kind);
    }
  }

  #addMessage(item: RequestFields): void {
    item.ignore("phase");
    const role = item.text("role");
    if (role !== "assistant" && !isInstruction(item)) {
      const parts = partsOf(item, "content");
      if (parts.length > 0) this.#addTurn({ role: "user", parts });
      return;
    }
    const pieces = piecesOf(item);
    const texts = pieces.map((piece) => piece.text).filter((one) => one !== "");
    if (role === "assistant") {
      if (texts.length > 0) this.#model().texts.push(texts.join(""));
      const refusal = pieces.map((piece) => piece.refusal).join("");
      if (refusal !== "") this.#model().refusals.push(refusal);
    } else if (texts.length > 0) {
      const { cached } = lastMark(pieces);
      this.#addTurn({ role: "system", text: texts.join("\n\n"), cached });
    }
  }

  #addReasoning(item: RequestFields): void {
    const encrypted = text(item.object.encrypted_content);
    const own = this.#context.opened?.get(encrypted ?? "");
    item.use("encrypted_content", own === undefined && encrypted ? undefined : encrypted);
    if (own !== undefined) item.ignore("content", "summary");
    const { texts, sealed } = own === undefined
      ? { texts: plainReasoning(item), sealed: [] }
      : openedReasoning(own);
    if (texts.length === 0 && sealed.length === 0) return;
    const turn = this.#model();
    turn.reasoning.push(...texts);
    turn.sealed.push(...sealed);
  }

  #addCall(item: RequestFields, kind: string): void {
    const tool = calledTool(item.object);
    // of a tool that ran on the server, or not known
    if (tool === undefined) return item.drop(`input.${kind}`);
    item.ignore("name", "namespace");
    const turn = this.#model();
    const id = item.text("call_id") ?? "";
    turn.calls.push({ id, name: this.#context.names.of(tool), args: argsOf(item, kind) });
    this.#callers.set(id, turn);
  }

  #addResult(item: RequestFields, parts: readonly Part[]): void {
    item.ignore("name", "namespace");
    const callId = item.text("call_id") ?? "";
    const result: ToolTurn = { role: "tool", callId, parts, failed: false };
    const turn = this.#callers.get(callId);
    if (turn === undefined) return this.#addTurn(result);
    turn.results.push(result);
    if (turn === this.#open) this.#open = undefined;
  }

  /** What a search found, by the names under which the tools are offered. */
  #foundTools({ tools }: JsonObject): string {
    const names = objects(tools).flatMap((tool) => {
      const isSpace = tool.type === "namespace";
      const namespace = isSpace ? text(tool.name) || undefined : undefined;
      return (isSpace ? objects(tool.tools) : [tool]).flatMap(({ type, name }) =>
        (type === "function" || type === "custom") && typeof name === "string"
          ? [this.#context.names.of({ kind: type, name, namespace })]
          : []
      );
    });
    return names.length === 0
      ? "No tools were found."
      : `These tools are now available: ${names.join(", ")}.`;
  }

  #addTurn(turn: Turn): void {
    this.#open = undefined;
    this.#turns.push(turn);
  }

  #model(): ModelTurn {
    if (this.#open === undefined) {
      this.#open = {
        reasoning: [],
        sealed: [],
        texts: [],
        refusals: [],
        images: [],
        calls: [],
        results: [],
      };
      this.#turns.push(this.#open);
    }
    return this.#open;
  }
}

function closed(
  { reasoning, sealed, texts, refusals, images, calls, results }: ModelTurn,
): Turn[] {
  const turn: Turn = {
    role: "assistant",
    reasoning: reasoning.join("\n\n"),
    ...(sealed.length === 0 ? {} : { sealed }),
    text: texts.join("\n\n"),
    ...(refusals.length === 0 ? {} : { refusal: refusals.join("\n\n") }),
    ...(images.length === 0 ? {} : { images }),
    calls,
  };
  return [turn, ...results];
}

/** Arguments as JSON text. A custom tool is offered as a function whose one argument is its input. */
function argsOf(item: RequestFields, kind: string): string {
  if (kind === "custom_tool_call") return argsOfInput(item.text("input") ?? "");
  const args = item.get("arguments");
  if (kind === "tool_search_call") {
    item.ignore("execution");
    return text(args) ?? JSON.stringify(args ?? {});
  }
  return text(args)?.trim() ? text(args)! : "{}"; // many upstreams parse it, and nothing is no JSON
}

/** Reasoning as the client can read it: the text itself, or a summary of it. */
function plainReasoning(item: RequestFields): string[] {
  const texts = (field: "content" | "summary") =>
    piecesOf(item, field).map((piece) => piece.text).filter((one) => one !== "");
  const own = texts("content");
  return own.length > 0 ? own : texts("summary");
}
