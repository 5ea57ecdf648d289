import {
  DIALECT_NAMES,
  type DialectName,
  type JsonObject,
} from "../../../src/wire/dialects/mod.ts";
import type { Random } from "../../fake/random.ts";
import {
  INVENTED_CHAT,
  INVENTED_MESSAGES,
  INVENTED_RESPONSES,
} from "../../wire/formats/invented_fields.ts";
import { randomWords } from "./words.ts";

export type { DialectName };

/** What an upstream does with a request. */
const LIES = [
  "honest",
  "silent", // on its usage
  "zero",
  "low",
  "absurd",
  "overshooting",
  "breaking",
  "broken tail",
  "garbled tail",
  "failing",
  "stalling",
] as const;

/** What a client does with its response. */
const MANNERS = [
  "reads",
  "reads",
  "reads slowly",
  "disconnects at once",
  "disconnects",
  "disconnects at the finish",
] as const;

/** What a delta of a stream may look like, by the name of the field that carries the text. */
const DELTAS: Readonly<
  Record<DialectName, Readonly<Record<string, (text: string) => JsonObject>>>
> = {
  chat: {
    content: (content) => ({ content }),
    parts: (text) => ({ content: [{ type: "text", text }] }),
    reasoning: (text) => ({ reasoning_content: text }),
    custom: (input) => ({
      tool_calls: [{ index: 0, id: "c", type: "custom", custom: { name: "f", input } }],
    }),
    unknown: (text) => ({ invented: [text] }),
  },
  messages: {
    text: (text) => ({ type: "text_delta", text }),
    thinking: (thinking) => ({ type: "thinking_delta", thinking }),
    compaction: (content) => ({ type: "compaction_delta", content }),
    unknown: (text) => ({ type: "invented_delta", invented: text }),
  },
  responses: {
    text: (delta) => ({ type: "response.output_text.delta", content_index: 0, delta }),
    refusal: (delta) => ({ type: "response.refusal.delta", content_index: 0, delta }),
    reasoning: (delta) => ({
      type: "response.reasoning_summary_text.delta",
      item_id: "rs_1",
      output_index: 1,
      summary_index: 0,
      delta,
    }),
    unknown: (invented) => ({
      type: "response.output_text.delta",
      content_index: 0,
      delta: ".",
      invented,
    }),
  },
};

/** Tokens as an upstream reports them. */
export interface ReportedUsage {
  readonly input: number;
  readonly output: number;
}

/** One request that reached the upstream. */
export interface Exchange {
  /** Input tokens received. */
  readonly input: number;
  /** Output tokens that it was limited to, over all choices. */
  readonly limit: number;
  /** The usage reported, if any was that is to be believed. */
  reported: ReportedUsage | undefined;
}

/** A request: who sends what, and what becomes of it upstream. */
export interface Plan {
  readonly lie: typeof LIES[number];
  readonly manner: typeof MANNERS[number];
  readonly from: DialectName;
  readonly stream: boolean;
  /** Whether it is sent over a WebSocket, where it may continue another one. */
  readonly overSocket: boolean;
  readonly choices: number;
  /** Input tokens of a document in it, which only its upstream knows; 0 without one. */
  readonly documentTokens: number;
  /** Name of the request's field that holds most of its text. */
  readonly field: string;
  /** Name of the field that holds the text of a streamed reply. */
  readonly place: string;
  readonly delta: (text: string) => JsonObject;
  readonly replyWords: number;
  /** How long the upstream waits before it replies. */
  readonly delayMs: number;
  /** What the upstream received for it, in order. */
  readonly exchanges: Exchange[];
}

/** A request and its body. */
export interface PlannedRequest {
  readonly plan: Plan;
  readonly body: JsonObject;
}

const INVENTED = {
  chat: INVENTED_CHAT,
  messages: INVENTED_MESSAGES,
  responses: INVENTED_RESPONSES,
} as const;

/** The field that holds a conversation. */
function turnsOf(dialect: DialectName): "messages" | "input" {
  return dialect === "responses" ? "input" : "messages";
}

/** Of one page, as far as anybody can see. */
const PDF = btoa("%PDF-1.7 a page /Type /Page ");
const PDF_URL = `data:application/pdf;base64,${PDF}`;

/** A document as a part of a message. */
const DOCUMENTS: Readonly<Record<DialectName, JsonObject>> = {
  chat: { type: "file", file: { filename: "a.pdf", file_data: PDF_URL } },
  messages: {
    type: "document",
    source: { type: "base64", media_type: "application/pdf", data: PDF },
  },
  responses: { type: "input_file", filename: "a.pdf", file_data: PDF_URL },
};

/** Lies by which nobody learns how long a document is: it counts as it looks then. */
const UNTOLD = ["silent", "overshooting"];

/** A random request to a route whose upstream is of this dialect. */
export function planRequest(random: Random, to: DialectName): PlannedRequest {
  const from = random.pick(DIALECT_NAMES);
  const invented = random.pick(INVENTED[from]);
  const isPlain = random.next() < 0.5;
  const text = randomWords(random, random.pick([20, 200, 1_500]));
  const lie = random.pick(LIES);
  const hasDocument = isPlain && !UNTOLD.includes(lie) && random.next() < 0.3;
  const said = { type: from === "responses" ? "input_text" : "text", text };
  const content = hasDocument ? [said, DOCUMENTS[from]] : text;
  const body = isPlain ? { [turnsOf(from)]: [{ role: "user", content }] } : invented.body(text);
  const place = random.pick(Object.keys(DELTAS[to]));
  const stream = random.next() < 0.7;
  const plan = {
    lie,
    documentTokens: hasDocument ? random.pick([1_000, 30_000, 90_000]) : 0,
    manner: random.pick(MANNERS),
    from,
    stream,
    overSocket: stream && from === "responses" && random.next() < 0.6,
    choices: from === "chat" && random.next() < 0.1 ? 2 : 1,
    field: isPlain ? "message" : invented.name,
    place,
    delta: DELTAS[to][place]!,
    replyWords: random.pick([5, 60, 400]),
    delayMs: 0,
    exchanges: [],
  };
  return {
    plan,
    body: {
      ...body,
      model: "token",
      stream,
      [from === "responses" ? "max_output_tokens" : "max_tokens"]: random.pick([10, 500, 2_000]),
      ...(plan.choices > 1 ? { n: plan.choices } : {}),
    },
  };
}

/** The same request several times, for upstreams that take their time; each client reads as it likes. */
export function planRaid(random: Random, to: DialectName, count: number): PlannedRequest[] {
  const { plan, body } = planRequest(random, to);
  // what goes beyond its limit is held by nobody: overlong_reply_test.ts
  const lie = plan.lie === "overshooting" ? "honest" : plan.lie;
  return Array.from({ length: count }, () => ({
    plan: { ...plan, lie, manner: random.pick(MANNERS), delayMs: 50, exchanges: [] },
    body,
  }));
}

/** The body with a number in it by which the upstream knows it again. */
export function numbered(body: JsonObject, number: number): JsonObject {
  const field = body.input === undefined ? "messages" : "input";
  const turns = body[field] as JsonObject[];
  return { ...body, [field]: [{ role: "user", content: `#${number}#` }, ...turns] };
}

/** The number in a body; of one that continues others, the last one. */
export function numberIn(raw: string): number {
  return Number([...raw.matchAll(/#(\d+)#/g)].at(-1)![1]);
}
