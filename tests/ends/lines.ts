import type { JsonObject } from "../../src/wire/dialects/mod.ts";
import { chatLines, chatWhole } from "./chat_lines.ts";
import { generateLines, generateWhole } from "./generate_lines.ts";
import { messagesLines, messagesWhole } from "./messages_lines.ts";
import type { Back, ReportPlace } from "./plan.ts";
import { responsesLines, responsesWhole } from "./responses_lines.ts";
import type { Beat, Report } from "./script.ts";

/** What an upstream sends at a time, and what that means. */
export interface Piece {
  readonly text: string;
  /** Words in it that a caller can be shown. */
  readonly words?: number;
  readonly report?: Report;
  /** How long the upstream waits before it. */
  readonly waitMs?: number;
  /** Whether it has the finish reason. */
  readonly isFinish?: boolean;
  readonly isEnd?: boolean;
}

/** How a script is written. */
export interface LineOptions {
  readonly choices: number;
  readonly logprobs: boolean;
  readonly reportPlace: ReportPlace;
}

/** A script as the stream of an upstream. */
export function linesOf(back: Back, beats: readonly Beat[], options: LineOptions): Piece[] {
  switch (back) {
    case "chat":
      return chatLines(beats, options);
    case "messages":
      return messagesLines(beats);
    case "responses":
      return responsesLines(beats, options);
    case "generate":
      return generateLines(beats);
  }
}

/** A whole reply, and what it reports: the last of what the script does. */
export interface Whole {
  readonly body: JsonObject;
  readonly words: number;
  readonly report: Report | undefined;
}

/** What a whole reply says. */
interface Said {
  readonly text: string;
  readonly reasoning: string;
  readonly hidden: number;
  readonly report: Report | undefined;
  readonly choices: number;
}

const WHOLES: Readonly<Record<Back, (said: Said) => JsonObject>> = {
  chat: chatWhole,
  messages: messagesWhole,
  responses: responsesWhole,
  generate: generateWhole,
};

/** A script as a whole reply. */
export function wholeOf(back: Back, beats: readonly Beat[], { choices }: LineOptions): Whole {
  let [text, reasoning, hidden, words] = ["", "", 0, 0];
  let report: Report | undefined;
  for (const beat of beats) {
    if (beat.does === "say") text += beat.text;
    if (beat.does === "reason") reasoning += beat.text;
    if (beat.does === "say" || beat.does === "reason") words += choices * beat.words;
    if (beat.does === "hide") hidden = beat.tokens;
    if (beat.does === "report" || beat.does === "finish") report = beat.report ?? report;
  }
  const said = { text, reasoning, hidden, report, choices };
  return { body: WHOLES[back](said), words, report };
}
