import { nextDirective } from "./directives.ts";

/** Elements that tools wrap around what the user typed; every other element holds pasted content. */
const TYPED = [
  "task",
  "feedback",
  "user_message",
  "user_query",
  "user_input",
  "question",
  "answer",
];
const REMINDER = "system-reminder";
/** How the gateway passes on the result of a tool that nobody called. */
const STRAY_RESULT = /^\s*Result of a tool:/;
const OPENING = /<([A-Za-z][\w-]*)(?:\s[^<>]*)?>|^[ \t]*(```|~~~)/gm;
/** Nobody types more; reading it would take too long. */
const MAX_CHARACTERS = 1_000_000;
const MAX_ELEMENTS = 200;

/**
 * Extracts what the user typed from the texts of a user message. Coding tools paste files, command output and
 * instructions into the same message; a directive in such content must have no effect. Drops
 *
 * - elements such as `<system-reminder>` or `<file_content>`, up to the last closing tag of the text, so that
 *   pasted content cannot close its own element;
 * - fenced code blocks;
 * - results of tools that the gateway passes on as user text.
 *
 * If a message is a single text, its reminders end at the first closing tag instead, because translation joins
 * reminders and prompt to one text. Then only the text behind the last reminder counts, or before it if there is none
 * behind.
 *
 * @param texts Text parts of the message.
 * @returns The typed text; empty if there is none.
 */
export function ownText(texts: readonly string[]): string {
  const isSingle = texts.length === 1;
  return texts.filter((text) => !STRAY_RESULT.test(text))
    .map((text) => regionsOf(text, isSingle).findLast((one) => one.trim() !== "") ?? "")
    .filter((text) => text !== "").join("\n");
}

/** The typed parts of a text, split at reminders. */
function regionsOf(whole: string, isSingle: boolean): string[] {
  const text = whole.slice(0, MAX_CHARACTERS);
  const regions = [""];
  const add = (typed: string) => void regions.push(regions.pop() + typed);
  let at = 0;
  for (let elements = 0; elements < MAX_ELEMENTS; elements++) {
    OPENING.lastIndex = at;
    const opening = OPENING.exec(text);
    const directive = nextDirective(text, at);
    if (opening === null) {
      add(text.slice(at));
      break;
    }
    if (directive !== undefined && directive.start < opening.index) {
      add(text.slice(at, directive.end)); // what looks like an element in it is an argument
      at = directive.end;
      continue;
    }
    add(text.slice(at, opening.index));
    const [tag, name] = opening;
    const inside = opening.index + tag.length;
    const isReminder = name === REMINDER;
    const end = endOf(text, opening, isSingle);
    if (end !== undefined) {
      at = end;
      if (isReminder) regions.push("");
    } else if (isReminder) {
      break; // cut short: all the rest is pasted
    } else {
      add(tag);
      at = inside;
    }
  }
  return regions;
}

/** Where a pasted element ends, its closing tag included; undefined if it is not pasted or never closed. */
function endOf(
  text: string,
  { index, 0: tag, 1: name, 2: fence }: RegExpExecArray,
  isSingle: boolean,
): number | undefined {
  if (name !== undefined && TYPED.includes(name)) return undefined;
  const inside = index + tag.length;
  const closing = fence ?? `</${name}>`;
  const end = name === REMINDER && isSingle
    ? text.indexOf(closing, inside)
    : text.lastIndexOf(closing);
  return end >= inside ? end + closing.length : undefined;
}
