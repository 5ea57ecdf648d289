import { LONG_NAME } from "./rich.ts";

/** Elements that stand in a line with what is before and behind them; all others begin one. */
const INLINE =
  /^(?:a|abbr|b|bdi|button|code|em|i|input|kbd|option|small|span|strong|sup|td|th|time)$/;
/** Elements of which nothing is said but, of a drawing, which one it is. */
const SILENT = /^(?:head|script|style|svg)$/;
/** What is said of an element, besides its text. */
const TOLD =
  /^(?:action|aria-current|aria-label|checked|colspan|data-(?:confirm|older|part|reader-zone|rows|seen)|datetime|disabled|formaction|hidden|href|max|min|name|open|pattern|placeholder|required|role|selected|step|title|type|value)$/;

/** What is another each time, and what stands for it. */
const CHANCE: readonly (readonly [RegExp, string])[] = [
  [/\b(acc|alert|code|cs|cus|evt|form|gw|key|lot|ord|pay|pi|re|ref|req|team)_\w{6,}/g, "$1_ID"],
  [/\b[0-9a-f]{16,}\b/g, "HEX"],
  [/(?<=name=form value=|invite code>|register\?code=)\w{12,}/g, "ID"],
  [new RegExp(LONG_NAME.replaceAll("model", "(?:model|key)"), "g"), "LONG-NAME"],
  // numbered in an isolate, which others share
  [/Team \d+\b/g, "Team N"],
  [/(member\d+\.|buyer)\d+(?=@|%40)/g, "$1N"],
  [/127\.0\.0\.1:\d+/g, "HOST"],
  [/\bDeno\/[\d.]+/g, "BROWSER"],
  [/\bsk-[A-Za-z0-9…]+/g, "sk-SECRET"],
  [/(?<=:\d\d)\.\d{3}(?=Z)/g, ""],
  [/(?<!\d)12:00:\d\d/g, "12:00:SS"],
  [/\b[0-9A-Z]{4}…|(?<=Revoke )[0-9A-Z]{4}(?=>)/g, "CODE"],
];

/**
 * What a page says, a line for each paragraph, row, field and the like.
 *
 * @returns Of each element that is more than a box its name and what is told of it, such as where a link leads, and the texts. What
 *   is by chance, such as an ID, has a word in its place.
 *
 * @param chance What else is by chance, each with its word.
 */
export function outlineOf(
  html: string,
  chance: readonly (readonly [RegExp | string, string])[],
): string {
  const lines: string[] = [];
  let line = "";
  let silent = "";
  let silence = "";
  const flush = () => {
    if (line.trim()) lines.push(line.trim());
    line = "";
  };
  const tokens =
    /<!doctype[^>]*>|<(\/?)([a-z][\w-]*)((?:\s+[^\s=>]+(?:="[^"]*")?)*)\s*\/?>|([^<]+)/gi;
  for (const [token, end, name = "", attributes = "", text = ""] of html.matchAll(tokens)) {
    if (silent !== "") {
      silence += token;
      if (!end || name !== silent) continue;
      if (silent === "svg") line += `<svg ${sumOf(silence)}>`;
      silent = "";
      silence = "";
      continue;
    }
    line += text.replaceAll(/\s+/g, " ");
    if (name === "") continue;
    if (!INLINE.test(name)) flush();
    if (SILENT.test(name)) {
      if (end) continue;
      silent = name;
      silence = attributes;
      continue;
    }
    const told = [...attributes.matchAll(/([^\s=]+)(?:="([^"]*)")?/g)]
      .filter(([, attribute]) => TOLD.test(attribute!))
      .map(([, attribute, value]) => value === undefined ? attribute : `${attribute}=${value}`);
    if (told.includes("name=csrf")) continue; // every form has it
    if (!end && /^t[dh]$/.test(name)) line += " | ";
    if (!end && (told.length > 0 || /^(?:button|h\d|li|option|summary)$/.test(name))) {
      line += `<${[name, ...told].join(" ")}>`;
    }
    if (end && name === "a" || name === "button") line += " ";
  }
  flush();
  return [...chance, ...CHANCE].reduce(
    (all, [one, word]) => all.replaceAll(one, word),
    lines.join("\n"),
  ) + "\n";
}

/** Six digits that differ where two drawings do. */
export function sumOf(text: string): string {
  let sum = 0;
  for (const char of text) sum = (sum * 31 + char.codePointAt(0)!) >>> 0;
  return String(sum % 1e6).padStart(6, "0");
}
