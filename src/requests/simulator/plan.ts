import type { JsonObject } from "../../wire/dialects/mod.ts";
import type { Picture } from "../../wire/pixels/mod.ts";
import { countTokens } from "../../wire/tokens/mod.ts";
import { type Directives, withoutDirectives } from "./directives.ts";
import { sample } from "./sample.ts";

/** A tool on offer. */
export interface SimulatedTool {
  readonly name: string;
  readonly schema: JsonObject;
}

/** What a request asks of a model, in any dialect. */
export interface SimulatedAsk {
  readonly model: string;
  readonly stream: boolean;
  readonly maxOutput: number;
  readonly choices: number;
  /** Everything that counts as input, as text. */
  readonly input: string;
  /** The user's own text in the message that this turn replies to. */
  readonly prompt: string;
  /** All text of that message, to be quoted. */
  readonly message: string;
  /** Results of the tools called since then. */
  readonly toolResults: readonly string[];
  /** Rounds of tool calls since then. */
  readonly step: number;
  readonly images: readonly (Picture | undefined)[];
  readonly tools: readonly SimulatedTool[];
  readonly toolChoice: "auto" | "none" | "required" | { readonly name: string };
  readonly parallelTools: boolean;
  readonly reasons: boolean;
  readonly stop: readonly string[];
  /** What the answer must be: JSON of this schema. */
  readonly schema: JsonObject | undefined;
}

/** One answer, ready to be written in a dialect. */
export interface SimulatedReply {
  /** Pieces of one token each. */
  readonly reasoning: readonly string[];
  readonly text: readonly string[];
  readonly calls: readonly { readonly name: string; readonly args: string }[];
  readonly finish: "stop" | "length" | "tools";
  /** The stop sequence that ended the text. */
  readonly stopped: string | undefined;
  readonly inputTokens: number;
  readonly outputTokens: number;
}

const REASONING_TOKENS = 12;
const FILLER =
  "This reply is simulated: no model wrote it, and it is the same for the same request. To put a " +
  "model behind it, run `sluice init`, or set SLUICE_UPSTREAM_URL and SLUICE_UPSTREAM_KEY, and " +
  "start the gateway again. ";
/** The reply to a program that offers tools. It repeats no word of the request, in which the program may see a call. */
const AGENT_REPLY = `${FILLER}No tool was called.`;

/** Decides what to answer; the same for the same request. */
export function plan(ask: SimulatedAsk, directives: Directives): SimulatedReply {
  const calls = directives.calls.length > 0 ? directives.calls : forcedCalls(ask, directives);
  const limit = ask.maxOutput;
  const reasoning = ask.reasons || directives.reason
    ? pieces(reasoningText(ask)).slice(0, Math.min(REASONING_TOKENS, Math.max(1, limit >> 2)))
    : [];
  const callTokens = calls.reduce((sum, call) => sum + countTokens(call.name + call.args), 0);
  const room = Math.max(0, limit - reasoning.length - callTokens);
  const { kept, stopped } = stopAt(wholeText(ask, directives, calls.length > 0), ask.stop);
  const whole = sized(pieces(kept), ask, directives, room, calls.length > 0);
  const text = whole.slice(0, room);
  const cut = text.length < whole.length;
  return {
    reasoning,
    text,
    calls,
    finish: cut ? "length" : calls.length > 0 ? "tools" : "stop",
    stopped: cut ? undefined : stopped,
    inputTokens: countTokens(ask.input) + 3 +
      ask.images.reduce((sum, one) => sum + imageTokens(one), 0),
    outputTokens: reasoning.length + text.length + callTokens,
  };
}

/** Splits a text so that each piece is one simulated token; joined they are the text again. */
export function pieces(text: string): string[] {
  return text.match(/\s*[\p{L}\p{M}\p{N}]{1,12}|\s*[^\s\p{L}\p{M}\p{N}]|\s+/gu) ?? [];
}

function imageTokens(picture: Picture | undefined): number {
  return picture === undefined ? 1_000 : Math.ceil((picture.width * picture.height) / 750);
}

function wholeText(ask: SimulatedAsk, directives: Directives, calling: boolean): string {
  if (directives.say !== undefined) return directives.say;
  if (calling) return "";
  if (ask.schema !== undefined) return JSON.stringify(sample(ask.schema, ask.prompt));
  if (ask.toolResults.length > 0) {
    return `The tool answered: ${ask.toolResults.map((one) => quoted(one, 400)).join("; ")}`;
  }
  if (ask.images.length > 0) return ask.images.map(describe).join(" ");
  if (ask.tools.length > 0) return AGENT_REPLY;
  return `You said: "${quoted(withoutDirectives(ask.message), 120)}". ${FILLER.trim()}`;
}

/** Words of the request, in a form in which no program sees markup or a call. */
function quoted(text: string, maxCharacters: number): string {
  return text.replaceAll(/\s+/g, " ").slice(0, maxCharacters).replaceAll("<", "‹")
    .replaceAll(">", "›").replaceAll("`", "'");
}

function describe(picture: Picture | undefined, index: number): string {
  return picture === undefined
    ? `Image ${index + 1} is at a remote address.`
    : `Image ${
      index + 1
    } is a ${picture.kind.toUpperCase()} of ${picture.width} × ${picture.height} pixels.`;
}

function reasoningText({ message }: SimulatedAsk): string {
  const about = quoted(withoutDirectives(message), 40);
  return `The user writes "${about}". I will answer that plainly.`;
}

/** `[[tokens N]]` fills an answer up to N pieces. */
function sized(
  own: readonly string[],
  ask: SimulatedAsk,
  { tokens }: Directives,
  room: number,
  calling: boolean,
): readonly string[] {
  if (tokens === undefined || calling || ask.schema !== undefined) return own;
  const filler = pieces(` ${FILLER.trim()}`);
  const sizedTo: string[] = [];
  // one more than there is room for tells that the answer was cut
  for (let index = 0; index < Math.min(tokens, room + 1); index++) {
    sizedTo.push(own[index] ?? filler[(index - own.length) % filler.length]!);
  }
  return sizedTo;
}

function stopAt(
  text: string,
  stop: readonly string[],
): { kept: string; stopped: string | undefined } {
  let kept = text;
  let stopped: string | undefined;
  for (const sequence of stop) {
    const at = sequence === "" ? -1 : kept.indexOf(sequence);
    if (at >= 0) {
      kept = kept.slice(0, at);
      stopped = sequence;
    }
  }
  return { kept, stopped };
}

/** Tools are called only if the caller forces it: those that the prompt speaks of, else the first. */
function forcedCalls(ask: SimulatedAsk, directives: Directives): SimulatedReply["calls"] {
  const { tools, toolChoice: choice } = ask;
  if (choice === "auto" || choice === "none" || directives.say !== undefined) return [];
  if (typeof choice === "object") {
    return tools.filter(({ name }) => name === choice.name).slice(0, 1).map((tool) =>
      callOf(tool, ask)
    );
  }
  const words = new Set(wordsOf(ask.prompt));
  const named = tools.filter(({ name }) => wordsOf(name).some((word) => words.has(word)));
  const forced = named.length > 0 ? named : tools.slice(0, 1);
  return (ask.parallelTools ? forced : forced.slice(0, 1)).map((tool) => callOf(tool, ask));
}

function callOf(tool: SimulatedTool, { prompt }: SimulatedAsk) {
  return { name: tool.name, args: JSON.stringify(sample(tool.schema, prompt)) };
}

const COMMON = new Set(["with", "from", "this", "that", "what", "your", "have", "will", "about"]);

/** Words that can tell what is spoken of: lower case, four letters or more. */
function wordsOf(text: string): string[] {
  return text.replaceAll(/([a-z])([A-Z])/g, "$1 $2").toLowerCase().split(/[^\p{L}]+/u)
    .filter((word) => word.length >= 4 && !COMMON.has(word));
}
